//! The messages that the crate vampirc-uci can be trusted with: those without chess in them.
//!
//! It cuts moves that it does not know, and panics on some numbers; so it is asked for nothing
//! else, and nobody else asks it.

use vampirc_uci::{Serializable, UciInfoAttribute, UciMessage, UciOptionConfig, parse_one};

use crate::engine::{Kind, OptionInfo};
use crate::protocol::output::one_line;

/// A command of one or two fixed words.
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

/// The words that [`signal`] may ask the crate about.
const SIGNALS: [&str; 8] =
    ["uci", "isready", "ucinewgame", "stop", "ponderhit", "quit", "register", "debug"];

/// Reads such a command; `None` for all others.
pub(super) fn signal(words: &[&str]) -> Option<Signal> {
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

/// Who the engine is.
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

/// Something in words.
pub(super) fn note(text: &str) -> String {
    UciMessage::Info(vec![UciInfoAttribute::String(one_line(text))]).serialize()
}

/// An option as it is declared.
pub(super) fn option(declaration: &OptionInfo) -> String {
    let name = declaration.name.to_owned();
    UciMessage::Option(match declaration.kind.clone() {
        Kind::Check { default } => UciOptionConfig::Check { name, default: Some(default) },
        Kind::Spin { default, min, max } => {
            UciOptionConfig::Spin { name, default: Some(default), min: Some(min), max: Some(max) }
        }
        Kind::Combo { default, choices } => {
            UciOptionConfig::Combo { name, default: Some(default), var: choices }
        }
        Kind::Button => UciOptionConfig::Button { name },
        Kind::Text => UciOptionConfig::String { name, default: Some("<empty>".to_owned()) },
    })
    .serialize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_read_and_nothing_else() {
        let read = |line: &str| signal(&line.split_whitespace().collect::<Vec<_>>());
        assert_eq!(read("uci"), Some(Signal::Uci));
        assert_eq!(read(" stop  now"), Some(Signal::Stop));
        assert_eq!(read("ponderhit"), Some(Signal::PonderHit));
        assert_eq!(read("ucinewgame"), Some(Signal::NewGame));
        assert_eq!(read("quit"), Some(Signal::Quit));
        assert_eq!(read("isready"), Some(Signal::IsReady));
        assert_eq!(read("register name x code y"), Some(Signal::Register));
        assert_eq!(read("debug off"), Some(Signal::Debug(false)));
        for other in ["", "debug", "debug maybe", "go depth 300", "position startpos", "UCI", "xyz"]
        {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn words_fit_a_line() {
        assert_eq!(note("a \"b\"\nc"), "info string a \"b\" c");
        assert!(note(&"\u{fffd}".repeat(5000)).len() < 4000);
    }
}
