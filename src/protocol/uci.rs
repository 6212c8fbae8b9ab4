//! The Universal Chess Interface.

mod go;
mod info;
mod messages;

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use go::GoCommand;
use messages::Signal;

use super::lines::{InputLine, LineWriter};
use super::variant_info::VariantInfo;
use super::{OnSearchEnd, ProtocolHandler, bench, check, set_option};
use crate::engine::{COMMIT, Event, SeatClocks, Session, Sink};

const HELP: &str = "Menagerie, an engine for chess variants, GPL-3.0-or-later
UCI commands: uci, isready, ucinewgame, position, go, stop, ponderhit, setoption, debug, register, quit
Further commands:
  d            print the position
  flip         change the colors of the position
  eval         print the output of the network, without a search
  eval planes  print the input of the network
  go perft N   count the paths of N turns
  bench        search fixed positions and print a signature
  debug on     print the statistics of all root moves after a search
  check FILE   check a file of variants
  compiler     print the version and the build
  help         print this help";

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

/// The commands of this engine only.
const OWN_COMMANDS: [&str; 7] = ["d", "eval", "bench", "check", "help", "compiler", "flip"];

/// The end of the message for a refused `position`.
const NO_POSITION: &str = "there is no position until one is accepted";

/// The time of a search without a valid parameter: short, since the clock is not known.
const FALLBACK_TIME: Duration = Duration::from_millis(100);

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

/// The state of the UCI protocol.
pub(super) struct Uci {
    session: Session,
    output: Arc<LineWriter>,
    on_search_end: OnSearchEnd,
    /// The number of searches that were started.
    searches: u64,
    debug: bool,
}

impl Uci {
    pub(super) fn new(
        session: Session,
        output: Arc<LineWriter>,
        on_search_end: OnSearchEnd,
    ) -> Uci {
        Uci { session, output, on_search_end, searches: 0, debug: false }
    }

    fn note(&self, text: &str) {
        self.output.print(&messages::note(text));
    }

    fn notes<T: ToString>(&self, notes: &[T]) {
        for note in notes {
            self.note(&note.to_string());
        }
    }

    fn signal(&mut self, signal: Signal) {
        match signal {
            Signal::Uci => {
                let mut lines = vec![messages::identity()];
                lines.extend(self.session.declarations().iter().map(messages::option_line));
                lines.push(messages::uci_ok());
                self.output.print(&lines.join("\n"));
            }
            Signal::IsReady => {
                let notes = self.session.ready();
                self.notes(&notes);
                self.output.print(&messages::ready_ok());
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
                return self.note(&format!(
                    "position must be startpos or fen FEN, then moves, not \"{}\"; {NO_POSITION}",
                    words.join(" ")
                ));
            }
        };
        match result {
            Ok(repairs) => self.notes(&repairs),
            Err(error) => {
                self.notes(error.repairs());
                self.note(&format!("{error}; {NO_POSITION}"));
            }
        }
    }

    /// Returns `true` if there is a position. Prints a message if there is none.
    fn has_position(&self, command: &str) -> bool {
        let has_position = self.session.has_position();
        if !has_position {
            self.note(&format!("{command}: no position, the last one was refused"));
        }
        has_position
    }

    fn set_option(&mut self, line: &str) {
        let Some((name, value)) = name_and_value(line) else {
            return self.note(&format!("setoption must be name NAME value VALUE, not \"{line}\""));
        };
        // The only notation of an empty text.
        let value = if value == "<empty>" { "" } else { value };
        match set_option(&mut self.session, &self.output, name, value) {
            Ok(notes) => self.notes(&notes),
            Err(error) => return self.note(&error.to_string()),
        }
        if name.eq_ignore_ascii_case("UCI_Variant")
            && let Some(variant_info) = VariantInfo::new(self.session.variant())
        {
            self.note(&variant_info.uci_line());
        }
        // Other files have other variants to choose from.
        if name.eq_ignore_ascii_case("VariantPath") {
            let declarations = self.session.declarations();
            if let Some(option) = declarations.iter().find(|option| option.name == "UCI_Variant") {
                self.output.print(&messages::option_line(option));
            }
        }
    }

    fn flip(&mut self) {
        if !self.has_position("flip") {
            return;
        }
        if let Err(error) = self.session.flip() {
            self.note(&format!("{error}; the position is unchanged"));
        }
    }

    /// Returns the receiver of the next search's events, which prints them.
    fn sink(&mut self) -> Sink {
        self.searches += 1;
        let number = self.searches;
        let output = Arc::clone(&self.output);
        let on_search_end = Arc::clone(&self.on_search_end);
        let show_wdl = self.session.options().show_wdl;
        let debug = self.debug;
        Arc::new(move |event| match event {
            Event::Note(text) => output.print(&messages::note(&text)),
            Event::SearchInfo(search_info) => {
                if let Some(scores) = info::side_scores(&search_info) {
                    output.print(&messages::note(&scores));
                }
                output.print(&info::info_line(&search_info, show_wdl));
            }
            Event::Best(result) => {
                if debug {
                    for line in info::root_moves(&result) {
                        output.print(&messages::note(&line));
                    }
                    output.print(&messages::note(&info::eval_stats(result.eval_stats)));
                }
                output.print(&info::best_move(&result));
                on_search_end(number);
            }
            // Printed at the end, if debug is on.
            Event::RootMoves { .. } => {}
            Event::PerftTurn { turn, count } => output.print(&format!("{turn}: {count}")),
            Event::PerftTotal(total) => {
                match total {
                    Some(total) => output.print(&format!("\nNodes searched: {total}")),
                    None => output.print(&messages::note("perft stopped before it was complete")),
                }
                on_search_end(number);
            }
        })
    }

    fn go(&mut self, words: &[&str], begun: Instant) {
        let GoCommand { mut limits, second_clocks, search_moves, perft, errors, is_valid } =
            GoCommand::parse(words);
        self.notes(&errors);
        let is_invalid_perft = perft.is_none() && words.first() == Some(&"perft");
        if is_invalid_perft || !self.has_position("go") {
            // The GUI waits for exactly one `bestmove` for each `go`.
            return self.output.print("bestmove (none)");
        }
        if !is_valid {
            self.note(&format!("go has no valid parameter: searching {FALLBACK_TIME:?}"));
            limits.time = Some(FALLBACK_TIME);
        }
        let sink = self.sink();
        let started = match perft {
            Some(depth) => self.session.perft(depth, sink),
            None => {
                let (plies, illegal) = self.session.first_plies(&search_moves);
                for text in illegal {
                    self.note(&format!("illegal move \"{text}\" in searchmoves, ignored"));
                }
                limits.moves = plies;
                self.session.set_seat_clocks(SeatClocks([limits.clocks, second_clocks]));
                self.session.go(limits, begun, sink)
            }
        };
        if let Err(error) = started {
            self.note(&format!("cannot start the search: {error}"));
        }
    }

    fn diagram(&self) {
        if !self.has_position("d") {
            return;
        }
        let position = self.session.position();
        let outcome =
            position.result().map_or("*".to_owned(), |outcome| position.outcome_text(outcome));
        let diagram = position.diagram();
        let fen = position.fen();
        self.output.print(&format!("{diagram}\nFen: {fen}\nOutcome: {outcome}"));
    }

    fn eval(&mut self, words: &[&str]) {
        let planes = match words {
            [] => false,
            ["planes"] => true,
            _ => {
                return self.note(&format!(
                    "eval has no argument but planes, not \"{}\"",
                    words.join(" ")
                ));
            }
        };
        if !self.has_position("eval") {
            return;
        }
        let mut notes = Vec::new();
        let output = self.session.eval(&mut notes);
        self.notes(&notes);
        match output {
            Ok(output) if planes => self.output.print(&info::network_input(&output)),
            Ok(output) => self.output.print(&info::evaluation(&output)),
            Err(error) => self.note(&error.to_string()),
        }
    }

    fn check(&self, paths: &str) {
        if paths.is_empty() {
            return self.note("check needs the name of a variant file");
        }
        for line in check(paths).to_string().lines() {
            self.note(line);
        }
    }

    fn bench(&self) {
        let threads = self.session.options().threads;
        if let Err(error) = bench(threads, |line| self.output.print(line)) {
            self.note(&error.to_string());
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

    fn on_line(&mut self, line: &InputLine) {
        if command(&line.words()).first() == Some(&"stop") {
            self.session.stop();
        }
    }

    fn blocks_on_search(&self, line: &InputLine) -> bool {
        match command(&line.words()).first() {
            Some(&"quit") => self.session.is_counting(),
            Some(&first) => ["position", "go", "setoption", "ucinewgame", "flip", "eval", "bench"]
                .contains(&first),
            None => false,
        }
    }

    fn starts_search(&self, line: &InputLine) -> bool {
        command(&line.words()).first() == Some(&"go")
    }

    fn handle(&mut self, line: &InputLine) -> ControlFlow<()> {
        let begun = Instant::now();
        let InputLine::Text(text) = line else {
            self.note("input line too long, ignored");
            return ControlFlow::Continue(());
        };
        self.output.log_input(text);
        let all = line.words();
        let words = command(&all);
        let Some((&first, rest)) = words.split_first() else {
            return ControlFlow::Continue(());
        };
        let mut text = Cow::Borrowed(text.trim());
        if words.len() < all.len() {
            let skipped = all[..all.len() - words.len()].join(" ");
            self.note(&format!("unknown command \"{skipped}\", skipped"));
            text = Cow::Owned(words.join(" "));
        }
        match messages::parse_signal(words) {
            Some(Signal::Quit) => return ControlFlow::Break(()),
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
                    self.note(&format!("debug must be on or off, not \"{}\"", rest.join(" ")));
                }
                "help" => self.output.print(HELP),
                "compiler" => self.output.print(&compiler()),
                "flip" => self.flip(),
                _ => self.note(&format!("unknown command \"{text}\"")),
            },
        }
        ControlFlow::Continue(())
    }

    fn finish(&mut self) {
        self.session.wait();
    }
}

/// Returns the words of a line from its command on. The protocol demands that unknown words before a
/// command are skipped, as in `joho debug on`. Returns all words if none is a command of UCI. This
/// engine's own commands are not searched for, because they occur in ordinary text.
fn command<'a, 'b>(words: &'b [&'a str]) -> &'b [&'a str] {
    match words.first() {
        Some(first) if OWN_COMMANDS.contains(first) => words,
        _ => {
            let start = words.iter().position(|word| UCI_COMMANDS.contains(word));
            &words[start.unwrap_or(0)..]
        }
    }
}

/// Splits `setoption name NAME value VALUE` into name and value. The value may be missing or contain any words.
fn name_and_value(line: &str) -> Option<(&str, &str)> {
    let rest = word_after(line.trim(), "setoption")?;
    let rest = word_after(rest, "name")?;
    let value = rest.match_indices("value").map(|(index, _)| index).find(|&index| {
        let before = rest[..index].ends_with(char::is_whitespace);
        let after = &rest[index + "value".len()..];
        before && (after.is_empty() || after.starts_with(char::is_whitespace))
    });
    match value {
        None => Some((rest, "")),
        Some(index) => Some((rest[..index].trim(), rest[index + "value".len()..].trim())),
    }
}

/// Returns the text after the first word, if that is `word`.
fn word_after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(word)?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim_start())
}

/// Returns the version and the build of this executable.
fn compiler() -> String {
    format!(
        "Menagerie {}, commit {COMMIT}, for {} on {}, Rust {} or newer, {} build",
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
    fn setoption_is_split_at_value() {
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
