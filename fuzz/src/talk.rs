//! Sessions with the engine's line loop, in this process.

use std::io::{BufReader, Read, Result, Write};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use menagerie::protocol;

/// A step of a session.
#[derive(Debug)]
pub(crate) enum Step {
    /// Sends these bytes, whole lines.
    Say(Vec<u8>),
    /// Waits until the engine has printed this.
    Await(String),
}

impl Step {
    pub(crate) fn say(line: &str) -> Step {
        Step::Say(format!("{line}\n").into_bytes())
    }
}

/// Steps in which searches are stopped some lines after they were started, so that these lines come during a
/// search.
pub(crate) struct Script {
    pub(crate) steps: Vec<Step>,
    end: &'static str,
    /// The number of lines until `end` is sent.
    lines: Option<usize>,
}

impl Script {
    /// Creates a script that begins with the line `first`. The command `end` stops a search.
    pub(crate) fn new(first: &str, end: &'static str) -> Script {
        Script { steps: vec![Step::say(first)], end, lines: None }
    }

    /// Sends a line, and stops the search in progress if it is due.
    pub(crate) fn line(&mut self, line: &[u8]) {
        self.steps.push(Step::Say([line, b"\n"].concat()));
        self.lines = self.lines.map(|lines| lines.saturating_sub(1));
        if self.lines == Some(0) {
            self.end();
        }
    }

    /// Stops the last search after `lines` more lines.
    pub(crate) fn end_after(&mut self, lines: usize) {
        self.lines = Some(lines);
    }

    /// Stops the search in progress.
    pub(crate) fn end(&mut self) {
        if self.lines.take().is_some() {
            self.steps.push(Step::say(self.end));
        }
    }
}

/// The output of the engine, and whether it has ended.
#[derive(Default)]
struct SharedOutput {
    inner: Mutex<(Vec<u8>, bool)>,
    changed: Condvar,
}

/// The writer for the engine's output.
pub(crate) struct OutputWriter(Arc<SharedOutput>);

impl Write for OutputWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut output = self.0.inner.lock().unwrap_or_else(PoisonError::into_inner);
        output.0.extend_from_slice(bytes);
        self.0.changed.notify_all();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The reader for the engine's input.
pub(crate) struct ScriptReader {
    steps: std::vec::IntoIter<Step>,
    bytes: std::vec::IntoIter<u8>,
    output: Arc<SharedOutput>,
    /// The number of bytes of the output that were searched already.
    searched_bytes: usize,
}

impl ScriptReader {
    fn wait_for(&mut self, text: &str) {
        let mut output = self.output.inner.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let (bytes, has_ended) = &*output;
            let mut windows = bytes[self.searched_bytes..].windows(text.len());
            if let Some(index) = windows.position(|window| window == text.as_bytes()) {
                self.searched_bytes += index + text.len();
                return;
            }
            if *has_ended {
                return;
            }
            self.searched_bytes = self.searched_bytes.max(bytes.len().saturating_sub(text.len()));
            output = self.output.changed.wait(output).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Read for ScriptReader {
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

/// Returns all lines that the engine prints in a session.
///
/// # Panics
/// If a line is not text without control characters.
pub(crate) fn talk(steps: Vec<Step>) -> Vec<String> {
    talk_to(steps, protocol::run)
}

/// [`talk`] with an engine that `run` starts.
pub(crate) fn talk_to(
    steps: Vec<Step>,
    run: impl FnOnce(BufReader<ScriptReader>, OutputWriter) -> Result<()>,
) -> Vec<String> {
    let output = Arc::new(SharedOutput::default());
    let reader = ScriptReader {
        steps: steps.into_iter(),
        bytes: Vec::new().into_iter(),
        output: Arc::clone(&output),
        searched_bytes: 0,
    };
    let writer = OutputWriter(Arc::clone(&output));
    run(BufReader::new(reader), writer).expect("threads can be started");
    let mut inner = output.inner.lock().unwrap_or_else(PoisonError::into_inner);
    inner.1 = true;
    output.changed.notify_all();
    let text = str::from_utf8(&inner.0).expect("the output is UTF-8");
    assert!(text.is_empty() || text.ends_with('\n'), "the last line has no end");
    let lines: Vec<String> = text.split_terminator('\n').map(str::to_owned).collect();
    for line in &lines {
        assert!(!line.chars().any(char::is_control), "a control character in {line:?}");
    }
    lines
}

/// Returns the lines of the input up to a `quit`, and whether there is one.
pub(crate) fn hostile(data: &[u8]) -> (Vec<&[u8]>, bool) {
    let mut lines = Vec::new();
    for line in data.split(|&byte| byte == b'\n') {
        lines.push(without_log_file(line));
        if words(line).first().is_some_and(|first| first == "quit") {
            return (lines, true);
        }
    }
    (lines, false)
}

/// Returns the words of a line as the engine splits it.
pub(crate) fn words(line: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(line);
    text.trim_start_matches('\u{feff}').split_whitespace().map(str::to_owned).collect()
}

/// Returns a line up to the name of the log file, so that no files are written.
fn without_log_file(line: &[u8]) -> &[u8] {
    const LOG: &[u8] = b"debug log file";
    let index = line.windows(LOG.len()).position(|window| window.eq_ignore_ascii_case(LOG));
    index.map_or(line, |index| &line[..index + LOG.len()])
}

/// Returns a hash of the input, as a word that the input does not contain.
pub(crate) fn token(data: &[u8]) -> u64 {
    data.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    }) >> 1
}
