//! Turns of several legs. UCI has the promotion after its own leg, `a7a8q,a8a1`, XBoard
//! after the last, `a7a8,a8a1q`. XBoard has a line for each leg, with a comma if more follow.

/// The length of a leg without a promotion.
const LEG_BYTES: usize = 4;

/// Converts a turn from UCI to XBoard, in one word. A turn of bughouse on two boards, `(e2e4,d7d5)`, is
/// returned unchanged.
pub fn to_xboard(turn: &str) -> String {
    match turn.split_once(',') {
        Some((first, rest))
            if first.is_char_boundary(LEG_BYTES) && !first.starts_with(['O', '(']) =>
        {
            let (leg, promotion) = first.split_at(LEG_BYTES);
            format!("{leg},{rest}{promotion}")
        }
        _ => turn.to_owned(),
    }
}

/// Converts a turn from XBoard to UCI.
pub fn from_xboard(turn: &str) -> String {
    match turn.rsplit_once(',') {
        Some((first, last))
            if last.is_char_boundary(LEG_BYTES)
                && last.len() > LEG_BYTES
                && !first.starts_with('(') =>
        {
            let (leg, promotion) = last.split_at(LEG_BYTES);
            format!("{first}{promotion},{leg}")
        }
        _ => turn.to_owned(),
    }
}

/// Returns the `move` lines of a turn in the notation of XBoard.
pub(super) fn move_lines(turn: &str) -> String {
    format!("move {}", turn.replace(',', ",\nmove "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promotion_is_last_for_xboard() {
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
            assert_eq!((to_xboard(uci).as_str(), from_xboard(xboard).as_str()), (xboard, uci));
        }
        for odd in [",", "e2,", "\u{fffd}\u{fffd},\u{fffd}\u{fffd}", "a,b,c"] {
            let _ = (to_xboard(odd), from_xboard(odd));
        }
        assert_eq!(move_lines("a7a8,a8a1q"), "move a7a8,\nmove a8a1q");
    }
}
