//! Messages for people.

/// Prints a line to the standard output like `println!`. A line that cannot be written is dropped: the results of a long
/// run are in files, and a closed pipe must not end it.
#[macro_export]
macro_rules! print_line {
    ($($arguments:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stdout(), $($arguments)*).unwrap_or_default()
    }};
}
