//! Reads `variants.ini`: sections, inheritance, and the keys that make up a game.

use std::collections::HashMap;
use std::sync::Arc;

use ini_core::{Item, Parser};

use super::Variant;
use crate::rules::{Axes, Bitboard, ByColor, Family, FenError, LichessGame, Position, Role};

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
type Keys = HashMap<String, (String, u32)>;

pub(super) fn parse(text: &str) -> Result<Vec<Variant>, IniError> {
    let mut sections: Vec<(String, Keys)> = Vec::new();
    let mut parser = Parser::new(text).comment_char(b'#').auto_trim(true);
    while let Some(item) = parser.next() {
        let line = parser.line();
        match item {
            Item::Section(header) => {
                let (name, parent) = header.split_once(':').unwrap_or((header, ""));
                let (name, parent) = (name.trim().to_owned(), parent.trim().to_owned());
                if sections.iter().any(|(other, _)| *other == name) {
                    return Err(IniError::Twice { line, name });
                }
                let inherited = sections.iter().find(|(other, _)| *other == parent);
                let keys = match inherited {
                    Some((_, keys)) => keys.clone(),
                    None if parent.is_empty() => Keys::new(),
                    None => return Err(IniError::NoParent { line, name, parent }),
                };
                sections.push((name, keys));
            }
            // Fairy-Stockfish knows two signs for comments, the parser one.
            Item::Property(key, _) if key.starts_with(';') => {}
            Item::Property(key, value) => {
                let text = format!("{key} = {}", value.unwrap_or_default());
                let (Some((_, keys)), Some(value)) = (sections.last_mut(), value) else {
                    return Err(IniError::Syntax { line, text });
                };
                keys.insert(key.to_owned(), (value.to_owned(), line));
            }
            Item::Error(text) => {
                return Err(IniError::Syntax { line, text: text.to_owned() });
            }
            Item::Comment(_) | Item::Blank | Item::SectionEnd => {}
        }
    }
    sections.into_iter().map(|(name, keys)| variant(name, keys)).collect()
}

fn variant(name: String, keys: Keys) -> Result<Variant, IniError> {
    let mut section = Section { name: &name, keys };
    let start_fen = section.take("startFen", str_value)?.unwrap_or_default();
    let self_play_men = section.take("selfPlayMen", str_value)?;
    let family = match LichessGame::from_uci(&name) {
        Ok(game) => Family::Lichess(game),
        Err(_) => Family::Chess8(Arc::new(section.axes()?)),
    };
    section.finish()?;
    let start = Position::from_fen(&family, &start_fen, false)
        .map_err(|reason| IniError::Start { section: name.clone(), reason })?;
    Ok(Variant { name, family, start_fen, self_play_men, start })
}

/// A section of which keys are taken one by one, so that what nobody took is an error.
struct Section<'a> {
    name: &'a str,
    keys: Keys,
}

impl Section<'_> {
    fn take<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, IniError> {
        let Some((value, line)) = self.keys.remove(key) else {
            return Ok(None);
        };
        read(&value).map(Some).map_err(|reason| self.error(key, value, line, reason))
    }

    fn error(&self, key: &str, value: String, line: u32, reason: String) -> IniError {
        let (section, key) = (self.name.to_owned(), key.to_owned());
        IniError::Key { line, section, key, value, reason }
    }

    fn axes(&mut self) -> Result<Axes, IniError> {
        let files = self.take("maxFile", size)?.unwrap_or(8);
        let ranks = self.take("maxRank", size)?.unwrap_or(8);
        let mut roles = Role::ALL.to_vec();
        for role in Role::ALL {
            if self.take(role_name(role), absent)?.is_some() {
                roles.retain(|man| *man != role);
            }
        }
        for key in ["castling", "doubleStep"] {
            // Without the key the game would have such moves, which this family has not yet.
            let value =
                self.take(
                    key,
                    |value| {
                        if value == "false" { Ok(()) } else { Err(ONLY_FALSE.into()) }
                    },
                )?;
            if value.is_none() {
                return Err(self.error(key, String::new(), 0, ONLY_FALSE.into()));
            }
        }
        let mut promotions =
            self.take("promotionPieceTypes", men)?.unwrap_or_else(orthodox_promotions);
        promotions.retain(|role| roles.contains(role));
        let white = self.take("promotionRegionWhite", region)?.unwrap_or(Bitboard::EMPTY);
        let black = self.take("promotionRegionBlack", region)?.unwrap_or(Bitboard::EMPTY);
        if !roles.contains(&Role::Pawn) {
            promotions.clear();
        }
        let promotion_area = ByColor { white, black };
        Ok(Axes { files, ranks, roles, promotions, promotion_area })
    }

    fn finish(mut self) -> Result<(), IniError> {
        // The first by line, so that the error does not depend on the order of the map.
        let Some(key) =
            self.keys.iter().min_by_key(|(_, (_, line))| *line).map(|(key, _)| key.clone())
        else {
            return Ok(());
        };
        self.take(&key, |_| Err::<(), _>("this key is not known here".to_owned()))?;
        Ok(())
    }
}

const ONLY_FALSE: &str = "only false is known on boards of this family";

fn orthodox_promotions() -> Vec<Role> {
    vec![Role::Queen, Role::Rook, Role::Bishop, Role::Knight]
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Pawn => "pawn",
        Role::Knight => "knight",
        Role::Bishop => "bishop",
        Role::Rook => "rook",
        Role::Queen => "queen",
        Role::King => "king",
    }
}

fn str_value(value: &str) -> Result<String, String> {
    Ok(value.to_owned())
}

fn size(value: &str) -> Result<usize, String> {
    value.parse().ok().filter(|size| (1..=8).contains(size)).ok_or_else(|| "not from 1 to 8".into())
}

fn absent(value: &str) -> Result<(), String> {
    if value == "-" { Ok(()) } else { Err("only \"-\" is known".into()) }
}

fn men(value: &str) -> Result<Vec<Role>, String> {
    let role = |letter| Role::from_char(letter).ok_or_else(|| format!("'{letter}' is no man"));
    value.chars().filter(|letter| *letter != ' ').map(role).collect()
}

fn region(value: &str) -> Result<Bitboard, String> {
    let rank = value.strip_prefix('*').and_then(|rank| rank.parse::<u32>().ok());
    match rank {
        Some(rank @ 1..=8) => Ok(Bitboard::from_rank(shakmaty::Rank::new(rank - 1))),
        _ => Err("only whole ranks are known, as \"*3\"".into()),
    }
}
