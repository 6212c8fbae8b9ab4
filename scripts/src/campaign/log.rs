//! The log of a campaign: `campaign.log`, a dated line for each event.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::SystemTime;

const LOG: &str = "campaign.log";

/// An open log. Lines also go to standard error.
#[derive(Debug)]
pub struct CampaignLog {
    file: File,
}

impl CampaignLog {
    /// Opens the log in a folder, to add to it.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(folder: &Path) -> anyhow::Result<CampaignLog> {
        let path = folder.join(LOG);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
        Ok(CampaignLog { file })
    }

    /// Adds a line.
    pub fn add(&self, event: &str) {
        let event = event.replace(|letter: char| letter.is_control(), " ");
        let line = format!("{} {event}\n", now());
        // In one call, so that lines of a kill and of the next start do not mix. A log that cannot be
        // written, on a full disk, does not end the campaign: results that cannot be written do.
        let _ = (&self.file).write_all(line.as_bytes());
        eprint!("{line}");
    }
}

/// Returns the last whole line of the log in a folder, if there is one.
pub fn last_event(folder: &Path) -> Option<String> {
    let text = fs::read(folder.join(LOG)).ok()?;
    let text = String::from_utf8_lossy(&text);
    let (whole, _) = text.rsplit_once('\n')?;
    whole.lines().next_back().map(str::to_owned)
}

/// Returns the time as RFC 3339 writes it.
pub fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}
