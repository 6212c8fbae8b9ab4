//! The 60 planes of Bug0 (Table I): whose turn it is and at which table; and of each table the men,
//! the men in hand, what is promoted, en passant, the fifty-move counter, and castling.
//!
//! 3,840 numbers are these, but 27 planes hold one number 64 times. It stands here once, times eight:
//! so all lengths and angles between positions are those of the 60 planes, and what is linear in
//! the planes is linear in these 1,824 numbers. Nothing is turned round: White is White.

use menagerie::rules::{Color, Move, Position, Role, Side, Square, Table, View};

/// How many numbers there are.
pub const NUMBERS: usize = 2 + 2 * TABLE;

/// Those of one table: twelve kinds of men, ten in hand, two planes of squares, five more numbers.
const TABLE: usize = 12 * 64 + 10 + 2 * 64 + 5;

/// A number that stands on all 64 squares of a plane, so that it weighs as they do.
const EVERYWHERE: f32 = 8.0;

/// The men as the paper has them.
const MEN: [Role; 6] =
    [Role::King, Role::Queen, Role::Rook, Role::Bishop, Role::Knight, Role::Pawn];

/// Who moves next, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Next {
    /// The team.
    pub team: Side,
    /// The table.
    pub table: Table,
}

impl Next {
    /// Who is asked for a move in `position`.
    pub fn of(position: &Position) -> Next {
        let asked_at_a = table(position, Table::A).seat.asked;
        Next { team: position.turn(), table: if asked_at_a { Table::A } else { Table::B } }
    }

    /// Who plays `m` in `position`, where more than one may move.
    pub fn to_play(position: &Position, m: Move) -> Next {
        Next { team: position.turn(), table: m.split().0 }
    }
}

/// The view of a table, whoever's turn it is.
fn table(position: &Position, table: Table) -> View<'_> {
    let first = (position.turn() == Side::WHITE) == (table == Table::A);
    position.view().table_of(Color::from_white(first))
}

/// The numbers of a position that are not 0, by their places, which rise.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Numbers(pub Vec<(u16, f32)>);

impl Numbers {
    /// Those of a position of two tables in which `next` moves.
    pub fn of(position: &Position, next: Next) -> Numbers {
        let mut numbers = Numbers(Vec::with_capacity(96));
        numbers.everywhere(0, u32::from(next.team == Side::WHITE));
        numbers.everywhere(1, u32::from(next.table == Table::B));
        for (nth, it) in Table::ALL.into_iter().enumerate() {
            numbers.table(2 + nth * TABLE, &table(position, it));
        }
        numbers
    }

    fn everywhere(&mut self, place: usize, number: u32) {
        if number > 0 {
            self.0.push((place as u16, EVERYWHERE * number as f32));
        }
    }

    fn squares(&mut self, place: usize, squares: impl IntoIterator<Item = Square>) {
        let places = squares.into_iter().map(|square| place as u16 + u16::from(u8::from(square)));
        self.0.extend(places.map(|place| (place, 1.0)));
    }

    fn table(&mut self, first: usize, view: &View<'_>) {
        let colored = |roles: &'static [Role]| {
            Color::ALL.into_iter().flat_map(move |color| roles.iter().map(move |&it| (color, it)))
        };
        let mut place = first;
        for (color, role) in colored(&MEN) {
            self.squares(place, view.board.by_piece(role.of(color)));
            place += 64;
        }
        for (color, role) in colored(&MEN[1..]) {
            self.everywhere(place, view.hands.map_or(0, |hands| hands[color][role].into()));
            place += 1;
        }
        self.squares(place, view.promoted);
        self.squares(place + 64, view.en_passant);
        self.everywhere(place + 128, view.halfmoves);
        place += 129;
        for color in Color::ALL {
            let rooks = view.castling & view.board.by_color(color);
            let king = view.board.king_of(color);
            let beyond = |kings_side: bool| {
                rooks.into_iter().any(|rook| king.is_some_and(|king| (rook > king) == kings_side))
            };
            self.everywhere(place, beyond(true).into());
            self.everywhere(place + 1, beyond(false).into());
            place += 2;
        }
    }
}
