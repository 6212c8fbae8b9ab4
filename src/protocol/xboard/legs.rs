//! Turns of several legs: UCI writes what a man becomes after its own leg, `a7a8q,a8a1`, XBoard
//! after the last, `a7a8,a8a1q`, and tells each leg in a line, with a comma where more follow.

/// How long a leg is that says nothing but from where and to where.
const STEP: usize = 4;

/// A turn that is written as UCI has it, as XBoard writes it in one word. That of a team at two
/// tables, `(e2e4,d7d5)`, stays as it is.
pub fn written(turn: &str) -> String {
    match turn.split_once(',') {
        Some((first, rest)) if first.is_char_boundary(STEP) && !first.starts_with(['O', '(']) => {
            let (step, becomes) = first.split_at(STEP);
            format!("{step},{rest}{becomes}")
        }
        _ => turn.to_owned(),
    }
}

/// A turn that is written as XBoard has it, as UCI writes it.
pub fn read(turn: &str) -> String {
    match turn.rsplit_once(',') {
        Some((first, last))
            if last.is_char_boundary(STEP) && last.len() > STEP && !first.starts_with('(') =>
        {
            let (step, becomes) = last.split_at(STEP);
            format!("{first}{becomes},{step}")
        }
        _ => turn.to_owned(),
    }
}

/// The lines that tell the engine's turn, written as XBoard has it.
pub(super) fn told(turn: &str) -> String {
    format!("move {}", turn.replace(',', ",\nmove "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_man_becomes_is_told_last() {
        for (uci, xboard) in [
            ("e2e4", "e2e4"),
            ("a7a8q", "a7a8q"),
            ("e2e4,e4e5", "e2e4,e4e5"),
            ("a7a8q,a8a1", "a7a8,a8a1q"),
            ("O-O,g1h3", "O-O,g1h3"),
            ("(e2e4,d7d5)", "(e2e4,d7d5)"),
            ("(e2e4,pass)", "(e2e4,pass)"),
            ("", ""),
        ] {
            assert_eq!((written(uci).as_str(), read(xboard).as_str()), (xboard, uci));
        }
        for odd in [",", "e2,", "\u{fffd}\u{fffd},\u{fffd}\u{fffd}", "a,b,c"] {
            let _ = (written(odd), read(odd));
        }
        assert_eq!(told("a7a8,a8a1q"), "move a7a8,\nmove a8a1q");
    }
}
