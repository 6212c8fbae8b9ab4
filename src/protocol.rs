//! How the engine is spoken to: lines of text in, lines of text out.
//!
//! The first line chooses the handler: `xboard` that of XBoard, anything else UCI. Lines are obeyed
//! in the order in which they come. One that needs the search in progress to be over waits for
//! that, and so does what comes after it; a search without a limit is stopped then, and one with a
//! limit runs to its end. What can be executed during a search (`stop`, `isready`, `?`, `quit` and
//! the like) is executed at once if no earlier line waits. When the input ends, so does the engine,
//! as soon as all lines have been executed.

mod bench;
mod centipawns;
mod check;
mod handler;
mod line;
mod output;
mod setting;
mod uci;
mod variant_info;
mod xboard;

use std::collections::VecDeque;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

pub use bench::bench;
pub use check::check;
use handler::{Ended, Next, ProtocolHandler};
use line::{Line, read_line};
use output::Output;
use uci::Uci;
use xboard::XBoard;
pub use xboard::legs;

use crate::engine::Session;
use crate::variant::Catalogue;

/// So many lines are read ahead of the one that is obeyed.
const AHEAD: usize = 16;
/// So many bytes of lines wait for a search; then it is waited for before another is looked at.
const WAITING: usize = 1 << 24;
/// How soon the end of a search is noticed that could not announce it.
const TICK: Duration = Duration::from_millis(100);

/// What wakes the loop.
enum Wake {
    /// A line came.
    Line(Line),
    /// The search of that number has ended.
    Ended(u64),
    /// No more lines will come.
    Closed,
}

/// Speaks with whoever is at the other end of `input` and `output` until it ends either or says
/// `quit`.
///
/// # Errors
/// If no thread can be started.
pub fn run(
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) -> std::io::Result<()> {
    let output = Arc::new(Output::new(output));
    let (sender, wakes) = sync_channel(AHEAD);
    let reader = sender.clone();
    // Never joined: it may hang in a read for ever, and holds nothing that must be put in order.
    thread::Builder::new().name("input".to_owned()).spawn(move || read(input, &reader))?;
    let session = Session::new(Catalogue::shipped());
    let ended = move |number| {
        // If there is no room, the loop is awake anyway.
        let _ = sender.try_send(Wake::Ended(number));
    };
    let ended: Ended = Arc::new(ended);
    let Some(first) = first(&wakes) else { return Ok(()) };
    let heard = Arc::clone(&output);
    if first.words() == ["xboard"] {
        obey(&wakes, &output, first, &mut XBoard::new(session, heard, ended));
    } else {
        obey(&wakes, &output, first, &mut Uci::new(session, heard, ended));
    }
    Ok(())
}

fn read(mut input: impl BufRead, reader: &SyncSender<Wake>) {
    // An input that fails is as good as closed.
    while let Ok(Some(line)) = read_line(&mut input) {
        if reader.send(Wake::Line(line)).is_err() {
            return;
        }
    }
    let _ = reader.send(Wake::Closed);
}

/// The first line that is not blank; `None` if there is none.
fn first(wakes: &Receiver<Wake>) -> Option<Line> {
    loop {
        match wakes.recv() {
            Ok(Wake::Line(line)) if line.is_blank() => {}
            Ok(Wake::Line(line)) => return Some(line),
            Ok(Wake::Closed) | Err(_) => return None,
            Ok(Wake::Ended(_)) => {}
        }
    }
}

/// Obeys the `first` line and all that come, in order.
fn obey(wakes: &Receiver<Wake>, output: &Output, first: Line, handler: &mut impl ProtocolHandler) {
    let (mut bytes, mut closed) = (first.bytes(), false);
    let mut waiting: VecDeque<Line> = VecDeque::from([first]);
    while !output.is_closed() {
        handler.tick();
        if handler.session().has_ended() {
            handler.finish();
        }
        let searcher = handler.session().is_thinking();
        if let Some(line) =
            waiting.pop_front_if(|line| !searcher || !handler.blocks_on_search(line))
        {
            bytes -= line.bytes();
            let searches = handler.searches();
            if handler.handle(&line) == Next::Quit {
                return;
            }
            if handler.searches() > searches {
                // Lines that came in before the search could begin may be meant for it.
                for line in &waiting {
                    if handler.starts_search(line) {
                        break;
                    }
                    handler.on_line(line);
                }
            }
            continue;
        }
        if closed && !searcher {
            return;
        }
        if closed || !waiting.is_empty() {
            if handler.session().is_endless() {
                handler.session().stop();
            }
            handler.session().set_unattended();
            if bytes >= WAITING {
                handler.finish();
                continue;
            }
        }
        let wake = if searcher {
            wakes.recv_timeout(TICK)
        } else {
            wakes.recv().map_err(RecvTimeoutError::from)
        };
        match wake {
            Ok(Wake::Line(line)) => {
                if !waiting.iter().any(|line| handler.starts_search(line)) {
                    handler.on_line(&line);
                }
                let now = waiting.is_empty() && !handler.blocks_on_search(&line);
                if !now && handler.session().is_thinking() {
                    bytes += line.bytes();
                    waiting.push_back(line);
                } else if handler.handle(&line) == Next::Quit {
                    return;
                }
            }
            Ok(Wake::Ended(number)) if number == handler.searches() => handler.finish(),
            Ok(Wake::Closed) | Err(RecvTimeoutError::Disconnected) => closed = true,
            Ok(Wake::Ended(_)) | Err(RecvTimeoutError::Timeout) => {}
        }
    }
}
