//! Syzygy tables of endings: which of them a game has, and what they know of a position.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use shakmaty::variant::{Antichess, Atomic};
use shakmaty::{Board, CastlingMode, Chess, Color, FromSetup, Setup};
use shakmaty_syzygy::{AmbiguousWdl, Syzygy, SyzygyError, Tablebase, Wdl};

use crate::rules::{Move, MoveList, Position, ProvenValue};
use crate::variant::Variant;

/// What was found of a game's tables in the folders of `SyzygyPath`.
#[derive(Default)]
pub(super) struct SyzygyTables {
    variant: String,
    folders: String,
    tables: Option<Arc<dyn Probe>>,
}

impl fmt::Debug for SyzygyTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyzygyTables").field("folders", &self.folders).finish_non_exhaustive()
    }
}

impl SyzygyTables {
    /// Looks for the tables of `variant` in `folders`, a list as the environment's `PATH` is
    /// written; and what there is to know about it, a line each.
    pub(super) fn new(variant: &Variant, folders: &str) -> (SyzygyTables, Vec<String>) {
        let name = variant.name();
        let mut endings =
            SyzygyTables { variant: name.to_owned(), folders: folders.to_owned(), tables: None };
        if folders.is_empty() {
            return (endings, Vec::new());
        }
        let (tables, notes) = match name {
            "chess" => found::<Chess>(name, folders, true),
            "atomic" => found::<Atomic>(name, folders, false),
            "antichess" => found::<Antichess>(name, folders, false),
            // No user's game has such a name: those of the catalogue are taken.
            _ => (None, vec![format!("{name}: there are no tables of endings for it")]),
        };
        endings.tables = tables;
        (endings, notes)
    }

    /// Whether it is still what is asked for.
    pub(super) fn serves(&self, variant: &Variant, folders: &str) -> bool {
        self.folders == folders && (folders.is_empty() || self.variant == variant.name())
    }

    pub(super) fn tables(&self) -> Option<Arc<dyn Probe>> {
        self.tables.clone()
    }
}

/// The tables of the game `name` in `folders`, if there are any; and what there is to know about
/// them.
fn found<S>(name: &str, folders: &str, by_mate: bool) -> (Option<Arc<dyn Probe>>, Vec<String>)
where
    S: shakmaty::Position + FromSetup + Syzygy + Clone + fmt::Debug + Send + Sync + 'static,
{
    let (mut tables, mut files, mut notes) = (Tablebase::<S>::new(), 0, Vec::new());
    for path in std::env::split_paths(folders).filter(|path| !path.as_os_str().is_empty()) {
        match add(&mut tables, &path) {
            Ok(count) => files += count,
            Err(error) => notes.push(format!("tables of \"{}\": {error}", path.display())),
        }
    }
    if files == 0 {
        notes.push(format!("{name}: no tables of endings in \"{folders}\""));
        return (None, notes);
    }
    let men = tables.max_pieces();
    notes.push(format!("{name}: {files} tables of endings of up to {men} men"));
    (Some(Arc::new(Tables { tables, by_mate })), notes)
}

/// Adds the tables of a folder, those too that stand beside a damaged one.
fn add<S>(tables: &mut Tablebase<S>, folder: &Path) -> std::io::Result<usize>
where
    S: shakmaty::Position + Syzygy + Clone,
{
    let mut count = 0;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        match tables.add_file(&path) {
            Ok(()) => count += 1,
            // Another game's, or no table.
            Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {}
            Err(error) => log::warn!("table \"{}\": {error}", path.display()),
        }
    }
    Ok(count)
}

/// Tables of one game's endings, which threads may share.
pub(super) trait Probe: Send + Sync {
    /// The result of a position right after a capture or the move of a pawn. Of others the tables do
    /// not know whether the win comes in time.
    fn known(&self, position: &Position) -> Option<ProvenValue>;

    /// The result of every legal move, and which of them to choose from; `None` if not all that may
    /// follow is in the tables.
    fn root(&self, position: &Position) -> Option<RootProbe>;
}

/// What the tables know of the moves of a position.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct RootProbe {
    /// The score of the mover after each legal move, the 50-move rule considered: 1 for a win, 0 for
    /// a draw (also one by that rule), -1 for a loss.
    pub(super) scores: Vec<(Move, i8)>,
    /// The moves to choose from: all keep the best result, and make progress where the search alone
    /// might not.
    pub(super) best: MoveList,
}

/// The tables of one game.
struct Tables<S: shakmaty::Position + Clone + Syzygy> {
    tables: Tablebase<S>,
    /// Whether games end by mating a bare king. Not so in antichess and in atomic chess.
    by_mate: bool,
}

impl<S> Probe for Tables<S>
where
    S: shakmaty::Position + FromSetup + Syzygy + Clone + fmt::Debug + Send + Sync,
{
    fn known(&self, position: &Position) -> Option<ProvenValue> {
        let view = position.view();
        if view.halfmoves > 0 || view.board.occupied().count() > self.tables.max_pieces() {
            return None;
        }
        let wdl = heard(self.tables.probe_wdl_after_zeroing(&as_shakmaty(position)?))?;
        let score = match wdl {
            Wdl::Win => 1,
            Wdl::Loss => -1,
            // The fifty moves come first.
            Wdl::CursedWin | Wdl::Draw | Wdl::BlessedLoss => 0,
        };
        Some(ProvenValue { score, plies: None })
    }

    fn root(&self, position: &Position) -> Option<RootProbe> {
        // A capture may lead into the tables, but of quiet moves they would know nothing.
        if position.view().board.occupied().count() > self.tables.max_pieces() {
            return None;
        }
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        let ranked = legal.into_iter().map(|m| {
            let mut next = position.clone();
            next.play_unchecked(m);
            match next.result() {
                Some(outcome) => {
                    let result = 2 * outcome.score(position.turn());
                    Some(RankedMove { m, result, progress: 0, keeps_material: true })
                }
                None => {
                    let (result, progress) = rank(&self.tables, &as_shakmaty(&next)?)?;
                    let keeps_material = !can_capture(&next);
                    Some(RankedMove { m, result, progress, keeps_material })
                }
            }
        });
        let ranked = ranked.collect::<Option<Vec<_>>>()?;
        let scores = ranked.iter().map(|ranked| (ranked.m, ranked.result / 2)).collect();
        Some(RootProbe { scores, best: choose(position, ranked, self.by_mate) })
    }
}

/// A legal move, and what the tables know of it.
#[derive(Clone, Copy, Debug)]
struct RankedMove {
    m: Move,
    /// From a loss (-2) to a win (2), with what the 50-move rule spoils between them and a draw.
    result: i8,
    /// The greater, the nearer is the next capture or pawn move among wins, and the farther among
    /// losses.
    progress: i32,
    /// Whether the opponent cannot capture anything.
    keeps_material: bool,
}

/// From this number of plies without a capture or pawn move on, a won ending is played by the
/// distance to the next one, as far as that gives nothing away.
const PLIES_BY_SEARCH: u32 = 20;
/// From this number of plies on it is played by that distance alone.
const PLIES_KEEPING_MATERIAL: u32 = 60;
/// A win that needs fewer plies than this, those already counted included, is safe from the 50-move
/// rule: 100, less one for the move itself and one for the rounding of tables.
const SAFE_PLIES: i32 = 98;

/// The moves to choose from.
///
/// The tables' distance (DTZ) is not the distance to mate: the shortest way to a capture may be to
/// give a piece away. It leads straight to mate only if no piece of the winner can be spared.
/// Otherwise every move that wins in time and gives nothing away may be searched, until there is
/// no progress.
fn choose(position: &Position, mut moves: Vec<RankedMove>, by_mate: bool) -> MoveList {
    let Some(result) = moves.iter().map(|ranked| ranked.result).max() else {
        return MoveList::new();
    };
    moves.retain(|ranked| ranked.result == result);
    let view = position.view();
    if result == 2 {
        let counted = view.halfmoves as i32;
        let in_time = |ranked: &RankedMove| counted.saturating_sub(ranked.progress) < SAFE_PLIES;
        let keeps = |ranked: &RankedMove| in_time(ranked) && ranked.keeps_material;
        if by_mate && view.halfmoves < PLIES_KEEPING_MATERIAL && moves.iter().any(keeps) {
            moves.retain(keeps);
        }
        let searched = by_mate
            && view.halfmoves < PLIES_BY_SEARCH
            && !view.repeated
            && can_spare_a_piece(view.board, view.turn);
        if !searched || !moves.iter().all(in_time) {
            let nearest = moves.iter().map(|ranked| ranked.progress).max();
            moves.retain(|ranked| Some(ranked.progress) == nearest);
        }
    }
    if result == -2 {
        let farthest = moves.iter().map(|ranked| ranked.progress).max();
        moves.retain(|ranked| Some(ranked.progress) == farthest);
    }
    moves.into_iter().map(|ranked| ranked.m).collect()
}

/// Whether `color` could still mate a bare king without one of its pieces.
fn can_spare_a_piece(board: &Board, color: Color) -> bool {
    let own = board.material_side(color);
    let (minors, majors) = (own.bishop + own.knight, own.rook + own.queen + own.pawn);
    // Two minor pieces of which one is a bishop mate, or any other piece alone.
    majors >= 2 || majors == 1 && minors >= 1 || minors >= 3
}

/// Whether the side to move can capture anything.
fn can_capture(position: &Position) -> bool {
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    let view = position.view();
    let theirs = view.board.by_color(!view.turn);
    legal.iter().any(|&m| matches!(m, Move::Step { to, .. } if theirs.contains(to)))
}

/// How good it is to have moved to `next`: what follows with the counter as it is, from a loss (-2)
/// to a win (2) with what the counter spoils between them and a draw; then, among wins, how near the
/// next capture or pawn move is, and among losses how far.
fn rank<S>(tables: &Tablebase<S>, next: &S) -> Option<(i8, i32)>
where
    S: shakmaty::Position + Syzygy + Clone,
{
    let dtz = heard(tables.probe_dtz(next))?;
    let plies = if next.halfmoves() == 0 { 0 } else { dtz.ignore_rounding().0.abs() };
    Some(match AmbiguousWdl::from_dtz_and_halfmoves(dtz, next.halfmoves()) {
        AmbiguousWdl::Loss => (2, -1 - plies),
        AmbiguousWdl::MaybeLoss => (2, i32::MIN),
        AmbiguousWdl::BlessedLoss => (1, 0),
        AmbiguousWdl::Draw => (0, 0),
        AmbiguousWdl::CursedWin => (-1, 0),
        AmbiguousWdl::MaybeWin | AmbiguousWdl::Win => (-2, dtz.ignore_rounding().0.abs()),
    })
}

/// What a table said, if it said anything; that a file is missing or damaged ends no search.
fn heard<T>(said: Result<T, SyzygyError>) -> Option<T> {
    said.inspect_err(|error| log::debug!("{error}")).ok()
}

/// A position as the tables' own rules have it; `None` if they have none like it, as with castling
/// rights.
fn as_shakmaty<S: FromSetup>(position: &Position) -> Option<S> {
    let view = position.view();
    if !view.castling.is_empty() {
        return None;
    }
    let setup = Setup {
        board: view.board.clone(),
        turn: view.turn,
        ep_square: view.en_passant,
        halfmoves: view.halfmoves,
        ..Setup::empty()
    };
    S::from_setup(setup, CastlingMode::Standard).ok()
}
