//! Syzygy tables: the tables of a variant, and probes of positions.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use shakmaty::variant::{Antichess, Atomic};
use shakmaty::{Board, CastlingMode, Chess, Color, FromSetup, Setup};
use shakmaty_syzygy::{AmbiguousWdl, Syzygy, SyzygyError, Tablebase, Wdl};

use crate::rules::{Move, MoveList, Position, ProvenValue};
use crate::variant::Variant;

/// The tables of a variant in the folders of `SyzygyPath`.
#[derive(Default)]
pub(super) struct SyzygyTables {
    variant: String,
    folders: String,
    tables: Option<Arc<dyn SyzygyProbe>>,
}

impl fmt::Debug for SyzygyTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyzygyTables").field("folders", &self.folders).finish_non_exhaustive()
    }
}

impl SyzygyTables {
    /// Opens the tables of `variant` in `folders`, a list like the environment's `PATH`. Also returns
    /// messages for the user.
    pub(super) fn open(variant: &Variant, folders: &str) -> (SyzygyTables, Vec<String>) {
        let name = variant.name();
        let (tables, notes) = match name {
            _ if folders.is_empty() => (None, Vec::new()),
            "chess" => find_tables::<Chess>(name, folders, true),
            "atomic" => find_tables::<Atomic>(name, folders, false),
            "antichess" => find_tables::<Antichess>(name, folders, false),
            // A user's variant cannot have one of these names: they are those of shipped variants.
            _ => (None, vec![format!("{name}: Syzygy tables do not support this variant")]),
        };
        let tables = SyzygyTables { variant: name.to_owned(), folders: folders.to_owned(), tables };
        (tables, notes)
    }

    /// Returns `true` if these are the tables of `variant` in `folders`.
    pub(super) fn serves(&self, variant: &Variant, folders: &str) -> bool {
        self.folders == folders && (folders.is_empty() || self.variant == variant.name())
    }

    pub(super) fn tables(&self) -> Option<Arc<dyn SyzygyProbe>> {
        self.tables.clone()
    }
}

/// Opens the tables of the variant `name` in `folders`, if there are any. Also returns messages for the
/// user.
fn find_tables<S>(
    name: &str,
    folders: &str,
    ends_by_mate: bool,
) -> (Option<Arc<dyn SyzygyProbe>>, Vec<String>)
where
    S: shakmaty::Position + FromSetup + Syzygy + Clone + fmt::Debug + Send + Sync + 'static,
{
    let mut tables = Tablebase::<S>::new();
    let mut files = 0;
    let mut notes = Vec::new();
    for path in std::env::split_paths(folders).filter(|path| !path.as_os_str().is_empty()) {
        match add_folder(&mut tables, &path) {
            Ok(found) => {
                files += found.tables;
                notes.extend(found.notes());
            }
            Err(error) => notes.push(format!("cannot read \"{}\": {error}", path.display())),
        }
    }
    if files == 0 {
        notes.push(format!("{name}: no Syzygy tables in \"{folders}\""));
        return (None, notes);
    }
    let pieces = tables.max_pieces();
    notes.push(format!("{name}: found {files} Syzygy tables (up to {pieces} pieces)"));
    (Some(Arc::new(VariantTables { tables, ends_by_mate })), notes)
}

/// The number of damaged tables of a folder that are named to the user.
const NAMED_TABLES: usize = 3;

/// What was found in a folder.
#[derive(Default)]
struct Folder {
    /// The number of tables that can be used.
    tables: usize,
    /// The tables that cannot be used, and why.
    damaged: Vec<(PathBuf, io::Error)>,
}

impl Folder {
    /// Returns messages for the user on the tables that cannot be used.
    fn notes(&self) -> Vec<String> {
        let named = self.damaged.iter().take(NAMED_TABLES);
        let mut notes: Vec<String> = named
            .map(|(path, error)| format!("cannot use table \"{}\": {error}", path.display()))
            .collect();
        if self.damaged.len() > NAMED_TABLES {
            let others = self.damaged.len() - NAMED_TABLES;
            notes.push(format!("cannot use {others} more tables of that folder"));
        }
        notes
    }
}

/// Adds the tables of a folder, except those that cannot be used.
fn add_folder<S>(tables: &mut Tablebase<S>, folder: &Path) -> io::Result<Folder>
where
    S: shakmaty::Position + Syzygy + Clone,
{
    let mut found = Folder::default();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        match tables.add_file(&path) {
            Ok(()) => found.tables += 1,
            // A table of another variant, or another kind of file.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
            Err(error) => found.damaged.push((path, error)),
        }
    }
    found.damaged.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(found)
}

/// The tables of one variant, which threads may share.
pub(super) trait SyzygyProbe: Send + Sync {
    /// Returns the result of a position right after a capture or a pawn move. For other positions, the
    /// tables do not contain whether the win comes in time.
    fn probe(&self, position: &Position) -> Option<ProvenValue>;

    /// Returns the result of every legal move, and which of them to choose from; `None` if not all positions
    /// that may follow are in the tables.
    fn probe_root(&self, position: &Position) -> Option<RootProbe>;
}

/// The results of the moves of a position.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct RootProbe {
    /// The score of the mover after each legal move, under the 50-move rule: 1 for a win, 0 for
    /// a draw (also one by that rule), -1 for a loss.
    pub(super) scores: Vec<(Move, i8)>,
    /// The moves to choose from: all keep the best result, and make progress where the search alone
    /// might not.
    pub(super) best: MoveList,
}

/// The tables of one variant.
struct VariantTables<S: shakmaty::Position + Clone + Syzygy> {
    tables: Tablebase<S>,
    /// Whether games end by mating a bare king. False for antichess and atomic chess.
    ends_by_mate: bool,
}

impl<S> SyzygyProbe for VariantTables<S>
where
    S: shakmaty::Position + FromSetup + Syzygy + Clone + fmt::Debug + Send + Sync,
{
    fn probe(&self, position: &Position) -> Option<ProvenValue> {
        let board = position.board();
        if board.halfmoves > 0 || board.pieces.occupied().count() > self.tables.max_pieces() {
            return None;
        }
        let wdl = log_error(self.tables.probe_wdl_after_zeroing(&as_shakmaty(position)?))?;
        let score = match wdl {
            Wdl::Win => 1,
            Wdl::Loss => -1,
            // Drawn by the 50-move rule.
            Wdl::CursedWin | Wdl::Draw | Wdl::BlessedLoss => 0,
        };
        Some(ProvenValue { score, plies: None })
    }

    fn probe_root(&self, position: &Position) -> Option<RootProbe> {
        // A capture may lead into the tables, but quiet moves would not.
        if position.board().pieces.occupied().count() > self.tables.max_pieces() {
            return None;
        }
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        let ranked = legal.into_iter().map(|m| self.rank_move(position, m));
        let ranked = ranked.collect::<Option<Vec<_>>>()?;
        let scores = ranked.iter().map(|ranked| (ranked.m, ranked.result / 2)).collect();
        Some(RootProbe { scores, best: choose(position, ranked, self.ends_by_mate) })
    }
}

impl<S> VariantTables<S>
where
    S: shakmaty::Position + FromSetup + Syzygy + Clone,
{
    fn rank_move(&self, position: &Position, m: Move) -> Option<RankedMove> {
        let mut next = position.clone();
        next.play_unchecked(m);
        if let Some(outcome) = next.result() {
            let result = 2 * outcome.score(position.turn());
            return Some(RankedMove { m, result, progress: 0, keeps_material: true });
        }
        let (result, progress) = rank(&self.tables, &as_shakmaty(&next)?)?;
        Some(RankedMove { m, result, progress, keeps_material: !can_capture(&next) })
    }
}

/// A legal move and its result in the tables.
#[derive(Clone, Copy, Debug)]
struct RankedMove {
    m: Move,
    /// From a loss (-2) to a win (2). 1 and -1 are wins and losses that the 50-move rule makes draws.
    result: i8,
    /// Greater for wins with a nearer next capture or pawn move, and for losses with a farther one.
    progress: i32,
    /// Whether the opponent cannot capture anything.
    keeps_material: bool,
}

/// From this number of plies without a capture or pawn move on, a won endgame is played by the
/// distance to the next one, among moves that lose no material.
const PLIES_BY_SEARCH: u32 = 20;
/// From this number of plies on, it is played by that distance alone.
const PLIES_KEEPING_MATERIAL: u32 = 60;
/// A win in fewer plies than this, including those already counted, is safe from the 50-move
/// rule: 100, less one for the move itself and one for the rounding of tables.
const SAFE_PLIES: i32 = 98;

/// Returns the moves to choose from.
///
/// The tables' distance (DTZ) is not the distance to mate: the shortest way to a capture may be to
/// lose a piece. It leads straight to mate only if the winner needs all of its pieces.
/// Otherwise every move that wins in time and loses no material may be searched, until there is
/// no progress.
fn choose(position: &Position, mut moves: Vec<RankedMove>, ends_by_mate: bool) -> MoveList {
    let Some(result) = moves.iter().map(|ranked| ranked.result).max() else {
        return MoveList::new();
    };
    moves.retain(|ranked| ranked.result == result);
    let board = position.board();
    if result == 2 {
        let counted = board.halfmoves as i32;
        let in_time = |ranked: &RankedMove| counted.saturating_sub(ranked.progress) < SAFE_PLIES;
        let keeps = |ranked: &RankedMove| in_time(ranked) && ranked.keeps_material;
        if ends_by_mate && board.halfmoves < PLIES_KEEPING_MATERIAL && moves.iter().any(keeps) {
            moves.retain(keeps);
        }
        let searched = ends_by_mate
            && board.halfmoves < PLIES_BY_SEARCH
            && !board.repeated
            && can_spare_a_piece(board.pieces, board.turn);
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

/// Returns `true` if `color` could still mate a bare king without one of its pieces.
fn can_spare_a_piece(board: &Board, color: Color) -> bool {
    let own = board.material_side(color);
    let minors = own.bishop + own.knight;
    let majors = own.rook + own.queen + own.pawn;
    // A major piece or a pawn mates alone, two minor pieces if one is a bishop.
    majors >= 2 || majors == 1 && minors >= 1 || minors >= 3
}

/// Returns `true` if the side to move can capture a piece.
fn can_capture(position: &Position) -> bool {
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    let board = position.board();
    let theirs = board.pieces.by_color(!board.turn);
    legal.iter().any(|&m| matches!(m, Move::Step { to, .. } if theirs.contains(to)))
}

/// Returns the result and the progress of a move to `next`; see [`RankedMove`].
fn rank<S>(tables: &Tablebase<S>, next: &S) -> Option<(i8, i32)>
where
    S: shakmaty::Position + Syzygy + Clone,
{
    let dtz = log_error(tables.probe_dtz(next))?;
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

/// Returns the result of a probe, if there is one. A table that is missing or damaged ends no search; the first
/// damaged one is reported.
fn log_error<T>(result: Result<T, SyzygyError>) -> Option<T> {
    static FIRST: Once = Once::new();
    let error = match result {
        Ok(found) => return Some(found),
        Err(error) => error,
    };
    match error {
        SyzygyError::ProbeFailed { metric, material, .. } => {
            FIRST.call_once(|| log::error!("damaged {metric} table {material}, not used"));
        }
        _ => log::debug!("{error}"),
    }
    None
}

/// Converts a position for the tables; `None` if they do not contain it, as with castling rights.
fn as_shakmaty<S: FromSetup>(position: &Position) -> Option<S> {
    let board = position.board();
    if !board.castling.is_empty() {
        return None;
    }
    let setup = Setup {
        board: board.pieces.clone(),
        turn: board.turn,
        ep_square: board.en_passant,
        halfmoves: board.halfmoves,
        ..Setup::empty()
    };
    S::from_setup(setup, CastlingMode::Standard).ok()
}
