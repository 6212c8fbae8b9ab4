//! The debugging commands: raw evaluation (`eval`), colour flip (`flip`) and path counts (`go perft`).

use std::sync::atomic::{AtomicBool, Ordering};

use super::search_info::Wdl;
use crate::encoding::{Encoding, SparseEncoding};
use crate::nn::{EvalError, Evaluator, Query};
use crate::rules::{GameSpec, Move, MoveList, Outcome, PerSide, Position, Side, perft};

/// Counts of this depth or less are not interrupted: in duck chess, a position can have ten thousand turns.
const MAX_UNINTERRUPTED_DEPTH: u32 = 2;

/// The output of the evaluator for a position, without a search.
#[derive(Clone, PartialEq, Debug)]
pub struct EvalOutput {
    /// The outcome, if the game is over; the other fields are then of no use.
    pub outcome: Option<Outcome>,
    /// The expected score of each side, from -1 to 1.
    pub values: PerSide<f32>,
    /// The number of sides.
    pub sides: usize,
    /// The WDL of the side to move.
    pub wdl: Wdl,
    /// The expected number of turns until the game ends.
    pub moves_left: f32,
    /// Each legal ply and its probability, the most probable first.
    pub policy: Vec<(String, f32)>,
    /// The input of the network.
    pub input: NetworkInput,
}

/// The input of a network for one position.
#[derive(Clone, PartialEq, Debug)]
pub enum NetworkInput {
    /// Planes: the name of each, and its squares, rank by rank from the mover's first.
    Planes {
        /// The planes.
        planes: Vec<(String, Vec<f32>)>,
        /// Files of a plane.
        width: usize,
    },
    /// The names of the active inputs of a sparse network: a block, and the index in it.
    ActiveInputs(Vec<String>),
}

/// Evaluates `position` by `evaluator`, without a search.
///
/// # Errors
/// If the evaluator fails.
pub(super) fn eval(
    position: &Position,
    evaluator: &mut dyn Evaluator,
) -> Result<EvalOutput, EvalError> {
    let sides = position.game_spec().sides;
    let mover = position.turn();
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    let outcome = position.outcome_given(&legal);
    let mut batch = evaluator.new_batch();
    let encoding = Encoding::of(position);
    let row = batch.push(Query { encoding: &encoding, position, legal: &legal });
    evaluator.evaluate(&mut batch)?;
    let evaluation = batch.evaluation(row);
    let moves = legal.iter().map(|&m| position.move_text(m));
    let mut policy: Vec<_> = moves.zip(evaluation.policy()).collect();
    policy.sort_by(|a, b| b.1.total_cmp(&a.1));
    let draw = evaluation.outcome.last().copied().unwrap_or(0.0);
    let input = match batch.active_inputs(row) {
        Some((encoding, inputs)) => NetworkInput::ActiveInputs(input_names(encoding, inputs)),
        None => input_planes(&encoding, batch.planes_of(row).unwrap_or_default()),
    };
    Ok(EvalOutput {
        outcome,
        values: PerSide::from_fn(|side| {
            if side.index() < sides { evaluation.score(side, mover) } else { 0.0 }
        }),
        sides,
        wdl: Wdl::new(evaluation.score(mover, mover), draw),
        moves_left: evaluation.moves_left,
        policy,
        input,
    })
}

fn input_planes(encoding: &Encoding, planes: &[f32]) -> NetworkInput {
    let squares = planes.chunks(encoding.shape().squares()).map(<[f32]>::to_vec);
    NetworkInput::Planes {
        planes: encoding.plane_names().into_iter().zip(squares).collect(),
        width: encoding.shape().width,
    }
}

/// Returns the names of active inputs, in order: `BLOCK` if the block is of one input, else
/// `BLOCK[INDEX]`.
fn input_names(encoding: &SparseEncoding, inputs: &[u16]) -> Vec<String> {
    let mut inputs = inputs.to_vec();
    inputs.sort_unstable();
    inputs.iter().filter_map(|&input| input_name(encoding, usize::from(input))).collect()
}

fn input_name(encoding: &SparseEncoding, input: usize) -> Option<String> {
    let mut blocks = encoding.input_blocks().iter();
    let block = blocks.find(|block| (block.first..block.first + block.size).contains(&input))?;
    Some(match block.size {
        1 => block.name.clone(),
        _ => format!("{}[{}]", block.name, input - block.first),
    })
}

/// Returns every legal turn, and the position after it.
pub(super) fn whole_turns(position: &Position) -> Vec<(Vec<Move>, Position)> {
    let mut found = Vec::new();
    extend_turn(position, &mut Vec::new(), &mut found);
    found
}

fn extend_turn(position: &Position, turn: &mut Vec<Move>, found: &mut Vec<(Vec<Move>, Position)>) {
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    for m in legal {
        let mut next = position.clone();
        next.play_unchecked(m);
        turn.push(m);
        if next.mid_turn() {
            extend_turn(&next, turn, found);
        } else {
            found.push((turn.clone(), next));
        }
        turn.pop();
    }
}

/// Returns the number of paths of `depth` whole turns; `None` if `stop` was set before the count was
/// complete.
pub(super) fn count_paths(position: &Position, depth: u32, stop: &AtomicBool) -> Option<u64> {
    if stop.load(Ordering::Relaxed) {
        return None;
    }
    if depth <= MAX_UNINTERRUPTED_DEPTH {
        return Some(perft(position, depth));
    }
    whole_turns(position).iter().map(|(_, next)| count_paths(next, depth - 1, stop)).sum()
}

/// Returns the FEN of the position with the colors changed, on each of two boards if there are two. The
/// team to move and the clocks change, too.
pub(super) fn flipped_fen(position: &Position) -> String {
    let fen = position.fen();
    let game_spec = position.game_spec();
    let mut parts: Vec<String> = fen.split('|').map(str::to_owned).collect();
    for board in parts.iter_mut().take(2) {
        *board = flipped_board(board, &game_spec);
    }
    if let [a, b, rest @ ..] = &parts[..] {
        let rest = rest.first().map_or("", String::as_str).split(' ');
        let mut fields: Vec<&str> =
            rest.filter(|field| !matches!(*field, "" | "w" | "b" | "A" | "B")).collect();
        let clocks = fields.len().saturating_sub(4);
        if let [white_a, black_a, white_b, black_b] = &mut fields[clocks..] {
            std::mem::swap(white_a, black_a);
            std::mem::swap(white_b, black_b);
        }
        // The other team is to move, on the same board.
        let team = if position.turn() == Side::WHITE { "b" } else { "w" };
        let board = if position.board().team.may_move { "A" } else { "B" };
        return format!("{a}|{b}|{team} {board} {}", fields.join(" "));
    }
    parts.join("|")
}

/// Returns the FEN of one board with the colors changed. The board is turned upside down, or from left to
/// right where both sides run to the same rank, and each piece changes its colour.
fn flipped_board(fen: &str, game_spec: &GameSpec) -> String {
    let mut fields: Vec<String> = fen.split(' ').map(str::to_owned).collect();
    if let [pieces, turn, castling, rest @ ..] = &mut fields[..] {
        let (board, pockets) = pieces.split_at(pieces.find('[').unwrap_or(pieces.len()));
        let ranks = board.split('/');
        let board = if game_spec.mirrored {
            ranks.rev().map(str::to_owned).collect::<Vec<_>>()
        } else {
            ranks.map(|rank| rank.chars().rev().collect()).collect()
        };
        *pieces = swap_case(&(board.join("/") + pockets));
        *turn = if turn == "w" { "b" } else { "w" }.to_owned();
        *castling = swap_case(castling);
        for field in rest.iter_mut() {
            if let Some((white, black)) = field.split_once('+') {
                *field = format!("{black}+{white}");
            }
        }
        if let Some(en_passant) = rest.first_mut()
            && let [file, rank @ b'1'..=b'8'] = en_passant.as_bytes()
        {
            let rank = (game_spec.ranks + 1).saturating_sub(usize::from(rank - b'0'));
            *en_passant = format!("{}{rank}", char::from(*file));
        }
    }
    fields.join(" ")
}

fn swap_case(text: &str) -> String {
    let swap = |letter: char| {
        if letter.is_ascii_uppercase() {
            letter.to_ascii_lowercase()
        } else {
            letter.to_ascii_uppercase()
        }
    };
    text.chars().map(swap).collect()
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::variant::Catalogue;

    #[test]
    fn perft_stops_soon() {
        let duck = Catalogue::shipped().get("duck").expect("duck is shipped");
        let fen = "q6k/2QQQQ2/2QQQQ2/8/8/2qqqq2/2qqqq2/K6Q w - - 0 1";
        let position = duck.position(fen, false).expect("a position");
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(20));
                stop.store(true, Ordering::Relaxed);
            });
            // There are about 4e10 paths, which take more than ten seconds.
            assert_eq!(count_paths(&position, 3, &stop), None);
        });
    }

    #[test]
    fn flip_twice_restores_the_position() {
        for (variant, fen, other) in [
            (
                "chess",
                "rnbqkbnr/pp1ppppp/8/8/2pPP3/8/PPP2PPP/RNBQKBNR b KQq d3 0 3",
                "rnbqkbnr/ppp2ppp/8/2Ppp3/8/8/PP1PPPPP/RNBQKBNR w Qkq d6 0 3",
            ),
            (
                "crazyhouse",
                "4k3/8/8/8/8/8/5Q~2/4K3[Nnp] w - - 4 9",
                "4k3/5q~2/8/8/8/8/8/4K3[NPn] b - - 4 9",
            ),
            ("3check", "4k3/8/8/8/8/8/8/4K2R w K - 2+3 0 1", "4k2r/8/8/8/8/8/8/4K3 b k - 3+2 0 1"),
            (
                "racingkings",
                "8/8/8/8/8/k7/2bnNBRK/qrbnNBRQ w - - 0 1",
                "8/8/8/8/8/7K/krbnNB2/qrbnNBRQ b - - 0 1",
            ),
            (
                "losalamos",
                "rnqknr/pppppp/6/3P2/PPP1PP/RNQKNR b - - 0 1",
                "rnqknr/ppp1pp/3p2/6/PPPPPP/RNQKNR w - - 0 1",
            ),
            (
                "bughouse2",
                "4k3/8/8/8/8/8/5Q~2/4K3[Nnp] w - - 4 9|4k3/8/8/8/8/8/8/4K3[] w - - 0 1|10 20 30 40",
                "4k3/5q~2/8/8/8/8/8/4K3[NPn] b - - 4 9|4k3/8/8/8/8/8/8/4K3[] b - - 0 1|b 20 10 40 30",
            ),
            ("duck", "4k3/8/2*5/8/8/8/8/4K3 w - - 0 1", "4k3/8/8/8/8/2*5/8/4K3 b - - 0 1"),
        ] {
            let variant = Catalogue::shipped().get(variant).expect("a shipped variant");
            let position = |fen: &str| variant.position(fen, false).expect("a position");
            let flip = |fen: &str| position(&flipped_fen(&position(fen))).fen();
            assert_eq!((flip(fen), flip(other)), (position(other).fen(), position(fen).fen()));
        }
    }
}
