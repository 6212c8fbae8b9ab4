//! The messages for which the crate vampirc-uci is reliable: those without moves and numbers.
//!
//! It drops moves that it does not know and panics on some numbers. No other module uses it.

use vampirc_uci::{Serializable, UciInfoAttribute, UciMessage, UciOptionConfig, parse_one};

use crate::engine::{OptionInfo, OptionKind};
use crate::protocol::lines::one_line;

/// A command without arguments, or with a fixed one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Signal {
    Uci,
    IsReady,
    NewGame,
    Stop,
    PonderHit,
    Quit,
    Register,
    Debug(bool),
}

/// The commands that are passed to the crate.
const SIGNALS: [&str; 8] =
    ["uci", "isready", "ucinewgame", "stop", "ponderhit", "quit", "register", "debug"];

/// Parses a [`Signal`]; `None` for all other commands.
pub(super) fn parse_signal(words: &[&str]) -> Option<Signal> {
    let (&first, rest) = words.split_first()?;
    if !SIGNALS.contains(&first) {
        return None;
    }
    let line = match (first, rest.first()) {
        ("debug", Some(&switch @ ("on" | "off"))) => format!("debug {switch}"),
        ("debug", _) => return None,
        ("register", _) => "register later".to_owned(),
        _ => first.to_owned(),
    };
    Some(match parse_one(&line) {
        UciMessage::Uci => Signal::Uci,
        UciMessage::IsReady => Signal::IsReady,
        UciMessage::UciNewGame => Signal::NewGame,
        UciMessage::Stop => Signal::Stop,
        UciMessage::PonderHit => Signal::PonderHit,
        UciMessage::Quit => Signal::Quit,
        UciMessage::Register { .. } => Signal::Register,
        UciMessage::Debug(on) => Signal::Debug(on),
        _ => return None,
    })
}

/// Returns the lines `id name` and `id author`.
pub(super) fn identity() -> String {
    let name = format!("Menagerie {}", env!("CARGO_PKG_VERSION"));
    let name = UciMessage::Id { name: Some(name), author: None };
    let author = "the Menagerie authors".to_owned();
    let author = UciMessage::Id { name: None, author: Some(author) };
    format!("{}\n{}", name.serialize(), author.serialize())
}

pub(super) fn uci_ok() -> String {
    UciMessage::UciOk.serialize()
}

pub(super) fn ready_ok() -> String {
    UciMessage::ReadyOk.serialize()
}

/// Returns an `info string` line.
pub(super) fn note(text: &str) -> String {
    UciMessage::Info(vec![UciInfoAttribute::String(one_line(text))]).serialize()
}

/// Returns an `option` line.
pub(super) fn option_line(info: &OptionInfo) -> String {
    let name = info.name.to_owned();
    UciMessage::Option(match info.kind.clone() {
        OptionKind::Check { default } => UciOptionConfig::Check { name, default: Some(default) },
        OptionKind::Spin { default, min, max } => {
            UciOptionConfig::Spin { name, default: Some(default), min: Some(min), max: Some(max) }
        }
        OptionKind::Combo { default, choices } => {
            UciOptionConfig::Combo { name, default: Some(default), var: choices }
        }
        OptionKind::Button => UciOptionConfig::Button { name },
        OptionKind::Text => UciOptionConfig::String { name, default: Some("<empty>".to_owned()) },
    })
    .serialize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_parsed_and_nothing_else() {
        let parse = |line: &str| parse_signal(&line.split_whitespace().collect::<Vec<_>>());
        assert_eq!(parse("uci"), Some(Signal::Uci));
        assert_eq!(parse(" stop  now"), Some(Signal::Stop));
        assert_eq!(parse("ponderhit"), Some(Signal::PonderHit));
        assert_eq!(parse("ucinewgame"), Some(Signal::NewGame));
        assert_eq!(parse("quit"), Some(Signal::Quit));
        assert_eq!(parse("isready"), Some(Signal::IsReady));
        assert_eq!(parse("register name x code y"), Some(Signal::Register));
        assert_eq!(parse("debug off"), Some(Signal::Debug(false)));
        for other in ["", "debug", "debug maybe", "go depth 300", "position startpos", "UCI", "xyz"]
        {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn notes_fit_a_line() {
        assert_eq!(note("a \"b\"\nc"), "info string a \"b\" c");
        assert!(note(&"\u{fffd}".repeat(5000)).len() < 4000);
    }
}
