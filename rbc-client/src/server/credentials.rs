//! User and password, which are never shown, logged or written.

use std::env::{self, VarError};
use std::fmt;
use std::fs;

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ureq::http::HeaderValue;

const USER_VARIABLE: &str = "MENAGERIE_RBC_USER";
const PASSWORD_VARIABLE: &str = "MENAGERIE_RBC_PASSWORD";

/// A user and a password.
pub(super) struct Credentials {
    pub(super) user: String,
    password: String,
}

/// Leaves the password out.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

impl Credentials {
    /// Reads the credentials from the file, whose lines are user and password, or from the environment if
    /// there is no file. `user` overrides either.
    ///
    /// # Errors
    /// If one is missing or cannot be sent. No message quotes the password.
    pub(super) fn find(user: Option<&str>, file: Option<&str>) -> anyhow::Result<Credentials> {
        let (known_user, password) = match file {
            Some(path) => read_file(path)?,
            None => (read_variable(USER_VARIABLE)?, read_variable(PASSWORD_VARIABLE)?),
        };
        let user = user.map_or(known_user, str::to_owned);
        if user.is_empty() || password.is_empty() {
            match file {
                Some(path) => {
                    anyhow::bail!("{path}: expected a line with the user and one with the password")
                }
                None => anyhow::bail!(
                    "no credentials, set {USER_VARIABLE} and {PASSWORD_VARIABLE} or use --credentials FILE"
                ),
            }
        }
        let has_control = user.chars().chain(password.chars()).any(char::is_control);
        if user.contains(':') || has_control {
            anyhow::bail!(
                "the user contains a colon, or user or password contain control characters"
            );
        }
        Ok(Credentials { user, password })
    }

    /// Returns the value of the header `Authorization`, marked as sensitive so that no log shows it.
    pub(super) fn header(&self) -> anyhow::Result<HeaderValue> {
        let pair = STANDARD.encode(format!("{}:{}", self.user, self.password));
        let mut header = HeaderValue::from_str(&format!("Basic {pair}"))
            .ok()
            .context("the credentials cannot be sent")?;
        header.set_sensitive(true);
        Ok(header)
    }
}

/// Reads user and password; a missing line is empty.
fn read_file(path: &str) -> anyhow::Result<(String, String)> {
    let text = fs::read_to_string(path).with_context(|| path.to_owned())?;
    let mut lines = text.lines().map(|line| line.trim_end_matches('\r').to_owned());
    let user = lines.next().unwrap_or_default();
    let password = lines.next().unwrap_or_default();
    Ok((user, password))
}

/// Reads an environment variable; a missing one is empty.
fn read_variable(name: &str) -> anyhow::Result<String> {
    match env::var(name) {
        Ok(value) => Ok(value),
        Err(VarError::NotPresent) => Ok(String::new()),
        // The error of the standard library would quote the value.
        Err(VarError::NotUnicode(_)) => anyhow::bail!("{name} is not Unicode"),
    }
}
