//! Syzygy tables of endings: which of them a game has, and what they know of a position.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use shakmaty::variant::{Antichess, Atomic};
use shakmaty::{CastlingMode, Chess, FromSetup, Setup};
use shakmaty_syzygy::{AmbiguousWdl, Syzygy, SyzygyError, Tablebase, Wdl};

use crate::rules::{Known, MoveList, Position};
use crate::variant::Variant;

/// What was found of a game's tables in the folders of `SyzygyPath`.
#[derive(Default)]
pub(super) struct Endings {
    variant: String,
    folders: String,
    tables: Option<Arc<dyn Probe>>,
}

impl fmt::Debug for Endings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endings").field("folders", &self.folders).finish_non_exhaustive()
    }
}

impl Endings {
    /// Looks for the tables of `variant` in `folders`, a list as the environment's `PATH` is
    /// written; and what there is to know about it, a line each.
    pub(super) fn new(variant: &Variant, folders: &str) -> (Endings, Vec<String>) {
        let name = variant.name();
        let mut endings =
            Endings { variant: name.to_owned(), folders: folders.to_owned(), tables: None };
        if folders.is_empty() {
            return (endings, Vec::new());
        }
        let (tables, notes) = match name {
            "chess" => found::<Chess>(name, folders),
            "atomic" => found::<Atomic>(name, folders),
            "antichess" => found::<Antichess>(name, folders),
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
fn found<S>(name: &str, folders: &str) -> (Option<Arc<dyn Probe>>, Vec<String>)
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
    (Some(Arc::new(tables)), notes)
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
    /// What they know for certain of a position right after a capture or the move of a pawn; of others
    /// they do not know whether the win comes in time.
    fn known(&self, position: &Position) -> Option<Known>;

    /// The moves that keep the best result there is and come nearer to it, counters considered;
    /// `None` if that is all of them, or not all that follows is in the tables.
    fn best(&self, position: &Position) -> Option<MoveList>;
}

impl<S> Probe for Tablebase<S>
where
    S: shakmaty::Position + FromSetup + Syzygy + Clone + fmt::Debug + Send + Sync,
{
    fn known(&self, position: &Position) -> Option<Known> {
        let view = position.view();
        if view.halfmoves > 0 || view.board.occupied().count() > self.max_pieces() {
            return None;
        }
        let wdl = heard(self.probe_wdl_after_zeroing(&as_shakmaty(position)?))?;
        let score = match wdl {
            Wdl::Win => 1,
            Wdl::Loss => -1,
            // The fifty moves come first.
            Wdl::CursedWin | Wdl::Draw | Wdl::BlessedLoss => 0,
        };
        Some(Known { score, plies: None })
    }

    fn best(&self, position: &Position) -> Option<MoveList> {
        // A capture may lead into the tables, but of quiet moves they would know nothing.
        if position.view().board.occupied().count() > self.max_pieces() {
            return None;
        }
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        let mut ranked = Vec::with_capacity(legal.len());
        for m in legal {
            let mut next = position.clone();
            next.play_unchecked(m);
            let rank = match next.result() {
                Some(outcome) => (2 * outcome.score(position.turn()), 0),
                None => rank(self, &as_shakmaty(&next)?)?,
            };
            ranked.push((rank, m));
        }
        let best = ranked.iter().map(|&(rank, _)| rank).max()?;
        if ranked.iter().all(|&(rank, _)| rank == best) {
            return None;
        }
        Some(ranked.into_iter().filter(|&(rank, _)| rank == best).map(|(_, m)| m).collect())
    }
}

/// How good it is to have moved to `next`: what follows with the counter as it is, from a loss (-2)
/// to a win (2) with what the counter spoils between them and a draw; then, among wins, how near the
/// next capture or pawn move of the winner is.
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
        AmbiguousWdl::MaybeWin | AmbiguousWdl::Win => (-2, 0),
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
