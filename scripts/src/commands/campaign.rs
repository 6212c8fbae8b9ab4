//! `trainer campaign FILE.toml`

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use trainer::campaign::priority::lower_priority;
use trainer::campaign::settings::CampaignSettings;
use trainer::campaign::status::status;
use trainer::campaign::{Campaign, CampaignEnd};

use super::stop::{STOPPED, stop_flag};
use trainer::print_line;

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

pub(crate) fn run(arguments: CampaignArguments) -> anyhow::Result<ExitCode> {
    let settings = CampaignSettings::read(&arguments.file)?;
    if arguments.status {
        print_line!("{}", status(&settings)?.trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let failures = lower_priority(settings.nice);
    rayon::ThreadPoolBuilder::new().num_threads(settings.threads).build_global()?;
    let campaign = Campaign::open(settings)?;
    for failure in &failures {
        campaign.log().add(failure);
    }
    let stop = stop_flag(GRACE)?;
    Ok(match campaign.run(&stop)? {
        CampaignEnd::Finished => ExitCode::SUCCESS,
        CampaignEnd::Stopped => ExitCode::from(STOPPED),
        CampaignEnd::Failed(_) => ExitCode::FAILURE,
    })
}
