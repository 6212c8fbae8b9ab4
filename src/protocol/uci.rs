//! The Universal Chess Interface.

mod go;
mod info;
mod simple;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use go::Go;
use simple::Signal;

use super::handler::{Ended, Next, ProtocolHandler};
use super::line::Line;
use super::output::Output;
use super::setting;
use super::variant_info::VariantInfo;
use super::{bench, check};
use crate::engine::{Event, Session, Sink};

const HELP: &str =
    "Menagerie, an engine for chess variants, under the GPL-3.0-or-later. It speaks UCI:
uci, isready, ucinewgame, position, go, stop, ponderhit, setoption, debug, quit; and also
d (the position), flip (its colours), eval (what the network says of it), eval planes (what it is shown),
go perft N, bench, debug on (every move of the root, when a search ends),
check FILE (what is wrong with a file of variants), compiler, help.";

/// The commands of the protocol.
const UCI_COMMANDS: [&str; 11] = [
    "uci",
    "debug",
    "isready",
    "setoption",
    "register",
    "ucinewgame",
    "position",
    "go",
    "stop",
    "ponderhit",
    "quit",
];

/// The commands that this engine adds.
const OWN_COMMANDS: [&str; 7] = ["d", "eval", "bench", "check", "help", "compiler", "flip"];

/// How the answer to a refused `position` ends.
const REFUSED: &str = "there is no position until one is accepted";

/// The time of a search whose limits were not understood: short, since the clock is not known.
const FALLBACK: Duration = Duration::from_millis(100);

/// Returns the index of the word `moves` of a `position`: the first that is outside the quoted
/// strings of EPD operations.
fn moves_index(words: &[&str]) -> Option<usize> {
    let mut quoted = false;
    words.iter().position(|&word| {
        let is_moves = word == "moves" && !quoted;
        quoted ^= word.matches('"').count() % 2 == 1;
        is_moves
    })
}

/// A conversation in UCI.
pub(super) struct Uci {
    session: Session,
    output: Arc<Output>,
    /// To be called with the number of a search when it has ended.
    ended: Ended,
    /// How many searches have begun.
    searches: u64,
    debug: bool,
}

impl Uci {
    pub(super) fn new(session: Session, output: Arc<Output>, ended: Ended) -> Uci {
        Uci { session, output, ended, searches: 0, debug: false }
    }

    fn note(&self, text: &str) {
        self.output.say(&simple::note(text));
    }

    fn signal(&mut self, signal: Signal) {
        match signal {
            Signal::Uci => {
                let mut lines = vec![simple::identity()];
                lines.extend(self.session.declarations().iter().map(simple::option));
                lines.push(simple::uci_ok());
                self.output.say(&lines.join("\n"));
            }
            Signal::IsReady => {
                let notes = self.session.ready();
                notes.iter().for_each(|note| self.note(note));
                self.output.say(&simple::ready_ok());
            }
            Signal::NewGame => self.session.new_game(),
            Signal::Stop => self.session.stop(),
            Signal::PonderHit => self.session.ponder_hit(),
            Signal::Debug(on) => self.debug = on,
            Signal::Register | Signal::Quit => {}
        }
    }

    fn position(&mut self, words: &[&str]) {
        let (start, turns) = words.split_at(moves_index(words).unwrap_or(words.len()));
        let turns = turns.get(1..).unwrap_or_default();
        let result = match start.split_first() {
            Some((&"startpos", [])) => self.session.set_position(None, turns),
            Some((&"fen", fen @ [_, ..])) => self.session.set_position(Some(&fen.join(" ")), turns),
            _ => {
                self.session.discard_position();
                let said = words.join(" ");
                return self.note(&format!(
                    "position takes startpos or fen FEN, then moves, not \"{said}\"; {REFUSED}"
                ));
            }
        };
        match result {
            Ok(repairs) => repairs.iter().for_each(|repair| self.note(&repair.to_string())),
            Err(error) => {
                error.repairs().iter().for_each(|repair| self.note(&repair.to_string()));
                self.note(&format!("{error}; {REFUSED}"));
            }
        }
    }

    /// Returns whether there is a position, and says so if there is none.
    fn has_position(&self, command: &str) -> bool {
        let has_position = self.session.has_position();
        if !has_position {
            self.note(&format!("{command}: no position, the last one was refused"));
        }
        has_position
    }

    fn set_option(&mut self, line: &str) {
        let Some((name, value)) = name_and_value(line) else {
            return self.note(&format!("setoption takes name NAME value VALUE, not \"{}\"", line));
        };
        // An empty text has no other way to be said.
        let value = if value == "<empty>" { "" } else { value };
        match setting::set(&mut self.session, &self.output, name, value) {
            Ok(notes) => notes.iter().for_each(|note| self.note(note)),
            Err(error) => return self.note(&error),
        }
        if name.eq_ignore_ascii_case("UCI_Variant")
            && let Some(variant_info) = VariantInfo::of(self.session.variant())
        {
            self.note(&variant_info.uci());
        }
        // Other files, other games to choose from.
        if name.eq_ignore_ascii_case("VariantPath") {
            let declarations = self.session.declarations();
            let variants = declarations.iter().filter(|option| option.name == "UCI_Variant");
            variants.for_each(|option| self.output.say(&simple::option(option)));
        }
    }

    fn flip(&mut self) {
        if !self.has_position("flip") {
            return;
        }
        if let Err(error) = self.session.flip() {
            self.note(&format!("{error}; the position stays as it was"));
        }
    }

    /// Says what a search tells, and that it has ended.
    fn sink(&mut self) -> Sink {
        self.searches += 1;
        let number = self.searches;
        let (output, ended) = (Arc::clone(&self.output), Arc::clone(&self.ended));
        let (show_wdl, debug) = (self.session.options().show_wdl, self.debug);
        Arc::new(move |event| match event {
            Event::Note(text) => output.say(&simple::note(&text)),
            Event::SearchInfo(report) => {
                if let Some(scores) = info::sides(&report) {
                    output.say(&simple::note(&scores));
                }
                output.say(&info::report(&report, show_wdl));
            }
            Event::Best(best) => {
                if debug {
                    info::choices(&best).for_each(|choice| output.say(&simple::note(&choice)));
                    output.say(&simple::note(&info::asked(best.asked)));
                }
                output.say(&info::best(&best));
                ended(number);
            }
            Event::Paths { turn, count } => output.say(&format!("{turn}: {count}")),
            Event::AllPaths(count) => {
                match count {
                    Some(count) => output.say(&format!("\nNodes searched: {count}")),
                    None => output.say(&simple::note("perft stopped before it was complete")),
                }
                ended(number);
            }
        })
    }

    fn go(&mut self, words: &[&str], begun: Instant) {
        let Go { mut limits, moves, perft, bad, limited } = Go::read(words);
        bad.iter().for_each(|text| self.note(text));
        let nothing_to_count = perft.is_none() && words.first() == Some(&"perft");
        if nothing_to_count || !self.has_position("go") {
            // The GUI waits for exactly one answer to each `go`.
            return self.output.say("bestmove (none)");
        }
        if !limited {
            self.note(&format!("go without a limit that is understood: searching {FALLBACK:?}"));
            limits.time = Some(FALLBACK);
        }
        let sink = self.sink();
        let started = match perft {
            Some(depth) => self.session.perft(depth, sink),
            None => {
                let (plies, bad) = self.session.first_plies(&moves);
                bad.iter().for_each(|text| {
                    self.note(&format!("searchmoves: \"{text}\" is not legal, ignored"));
                });
                limits.moves = plies;
                self.session.go(limits, begun, sink)
            }
        };
        if let Err(error) = started {
            self.note(&format!("no thread can be started: {error}"));
        }
    }

    fn diagram(&self) {
        if !self.has_position("d") {
            return;
        }
        let position = self.session.position();
        let outcome = position.result();
        let outcome = outcome.map_or("*".to_owned(), |outcome| position.outcome_text(outcome));
        let (diagram, fen) = (position.diagram(), position.fen());
        self.output.say(&format!("{diagram}\nFen: {fen}\nOutcome: {outcome}"));
    }

    fn eval(&mut self, words: &[&str]) {
        let planes = match words {
            [] => false,
            ["planes"] => true,
            _ => {
                return self
                    .note(&format!("eval takes nothing or planes, not \"{}\"", words.join(" ")));
            }
        };
        if !self.has_position("eval") {
            return;
        }
        let mut notes = Vec::new();
        let assessment = self.session.assess(&mut notes);
        notes.iter().for_each(|note| self.note(note));
        match assessment {
            Ok(assessment) if planes => self.output.say(&info::shown(&assessment)),
            Ok(assessment) => self.output.say(&info::assessment(&assessment)),
            Err(error) => self.note(&error.to_string()),
        }
    }

    fn check(&self, files: &str) {
        if files.is_empty() {
            return self.note("check takes the name of a file of variants");
        }
        let (Ok(said) | Err(said)) = check(files);
        said.lines().for_each(|line| self.note(line));
    }

    fn bench(&self) {
        let threads = self.session.options().threads;
        if let Err(error) = bench(threads, |line| self.output.say(line)) {
            self.note(&error);
        }
    }
}

impl ProtocolHandler for Uci {
    fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    fn searches(&self) -> u64 {
        self.searches
    }

    fn on_line(&mut self, line: &Line) {
        if command(&line.words()).first() == Some(&"stop") {
            self.session.stop();
        }
    }

    fn blocks_on_search(&self, line: &Line) -> bool {
        match command(&line.words()).first() {
            Some(&"quit") => self.session.is_counting(),
            Some(&first) => ["position", "go", "setoption", "ucinewgame", "flip", "eval", "bench"]
                .contains(&first),
            None => false,
        }
    }

    fn starts_search(&self, line: &Line) -> bool {
        command(&line.words()).first() == Some(&"go")
    }

    fn handle(&mut self, line: &Line) -> Next {
        let begun = Instant::now();
        let Line::Text(text) = line else {
            self.note("input line too long, ignored");
            return Next::Line;
        };
        self.output.on_line(text);
        let all = line.words();
        let words = command(&all);
        let Some((&first, rest)) = words.split_first() else { return Next::Line };
        let mut text = Cow::Borrowed(text.trim());
        if words.len() < all.len() {
            let skipped = all[..all.len() - words.len()].join(" ");
            self.note(&format!("unknown command \"{skipped}\", skipped"));
            text = Cow::Owned(words.join(" "));
        }
        match simple::signal(words) {
            Some(Signal::Quit) => return Next::Quit,
            Some(signal) => self.signal(signal),
            None => match first {
                "position" => self.position(rest),
                "go" => self.go(rest, begun),
                "setoption" => self.set_option(&text),
                "d" => self.diagram(),
                "eval" => self.eval(rest),
                "bench" => self.bench(),
                "check" => self.check(word_after(&text, "check").unwrap_or_default()),
                "debug" => {
                    self.note(&format!("debug takes on or off, not \"{}\"", rest.join(" ")));
                }
                "help" => self.output.say(HELP),
                "compiler" => self.output.say(&compiler()),
                "flip" => self.flip(),
                _ => self.note(&format!("unknown command \"{text}\"")),
            },
        }
        Next::Line
    }

    fn finish(&mut self) {
        self.session.wait();
    }
}

/// The words of a line from its command on. The protocol asks for unknown words in front of a
/// command to be skipped, as in `joho debug on`. All words if none is a command of UCI; this
/// engine's own commands are not looked for, because they occur in ordinary text.
fn command<'a, 'b>(words: &'b [&'a str]) -> &'b [&'a str] {
    match words.first() {
        Some(first) if OWN_COMMANDS.contains(first) => words,
        _ => {
            let start = words.iter().position(|word| UCI_COMMANDS.contains(word));
            &words[start.unwrap_or(0)..]
        }
    }
}

/// What `setoption name NAME value VALUE` names and sets; the value may be missing, and hold any
/// words.
fn name_and_value(line: &str) -> Option<(&str, &str)> {
    let rest = word_after(line.trim(), "setoption")?;
    let rest = word_after(rest, "name")?;
    let value = rest.match_indices("value").map(|(place, _)| place).find(|&place| {
        let before = rest[..place].ends_with(char::is_whitespace);
        let after = &rest[place + "value".len()..];
        before && (after.is_empty() || after.starts_with(char::is_whitespace))
    });
    match value {
        None => Some((rest, "")),
        Some(place) => Some((rest[..place].trim(), rest[place + "value".len()..].trim())),
    }
}

/// What follows after the first word, if it is `word`.
fn word_after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(word)?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim_start())
}

/// What this executable was made with and for.
fn compiler() -> String {
    format!(
        "Menagerie {} for {} on {}, Rust {} or newer, {} build",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::ARCH,
        std::env::consts::OS,
        env!("CARGO_PKG_RUST_VERSION"),
        if cfg!(debug_assertions) { "debug" } else { "release" }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_split_at_value() {
        let split = name_and_value;
        assert_eq!(split("setoption name Hash value 64"), Some(("Hash", "64")));
        assert_eq!(split(" setoption  name Clear Hash "), Some(("Clear Hash", "")));
        assert_eq!(
            split("setoption name Debug Log File value my value.txt"),
            Some(("Debug Log File", "my value.txt"))
        );
        assert_eq!(split("setoption name WeightsFile value"), Some(("WeightsFile", "")));
        assert_eq!(split("setoption name Avalue value 1"), Some(("Avalue", "1")));
        assert_eq!(split("setoption name"), Some(("", "")));
        assert_eq!(split("setoption Hash value 1"), None);
        assert_eq!(split("setoptions name x"), None);
    }
}
