//! A conversation with the engine's own line loop, in this process.

use std::io::{BufReader, Read, Result, Write};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use menagerie::protocol;

/// What the engine is sent.
#[derive(Debug)]
pub(crate) enum Step {
    /// These bytes, whole lines.
    Say(Vec<u8>),
    /// Nothing, before it has said this.
    Await(String),
}

impl Step {
    pub(crate) fn say(line: &str) -> Step {
        Step::Say(format!("{line}\n").into_bytes())
    }
}

/// Steps in the course of which a search is told to end some lines after it was asked for, so that
/// these come in the middle of it.
pub(crate) struct Script {
    pub(crate) steps: Vec<Step>,
    end: &'static str,
    /// Until it is said.
    lines: Option<usize>,
}

impl Script {
    /// `end` is what ends a search.
    pub(crate) fn new(first: &str, end: &'static str) -> Script {
        Script { steps: vec![Step::say(first)], end, lines: None }
    }

    /// A line; the search in progress ends if it has lasted for long enough.
    pub(crate) fn line(&mut self, line: &[u8]) {
        self.steps.push(Step::Say([line, b"\n"].concat()));
        self.lines = self.lines.map(|lines| lines.saturating_sub(1));
        if self.lines == Some(0) {
            self.end();
        }
    }

    /// The search that was asked for last is to end after so many lines more.
    pub(crate) fn end_after(&mut self, lines: usize) {
        self.lines = Some(lines);
    }

    /// Ends the search in progress.
    pub(crate) fn end(&mut self) {
        if self.lines.take().is_some() {
            self.steps.push(Step::say(self.end));
        }
    }
}

/// What the engine has said, and whether it has gone.
#[derive(Default)]
struct Said {
    inner: Mutex<(Vec<u8>, bool)>,
    news: Condvar,
}

/// The engine's output.
pub(crate) struct Ear(Arc<Said>);

impl Write for Ear {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut said = self.0.inner.lock().unwrap_or_else(PoisonError::into_inner);
        said.0.extend_from_slice(bytes);
        self.0.news.notify_all();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The engine's input.
pub(crate) struct Mouth {
    steps: std::vec::IntoIter<Step>,
    bytes: std::vec::IntoIter<u8>,
    said: Arc<Said>,
    /// So much of what was said was looked through for what was awaited.
    seen: usize,
}

impl Mouth {
    fn wait_for(&mut self, text: &str) {
        let mut said = self.said.inner.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let (all, gone) = &*said;
            let found = all[self.seen..].windows(text.len()).position(|w| w == text.as_bytes());
            if let Some(place) = found {
                self.seen += place + text.len();
                return;
            }
            if *gone {
                return;
            }
            self.seen = self.seen.max(all.len().saturating_sub(text.len()));
            said = self.said.news.wait(said).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Read for Mouth {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        while self.bytes.len() == 0 {
            match self.steps.next() {
                None => return Ok(0),
                Some(Step::Say(bytes)) => self.bytes = bytes.into_iter(),
                Some(Step::Await(text)) => self.wait_for(&text),
            }
        }
        let slots = buffer.iter_mut().zip(&mut self.bytes);
        Ok(slots.map(|(slot, byte)| *slot = byte).count())
    }
}

/// All lines that the engine says to these steps, each of them text without control characters.
pub(crate) fn talk(steps: Vec<Step>) -> Vec<String> {
    talk_to(steps, protocol::run)
}

/// [`talk`] with an engine that `run` runs.
pub(crate) fn talk_to(
    steps: Vec<Step>,
    run: impl FnOnce(BufReader<Mouth>, Ear) -> Result<()>,
) -> Vec<String> {
    let said = Arc::new(Said::default());
    let mouth = Mouth {
        steps: steps.into_iter(),
        bytes: Vec::new().into_iter(),
        said: Arc::clone(&said),
        seen: 0,
    };
    run(BufReader::new(mouth), Ear(Arc::clone(&said))).expect("threads can be started");
    let mut inner = said.inner.lock().unwrap_or_else(PoisonError::into_inner);
    inner.1 = true;
    said.news.notify_all();
    let text = str::from_utf8(&inner.0).expect("what is said is UTF-8");
    assert!(text.is_empty() || text.ends_with('\n'), "the last line has no end");
    let lines: Vec<String> = text.split_terminator('\n').map(str::to_owned).collect();
    for line in &lines {
        assert!(!line.chars().any(char::is_control), "a control character in {line:?}");
    }
    lines
}

/// The hostile lines as the engine will see them, up to the one at which it goes, and whether there
/// is such a one.
pub(crate) fn hostile(data: &[u8]) -> (Vec<&[u8]>, bool) {
    let mut lines = Vec::new();
    for line in data.split(|&byte| byte == b'\n') {
        lines.push(unlogged(line));
        if words(line).first().is_some_and(|first| first == "quit") {
            return (lines, true);
        }
    }
    (lines, false)
}

/// The words of a line as the engine has them.
pub(crate) fn words(line: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(line);
    text.trim_start_matches('\u{feff}').split_whitespace().map(str::to_owned).collect()
}

/// A line up to the name of the log, which nobody wants written wherever the bytes say.
fn unlogged(line: &[u8]) -> &[u8] {
    const LOG: &[u8] = b"debug log file";
    let place = line.windows(LOG.len()).position(|w| w.eq_ignore_ascii_case(LOG));
    place.map_or(line, |place| &line[..place + LOG.len()])
}

/// A word that the bytes cannot probe_mate.
pub(crate) fn token(data: &[u8]) -> u64 {
    data.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    }) >> 1
}
