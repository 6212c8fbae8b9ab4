//! A section of `variants.ini`: keys that are taken one by one, and what can be wrong with them.

use std::collections::HashMap;

use crate::rules::FenError;

/// Why a section was refused. ConnectN are counted from 1.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum IniError {
    /// Neither a section, nor `key = value`, nor a comment; or a key above all sections.
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
    /// Keys that cannot be honoured together.
    #[error("line {line}: [{section}] {reason}")]
    Together {
        /// Where the section begins.
        line: u32,
        /// The section.
        section: String,
        /// What is wrong.
        reason: String,
    },
    /// A section without a start position of its game.
    #[error("line {line}: [{section}] {reason}")]
    Start {
        /// Where the section begins.
        line: u32,
        /// The section.
        section: String,
        /// What is wrong.
        reason: FenError,
    },
}

/// A key as it stands in a file.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) value: String,
    pub(super) line: u32,
    /// Whether it was said by a parent.
    inherited: bool,
}

/// The keys of a section, those of its parents with them.
#[derive(Clone, Default, Debug)]
pub(super) struct Keys(HashMap<String, Entry>);

impl Keys {
    /// The keys that a child begins with.
    pub(super) fn inherit(&self) -> Keys {
        let mut keys = self.clone();
        keys.0.values_mut().for_each(|entry| entry.inherited = true);
        keys
    }

    /// Says a key, under the name that it has today. It goes before all that a parent said of the
    /// same thing.
    pub(super) fn say(&mut self, key: &str, value: &str, line: u32) {
        let key = RENAMED.iter().find(|(old, _)| *old == key).map_or(key, |(_, new)| new);
        let mut forget = |other: &str| {
            if self.0.get(other).is_some_and(|entry| entry.inherited) {
                self.0.remove(other);
            }
        };
        for color in ["White", "Black"] {
            forget(&format!("{key}{color}"));
            match key {
                "promotionRank" => forget(&format!("promotionRegion{color}")),
                "doubleStepRank" | "doubleStepRankMin" => {
                    forget(&format!("doubleStepRegion{color}"));
                }
                _ => {}
            }
        }
        // A letter stands for one man.
        match key {
            "commoner" if value == "k" => forget("king"),
            "king" if value == "k" => forget("commoner"),
            _ => {}
        }
        let entry = Entry { value: value.to_owned(), line, inherited: false };
        self.0.insert(key.to_owned(), entry);
    }
}

/// Keys that Fairy-Stockfish has given new names, and still reads.
const RENAMED: [(&str, &str); 5] = [
    ("whiteFlag", "flagRegionWhite"),
    ("blackFlag", "flagRegionBlack"),
    ("castlingRookPiece", "castlingRookPieces"),
    ("whiteDropRegion", "dropRegionWhite"),
    ("blackDropRegion", "dropRegionBlack"),
];

/// A section of which keys are taken one by one, so that what nobody took is an error.
pub(super) struct Section<'a> {
    pub(super) name: &'a str,
    /// Where it begins.
    pub(super) line: u32,
    pub(super) keys: Keys,
    /// Whether it has a parent.
    pub(super) is_child: bool,
    /// What is wrong with the keys that were taken.
    pub(super) faults: Vec<IniError>,
}

impl Section<'_> {
    /// Takes a key and reads its value, if the section has it and it can be read; else notes why
    /// not.
    pub(super) fn take<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let Entry { value, line, .. } = self.keys.0.remove(key)?;
        match read(&value) {
            Ok(read) => Some(read),
            Err(reason) => {
                let (section, key) = (self.name.to_owned(), key.to_owned());
                self.faults.push(IniError::Key { line, section, key, value, reason });
                None
            }
        }
    }

    /// Notes what is wrong with keys that are right by themselves.
    pub(super) fn fault(&mut self, reason: &str) {
        let (line, section, reason) = (self.line, self.name.to_owned(), reason.to_owned());
        self.faults.push(IniError::Together { line, section, reason });
    }

    /// The keys that nobody has taken yet.
    pub(super) fn left(&self) -> Vec<String> {
        self.keys.0.keys().cloned().collect()
    }

    /// All that is wrong, by line; keys that nobody took are.
    pub(super) fn finish(mut self) -> Vec<IniError> {
        for key in self.left() {
            self.take(&key, |_| Err::<(), _>("this key is not known here".to_owned()));
        }
        self.faults.sort_by_key(IniError::line);
        self.faults
    }
}

impl IniError {
    /// Where it is.
    pub fn line(&self) -> u32 {
        match self {
            IniError::Syntax { line, .. }
            | IniError::Twice { line, .. }
            | IniError::NoParent { line, .. }
            | IniError::Key { line, .. }
            | IniError::Together { line, .. }
            | IniError::Start { line, .. } => *line,
        }
    }
}
