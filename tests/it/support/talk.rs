//! Sessions with the engine's executable, and transcripts of sessions.
//!
//! Each line of a transcript is one of:
//!
//! - `> text`: send a line to the engine;
//! - `= pattern`: the next line of the engine matches, search reports (`info depth ..`) not counted;
//! - `~ pattern`: a later line matches, lines before it are skipped;
//! - `! pattern`: no line that the next `~` skips matches;
//! - `#` begins a comment. In a pattern, `*` stands for any text.
//!
//! At the end the input is closed, and the engine must exit successfully. The transcripts of a protocol are
//! in the folder of its name.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use std::{fs, thread};

/// The maximum time to wait for a line.
const LINE_TIMEOUT: Duration = Duration::from_secs(120);

/// Returns the path of the engine: that in the environment variable `MENAGERIE_EXE`, for tests of an installed
/// engine, or the one that cargo has built. A relative path starts at the package's folder.
pub(crate) fn executable() -> PathBuf {
    let named = std::env::var_os("MENAGERIE_EXE").filter(|path| !path.is_empty());
    let built = || PathBuf::from(env!("CARGO_BIN_EXE_menagerie"));
    named.map_or_else(built, |path| Path::new(env!("CARGO_MANIFEST_DIR")).join(path))
}

/// Returns the command of the engine, without environment variables that affect it.
pub(crate) fn command() -> Command {
    let mut command = Command::new(executable());
    command.env_remove("ORT_DYLIB_PATH").env_remove("RUST_LOG");
    command
}

/// Writes a temporary file. Returns its path.
pub(crate) fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, bytes).expect("the file can be written");
    path
}

/// A running engine.
pub(crate) struct Engine {
    child: Child,
    input: Option<ChildStdin>,
    lines: Option<Receiver<String>>,
}

impl Engine {
    pub(crate) fn start() -> Engine {
        let mut command = command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the engine starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            // Ends, and closes the engine's output, when the receiver is dropped.
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Engine { child, input, lines: Some(lines) }
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(bytes).and_then(|()| input.flush()).expect("the engine reads its input");
    }

    pub(crate) fn say(&mut self, line: &str) {
        self.bytes(format!("{line}\n").as_bytes());
    }

    fn line(&mut self, wanted: &str) -> String {
        let lines = self.lines.as_ref().expect("the output is open");
        let line = lines.recv_timeout(LINE_TIMEOUT);
        let line = line.unwrap_or_else(|_| panic!("no line matches \"{wanted}\""));
        println!("{line}");
        line
    }

    /// Returns the next line that is not a search report. It must match.
    pub(crate) fn next(&mut self, pattern: &str) -> String {
        loop {
            let line = self.line(pattern);
            if !line.starts_with("info depth ") || pattern.starts_with("info depth ") {
                assert!(matches(pattern, &line), "\"{line}\" does not match \"{pattern}\"");
                return line;
            }
        }
    }

    /// Returns the next line that matches.
    pub(crate) fn until(&mut self, pattern: &str) -> String {
        self.until_without(pattern, &[])
    }

    fn until_without(&mut self, pattern: &str, never: &[String]) -> String {
        loop {
            let line = self.line(pattern);
            if matches(pattern, &line) {
                return line;
            }
            let wrong = never.iter().find(|never| matches(never, &line));
            assert!(wrong.is_none(), "\"{line}\" before \"{pattern}\"");
        }
    }

    /// Returns all remaining lines.
    pub(crate) fn rest(&mut self) -> Vec<String> {
        self.lines.take().expect("the output is open").iter().collect()
    }

    pub(crate) fn close_output(&mut self) {
        self.lines = None;
    }

    /// Closes the input. The engine must exit successfully.
    pub(crate) fn end(&mut self) {
        self.input = None;
        self.ended();
    }

    /// Waits for the engine, which must exit successfully.
    pub(crate) fn ended(&mut self) {
        let status = self.child.wait().expect("the engine has a status");
        assert!(status.success(), "{status}");
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // The error of an engine that has already exited is ignored.
        let _ = self.child.kill();
    }
}

/// Returns `true` if `line` matches `pattern`, in which `*` matches any text.
pub(crate) fn matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let mut parts: Vec<_> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(place) = rest.find(part) else { return false };
        rest = &rest[place + part.len()..];
    }
    rest.ends_with(last)
}

/// Defines a test for each named file in a folder of tests/transcripts, and a test that there are no other
/// files.
#[allow(unused_macros, reason = "not every test binary has transcripts")]
macro_rules! transcripts {
    ($folder:literal: $($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                talk::transcript(concat!($folder, "/", stringify!($name), ".txt"));
            }
        )*

        #[test]
        fn every_transcript_is_run() {
            talk::are_all($folder, &[$(stringify!($name)),*]);
        }
    };
}

fn transcripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts")
}

/// Checks that a folder has no other transcripts than those with these names.
pub(crate) fn are_all(folder: &str, names: &[&str]) {
    for file in fs::read_dir(transcripts().join(folder)).expect("the transcripts can be read") {
        let path = file.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy();
        assert!(names.contains(&&*name), "{name} is not run");
    }
}

/// Runs the transcript in the file `path`.
pub(crate) fn transcript(path: &str) {
    let file = transcripts().join(path);
    let text = fs::read_to_string(file).expect("the transcript can be read");
    let mut engine = Engine::start();
    let mut never = Vec::new();
    for (number, line) in text.lines().enumerate() {
        println!("{path}:{}: {line}", number + 1);
        match line.split_once(' ').unwrap_or((line, "")) {
            ("" | "#", _) => {}
            (">", text) => engine.say(text),
            ("=", pattern) => drop(engine.next(pattern)),
            ("~", pattern) => drop(engine.until_without(pattern, &std::mem::take(&mut never))),
            ("!", pattern) => never.push(pattern.to_owned()),
            _ => panic!("{path}:{}: invalid line \"{line}\"", number + 1),
        }
    }
    engine.end();
}
