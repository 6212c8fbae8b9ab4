//! Messages and reports on the standard output.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::sync::Mutex;

/// The first error since the last [`take_error`].
static ERROR: Mutex<Option<io::Error>> = Mutex::new(None);

/// Prints a line to the standard output like `println!`, which would panic if it cannot be written. See
/// [`console::write_line`](crate::console::write_line).
#[macro_export]
macro_rules! print_line {
    ($($arguments:tt)*) => {
        $crate::console::write_line(format_args!($($arguments)*))
    };
}

/// Writes a line to the standard output. The results of a long run are in files, and an error must not end it: a closed
/// pipe is ignored, and any other error is kept for [`take_error`].
pub fn write_line(line: fmt::Arguments<'_>) {
    let Err(error) = writeln!(io::stdout(), "{line}") else { return };
    if error.kind() == ErrorKind::BrokenPipe {
        return;
    }
    if let Ok(mut first) = ERROR.lock() {
        first.get_or_insert(error);
    }
}

/// Returns the first error of [`write_line`] since the last call, because of which the output is not complete.
pub fn take_error() -> Option<io::Error> {
    ERROR.lock().ok()?.take()
}
