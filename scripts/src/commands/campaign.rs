//! `trainer campaign FILE.toml`

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use trainer::campaign::priority::lower_priority;
use trainer::campaign::settings::CampaignSettings;
use trainer::campaign::status::status;
use trainer::campaign::{Campaign, CampaignEnd};

/// Trains networks of many variants, unattended and at low priority. The same command continues a campaign that
/// was stopped.
#[derive(Debug, Args)]
pub(crate) struct CampaignArguments {
    /// The settings of the campaign.
    file: PathBuf,
    /// Prints the state of the campaign and does nothing else. A running campaign is not disturbed.
    #[arg(long)]
    status: bool,
}

/// Time limit of a stage to stop after a signal. Work that it has not written then is done again.
const GRACE: Duration = Duration::from_secs(10);

/// Exit code of a process that a signal ended.
const STOPPED: u8 = 130;

pub(crate) fn run(arguments: CampaignArguments) -> anyhow::Result<ExitCode> {
    let settings = CampaignSettings::read(&arguments.file)?;
    if arguments.status {
        print!("{}", status(&settings)?);
        return Ok(ExitCode::SUCCESS);
    }
    let failures = lower_priority(settings.nice);
    rayon::ThreadPoolBuilder::new().num_threads(settings.threads).build_global()?;
    let campaign = Campaign::open(settings)?;
    for failure in &failures {
        campaign.log().add(failure);
    }
    let stop = stop_flag()?;
    Ok(match campaign.run(&stop)? {
        CampaignEnd::Finished => ExitCode::SUCCESS,
        CampaignEnd::Stopped => ExitCode::from(STOPPED),
        CampaignEnd::Failed(_) => ExitCode::FAILURE,
    })
}

/// Returns a flag that SIGINT and SIGTERM set. A second signal ends the process at once, and so does the end
/// of [`GRACE`]; engines end when their input does.
fn stop_flag() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, STOPPED.into(), Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    let watched = Arc::clone(&stop);
    std::thread::spawn(move || {
        while !watched.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(100));
        }
        std::thread::sleep(GRACE);
        std::process::exit(STOPPED.into());
    });
    Ok(stop)
}
