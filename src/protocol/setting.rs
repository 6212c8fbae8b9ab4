//! Setting an option, in whatever handler it was asked for.

use super::output::Output;
use crate::engine::Session;

/// Sets an option of the session; the log follows. Returns what there is to know about it.
///
/// # Errors
/// In words, if the option was not set.
pub(super) fn set(
    session: &mut Session,
    output: &Output,
    name: &str,
    value: &str,
) -> Result<Vec<String>, String> {
    let log = session.log_file();
    let notes = session.set_option(name, value).map_err(|error| error.to_string())?;
    if session.log_file() != log
        && let Err(error) = output.keep(session.log_file().as_deref())
    {
        return Err(format!("cannot write to \"{value}\": {error}"));
    }
    Ok(notes)
}
