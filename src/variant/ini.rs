//! Reads `variants.ini`: sections, inheritance, and the games that their keys make.

use std::sync::Arc;

use ini_core::{Item, Parser};

use super::section::{IniError, Keys, Section};
use super::values::{Kind, family, flag, number, text};
use super::{Look, Variant, connect_n, tables, unplayed, variant_rules};
use crate::rules::{Family, Position};

/// Where a game begins that does not say it.
const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

/// A section with all its keys, before they are understood: what a child inherits.
#[derive(Clone, Debug)]
pub(super) struct Raw {
    pub(super) name: String,
    line: u32,
    is_child: bool,
    keys: Keys,
}

/// Reads sections, which may have those of `above` for parents. Returns all of them with the game
/// that each makes, if its keys can be honoured, and all that is wrong, by line.
pub(super) fn parse(text: &str, above: &[Raw]) -> (Vec<(Raw, Option<Variant>)>, Vec<IniError>) {
    let (mut sections, mut faults) = (Vec::<Raw>::new(), Vec::new());
    // Whether what follows belongs to a section: else to a header that was refused.
    let mut open = false;
    let mut refused = false;
    // Editors on Windows put a byte order mark before the first section.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // The parser does not count a last line without an end.
    let text = format!("{text}\n");
    let mut parser = Parser::new(&text).comment_char(b'#').auto_trim(true);
    while let Some(item) = parser.next() {
        let line = parser.line();
        let header = match item {
            Item::Section(header) => Some(header),
            Item::Error(text) => header(text),
            _ => None,
        };
        if let Some(header) = header {
            let made = begin(header, line, above, &sections);
            open = made.is_ok();
            refused = !open;
            match made {
                Ok(raw) => sections.push(raw),
                Err(fault) => faults.push(fault),
            }
            continue;
        }
        match item {
            // Fairy-Stockfish knows two signs for comments, the parser one.
            Item::Property(key, _) if key.starts_with(';') => {}
            Item::Property(_, _) if refused => {}
            Item::Property(key, value) => match (sections.last_mut().filter(|_| open), value) {
                (Some(section), Some(value)) => section.keys.say(key, value, line),
                _ => {
                    let text = value.map_or(key.to_owned(), |value| format!("{key} = {value}"));
                    faults.push(IniError::Syntax { line, text });
                }
            },
            Item::Error(text) => {
                faults.push(IniError::Syntax { line, text: text.to_owned() });
                // What follows a header that cannot be read is not of the section before it.
                refused |= text.starts_with('[');
                open &= !refused;
            }
            Item::Section(_) | Item::Comment(_) | Item::Blank | Item::SectionEnd => {}
        }
    }
    let games = sections.into_iter().map(|raw| {
        let game = variant(&raw).map_err(|mut wrong| faults.append(&mut wrong)).ok();
        (raw, game)
    });
    let games = games.collect();
    faults.sort_by_key(IniError::line);
    (games, faults)
}

/// The header of a line that has a comment, or blanks, behind it: the parser takes it for none.
fn header(line: &str) -> Option<&str> {
    let (header, rest) = line.strip_prefix('[')?.split_once(']')?;
    let rest = rest.trim_start();
    (rest.is_empty() || rest.starts_with(['#', ';'])).then_some(header)
}

/// Begins the section that a header names.
fn begin(header: &str, line: u32, above: &[Raw], sections: &[Raw]) -> Result<Raw, IniError> {
    let (name, parent) = header.split_once(':').unwrap_or((header, ""));
    let (name, parent) = (name.trim().to_owned(), parent.trim().to_owned());
    let known = |wanted: &str| above.iter().chain(sections).find(|raw| raw.name == wanted);
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err(IniError::Syntax { line, text: format!("[{header}]") });
    }
    if known(&name).is_some() {
        return Err(IniError::Twice { line, name });
    }
    match known(&parent) {
        Some(raw) => Ok(Raw { name, line, is_child: true, keys: raw.keys.inherit() }),
        None if parent.is_empty() => Ok(Raw { name, line, is_child: false, keys: Keys::default() }),
        None => Err(IniError::NoParent { line, name, parent }),
    }
}

/// The game that a section makes, or all that is wrong with it.
fn variant(raw: &Raw) -> Result<Variant, Vec<IniError>> {
    let Raw { name, line, is_child, keys } = raw.clone();
    let (faults, keys) = (Vec::new(), keys);
    let mut section = Section { name: &name, line, keys, is_child, faults };
    let kind = section.take("family", family).unwrap_or(Kind::Chess);
    let start_fen = section.take("startFen", text);
    let self_play_men = section.take("selfPlayMen", text);
    let network = section.take("network", text);
    let chess960 = section.take("chess960", flag).unwrap_or(false);
    let look = Look {
        template: section.take("variantTemplate", text).unwrap_or_else(|| "fairy".to_owned()),
        table: section.take("pieceToCharTable", text).unwrap_or_else(|| "-".to_owned()),
        pocket: section.take("pocketSize", number).unwrap_or(0),
    };
    let (family, start_fen) = if kind == Kind::ConnectN {
        let lines = connect_n::read(&mut section);
        let start_fen = start_fen.unwrap_or_else(|| lines.start());
        (Family::ConnectN(Arc::new(lines)), start_fen)
    } else {
        let start_fen = start_fen.unwrap_or_else(|| START.to_owned());
        let variant_rules = Arc::new(variant_rules::read(&mut section, &start_fen));
        unplayed::take(&mut section);
        match kind {
            Kind::Tables => {
                let both = format!("{start_fen}|{start_fen}");
                (Family::Bughouse(Arc::new(tables::read(&mut section, variant_rules))), both)
            }
            _ => (Family::ChessPosition(variant_rules), start_fen),
        }
    };
    let faults = section.finish();
    if !faults.is_empty() {
        return Err(faults);
    }
    let start = Position::from_fen(&family, &start_fen, chess960)
        .map_err(|reason| vec![IniError::Start { line, section: name.clone(), reason }])?;
    let start_fen = Arc::from(start_fen);
    Ok(Variant { name, family, start_fen, self_play_men, network, chess960, look, start })
}
