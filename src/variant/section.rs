//! A section of `variants.ini`: keys that are taken one by one, and the errors found.

use std::collections::HashMap;

use super::values::ValueError;
use crate::rules::FenError;

/// Why a section was rejected. Lines are counted from 1.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum IniError {
    /// The line is not a section, `key = value` or a comment, or it is a key before the first section.
    #[error("line {line}: cannot parse \"{text}\"")]
    Syntax {
        /// The line number.
        line: u32,
        /// The text of the line.
        text: String,
    },
    /// The section has been defined before.
    #[error("line {line}: duplicate section [{name}]")]
    Duplicate {
        /// The line number.
        line: u32,
        /// The name of the section.
        name: String,
    },
    /// The name is that of a shipped variant or one of another file, which children of the section inherit.
    #[error("line {line}: there is a variant [{name}] already, this section is not used")]
    Known {
        /// The line number.
        line: u32,
        /// The name of the section.
        name: String,
    },
    /// There is no section with the name of the parent before this one.
    #[error("line {line}: [{name}:{parent}]: no section {parent} before this line")]
    NoParent {
        /// The line number.
        line: u32,
        /// The name of the section.
        name: String,
        /// The name of the parent.
        parent: String,
    },
    /// The key or its value is invalid or not supported.
    #[error("line {line}: [{section}] {key} = {value}: {error}")]
    Key {
        /// The line number.
        line: u32,
        /// The name of the section.
        section: String,
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// What is wrong with it.
        error: ValueError,
    },
    /// Keys contradict each other.
    #[error("line {line}: [{section}] {reason}")]
    Conflict {
        /// The first line of the section.
        line: u32,
        /// The name of the section.
        section: String,
        /// The contradiction.
        reason: &'static str,
    },
    /// The start position is not a position of the game.
    #[error("line {line}: [{section}] {error}")]
    Start {
        /// The first line of the section.
        line: u32,
        /// The name of the section.
        section: String,
        /// What is wrong with the position.
        error: FenError,
    },
}

/// The value of a key.
#[derive(Clone, Debug)]
struct KeyValue {
    value: String,
    line: u32,
    /// Whether the key is inherited from the parent.
    inherited: bool,
}

/// The keys of a section, including those of its parents.
#[derive(Clone, Default, Debug)]
pub(super) struct Keys(HashMap<String, KeyValue>);

impl Keys {
    /// Returns the keys that a child inherits.
    pub(super) fn inherit(&self) -> Keys {
        let mut keys = self.clone();
        for key_value in keys.0.values_mut() {
            key_value.inherited = true;
        }
        keys
    }

    /// Sets a key, under its current name. It overrides all inherited keys of the same rule.
    pub(super) fn set(&mut self, key: &str, value: &str, line: u32) {
        let key = RENAMED.iter().find(|(old, _)| *old == key).map_or(key, |(_, new)| new);
        for color in ["White", "Black"] {
            self.remove_inherited(&format!("{key}{color}"));
            match key {
                "promotionRank" => self.remove_inherited(&format!("promotionRegion{color}")),
                "doubleStepRank" | "doubleStepRankMin" => {
                    self.remove_inherited(&format!("doubleStepRegion{color}"));
                }
                _ => {}
            }
        }
        // A letter is that of one piece.
        match key {
            "commoner" if value == "k" => self.remove_inherited("king"),
            "king" if value == "k" => self.remove_inherited("commoner"),
            _ => {}
        }
        let key_value = KeyValue { value: value.to_owned(), line, inherited: false };
        self.0.insert(key.to_owned(), key_value);
    }

    /// Returns `true` if the section has a key from its parent.
    pub(super) fn is_inherited(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(|key_value| key_value.inherited)
    }

    fn remove_inherited(&mut self, key: &str) {
        if self.is_inherited(key) {
            self.0.remove(key);
        }
    }
}

/// Keys that Fairy-Stockfish has renamed and still accepts.
const RENAMED: [(&str, &str); 5] = [
    ("whiteFlag", "flagRegionWhite"),
    ("blackFlag", "flagRegionBlack"),
    ("castlingRookPiece", "castlingRookPieces"),
    ("whiteDropRegion", "dropRegionWhite"),
    ("blackDropRegion", "dropRegionBlack"),
];

/// A section whose keys are taken one by one. Keys that remain are errors.
pub(super) struct Section<'a> {
    pub(super) name: &'a str,
    /// Its first line.
    pub(super) line: u32,
    pub(super) keys: Keys,
    /// Whether it has a parent.
    pub(super) is_child: bool,
    /// The errors found.
    pub(super) errors: Vec<IniError>,
}

impl Section<'_> {
    /// Takes a key and parses its value. Returns `None` if the section does not have the key, or if the
    /// value is invalid, which adds an error.
    pub(super) fn take<T>(
        &mut self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, ValueError>,
    ) -> Option<T> {
        let KeyValue { value, line, .. } = self.keys.0.remove(key)?;
        match parse(&value) {
            Ok(parsed) => Some(parsed),
            Err(error) => {
                let section = self.name.to_owned();
                let key = key.to_owned();
                self.errors.push(IniError::Key { line, section, key, value, error });
                None
            }
        }
    }

    /// Adds an error of keys that contradict each other.
    pub(super) fn add_conflict(&mut self, reason: &'static str) {
        let section = self.name.to_owned();
        self.errors.push(IniError::Conflict { line: self.line, section, reason });
    }

    /// Returns the keys that have not been taken.
    pub(super) fn remaining(&self) -> Vec<String> {
        self.keys.0.keys().cloned().collect()
    }

    /// Returns all errors, by line. Keys that have not been taken are unknown.
    pub(super) fn finish(mut self) -> Vec<IniError> {
        for key in self.remaining() {
            self.take(&key, |_| Err::<(), _>(ValueError::UnknownKey));
        }
        self.errors.sort_by_key(IniError::line);
        self.errors
    }
}

impl IniError {
    /// Returns the line number of the error.
    pub fn line(&self) -> u32 {
        match self {
            IniError::Syntax { line, .. }
            | IniError::Duplicate { line, .. }
            | IniError::Known { line, .. }
            | IniError::NoParent { line, .. }
            | IniError::Key { line, .. }
            | IniError::Conflict { line, .. }
            | IniError::Start { line, .. } => *line,
        }
    }
}
