//! Layouts of encodings, and the planes that two layouts share.

use super::planes::board_prefix;
use crate::rules::Color;

/// A parsed [`Encoding::layout`](super::Encoding::layout).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout<'a> {
    board: &'a str,
    planes: Vec<&'a str>,
    policy: Vec<&'a str>,
}

impl<'a> Layout<'a> {
    /// Parses a layout. Returns `None` if the text is not a layout.
    pub fn read(text: &'a str) -> Option<Layout<'a>> {
        let (board, rest) = text.split_once(" planes: ")?;
        let (planes, policy) = rest.split_once("; policy: ")?;
        Some(Layout { board, planes: split_names(planes), policy: split_names(policy) })
    }

    /// Returns the names of the input planes.
    pub fn planes(&self) -> &[&'a str] {
        &self.planes
    }

    /// Returns the names of the policy planes.
    pub fn policy(&self) -> &[&'a str] {
        &self.policy
    }

    /// Returns the layout of one board of bughouse, for a network that evaluates the boards one by one: the
    /// first plane, and the planes of a board with the names of the one-board game. `None` if the layout
    /// does not have two boards.
    pub fn of_board(&self) -> Option<Layout<'a>> {
        let policy = names_of_first_board(&self.policy);
        if policy.is_empty() {
            return None;
        }
        let mut planes = vec![*self.planes.first()?];
        planes.extend(names_of_first_board(&self.planes));
        Some(Layout { board: self.board, planes, policy })
    }

    /// Returns the indices of the planes in another layout, or `None` if its board has another size.
    pub fn indices_in(&self, other: &Layout<'_>) -> Option<PlaneIndices> {
        if self.board != other.board {
            return None;
        }
        let find = |names: &[&str], among: &[&str]| {
            names.iter().map(|name| among.iter().position(|other| other == name)).collect()
        };
        Some(PlaneIndices {
            planes: find(&self.planes, &other.planes),
            policy: find(&self.policy, &other.policy),
        })
    }
}

/// The indices of planes in another layout; `None` for planes that it does not have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlaneIndices {
    /// The input planes.
    pub planes: Vec<Option<usize>>,
    /// The policy planes.
    pub policy: Vec<Option<usize>>,
}

/// Returns the names of the planes of the first board of bughouse, without its prefix.
fn names_of_first_board<'a>(names: &[&'a str]) -> Vec<&'a str> {
    names.iter().filter_map(|name| name.strip_prefix(board_prefix(Color::White))).collect()
}

/// Splits the names of planes at spaces. A space after a comma is a part of a name.
fn split_names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices(' ').filter(|(at, _)| !text[..*at].ends_with(',')) {
        names.push(&text[start..at]);
        start = at + 1;
    }
    names.push(&text[start..]);
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_finds_planes_by_name() {
        let layout = |text| Layout::read(text).expect("a layout");
        let this = layout("8x8 planes: Board Men(Pawn, true) Wall; policy: Go(0, 1) Wall");
        let other = layout("8x8 planes: Men(Pawn, true) Board; policy: Place Go(0, 1)");
        let places = this.indices_in(&other).expect("the same board");
        assert_eq!(places.planes, [Some(1), Some(0), None]);
        assert_eq!(places.policy, [Some(1), None]);
        for text in ["", "8x8", "8x8 planes: Board", "8x8 policy: Place; planes: Board"] {
            assert_eq!(Layout::read(text), None, "{text}");
        }
        assert_eq!(this.indices_in(&layout("8x7 planes: Board; policy: Place")), None);
    }

    #[test]
    fn layout_of_one_board_has_names_of_one_board_game() {
        let two = "8x8 planes: Board Second White.Men(King, true) Black.Men(King, true); policy: \
                   White.Go(0, 1) White.Pass Black.Go(0, 1) Black.Pass";
        let layout = |text| Layout::read(text).expect("a layout");
        let one = layout("8x8 planes: Board Men(King, true); policy: Go(0, 1) Pass");
        assert_eq!(layout(two).of_board(), Some(one.clone()));
        assert_eq!(one.of_board(), None);
    }
}
