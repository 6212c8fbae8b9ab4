//! Messages for people.

/// Prints a line to the standard output like `println!`. A line that cannot be written is dropped: the results of a long
/// run are in files, and it must not end because nobody reads its messages any more.
#[macro_export]
macro_rules! print_line {
    ($($arguments:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stdout(), $($arguments)*).unwrap_or_default()
    }};
}
