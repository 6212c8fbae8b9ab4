//! Reads `variants.ini`: sections, inheritance, and the games that their keys make.

use std::sync::Arc;

use ini_core::{Item, Parser};

use super::section::{IniError, Keys, Section};
use super::{Variant, axes};
use crate::rules::{Family, LichessGame, Position};

/// Where a game begins that does not say it.
const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

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
    let start_fen = section.take("startFen", text)?.unwrap_or_else(|| START.to_owned());
    let self_play_men = section.take("selfPlayMen", text)?;
    let family = match LichessGame::from_uci(&name) {
        Ok(game) => Family::Lichess(game),
        Err(_) => Family::Chess8(Arc::new(axes::read(&mut section)?)),
    };
    section.finish()?;
    let start = Position::from_fen(&family, &start_fen, false)
        .map_err(|reason| IniError::Start { section: name.clone(), reason })?;
    Ok(Variant { name, family, start_fen, self_play_men, start })
}

fn text(value: &str) -> Result<String, String> {
    Ok(value.to_owned())
}
