//! A section of `variants.ini`: keys that are taken one by one, and what can be wrong with them.

use std::collections::HashMap;

use crate::rules::FenError;

/// Why a catalogue was refused. Lines are counted from 1.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum IniError {
    /// Neither a section, nor `key = value`, nor a comment.
    #[error("line {line}: cannot read \"{text}\"")]
    Syntax {
        /// Where.
        line: u32,
        /// The line.
        text: String,
    },
    /// A section that has been there already.
    #[error("line {line}: a second section [{name}]")]
    Twice {
        /// Where.
        line: u32,
        /// The section.
        name: String,
    },
    /// A parent that no section above has.
    #[error("line {line}: [{name}:{parent}], but no section above is called {parent}")]
    NoParent {
        /// Where.
        line: u32,
        /// The section.
        name: String,
        /// The parent it names.
        parent: String,
    },
    /// A key or its value that cannot be honoured.
    #[error("line {line}: [{section}] {key} = {value}: {reason}")]
    Key {
        /// Where.
        line: u32,
        /// The section.
        section: String,
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// What is wrong.
        reason: String,
    },
    /// A section without a start position of its game.
    #[error("[{section}]: {reason}")]
    Start {
        /// The section.
        section: String,
        /// What is wrong.
        reason: FenError,
    },
}

/// The keys of a section and where each stood.
pub(super) type Keys = HashMap<String, (String, u32)>;

/// A section of which keys are taken one by one, so that what nobody took is an error.
pub(super) struct Section<'a> {
    pub(super) name: &'a str,
    pub(super) keys: Keys,
}

impl Section<'_> {
    /// Takes a key and reads its value, if the section has it.
    pub(super) fn take<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, IniError> {
        let Some((value, line)) = self.keys.remove(key) else {
            return Ok(None);
        };
        read(&value).map(Some).map_err(|reason| {
            let (section, key) = (self.name.to_owned(), key.to_owned());
            IniError::Key { line, section, key, value, reason }
        })
    }

    /// Says that nothing is left, or what is: the first by line, so that the error does not depend
    /// on the order of the map.
    pub(super) fn finish(mut self) -> Result<(), IniError> {
        let Some(key) =
            self.keys.iter().min_by_key(|(_, (_, line))| *line).map(|(key, _)| key.clone())
        else {
            return Ok(());
        };
        self.take(&key, |_| Err::<(), _>("this key is not known here".to_owned()))?;
        Ok(())
    }
}
