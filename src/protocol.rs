//! The protocols of the engine: lines of text in, lines of text out.
//!
//! The first line chooses the protocol: XBoard if it is `xboard`, otherwise UCI. Lines are handled
//! in order. A line that needs the search in progress to be over waits for its end, and so do the lines after
//! it; a search without a limit is stopped then, and one with a limit runs to its end. Commands that work
//! during a search (`stop`, `isready`, `?`, `quit` and others) are handled at once if no earlier line
//! waits. When the input ends, so does the engine, as soon as all lines have been handled.

pub mod lines;
mod uci;
mod variant_info;
mod xboard;

use std::collections::VecDeque;
use std::fmt;
use std::io::{BufRead, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use lines::{InputLine, LineWriter, read_line};
use uci::Uci;
use xboard::XBoard;
pub use xboard::legs;

pub use crate::engine::VersionReport;

use crate::engine::{
    self, BenchPosition, OptionError, Session, VariantFileError, add_variant_files,
};
use crate::nn::EvalError;
use crate::rules::Key;
use crate::search::Memory;
use crate::variant::Catalogue;

/// The maximum number of lines that are read before they are handled.
const MAX_LINES_AHEAD: usize = 16;
/// The maximum size of the lines that wait for a search. If it is reached, no more lines are read until the
/// search has ended.
const MAX_WAITING_BYTES: usize = 1 << 24;
/// The interval of checks for the end of a search that panicked.
const TICK: Duration = Duration::from_millis(100);
/// The greatest score, in centipawns.
const MAX_CENTIPAWNS: f32 = 12_800.0;

/// The state of a protocol, driven by the line loop.
trait ProtocolHandler {
    /// Returns the session whose search is in progress.
    fn session(&mut self) -> &mut Session;

    /// Returns the number of searches that were started.
    fn searches(&self) -> u64;

    /// Is called when a line is received. The line may have to wait before it is handled.
    fn on_line(&mut self, line: &InputLine);

    /// Returns `true` if a line needs the search in progress to be over.
    fn blocks_on_search(&self, line: &InputLine) -> bool;

    /// Returns `true` if a line starts a search. A `stop` after such a line is for that search, not for the one
    /// in progress.
    fn starts_search(&self, _line: &InputLine) -> bool {
        false
    }

    /// Handles a line. Returns [`ControlFlow::Break`] if the engine must quit.
    fn handle(&mut self, line: &InputLine) -> ControlFlow<()>;

    /// Is called a few times a second during a search.
    fn tick(&mut self) {}

    /// Waits for the search in progress, and handles its end.
    fn finish(&mut self);
}

/// Is called with the number of a search when it has ended.
type OnSearchEnd = Arc<dyn Fn(u64) + Send + Sync>;

/// An event for the line loop.
enum LoopEvent {
    /// A line was received.
    Line(InputLine),
    /// The search of this number has ended.
    SearchEnd(u64),
    /// The input has ended.
    Closed,
}

/// Runs the engine until the input ends, the output is closed or `quit` is received.
///
/// # Errors
/// If the thread for the input cannot be started.
pub fn run(
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) -> std::io::Result<()> {
    let output = Arc::new(LineWriter::new(output));
    let (sender, events) = sync_channel(MAX_LINES_AHEAD);
    let reader = sender.clone();
    // Never joined: it may block in a read for ever, and holds nothing that must be cleaned up.
    thread::Builder::new().name("input".to_owned()).spawn(move || read_lines(input, &reader))?;
    let session = Session::new(Catalogue::shipped());
    let on_search_end: OnSearchEnd = Arc::new(move |number| {
        // If the channel is full, the loop is awake anyway.
        let _ = sender.try_send(LoopEvent::SearchEnd(number));
    });
    let Some(first) = first_line(&events) else { return Ok(()) };
    let handler_output = Arc::clone(&output);
    if first.words() == ["xboard"] {
        let mut handler = XBoard::new(session, handler_output, on_search_end);
        handle_lines(&events, &output, first, &mut handler);
    } else {
        let mut handler = Uci::new(session, handler_output, on_search_end);
        handle_lines(&events, &output, first, &mut handler);
    }
    Ok(())
}

fn read_lines(mut input: impl BufRead, sender: &SyncSender<LoopEvent>) {
    // An input that fails counts as closed.
    while let Ok(Some(line)) = read_line(&mut input) {
        if sender.send(LoopEvent::Line(line)).is_err() {
            return;
        }
    }
    let _ = sender.send(LoopEvent::Closed);
}

/// Returns the first line that is not blank; `None` if there is none.
fn first_line(events: &Receiver<LoopEvent>) -> Option<InputLine> {
    loop {
        match events.recv() {
            Ok(LoopEvent::Line(line)) if line.is_blank() => {}
            Ok(LoopEvent::Line(line)) => return Some(line),
            Ok(LoopEvent::Closed) | Err(_) => return None,
            Ok(LoopEvent::SearchEnd(_)) => {}
        }
    }
}

/// Handles the `first` line and all that follow, in order.
fn handle_lines(
    events: &Receiver<LoopEvent>,
    output: &LineWriter,
    first: InputLine,
    handler: &mut impl ProtocolHandler,
) {
    let mut waiting_bytes = first.bytes();
    let mut waiting = VecDeque::from([first]);
    let mut closed = false;
    while !output.is_closed() {
        handler.tick();
        if handler.session().has_ended() {
            handler.finish();
        }
        let is_searching = handler.session().is_searching();
        let next = waiting.pop_front_if(|line| !is_searching || !handler.blocks_on_search(line));
        if let Some(line) = next {
            waiting_bytes -= line.bytes();
            let searches = handler.searches();
            if handler.handle(&line).is_break() {
                return;
            }
            if handler.searches() > searches {
                // Lines that came before the search was started may be meant for it.
                for line in &waiting {
                    if handler.starts_search(line) {
                        break;
                    }
                    handler.on_line(line);
                }
            }
            continue;
        }
        if closed && !is_searching {
            return;
        }
        if closed || !waiting.is_empty() {
            if handler.session().is_endless() {
                handler.session().stop();
            }
            handler.session().set_unattended();
            if waiting_bytes >= MAX_WAITING_BYTES {
                handler.finish();
                continue;
            }
        }
        let event = if is_searching {
            events.recv_timeout(TICK)
        } else {
            events.recv().map_err(RecvTimeoutError::from)
        };
        match event {
            Ok(LoopEvent::Line(line)) => {
                if !waiting.iter().any(|line| handler.starts_search(line)) {
                    handler.on_line(&line);
                }
                let is_immediate = waiting.is_empty() && !handler.blocks_on_search(&line);
                if !is_immediate && handler.session().is_searching() {
                    waiting_bytes += line.bytes();
                    waiting.push_back(line);
                } else if handler.handle(&line).is_break() {
                    return;
                }
            }
            Ok(LoopEvent::SearchEnd(number)) if number == handler.searches() => handler.finish(),
            Ok(LoopEvent::Closed) | Err(RecvTimeoutError::Disconnected) => closed = true,
            Ok(LoopEvent::SearchEnd(_)) | Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Why an option was not set.
#[derive(Debug, thiserror::Error)]
enum SetOptionError {
    /// There is no such option, or the value is invalid.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// The log file cannot be opened.
    #[error("cannot write to \"{}\": {error}", path.display())]
    LogFile {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: std::io::Error,
    },
}

/// Sets an option of the session. If it is the log file, opens that. Returns messages for the user.
fn set_option(
    session: &mut Session,
    output: &LineWriter,
    name: &str,
    value: &str,
) -> Result<Vec<String>, SetOptionError> {
    let old_log_file = session.log_file();
    let notes = session.set_option(name, value)?;
    let log_file = session.log_file();
    if log_file != old_log_file
        && let Err(error) = output.log_to(log_file.as_deref())
    {
        // The option keeps its value, so that the next attempt is refused as well.
        let old = old_log_file.unwrap_or_default();
        session.set_option(name, &old.to_string_lossy())?;
        return Err(SetOptionError::LogFile { path: log_file.unwrap_or_default(), error });
    }
    Ok(notes)
}

/// Converts an expected score, from -1 to 1, to centipawns by the formula of lc0.
fn centipawns(score: f32) -> i32 {
    let pawns = 90.0 * libm::tanf(1.563_754_2 * score.clamp(-1.0, 1.0));
    pawns.clamp(-MAX_CENTIPAWNS, MAX_CENTIPAWNS).round() as i32
}

/// Runs the bench with `threads` threads. Passes `print` a line for each position, then the totals, the signature (a
/// hash of all results), and at last the line that the testing framework OpenBench reads: `N nodes M nps`.
///
/// # Errors
/// If a search fails.
pub fn bench(threads: usize, mut print: impl FnMut(&str)) -> Result<(), EvalError> {
    let begun = Instant::now();
    let results = engine::bench(Catalogue::shipped(), threads)?;
    let seconds = begun.elapsed().as_secs_f64().max(1e-3);
    for BenchPosition { variant, fen, best, nodes, .. } in &results {
        print(&format!("{variant}: {fen} {} {nodes}", best.as_deref().unwrap_or("(none)")));
    }
    let nodes: u64 = results.iter().map(|result| result.nodes).sum();
    let sum = |count: fn(&Memory) -> usize| -> f64 {
        results.iter().map(|result| count(&result.memory) as f64).sum()
    };
    let expanded = sum(|memory| memory.expanded).max(1.0);
    let bytes = sum(|memory| memory.bytes) / expanded;
    let moves = sum(|memory| memory.moves) / expanded;
    print(&format!("Bytes/expanded node: {bytes:.1}, of {moves:.1} moves"));
    let signature = Key::of(results.iter().map(|result| result.signature));
    print(&format!("Signature: {:016x}", signature.0));
    print(&format!("{nodes} nodes {:.0} nps", nodes as f64 / seconds));
    Ok(())
}

/// The result of a check of variant files.
#[derive(Debug)]
pub struct VariantCheck {
    /// The number of variants that the files add.
    pub variants: usize,
    /// The errors of files and sections that were skipped.
    pub errors: Vec<VariantFileError>,
}

impl VariantCheck {
    /// Returns `true` if there are no errors.
    pub fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }
}

impl fmt::Display for VariantCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for error in &self.errors {
            writeln!(f, "{error}")?;
        }
        write!(f, "{} variants, {} errors", self.variants, self.errors.len())
    }
}

/// Checks variant files. `paths` is a list like that of `VariantPath`.
pub fn check(paths: &str) -> VariantCheck {
    let shipped = Catalogue::shipped();
    let (catalogue, errors) = add_variant_files(shipped, paths);
    VariantCheck { variants: catalogue.iter().count() - shipped.iter().count(), errors }
}
