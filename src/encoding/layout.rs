//! What two games' planes have in common.

use super::planes::table_name;
use crate::rules::Color;

/// [`Encoding::layout`](super::Encoding::layout), taken apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout<'a> {
    board: &'a str,
    planes: Vec<&'a str>,
    policy: Vec<&'a str>,
}

impl<'a> Layout<'a> {
    /// Reads a layout; `None` if the text is none.
    pub fn read(text: &'a str) -> Option<Layout<'a>> {
        let (board, rest) = text.split_once(" planes: ")?;
        let (planes, policy) = rest.split_once("; policy: ")?;
        Some(Layout { board, planes: names(planes), policy: names(policy) })
    }

    /// What each input plane stands for.
    pub fn planes(&self) -> &[&'a str] {
        &self.planes
    }

    /// What each plane of the policy stands for.
    pub fn policy(&self) -> &[&'a str] {
        &self.policy
    }

    /// What a network sees and makes of one of two tables that thinks of both alike: the first plane of
    /// all, and the planes of a table by the names that they have in the game of one. `None` if there are
    /// not two tables.
    pub fn of_table(&self) -> Option<Layout<'a>> {
        let own = |names: &[&'a str]| {
            let name = |name: &&'a str| name.strip_prefix(table_name(Color::White));
            names.iter().filter_map(name).collect::<Vec<_>>()
        };
        let (first, policy) = (self.planes.first()?, own(&self.policy));
        let planes = std::iter::once(*first).chain(own(&self.planes)).collect();
        (!policy.is_empty()).then_some(Layout { board: self.board, planes, policy })
    }

    /// Where each of its planes stands among those of another layout, the input's and the policy's;
    /// `None` if that is of another board.
    pub fn places_in(&self, other: &Layout<'_>) -> Option<Places> {
        let find = |names: &[&str], among: &[&str]| {
            names.iter().map(|name| among.iter().position(|other| other == name)).collect()
        };
        (self.board == other.board).then(|| Places {
            planes: find(&self.planes, &other.planes),
            policy: find(&self.policy, &other.policy),
        })
    }
}

/// Where planes stand among those of another layout, if they are there at all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Places {
    /// The input's.
    pub planes: Vec<Option<usize>>,
    /// The policy's.
    pub policy: Vec<Option<usize>>,
}

/// The names of planes, between which there are spaces. Within a name a space follows a comma.
fn names(text: &str) -> Vec<&str> {
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
    fn planes_are_found_by_name_on_the_same_board() {
        let layout = |text| Layout::read(text).expect("a layout");
        let this = layout("8x8 planes: Board Men(Pawn, true) Wall; policy: Go(0, 1) Wall");
        let other = layout("8x8 planes: Men(Pawn, true) Board; policy: Place Go(0, 1)");
        let places = this.places_in(&other).expect("the same board");
        assert_eq!(places.planes, [Some(1), Some(0), None]);
        assert_eq!(places.policy, [Some(1), None]);
        for text in ["", "8x8", "8x8 planes: Board", "8x8 policy: Place; planes: Board"] {
            assert_eq!(Layout::read(text), None, "{text}");
        }
        assert_eq!(this.places_in(&layout("8x7 planes: Board; policy: Place")), None);
    }

    #[test]
    fn of_two_tables_one_is_as_in_its_own_game() {
        let two = "8x8 planes: Board Second White.Men(King, true) Black.Men(King, true); policy: \
                   White.Go(0, 1) White.Pass Black.Go(0, 1) Black.Pass";
        let layout = |text| Layout::read(text).expect("a layout");
        let one = layout("8x8 planes: Board Men(King, true); policy: Go(0, 1) Pass");
        assert_eq!(layout(two).of_table(), Some(one.clone()));
        assert_eq!(one.of_table(), None);
    }
}
