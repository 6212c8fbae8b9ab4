//! Parses `variants.ini`: sections, inheritance, and the variants that they define.

use std::sync::Arc;

use ini_core::{Item, Parser};

use super::section::{IniError, Keys, Section};
use super::values::{FamilyName, family, fen_pieces, flag, is_alpha_beta, number, text};
use super::{GuiDisplay, Variant, keys, unsupported};
use crate::rules::{Family, Position};

/// The default start position.
const DEFAULT_START_FEN: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

/// A section with all its keys, before they are parsed. Children inherit from it.
#[derive(Clone, Debug)]
pub(super) struct RawSection {
    pub(super) name: String,
    line: u32,
    is_child: bool,
    keys: Keys,
}

/// Parses sections, which can have those of `above` as parents. Returns them with the variant that each
/// defines if its keys are valid, and all errors, by line.
pub(super) fn parse(
    text: &str,
    above: &[RawSection],
) -> (Vec<(RawSection, Option<Variant>)>, Vec<IniError>) {
    let mut sections = Vec::<RawSection>::new();
    let mut errors = Vec::new();
    // Whether the current line belongs to a section.
    let mut open = false;
    // Whether the current line belongs to a section whose header was rejected.
    let mut rejected = false;
    // Editors on Windows write a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // The parser does not count a last line without a line end.
    let text = format!("{text}\n");
    let mut parser = Parser::new(&text).comment_char(b'#').auto_trim(true);
    while let Some(item) = parser.next() {
        let line = parser.line();
        let header = match item {
            Item::Section(header) => Some(header),
            Item::Error(text) => parse_header(text),
            _ => None,
        };
        if let Some(header) = header {
            let section = begin_section(header, line, above, &sections);
            open = section.is_ok();
            rejected = !open;
            match section {
                Ok(section) => sections.push(section),
                Err(error) => errors.push(error),
            }
            continue;
        }
        match item {
            // Fairy-Stockfish has two comment characters, the parser one.
            Item::Property(key, _) if key.starts_with(';') => {}
            Item::Property(_, _) if rejected => {}
            Item::Property(key, value) => match (sections.last_mut(), value) {
                (Some(section), Some(value)) if open => section.keys.set(key, value, line),
                _ => {
                    let text = value.map_or(key.to_owned(), |value| format!("{key} = {value}"));
                    errors.push(IniError::Syntax { line, text });
                }
            },
            Item::Error(text) => {
                errors.push(IniError::Syntax { line, text: text.to_owned() });
                // The lines after an invalid header do not belong to the section before it.
                rejected |= text.starts_with('[');
                open &= !rejected;
            }
            Item::Section(_) | Item::Comment(_) | Item::Blank | Item::SectionEnd => {}
        }
    }
    let mut variants = Vec::new();
    for section in sections {
        let variant = match parse_variant(&section) {
            Ok(variant) => Some(variant),
            Err(mut found) => {
                errors.append(&mut found);
                None
            }
        };
        variants.push((section, variant));
    }
    errors.sort_by_key(IniError::line);
    (variants, errors)
}

/// Parses a header followed by a comment or spaces, which the parser rejects.
fn parse_header(line: &str) -> Option<&str> {
    let (header, rest) = line.strip_prefix('[')?.split_once(']')?;
    let rest = rest.trim_start();
    (rest.is_empty() || rest.starts_with(['#', ';'])).then_some(header)
}

/// Begins the section of a header.
fn begin_section(
    header: &str,
    line: u32,
    above: &[RawSection],
    sections: &[RawSection],
) -> Result<RawSection, IniError> {
    let (name, parent) = header.split_once(':').unwrap_or((header, ""));
    let name = name.trim().to_owned();
    let parent = parent.trim().to_owned();
    let is_in = |list: &[RawSection]| list.iter().any(|section| section.name == name);
    let find = |name: &str| above.iter().chain(sections).find(|section| section.name == name);
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err(IniError::Syntax { line, text: format!("[{header}]") });
    }
    if is_in(sections) {
        return Err(IniError::Duplicate { line, name });
    }
    if is_in(above) {
        return Err(IniError::Known { line, name });
    }
    match find(&parent) {
        Some(raw) => Ok(RawSection { name, line, is_child: true, keys: raw.keys.inherit() }),
        None if parent.is_empty() => {
            Ok(RawSection { name, line, is_child: false, keys: Keys::default() })
        }
        None => Err(IniError::NoParent { line, name, parent }),
    }
}

/// Parses the variant of a section, or returns its errors.
fn parse_variant(raw: &RawSection) -> Result<Variant, Vec<IniError>> {
    let RawSection { name, line, is_child, keys } = raw.clone();
    let mut section = Section { name: &name, line, keys, is_child, errors: Vec::new() };
    let family_name = section.take("family", family).unwrap_or(FamilyName::Chess);
    let start_fen = section.take("startFen", text);
    let self_play_pieces = section.take("selfPlayMen", fen_pieces);
    let inherits_network = section.keys.is_inherited("network");
    let network = section.take("network", text);
    let alpha_beta = section.take("search", is_alpha_beta);
    let chess960 = section.take("chess960", flag).unwrap_or(false);
    let display = GuiDisplay {
        template: section.take("variantTemplate", text).unwrap_or_else(|| "fairy".to_owned()),
        table: section.take("pieceToCharTable", text).unwrap_or_else(|| "-".to_owned()),
        pocket: section.take("pocketSize", number).unwrap_or(0),
    };
    let (family, start_fen) = if family_name == FamilyName::ConnectN {
        let rules = keys::take_connect_n(&mut section);
        let start_fen = start_fen.unwrap_or_else(|| rules.start());
        (Family::ConnectN(Arc::new(rules)), start_fen)
    } else {
        let start_fen = start_fen.unwrap_or_else(|| DEFAULT_START_FEN.to_owned());
        let rules = Arc::new(keys::take_chess(&mut section, &start_fen));
        unsupported::take(&mut section);
        if family_name == FamilyName::Bughouse {
            let bughouse = keys::take_bughouse(&mut section, rules);
            (Family::Bughouse(Arc::new(bughouse)), format!("{start_fen}|{start_fen}"))
        } else {
            (Family::ChessPosition(rules), start_fen)
        }
    };
    let errors = section.finish();
    if !errors.is_empty() {
        return Err(errors);
    }
    let start = Position::from_fen(&family, &start_fen, chess960)
        .map_err(|error| vec![IniError::Start { line, section: name.clone(), error }])?;
    if start.result().is_some() {
        let reason = "the game is over in the start position";
        return Err(vec![IniError::Conflict { line, section: name, reason }]);
    }
    let start_fen = Arc::from(start_fen);
    let prefers_alpha_beta = alpha_beta.unwrap_or(true);
    Ok(Variant {
        name,
        family,
        start_fen,
        self_play_pieces,
        network,
        inherits_network,
        prefers_alpha_beta,
        chess960,
        display,
        start,
    })
}
