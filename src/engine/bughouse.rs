//! Bughouse in a session: the team and its clocks on two boards, and pieces that come from another board.

use std::sync::Arc;

use super::Session;
use super::game::{GameError, PlayedGame};
use super::limits::Limits;
use super::options::Options;
use super::search_info::SearchResult;
use crate::rules::{BoardId, ByColor, Clocks, Color, Move, PerSide, Position, Reason, Role, Side};
use crate::search::{Clock, RootMove};

/// The clock of all seats that `Mode` lets neither sit nor hurry, in milliseconds, and the lead of those
/// that it does.
const MODE_CLOCK_MILLISECONDS: u32 = 60_000;

/// The expected number of turns that a seat still has to play. A game on two boards has about 17 for each
/// seat, half as many as a game on one board.
const EXPECTED_TURNS: u32 = 16;

/// The pieces that a partner may send.
const SENT_PIECES: [Role; 5] = [Role::Pawn, Role::Knight, Role::Bishop, Role::Rook, Role::Queen];

/// Turns whose expected scores differ by no more than this are considered equal.
const EQUAL_VALUE_MARGIN: f32 = 0.03;

/// Such turns have at least this part of the visits of the best turn.
const EQUAL_VISITS_DIVISOR: u32 = 4;

/// The clocks of the four players of bughouse, by board and color, as far as they are known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SeatClocks(pub [PerSide<Option<Clock>>; 2]);

/// Returns the team that the engine plays, if the option `Team` names one.
pub(super) fn team(options: &Options) -> Option<Side> {
    match &*options.team {
        "white" => Some(Side::WHITE),
        "black" => Some(Side::BLACK),
        _ => None,
    }
}

/// If there are two boards, gives `position` the clocks of the option `Mode` or `seat_clocks`, and gives
/// `limits` the shortest running clock of the side to move. Without `seat_clocks`, the clocks of `limits` are
/// those at the first board.
pub(super) fn apply_clocks(
    position: &mut Position,
    options: &Options,
    seat_clocks: Option<SeatClocks>,
    limits: &mut Limits,
) {
    let Some(current) = position.clocks() else { return };
    let SeatClocks(given) = seat_clocks.unwrap_or(SeatClocks([limits.clocks, PerSide::all(None)]));
    let given = given.map(|clocks| Color::ALL.map(|color| clocks[Side::from(color)]));
    // A seat without a clock is assumed to have that of the opponent with whom it is compared.
    let clock_of = |board: BoardId, color: Color| {
        let at = |board: BoardId| given[board as usize][usize::from(color.is_black())];
        at(board).or(at(board.other()))
    };
    let team = position.turn();
    let clocks = match &*options.mode {
        mode @ ("sit" | "go") => clocks_from_fn(|board, color| {
            let is_ours = (board == BoardId::A) == (color.is_white() == (team == Side::WHITE));
            let has_lead = is_ours == (mode == "sit");
            MODE_CLOCK_MILLISECONDS + if has_lead { MODE_CLOCK_MILLISECONDS } else { 0 }
        }),
        _ if given.as_flattened().iter().any(Option::is_some) => clocks_from_fn(|board, color| {
            clock_of(board, color)
                .map_or(0, |clock| u32::try_from(clock.remaining.max(0)).unwrap_or(u32::MAX))
        }),
        _ => current,
    };
    position.set_clocks(clocks);
    let view = position.view();
    let to_move = BoardId::ALL.into_iter().filter(|&board| view.on(board).team.may_move);
    let running = to_move.filter_map(|board| clock_of(board, view.on(board).turn));
    let shortest = running.min_by_key(|clock| clock.remaining);
    limits.clocks =
        PerSide::all(shortest.map(|clock| Clock {
            turns_to_go: clock.turns_to_go.or(Some(EXPECTED_TURNS)),
            ..clock
        }));
}

fn clocks_from_fn(milliseconds: impl Fn(BoardId, Color) -> u32) -> Clocks {
    Clocks(BoardId::ALL.map(|board| ByColor::new_with(|color| milliseconds(board, color))))
}

/// Returns a FEN with other pockets; `None` if it has none.
fn with_pockets(fen: &str, pockets: impl FnOnce(&str) -> String) -> Option<String> {
    let (board, rest) = fen.split_once('[')?;
    let (current, rest) = rest.split_once(']')?;
    Some(format!("{board}[{}]{rest}", pockets(current)))
}

fn piece_letter(color: Color, letter: char) -> char {
    color.fold_wb(letter.to_ascii_uppercase(), letter.to_ascii_lowercase())
}

impl Session {
    /// Returns another session with the same options and variants, at the start of the same variant and
    /// with an empty tree.
    pub fn fork(&self) -> Session {
        let mut other = Session::new(self.shipped);
        other.catalogue = self.catalogue.clone();
        other.options = self.options.clone();
        other.variant = Arc::clone(&self.variant);
        other.game = PlayedGame::new(&other.variant, other.options.chess960);
        other
    }

    /// Sets the clocks of the four players for the next search, in bughouse on two boards.
    pub fn set_seat_clocks(&mut self, seat_clocks: SeatClocks) {
        self.seat_clocks = Some(seat_clocks);
    }

    /// Adds a piece, by its letter, to the pocket of a colour. Turns played before can no longer be taken
    /// back.
    ///
    /// # Errors
    /// If the game has no such piece in hand. It then stays as it was.
    pub fn add_to_pocket(&mut self, color: Color, letter: char) -> Result<(), GameError> {
        self.change_pockets(|pockets| format!("{pockets}{}", piece_letter(color, letter)))
    }

    /// Replaces the pockets by pieces given by their letters.
    ///
    /// # Errors
    /// If the game has no such pieces in hand. It then stays as it was.
    pub fn set_pockets(&mut self, white: &str, black: &str) -> Result<(), GameError> {
        let white = white.chars().map(|letter| piece_letter(Color::White, letter));
        let black = black.chars().map(|letter| piece_letter(Color::Black, letter));
        self.change_pockets(|_| white.chain(black).collect())
    }

    fn change_pockets(&mut self, pockets: impl FnOnce(&str) -> String) -> Result<(), GameError> {
        let fen = self.position().fen();
        let fen = with_pockets(&fen, pockets).unwrap_or(fen);
        self.set_position(Some(&fen), &[]).map(drop)
    }

    /// Returns the pieces that would mate at once if the side to move had one more of them in hand.
    pub fn mating_drops(&self) -> Vec<Role> {
        SENT_PIECES.into_iter().filter(|&role| self.mates_by_drop(role)).collect()
    }

    fn mates_by_drop(&self, role: Role) -> bool {
        let position = self.position();
        if !position.game_spec().drops.contains(&role) {
            return false;
        }
        let mover = position.turn();
        let letter = piece_letter(Color::from_white(mover == Side::WHITE), role.char());
        let fen = with_pockets(&position.fen(), |pockets| format!("{pockets}{letter}"));
        let Some(given) = fen.and_then(|fen| self.variant.position(&fen, true).ok()) else {
            return false;
        };
        let mut legal = Vec::new();
        given.legal_moves(&mut legal);
        legal.retain(|m| matches!(m, Move::Drop { role: dropped, .. } if *dropped == role));
        legal.into_iter().any(|m| {
            let mut next = given.clone();
            next.play_unchecked(m);
            next.outcome().is_some_and(|outcome| {
                outcome.winner == Some(mover) && outcome.reason == Reason::Checkmate
            })
        })
    }

    /// Returns the piece that a turn of one ply captures, a promoted piece as a pawn.
    fn captured_piece(&self, turn: &str) -> Option<Role> {
        let plies = self.position().parse_turn(turn)?;
        let [Move::Step { to, .. }] = plies[..] else { return None };
        let board = self.position().board();
        let role = board.pieces.role_at(to)?;
        if board.pieces.by_color(board.turn).contains(to) {
            return None;
        }
        Some(if board.promoted.contains(to) { Role::Pawn } else { role })
    }

    /// Returns a turn that is as good as the best and captures a `wanted` piece, or if the best captures a
    /// `feared` piece, one that does not. Returns `None` if the best turn will do.
    pub fn preferred_turn(
        &self,
        result: &SearchResult,
        wanted: &[Role],
        feared: &[Role],
    ) -> Option<String> {
        let (_, best) = result.root_moves.first()?;
        let mover = self.position().turn();
        let is_equal = |root_move: &RootMove| {
            root_move.proof == best.proof
                && root_move.visits >= best.visits / EQUAL_VISITS_DIVISOR
                && root_move.value[mover] >= best.value[mover] - EQUAL_VALUE_MARGIN
        };
        let captures = |text: &str, roles: &[Role]| {
            self.captured_piece(text).is_some_and(|role| roles.contains(&role))
        };
        let played = result.turn.as_ref()?;
        if captures(played, wanted) {
            return None;
        }
        let equal = result.root_moves.iter().filter(|(_, root_move)| is_equal(root_move));
        let equal: Vec<&String> = equal.map(|(text, _)| text).collect();
        let mut preferred = equal.iter().find(|text| captures(text, wanted));
        if preferred.is_none() && captures(played, feared) {
            preferred = equal.iter().find(|text| !captures(text, feared));
        }
        preferred.map(|text| (*text).clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variant::Catalogue;

    fn session(fen: &str) -> Session {
        let mut session = Session::new(Catalogue::shipped());
        session.set_option("UCI_Variant", "bughouse").expect("a shipped variant");
        session.set_position(Some(fen), &[]).expect("a position");
        session
    }

    #[test]
    fn pocket_gains_and_is_replaced() {
        let mut session = session("4k3/8/8/8/8/8/8/4K3[Qp] w - - 0 1");
        session.add_to_pocket(Color::Black, 'N').expect("a knight");
        assert_eq!(session.position().fen(), "4k3/8/8/8/8/8/8/4K3[Qnp] w - - 0 1");
        session.set_pockets("PP", "").expect("two pawns");
        assert_eq!(session.position().fen(), "4k3/8/8/8/8/8/8/4K3[PP] w - - 0 1");
        assert!(session.add_to_pocket(Color::White, 'X').is_err());
        assert!(session.set_pockets("K", "]").is_err());
        assert_eq!(session.position().fen(), "4k3/8/8/8/8/8/8/4K3[PP] w - - 0 1");
    }

    #[test]
    fn mating_drops_are_found() {
        // Behind its pawns: a rook or a queen on the last rank.
        let mating = session("6k1/5ppp/8/8/8/8/8/4K3[] w - - 0 1").mating_drops();
        assert_eq!(mating, [Role::Rook, Role::Queen]);
        assert_eq!(session("7k/8/8/8/8/8/8/4K3[] w - - 0 1").mating_drops(), []);
        let mut chess = Session::new(Catalogue::shipped());
        chess.set_position(Some("6k1/5ppp/8/8/8/8/8/4K3 w - - 0 1"), &[]).expect("a position");
        assert_eq!(chess.mating_drops(), []);
    }
}
