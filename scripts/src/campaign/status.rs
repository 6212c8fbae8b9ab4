//! The status of a campaign, running or not, as a table. Files are only read.

use super::datagen::count_lines;
use super::log::last_event;
use super::round::{RoundFolder, SELF_PLAY_PARTS};
use super::settings::{CampaignSettings, VariantPlan};
use super::state::{CampaignState, ContestResult, RoundState, Stage};
use crate::csv_log;
use crate::run::SelfPlayWorker;
use crate::sparse::{SparseConfig, SparseMetrics};
use crate::store::Store;

/// Characters of a progress bar.
const BAR_WIDTH: usize = 10;

const HEAD: [&str; 9] =
    ["variant", "round", "stage", "games", "positions", "CPU h", "top-1", "last match", "promoted"];

/// Returns the status of a campaign.
///
/// # Errors
/// If its state cannot be read.
pub fn status(settings: &CampaignSettings) -> anyhow::Result<String> {
    let state = CampaignState::read(&settings.folder)?;
    let mut total = Totals::default();
    let mut table = vec![HEAD.map(str::to_owned)];
    for plan in &settings.plans {
        let rounds = state.variants.get(plan.name()).map_or(&[][..], |rounds| rounds);
        let row = Totals::of(rounds);
        total.add(&row);
        let (round, stage) = place(settings, plan, &state);
        let current = rounds.iter().rev();
        let top1 =
            current.clone().find_map(|round| round.train.as_ref()).map(|train| train.held_top1);
        let contest = current.clone().find_map(|round| round.contest.as_ref());
        table.push([
            plan.name().to_owned(),
            round,
            stage,
            row.games.to_string(),
            row.positions.to_string(),
            format!("{:.2}", row.cpu_hours),
            top1.map_or_else(String::new, |top1| format!("{:.1} %", 100.0 * top1)),
            contest.map_or_else(String::new, ContestResult::to_string),
            row.promoted.to_string(),
        ]);
    }
    table.push([
        "total".to_owned(),
        String::new(),
        format!("{} of {} rounds done", total.rounds, rounds_wanted(settings)),
        total.games.to_string(),
        total.positions.to_string(),
        format!("{:.2}", total.cpu_hours),
        String::new(),
        String::new(),
        total.promoted.to_string(),
    ]);
    let mut text = aligned(&table);
    let running = if super::is_running(&settings.folder) { "running" } else { "not running" };
    text.push_str(running);
    if let Some(event) = last_event(&settings.folder) {
        text.push_str("; ");
        text.push_str(&event);
    }
    text.push('\n');
    Ok(text)
}

fn rounds_wanted(settings: &CampaignSettings) -> usize {
    settings.plans.iter().map(|plan| plan.rounds).sum()
}

/// Sums over rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Totals {
    rounds: usize,
    games: u64,
    positions: u64,
    cpu_hours: f64,
    promoted: usize,
}

impl Totals {
    fn of(rounds: &[RoundState]) -> Totals {
        Totals {
            rounds: rounds.iter().filter(|round| round.next_stage().is_none()).count(),
            games: rounds.iter().filter_map(|round| round.datagen.as_ref()).map(|d| d.games).sum(),
            // Those of a round hold those of the rounds before it.
            positions: rounds
                .iter()
                .rev()
                .find_map(|round| round.train.as_ref())
                .map_or(0, |train| train.positions),
            // The sum of no numbers is -0.0.
            cpu_hours: rounds.iter().map(RoundState::total_cpu_seconds).fold(0.0, |a, b| a + b)
                / 3600.0,
            promoted: rounds.iter().filter(|round| round.is_promoted()).count(),
        }
    }

    fn add(&mut self, other: &Totals) {
        self.rounds += other.rounds;
        self.games += other.games;
        self.positions += other.positions;
        self.cpu_hours += other.cpu_hours;
        self.promoted += other.promoted;
    }
}

/// Returns the round of a variant and its stage, with a bar that shows how far it is.
fn place(
    settings: &CampaignSettings,
    plan: &VariantPlan,
    state: &CampaignState,
) -> (String, String) {
    let Some((round, stage)) = state.next_stage(plan.name(), plan.rounds) else {
        return (format!("{0}/{0}", plan.rounds), "done".to_owned());
    };
    let folder = RoundFolder::new(&settings.folder, plan.name(), round);
    let share = match stage {
        Stage::Datagen if plan.datagen.is_self_play(round) => {
            share(finished_self_play(&folder), plan.datagen.games)
        }
        Stage::Datagen => share(count_lines(&folder.partial_games()), plan.datagen.games),
        Stage::Train => trained_share(&folder, plan.training(round)),
        // The first line holds the names of the columns.
        Stage::Match => {
            let lines = count_lines(&folder.contest().join("games.csv"));
            share(lines.saturating_sub(1), plan.contest.games)
        }
        Stage::Export | Stage::Promote => 0.0,
    };
    let done = (share * BAR_WIDTH as f64) as usize;
    let bar = format!("[{}{}]", "#".repeat(done), ".".repeat(BAR_WIDTH - done));
    let text = format!("{:8}{bar} {:3.0} %", stage.name(), 100.0 * share);
    (format!("{}/{}", round + 1, plan.rounds), text)
}

fn share(done: u64, all: u64) -> f64 {
    (done as f64 / all.max(1) as f64).min(1.0)
}

/// Returns the finished games of self-play of a round.
fn finished_self_play(folder: &RoundFolder) -> u64 {
    if !folder.path().exists() {
        return 0;
    }
    let store = Store::open(&folder.path().display().to_string());
    let finished = |store| SelfPlayWorker::finished_games(&store, SELF_PLAY_PARTS).ok();
    store.ok().and_then(finished).unwrap_or(0)
}

/// Returns the share of its training, 0 to 1, that a round had done at its last checkpoint.
fn trained_share(folder: &RoundFolder, config: &SparseConfig) -> f64 {
    if !folder.training().exists() {
        return 0.0;
    }
    let store = Store::open(&folder.training().display().to_string());
    let rows = store
        .ok()
        .and_then(|store| csv_log::read_rows::<SparseMetrics>(&store, "metrics.csv").ok());
    let Some(row) = rows.as_ref().and_then(|rows| rows.last()) else { return 0.0 };
    match config.epochs {
        Some(epochs) => (row.epochs / epochs).min(1.0),
        None => share(row.positions, config.positions),
    }
}

/// Writes rows in columns, each as wide as its widest field.
fn aligned<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        let fields = row.iter().zip(widths).map(|(field, width)| format!("{field:width$}"));
        text += fields.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    text
}
