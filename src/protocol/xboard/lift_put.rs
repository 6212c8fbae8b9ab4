//! What the user does with a man on the board: `lift`, `hover` and `put` on squares. The answers
//! tell XBoard the rules of games that it does not know. What is said comes from the legal moves.

use crate::rules::{Color, GameSpec, Move, Position, Role, Square};

/// The man that the user has picked up.
#[derive(Clone, Debug, Default)]
pub(super) struct LiftPut {
    from: Option<Square>,
    /// What it has done, if the turn has another leg.
    leg: Option<Move>,
}

/// A legal move of the man that was picked up.
struct Way {
    m: Move,
    /// Where the user puts it.
    to: Square,
    promotion: Option<Role>,
    /// The opponent loses a man.
    captures: bool,
    /// Another leg follows.
    goes_on: bool,
    after: Position,
}

impl LiftPut {
    /// `lift`: the squares to which the man on `square` may go.
    pub(super) fn lift(&mut self, position: &Position, square: Square) -> String {
        let leg = self.leg.take();
        self.from = Some(square);
        let ways = ways(position, square);
        if let Some(leg) = leg
            && let Some(next) = next_leg(position, leg, square)
        {
            self.leg = Some(leg);
            return highlight(&next, &all_ways(&next), &[]);
        }
        highlight(position, &ways, &[])
    }

    /// `hover` over a square to which it may go: the same, with the men that would be taken
    /// elsewhere; nothing if there are none.
    pub(super) fn hover(&self, position: &Position, square: Square) -> Option<String> {
        let ways = ways(position, self.from?);
        let way = ways.iter().find(|way| way.to == square)?;
        let (before, after) = (position.view().board.occupied(), way.after.view().board.occupied());
        let gone = (before & !after).into_iter();
        let gone: Vec<_> = gone.filter(|&man| man != square && Some(man) != self.from).collect();
        (!gone.is_empty()).then(|| highlight(position, &ways, &gone))
    }

    /// `put`: what it may become on `square`, if it becomes something.
    pub(super) fn put(&mut self, position: &Position, square: Square) -> Option<String> {
        let mut ways = ways(position, self.from?);
        ways.retain(|way| way.to == square);
        self.leg = ways.iter().find(|way| way.goes_on).map(|way| way.m);
        let promotions = position.game_spec().promotions.into_iter();
        let choice: String = promotions
            .filter(|&role| ways.iter().any(|way| way.promotion == Some(role)))
            .map(Role::upper_char)
            .collect();
        (!choice.is_empty()).then(|| format!("choice {choice}"))
    }
}

/// The man in hand that stands where XBoard draws the hands, and whose it is: White's in the second
/// file right of the board from below, Black's in the second left of it from above.
pub(super) fn in_hand(game_spec: &GameSpec, text: &str) -> Option<(Color, Role)> {
    let (file, rank) = text.split_at_checked(1).filter(|_| !game_spec.drops.is_empty())?;
    let rank: usize = rank.parse().ok()?;
    let left = b'a'.checked_sub(2)?;
    let right = u8::try_from(game_spec.files + 1).ok()?.checked_add(b'a')?;
    let (color, place) = match *file.as_bytes() {
        [file] if file == right => (Color::White, rank.checked_sub(1)?),
        [file] if file == left => (Color::Black, game_spec.ranks.checked_sub(rank)?),
        _ => return None,
    };
    game_spec.roles.get(place).map(|&role| (color, role))
}

/// The squares on which a man in hand may be put.
pub(super) fn lift_from_hand(position: &Position, color: Color, role: Role) -> String {
    let mut ways = all_ways(position);
    let own = position.view().turn == color;
    ways.retain(|way| own && matches!(way.m, Move::Drop { role: of, .. } if of == role));
    highlight(position, &ways, &[])
}

/// The ways of the man on `from`.
fn ways(position: &Position, from: Square) -> Vec<Way> {
    let mut legal = Vec::new();
    position.legal_moves(&mut legal);
    let of_it = |m: &Move| matches!(m, Move::Step { from: start, .. } if *start == from);
    legal.into_iter().filter(of_it).filter_map(|m| way(position, m)).collect()
}

/// All ways, as of the second leg, which begins where the first ended.
fn all_ways(position: &Position) -> Vec<Way> {
    let mut legal = Vec::new();
    position.legal_moves(&mut legal);
    legal.into_iter().filter_map(|m| way(position, m)).collect()
}

fn way(position: &Position, m: Move) -> Option<Way> {
    let (to, promotion) = match m {
        // Castling is written by where the king goes, or by the rook, as the user is used to.
        Move::Step { promotion, .. } => (position.move_text(m).get(2..4)?.parse().ok()?, promotion),
        Move::Wall(to) | Move::Place(to) | Move::Drop { to, .. } => (to, None),
        // XBoard shows no game of two tables.
        Move::Second(_) | Move::Pass => return None,
    };
    let mut after = position.clone();
    after.play_unchecked(m);
    let them = !position.view().turn;
    let men = |position: &Position| position.view().board.by_color(them).count();
    let captures = men(&after) < men(position);
    Some(Way { m, to, promotion, captures, goes_on: after.mid_turn(), after })
}

/// The position after the first leg, if it is legal and ended on `square`.
fn next_leg(position: &Position, leg: Move, square: Square) -> Option<Position> {
    let mut legal = Vec::new();
    position.legal_moves(&mut legal);
    let way = legal.contains(&leg).then(|| way(position, leg)).flatten()?;
    (way.goes_on && way.to == square).then_some(way.after)
}

/// Squares as a FEN of colours: yellow to go, red to capture, cyan if the turn goes on from there,
/// magenta to promote, blue if to one man only; green, small because nobody can go there, for the
/// men that are `gone`.
fn highlight(position: &Position, ways: &[Way], gone: &[Square]) -> String {
    let mut colours = [None; 64];
    for &square in gone {
        colours[square.to_usize()] = Some('g');
    }
    for way in ways {
        let here = &mut colours[way.to.to_usize()];
        *here = Some(match way {
            Way { goes_on: true, .. } => 'C',
            Way { promotion: Some(_), .. } if matches!(here, Some('B' | 'M')) => 'M',
            Way { promotion: Some(_), .. } => 'B',
            Way { captures: true, .. } => 'R',
            _ => 'Y',
        });
    }
    let game_spec = position.game_spec();
    let ranks = (0..game_spec.ranks).rev().map(|rank| {
        let (mut text, mut empty) = (String::new(), 0);
        for colour in &colours[8 * rank..8 * rank + game_spec.files] {
            match colour {
                None => empty += 1,
                Some(colour) => {
                    if empty > 0 {
                        text.push_str(&empty.to_string());
                    }
                    text.push(*colour);
                    empty = 0;
                }
            }
        }
        if empty > 0 { text + &empty.to_string() } else { text }
    });
    format!("highlight {}", ranks.collect::<Vec<_>>().join("/"))
}
