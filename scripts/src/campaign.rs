//! Campaigns: networks of many variants, trained unattended.
//!
//! A round of a variant has five stages: games are played, a network learns from all games so far, it is
//! exported, it plays a match against the shipped network, and it takes the place of that if it wins. The
//! variants take turns, a round each. A campaign can be killed at any moment: a stage is done when
//! `state.toml` has it, which is written after its result; a stage that is not done is done again, and goes
//! on with what it has in its folder.
//!
//! - [`settings`]: the settings file.
//! - [`state`]: what has been done.
//! - [`round`]: files of a round; `datagen`, `training`, `contest`, `promotion`: its stages, `shipped`: the
//!   network to beat.
//! - [`status`]: what has been done, as a table.
//! - [`log`], [`cpu_time`], [`priority`]: what it has in common with any long job.

pub mod cpu_time;
pub mod log;
pub mod priority;
pub mod round;
pub mod settings;
pub mod state;
pub mod status;

mod contest;
mod datagen;
mod promotion;
mod shipped;
mod training;

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use cpu_time::CpuMeter;
use log::CampaignLog;
use round::RoundContext;
use settings::{CampaignSettings, VariantPlan};
use state::{Ledger, Stage, StageResult};

/// The file whose lock a running campaign holds.
const LOCK: &str = "campaign.lock";

/// How often a lock is tried: a look at the status holds it for a moment.
const LOCK_TRIES: u32 = 20;

/// Time between two tries.
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// How a campaign ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CampaignEnd {
    /// All rounds of all variants are done.
    Finished,
    /// It was stopped.
    Stopped,
    /// This number of variants failed, with the reasons in the log; the others are done.
    Failed(usize),
}

/// A campaign that has been opened; no other process runs it meanwhile.
#[derive(Debug)]
pub struct Campaign {
    settings: CampaignSettings,
    ledger: Ledger,
    log: CampaignLog,
    _lock: File,
}

impl Campaign {
    /// Opens a campaign in its folder, to begin it or to go on.
    ///
    /// # Errors
    /// If it runs already, or a file cannot be read.
    pub fn open(settings: CampaignSettings) -> anyhow::Result<Campaign> {
        let folder = &settings.folder;
        let named = |error| anyhow::anyhow!("{}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(named)?;
        let lock = lock(folder)?;
        let ledger = Ledger::open(folder)?;
        let log = CampaignLog::open(folder)?;
        Ok(Campaign { settings, ledger, log, _lock: lock })
    }

    /// Returns the log.
    pub fn log(&self) -> &CampaignLog {
        &self.log
    }

    /// Does all rounds of all variants, until `stop` is set. A variant that fails is tried again when the
    /// others are done, and ends the campaign if it fails again and nothing else was done meanwhile.
    ///
    /// # Errors
    /// If the state cannot be written.
    pub fn run(&self, stop: &AtomicBool) -> anyhow::Result<CampaignEnd> {
        let plans = &self.settings.plans;
        let threads = self.settings.threads;
        self.log.add(&format!("campaign of {} variants, {threads} threads", plans.len()));
        let mut failed = BTreeSet::new();
        let mut rounds_done = 0;
        loop {
            let Some((plan, round)) = self.next_round(&failed) else {
                if failed.is_empty() {
                    self.log.add("finished");
                    return Ok(CampaignEnd::Finished);
                }
                if rounds_done == 0 {
                    self.log.add(&format!("ended, variants that failed: {}", failed.len()));
                    return Ok(CampaignEnd::Failed(failed.len()));
                }
                failed.clear();
                rounds_done = 0;
                continue;
            };
            match self.run_round(plan, round, stop) {
                Ok(()) if stop.load(Ordering::Relaxed) => {
                    self.log.add("stopped");
                    return Ok(CampaignEnd::Stopped);
                }
                Ok(()) => rounds_done += 1,
                Err(error) => {
                    self.log.add(&error.to_string());
                    failed.insert(plan.name());
                }
            }
        }
    }

    /// Returns the first variant of those in the earliest round that is not done, but for those that failed,
    /// and that round, counted from 0.
    fn next_round(&self, failed: &BTreeSet<&str>) -> Option<(&VariantPlan, usize)> {
        let state = self.ledger.state();
        let plans = self.settings.plans.iter().filter(|plan| !failed.contains(plan.name()));
        let rounds =
            plans.filter_map(|plan| Some((plan, state.next_stage(plan.name(), plan.rounds)?.0)));
        rounds.min_by_key(|(_, round)| *round)
    }

    /// Does the stages of a round that are not done, until `stop` is set.
    fn run_round(&self, plan: &VariantPlan, round: usize, stop: &AtomicBool) -> anyhow::Result<()> {
        loop {
            let state = self.ledger.state().round(plan.name(), round).cloned().unwrap_or_default();
            let Some(stage) = state.next_stage() else { return Ok(()) };
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let place = format!("{} round {}: {}", plan.name(), round + 1, stage.name());
            if state.cpu_seconds.contains_key(&stage) {
                self.log.add(&format!("{place} goes on"));
            } else {
                self.log.add(&format!("{place} begins"));
            }
            let before = state.cpu_seconds.get(&stage).copied().unwrap_or_default();
            match self.run_stage(plan, round, stage, before, stop) {
                Ok(Some(result)) => self.log.add(&format!("{place} done: {result}")),
                Ok(None) => return Ok(()),
                // Whatever a signal broke is not a failure.
                Err(_) if stop.load(Ordering::Relaxed) => return Ok(()),
                Err(error) => anyhow::bail!("{place} failed: {error}"),
            }
        }
    }

    /// Does a stage and writes its result, which is returned; `None` if it was stopped.
    fn run_stage(
        &self,
        plan: &VariantPlan,
        round: usize,
        stage: Stage,
        before: f64,
        stop: &AtomicBool,
    ) -> anyhow::Result<Option<StageResult>> {
        let spend = |seconds: f64, result: Option<StageResult>| {
            self.ledger.change(plan.name(), round, |state| {
                state.cpu_seconds.insert(stage, seconds);
                if let Some(result) = result {
                    result.put_into(state);
                }
            })
        };
        spend(before, None)?;
        let meter = CpuMeter::start(before);
        let tick = || {
            if let Some(seconds) = meter.due() {
                // If it cannot be written, neither can the result, which is an error.
                let _ = spend(seconds, None);
            }
        };
        let context = RoundContext { settings: &self.settings, plan, round, stop, tick: &tick };
        let result = self.stage_result(&context, stage);
        let kept = result.as_ref().ok().cloned().flatten();
        spend(meter.cpu_seconds(), kept)?;
        result
    }

    fn stage_result(
        &self,
        context: &RoundContext<'_>,
        stage: Stage,
    ) -> anyhow::Result<Option<StageResult>> {
        Ok(match stage {
            Stage::Datagen => datagen::play_games(context)?.map(StageResult::Datagen),
            Stage::Train => training::train(context, &self.ledger.state())?.map(StageResult::Train),
            Stage::Export => {
                Some(StageResult::Export(training::export(context, &self.ledger.state())?))
            }
            Stage::Match => contest::play_match(context)?.map(StageResult::Match),
            Stage::Promote => {
                let state = self.ledger.state();
                Some(StageResult::Promote(promotion::promote(context, &state)?))
            }
        })
    }
}

/// Locks the folder of a campaign.
fn lock(folder: &Path) -> anyhow::Result<File> {
    let path = folder.join(LOCK);
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => thread::sleep(LOCK_PAUSE),
            // Where there are no locks, none is held.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(file),
        }
    }
    anyhow::bail!("{}: the campaign runs already", path.display())
}

/// Returns whether a process runs the campaign in a folder.
fn is_running(folder: &Path) -> bool {
    let file = File::open(folder.join(LOCK));
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}
