//! What the page displays of a position: boards, legal plies, notation and outcome.

use std::collections::BTreeMap;

use menagerie::rules::{
    Bitboard, BoardId, BoardView, ByRole, Color, Move, Outcome, Position, Role, Side, Square,
};
use menagerie::variant::Catalogue;
use serde::Serialize;

use crate::game::{GameText, GameTextError, PlayablePly, PlayedTurns, parse_ply, playable_plies};
use crate::limits::quote;
use crate::notation::{color_on_turn, seats, turn_san};

/// The reply to `state`.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StateBody {
    fen: String,
    /// The index of the side to move.
    turn: usize,
    sides: usize,
    mid_turn: bool,
    boards: Vec<BoardBody>,
    legal: Vec<PlyBody>,
    /// The algebraic notation of each turn of `moves`.
    san: Vec<String>,
    /// With two boards: the players of each turn of `moves`.
    seats: Option<Vec<String>>,
    /// The plies to highlight.
    last_moves: Vec<SquaresBody>,
    outcome: Option<OutcomeBody>,
    claimable: bool,
    /// The outcome that can be claimed.
    claim: Option<OutcomeBody>,
    /// The turn that `plies` complete; its algebraic notation, and with two boards its players.
    complete: Option<String>,
    complete_san: Option<String>,
    complete_seats: Option<String>,
}

/// One board. Squares are texts as `e4`, pieces letters as in a FEN.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct BoardBody {
    /// The color on turn.
    turn: &'static str,
    pieces: BTreeMap<String, char>,
    /// The sides that have claimed cells.
    cells: BTreeMap<String, usize>,
    walls: Vec<String>,
    pockets: Option<PocketsBody>,
    /// The king in check of the color on turn.
    check: Option<String>,
    promoted: Vec<String>,
    /// The number of checks with which White and Black win.
    checks: Option<[u8; 2]>,
    /// Whether a player may move here now.
    may_move: bool,
    /// Whether the game on this board is drawn, in bughouse.
    drawn: bool,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
struct PocketsBody {
    white: BTreeMap<char, u8>,
    black: BTreeMap<char, u8>,
}

/// A legal ply.
#[derive(Clone, PartialEq, Debug, Serialize)]
struct PlyBody {
    ply: String,
    #[serde(flatten)]
    squares: SquaresBody,
    promotion: Option<char>,
    wall: bool,
    pass: bool,
    castling: bool,
    /// Other squares to which the king can be moved for the same castling.
    alternatives: Vec<String>,
}

/// The squares of a ply.
#[derive(Clone, PartialEq, Debug, Serialize)]
struct SquaresBody {
    board: usize,
    from: Option<String>,
    /// For castling the destination of the king.
    to: Option<String>,
    /// The piece that is dropped, as a capital letter.
    drop: Option<char>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
struct OutcomeBody {
    /// The index of the side that wins.
    winner: Option<usize>,
    reason: String,
    text: String,
}

/// Returns the state of a game. `played` is the game of the last request, and becomes this one.
///
/// # Errors
/// If the game is refused.
pub(crate) fn describe_game(
    text: &GameText,
    catalogue: &Catalogue,
    played: &mut Option<PlayedTurns>,
) -> Result<StateBody, GameTextError> {
    let mut current = PlayedTurns::replay(text, catalogue, played.take())?;
    *played = Some(current.clone());
    if let Some(clocks) = text.position_clocks() {
        current.position.set_clocks(clocks);
    }
    let two_boards = current.position.game_spec().two_boards;
    let whole = current.position.clone();
    let mut plies = Vec::new();
    for (index, text) in text.plies.iter().enumerate() {
        // With two boards a player moves without the partner, so that each ply is a turn.
        if index > 0 && (two_boards || !current.position.mid_turn()) {
            return Err(GameTextError::ExtraPly(quote(text)));
        }
        let PlayablePly { position, ply } = parse_ply(&current.position, text)?;
        if index == 0 && !two_boards {
            current.last_plies.clear();
        }
        current.add_last_ply((*position).clone(), ply);
        current.position = (*position).clone();
        current.position.play_unchecked(ply);
        plies.push((position, ply));
    }
    let complete = match &plies[..] {
        [] => None,
        [(position, ply)] if two_boards => {
            let san = turn_san(position, &[*ply]);
            Some((position.move_text(*ply), san, Some(seats(position, &[*ply]))))
        }
        _ if current.position.mid_turn() => None,
        _ => {
            let turn: Vec<Move> = plies.iter().map(|(_, ply)| *ply).collect();
            Some((whole.turn_text(&turn), turn_san(&whole, &turn), None))
        }
    };
    Ok(StateBody::new(current, complete))
}

impl StateBody {
    fn new(played: PlayedTurns, complete: Option<(String, String, Option<String>)>) -> StateBody {
        let position = &played.position;
        let game_spec = position.game_spec();
        let playable = playable_plies(position);
        let outcome = position.outcome();
        let claim = if outcome.is_none() { position.claimable_outcome() } else { None };
        let (complete, complete_san, complete_seats) = match complete {
            Some((text, san, seats)) => (Some(text), Some(san), seats),
            None => (None, None, None),
        };
        StateBody {
            fen: position.fen(),
            turn: position.turn().index(),
            sides: game_spec.sides,
            mid_turn: position.mid_turn(),
            boards: boards(position, &playable),
            legal: legal_plies(&playable),
            san: played.sans,
            seats: if game_spec.two_boards { Some(played.seats) } else { None },
            last_moves: played
                .last_plies
                .iter()
                .filter(|(_, ply)| *ply != Move::Pass)
                .map(|(before, ply)| ply_squares(before, *ply).0)
                .collect(),
            outcome: outcome.map(|outcome| OutcomeBody::new(position, outcome)),
            claimable: claim.is_some(),
            claim: claim.map(|claim| OutcomeBody::new(position, claim)),
            complete,
            complete_san,
            complete_seats,
        }
    }
}

impl OutcomeBody {
    fn new(position: &Position, outcome: Outcome) -> OutcomeBody {
        OutcomeBody {
            winner: outcome.winner.map(Side::index),
            reason: outcome.reason.to_string(),
            text: position.outcome_text(outcome),
        }
    }
}

fn boards(position: &Position, playable: &[PlayablePly]) -> Vec<BoardBody> {
    let view = position.view();
    let mut cells = BTreeMap::new();
    for side in Side::all(position.game_spec().sides) {
        cells.extend(view.cells[side].into_iter().map(|cell| (cell.to_string(), side.index())));
    }
    let is_over = position.outcome().is_some();
    let mut bodies = Vec::with_capacity(view.boards.len());
    for (board, id) in view.boards.iter().zip(BoardId::ALL) {
        let moves_here =
            |playable: &PlayablePly| playable.ply != Move::Pass && playable.ply.board() == id;
        bodies.push(BoardBody {
            turn: color_name(color_on_turn(position, id)),
            pieces: pieces(board),
            cells: if id == BoardId::A { cells.clone() } else { BTreeMap::new() },
            walls: squares(board.walls),
            pockets: board.hands.map(|hands| PocketsBody {
                white: pocket(&hands.white),
                black: pocket(&hands.black),
            }),
            check: position.checked_king(id).map(|square| square.to_string()),
            promoted: squares(board.promoted),
            checks: board.checks.map(|checks| [checks.white, checks.black]),
            may_move: !is_over && playable.iter().any(moves_here),
            drawn: board.team.drawn,
        });
    }
    bodies
}

fn color_name(color: Color) -> &'static str {
    color.fold_wb("white", "black")
}

fn squares(squares: Bitboard) -> Vec<String> {
    squares.into_iter().map(|square| square.to_string()).collect()
}

fn pieces(board: &BoardView<'_>) -> BTreeMap<String, char> {
    let occupied = board.pieces.occupied().into_iter();
    let pieces = occupied
        .filter_map(|square| Some((square.to_string(), board.pieces.piece_at(square)?.char())));
    pieces.collect()
}

fn pocket(hand: &ByRole<u8>) -> BTreeMap<char, u8> {
    let counts = Role::ALL.into_iter().map(|role| (role.char(), hand[role]));
    counts.filter(|&(_, count)| count > 0).collect()
}

fn legal_plies(playable: &[PlayablePly]) -> Vec<PlyBody> {
    let steps: Vec<(BoardId, Square, Square)> =
        playable.iter().filter_map(|playable| step_of(playable.ply)).collect();
    playable.iter().map(|playable| ply_body(playable, &steps)).collect()
}

fn step_of(ply: Move) -> Option<(BoardId, Square, Square)> {
    if let Move::Step { board, from, to, .. } = ply { Some((board, from, to)) } else { None }
}

/// Returns the description of a legal ply, where `steps` are all legal steps.
fn ply_body(playable: &PlayablePly, steps: &[(BoardId, Square, Square)]) -> PlyBody {
    let PlayablePly { position, ply } = playable;
    let (mut squares, castling_rook) = ply_squares(position, *ply);
    let mut alternatives = Vec::new();
    if let (Some(rook), Some((board, from, _))) = (castling_rook, step_of(*ply)) {
        let target = squares.to.clone();
        let is_step = steps.iter().any(|&(on, start, end)| {
            on == board && start == from && target == Some(end.to_string())
        });
        // The king cannot be dropped on its own square, nor where an ordinary move takes it.
        if is_step || target == Some(from.to_string()) {
            squares.to = Some(rook.to_string());
        } else if target != Some(rook.to_string()) {
            alternatives.push(rook.to_string());
        }
    }
    let promotion = if let Move::Step { promotion, .. } = ply { *promotion } else { None };
    PlyBody {
        ply: playable.text(),
        squares,
        promotion: promotion.map(Role::char),
        wall: matches!(ply, Move::Wall(_)),
        pass: *ply == Move::Pass,
        castling: castling_rook.is_some(),
        alternatives,
    }
}

/// Returns the squares of a legal ply, and the rook if it is castling.
fn ply_squares(position: &Position, ply: Move) -> (SquaresBody, Option<Square>) {
    let body = |from: Option<Square>, to: Option<Square>, drop: Option<Role>| SquaresBody {
        board: ply.board() as usize,
        from: from.map(|square| square.to_string()),
        to: to.map(|square| square.to_string()),
        drop: drop.map(Role::upper_char),
    };
    match ply {
        Move::Step { board, from, to, .. } => {
            let view = position.view();
            let own = view.on(board).pieces.by_color(view.on(board).turn);
            if own.contains(to) {
                return (body(Some(from), Some(king_target(position, ply, from)), None), Some(to));
            }
            (body(Some(from), Some(to), None), None)
        }
        Move::Drop { role, to, .. } => (body(None, Some(to), Some(role)), None),
        Move::Place(to) | Move::Wall(to) => (body(None, Some(to), None), None),
        Move::Pass => (body(None, None, None), None),
    }
}

/// Returns the square to which castling takes the king on `from`.
fn king_target(position: &Position, castling: Move, from: Square) -> Square {
    let board = castling.board();
    let color = color_on_turn(position, board);
    let kings = |position: &Position| {
        let pieces = position.view().on(board).pieces.clone();
        pieces.kings() & pieces.by_color(color)
    };
    let before = kings(position);
    let mut after = position.clone();
    after.play_unchecked(castling);
    (kings(&after) & !before).first().unwrap_or(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(variant: &str, fen: Option<&str>, moves: &[&str], plies: &[&str]) -> StateBody {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let text = GameText {
            variant: variant.to_owned(),
            fen: fen.map(str::to_owned),
            moves: owned(moves),
            plies: owned(plies),
            ..GameText::default()
        };
        describe_game(&text, Catalogue::shipped(), &mut None)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    fn castlings(state: &StateBody) -> Vec<(&str, &str, &[String])> {
        let castlings = state.legal.iter().filter(|ply| ply.castling);
        castlings
            .map(|ply| (&*ply.ply, ply.squares.to.as_deref().unwrap_or("-"), &*ply.alternatives))
            .collect()
    }

    #[test]
    fn castling_has_the_squares_of_king_and_rook() {
        let state = state("chess", Some("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1"), &[], &[]);
        let rooks = ["a1".to_owned(), "h1".to_owned()];
        assert_eq!(castlings(&state), [("e1c1", "c1", &rooks[..1]), ("e1g1", "g1", &rooks[1..])]);
    }

    #[test]
    fn castling_that_looks_like_a_step_is_named_by_the_rook() {
        let fen = "4k3/8/8/8/8/8/8/5K1R w H - 0 1";
        let text = GameText {
            variant: "chess".to_owned(),
            fen: Some(fen.to_owned()),
            chess960: true,
            ..GameText::default()
        };
        let state = describe_game(&text, Catalogue::shipped(), &mut None).expect("a position");
        assert_eq!(castlings(&state), [("f1h1", "h1", &[][..])]);
    }

    #[test]
    fn duck_turn_has_two_plies() {
        let first = state("duck", None, &[], &["e2e4"]);
        assert!(first.mid_turn && first.complete.is_none());
        assert!(first.legal.iter().all(|ply| ply.wall) && !first.legal.is_empty());
        let second = state("duck", None, &[], &["e2e4", "e4d5"]);
        assert_eq!(second.complete.as_deref(), Some("e2e4,e4d5"));
        assert_eq!(second.complete_san.as_deref(), Some("e4,d5"));
        assert_eq!(second.boards[0].walls, ["d5"]);
        assert_eq!((second.turn, second.last_moves.len()), (1, 2));
    }

    #[test]
    fn bughouse_has_plies_of_all_players_on_turn() {
        let start = state("bughouse2", None, &[], &[]);
        assert_eq!(start.legal.len(), 40);
        assert_eq!(start.boards.iter().map(|board| board.turn).collect::<Vec<_>>(), ["white"; 2]);
        let moved = state("bughouse2", None, &["2e2e4", "1e2e4"], &["2d7d5"]);
        assert_eq!(moved.complete.as_deref(), Some("2d7d5"));
        assert_eq!(moved.complete_san.as_deref(), Some("d5"));
        assert_eq!(moved.complete_seats.as_deref(), Some("b"));
        assert_eq!(moved.san, ["e4", "e4"]);
        assert_eq!(moved.seats.as_deref(), Some(&["B".to_owned(), "A".to_owned()][..]));
        let captured = state("bughouse2", None, &["2e2e4", "2d7d5", "2e4d5"], &[]);
        let pockets = captured.boards[0].pockets.as_ref().expect("pockets");
        assert_eq!(pockets.black.get(&'p'), Some(&1));
    }

    #[test]
    fn check_and_outcome_are_described() {
        let mate = state("chess", None, &["f2f3", "e7e5", "g2g4", "d8h4"], &[]);
        let outcome = mate.outcome.expect("an outcome");
        assert_eq!((outcome.winner, &*outcome.reason), (Some(1), "checkmate"));
        assert_eq!(mate.boards[0].check.as_deref(), Some("e1"));
        assert_eq!(mate.san, ["f3", "e5", "g4", "Qh4"]);
        assert!(!mate.boards[0].may_move);
    }

    #[test]
    fn replay_continues_the_last_game() {
        let text = |moves: &[&str]| GameText {
            variant: "chess".to_owned(),
            moves: moves.iter().map(|&text| text.to_owned()).collect(),
            ..GameText::default()
        };
        let mut played = None;
        for moves in [&["e2e4"][..], &["e2e4", "e7e5"], &["d2d4"], &["d2d4", "e2e9"], &["d2d4"]] {
            let fresh = describe_game(&text(moves), Catalogue::shipped(), &mut None);
            let continued = describe_game(&text(moves), Catalogue::shipped(), &mut played);
            assert_eq!(fresh.map_err(|e| e.to_string()), continued.map_err(|e| e.to_string()));
        }
    }
}
