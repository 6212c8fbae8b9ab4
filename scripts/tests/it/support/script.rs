//! Engines that are shell scripts.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes an executable script. A separate process writes the file: a file that this process has open for writing
/// is inherited by processes that other tests start at the same time, and cannot be executed until they close it
/// ("text file busy").
pub(crate) fn executable(path: &Path, text: &str) {
    let mut shell = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut pipe = shell.stdin.take().expect("a pipe");
    pipe.write_all(text.as_bytes()).expect("written");
    drop(pipe);
    assert!(shell.wait().expect("it ends").success(), "{} cannot be written", path.display());
}

/// Writes an executable that is the engine itself: the test of this executable that runs it.
pub(crate) fn menagerie(path: &Path) {
    let test = std::env::current_exe().expect("this executable");
    let command = format!("exec {} campaign::engine --exact --ignored --nocapture", test.display());
    executable(path, &format!("#!/bin/sh\n{command}\n"));
}
