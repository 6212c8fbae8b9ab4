//! Who plays: a name and a password, which are never said, logged or written down.

use std::env::{self, VarError};
use std::fmt;
use std::fs;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ureq::http::HeaderValue;

/// The environment variable with the name.
const USER: &str = "MENAGERIE_RBC_USER";
/// The environment variable with the password.
const PASSWORD: &str = "MENAGERIE_RBC_PASSWORD";

/// A name and a password.
pub(super) struct Credentials {
    /// The name, which anybody may know.
    pub(super) user: String,
    password: String,
}

/// Without the password.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

impl Credentials {
    /// Those of a file, whose lines are the name and the password, or of the environment if there is
    /// no file; a name that is given goes before either.
    ///
    /// # Errors
    /// In words that quote no password: what is missing, or cannot be sent.
    pub(super) fn find(user: Option<&str>, file: Option<&str>) -> Result<Credentials, String> {
        let (known, password) = match file {
            Some(path) => {
                let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
                let mut lines = text.lines().map(|line| line.trim_end_matches('\r').to_owned());
                (lines.next(), lines.next())
            }
            None => (variable(USER)?, variable(PASSWORD)?),
        };
        let given = |text: &String| !text.is_empty();
        let user = user.map(str::to_owned).or(known).filter(given);
        let (Some(user), Some(password)) = (user, password.filter(given)) else {
            return Err(match file {
                Some(path) => format!("{path}: a line with the user and one with the password"),
                None => format!("{USER} and {PASSWORD}, or --credentials FILE: who plays?"),
            });
        };
        if user.contains(':') || user.chars().chain(password.chars()).any(char::is_control) {
            return Err("a user has no colon, and neither it nor a password has controls".into());
        }
        Ok(Credentials { user, password })
    }

    /// The header by which a request says who asks; logs do not show it.
    ///
    /// # Errors
    /// If there can be no such header.
    pub(super) fn header(&self) -> Result<HeaderValue, String> {
        let pair = STANDARD.encode(format!("{}:{}", self.user, self.password));
        let header = HeaderValue::from_str(&format!("Basic {pair}"));
        let mut header = header.map_err(|_| "these credentials cannot be sent".to_owned())?;
        header.set_sensitive(true);
        Ok(header)
    }
}

fn variable(name: &str) -> Result<Option<String>, String> {
    match env::var(name) {
        Ok(value) => Ok(Some(value)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(format!("{name} is no text")),
    }
}
