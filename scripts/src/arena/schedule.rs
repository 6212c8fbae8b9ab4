//! The players of a match, and their sides in each game.

use super::config::MatchConfig;
use super::game::Played;
use super::spec::TimeControl;

/// The players of a match and all their seatings. Every opening is played once in each seating.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchSchedule {
    /// For each player of the configuration, the index of its name. Equal players may share one.
    pub ids: Vec<usize>,
    /// The names of the players.
    pub names: Vec<String>,
    /// The time control of each player of the configuration.
    pub times: Vec<Option<TimeControl>>,
    /// For each seating, the player of the configuration that has each side.
    pub seatings: Vec<Vec<usize>>,
    /// The number of games: whole rounds of seatings.
    pub games: u64,
}

impl MatchSchedule {
    /// Returns the schedule of a match. Equal players of a match of more than two sides count as one player
    /// with several seats. Of two sides they are two players, so that a player can play itself.
    pub fn new(config: &MatchConfig) -> MatchSchedule {
        let players = &config.players;
        let mut ids = Vec::new();
        let mut names = Vec::<String>::new();
        for (index, player) in players.iter().enumerate() {
            let first = players.iter().position(|other| other == player).unwrap_or(index);
            if first < index && players.len() > 2 {
                ids.push(ids[first]);
            } else {
                ids.push(names.len());
                names.push(unique_name(&names, player.name()));
            }
        }
        let mut seatings = Vec::new();
        collect_seatings(&ids, &mut Vec::new(), &mut seatings);
        let games = config.games.checked_next_multiple_of(seatings.len() as u64);
        let games = games.unwrap_or(config.games);
        let times = players.iter().map(|player| player.tc).collect();
        MatchSchedule { ids, names, times, seatings, games }
    }

    /// Returns `true` if these games, in order, are all of the match or more.
    pub fn is_complete(&self, games: &[Played]) -> bool {
        games.partition_point(|game| game.number < self.games) as u64 == self.games
    }

    /// Returns the number of the opening and the seating of a game.
    pub fn game(&self, number: u64) -> (u64, &[usize]) {
        let seatings = self.seatings.len() as u64;
        (number / seatings, &self.seatings[(number % seatings) as usize])
    }
}

/// Returns `name`, with a number if it is taken.
fn unique_name(taken: &[String], name: String) -> String {
    let numbered = (2..).map(|number| format!("{name} ({number})"));
    std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name)).unwrap_or(name)
}

/// Adds all orders of the players that differ in their ids to `found`, the given order first.
fn collect_seatings(ids: &[usize], seated: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
    if seated.len() == ids.len() {
        found.push(seated.clone());
        return;
    }
    for entry in 0..ids.len() {
        let is_candidate = |&other: &usize| ids[other] == ids[entry] && !seated.contains(&other);
        // Players of the same id keep their order.
        if (0..ids.len()).find(is_candidate) == Some(entry) {
            seated.push(entry);
            collect_seatings(ids, seated, found);
            seated.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(players: &[&str], games: u64) -> MatchSchedule {
        let players = players.iter().map(|text| text.parse().unwrap()).collect();
        MatchSchedule::new(&MatchConfig { games, ..MatchConfig::new("any", players) })
    }

    #[test]
    fn schedule_swaps_colours_of_equal_players() {
        let two = schedule(&["random", "random"], 3);
        assert_eq!(two.names, ["random", "random (2)"]);
        assert_eq!(two.seatings, [[0, 1], [1, 0]]);
        assert_eq!(two.games, 4);
        assert_eq!(two.game(3), (1, &[1, 0][..]));
    }

    #[test]
    fn schedule_of_three_has_all_seatings() {
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
    fn schedule_merges_equal_players_of_three() {
        let schedule = schedule(&["random", "plain:visits=9", "plain:visits=9"], 100);
        assert_eq!(schedule.names, ["random", "plain-9"]);
        assert_eq!(schedule.ids, [0, 1, 1]);
        assert_eq!(schedule.seatings, [[0, 1, 2], [1, 0, 2], [1, 2, 0]]);
        assert_eq!(schedule.games, 102);
    }
}
