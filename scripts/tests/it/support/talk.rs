//! The engine in this process, for tests that send it commands.

use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};

use menagerie::protocol;

/// The output of the engine, for the test to read.
#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("a lock").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Returns the lines with which the engine answers commands.
pub(crate) fn talk(commands: &[&str]) -> Vec<String> {
    let output = Output::default();
    let input = Cursor::new(commands.join("\n") + "\n");
    protocol::run(input, output.clone()).expect("the engine ends well");
    let bytes = output.0.lock().expect("a lock").clone();
    String::from_utf8(bytes).expect("text").lines().map(str::to_owned).collect()
}
