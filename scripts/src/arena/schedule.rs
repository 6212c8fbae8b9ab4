//! Who sits where in which game.

use super::config::MatchConfig;

/// The players of a match and all ways to seat them. Every opening is played once in each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// For each entry of the configuration, which player it is.
    pub ids: Vec<usize>,
    /// What the players are called.
    pub names: Vec<String>,
    /// For each seating the entry that has each side.
    pub seatings: Vec<Vec<usize>>,
    /// How many games there are: whole rounds of seatings.
    pub games: u64,
}

impl Schedule {
    /// Of more than two, entries that are the same in all are one player with several seats; of two
    /// they are two players, so that one can be played against itself.
    pub fn new(config: &MatchConfig) -> Schedule {
        let players = &config.players;
        let same = |index: usize| players.iter().position(|player| *player == players[index]);
        let (mut ids, mut names) = (Vec::new(), Vec::<String>::new());
        for (index, player) in players.iter().enumerate() {
            match same(index).filter(|&first| first < index && players.len() > 2) {
                Some(first) => ids.push(ids[first]),
                None => {
                    ids.push(names.len());
                    names.push(free(&names, player.name()));
                }
            }
        }
        let mut seatings = Vec::new();
        seat(&ids, &mut Vec::new(), &mut seatings);
        let games = config.games.next_multiple_of(seatings.len() as u64);
        Schedule { ids, names, seatings, games }
    }

    /// The number of the opening and the seating of a game.
    pub fn game(&self, number: u64) -> (u64, &[usize]) {
        let seatings = self.seatings.len() as u64;
        (number / seatings, &self.seatings[(number % seatings) as usize])
    }
}

/// `name`, or with the first number after it that makes it differ from the others.
fn free(taken: &[String], name: String) -> String {
    let numbered = (2..).map(|number| format!("{name} ({number})"));
    std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name)).unwrap_or(name)
}

/// All orders of the entries that differ in who the players are, the given order first.
fn seat(ids: &[usize], seated: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
    if seated.len() == ids.len() {
        return found.push(seated.clone());
    }
    for entry in 0..ids.len() {
        let waiting = |&other: &usize| ids[other] == ids[entry] && !seated.contains(&other);
        // Of entries that are one player the first goes first.
        if (0..ids.len()).find(waiting) == Some(entry) {
            seated.push(entry);
            seat(ids, seated, found);
            seated.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(players: &[&str], games: u64) -> Schedule {
        let players = players.iter().map(|text| text.parse().unwrap()).collect();
        Schedule::new(&MatchConfig { games, ..MatchConfig::new("any", players) })
    }

    #[test]
    fn two_change_colours_even_if_they_are_the_same() {
        let two = schedule(&["random", "random"], 3);
        assert_eq!(two.names, ["random", "random (2)"]);
        assert_eq!(two.seatings, [[0, 1], [1, 0]]);
        assert_eq!(two.games, 4);
        assert_eq!(two.game(3), (1, &[1, 0][..]));
    }

    #[test]
    fn three_have_all_seatings() {
        let three = schedule(&["random", "plain:visits=9", "uniform:visits=9"], 6);
        assert_eq!(three.seatings.len(), 6);
        let mut sorted = three.seatings.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), 6);
        for seating in sorted {
            let mut seating = seating;
            seating.sort_unstable();
            assert_eq!(seating, [0, 1, 2]);
        }
    }

    #[test]
    fn one_against_two_that_are_the_same_has_three_seatings() {
        let schedule = schedule(&["random", "plain:visits=9", "plain:visits=9"], 100);
        assert_eq!(schedule.names, ["random", "plain-9"]);
        assert_eq!(schedule.ids, [0, 1, 1]);
        assert_eq!(schedule.seatings, [[0, 1, 2], [1, 0, 2], [1, 2, 0]]);
        assert_eq!(schedule.games, 102);
    }
}
