//! The table of the results of a match.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::game::Played;
use super::schedule::MatchSchedule;
use super::statistics::{Estimate, Pentanomial, Sprt, Verdict};

/// The results of one player.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Games won, drawn and lost, by seat. A game in which a player has several seats counts for each of them.
    pub seats: Vec<[u64; 3]>,
}

impl Tally {
    /// Returns the games won, drawn and lost in all seats.
    pub fn total(&self) -> [u64; 3] {
        let sum = |kind: usize| self.seats.iter().map(|seat| seat[kind]).sum();
        [sum(0), sum(1), sum(2)]
    }
}

/// Returns the mean score, from -1 to 1, and its standard error.
pub fn mean([won, drawn, lost]: [u64; 3]) -> (f64, f64) {
    let games = (won + drawn + lost) as f64;
    let mean = (won as f64 - lost as f64) / games;
    let variance = (won + lost) as f64 / games - mean * mean;
    // Bessel's correction.
    (mean, (variance.max(0.0) / (games - 1.0).max(1.0)).sqrt())
}

/// Returns the results of each player.
pub fn tallies(schedule: &MatchSchedule, games: &[Played]) -> Vec<Tally> {
    let sides = schedule.ids.len();
    let mut tallies = vec![Tally { seats: vec![[0; 3]; sides] }; schedule.names.len()];
    for game in games {
        for (side, (&entry, &score)) in game.seats.iter().zip(&game.scores).enumerate() {
            let kind = usize::from(score == 0) + 2 * usize::from(score < 0);
            tallies[schedule.ids[entry]].seats[side][kind] += 1;
        }
    }
    tallies
}

/// Returns the finished pairs of a match between two players, in order: the scores of the first player.
pub fn pairs(games: &[Played]) -> Vec<[i8; 2]> {
    let first_score =
        |game: &Played| game.seats.iter().position(|&seat| seat == 0).map(|side| game.scores[side]);
    let scores: BTreeMap<u64, i8> =
        games.iter().filter_map(|game| Some((game.number, first_score(game)?))).collect();
    let even = scores.iter().filter(|(number, _)| *number % 2 == 0);
    even.filter_map(|(number, &first)| Some([first, *scores.get(&(number + 1))?])).collect()
}

/// Returns the number of games after which a test is decided, and its result. Pairs count in the order of
/// their numbers, up to the first unfinished one, so that the durations of games do not matter.
pub fn decision(sprt: &Sprt, games: &[Played]) -> Option<(u64, Verdict)> {
    let finished =
        games.iter().enumerate().take_while(|(index, game)| game.number == *index as u64);
    let finished: Vec<Played> = finished.map(|(_, game)| game.clone()).collect();
    let mut counted = Pentanomial::default();
    for (index, pair) in pairs(&finished).into_iter().enumerate() {
        counted.add(pair);
        if let Some(verdict) = sprt.verdict(&counted) {
            return Some((2 * (index as u64 + 1), verdict));
        }
    }
    None
}

/// Returns the table of results. `games` are in the order of their numbers. For a match between two players
/// the last line is the `won-drawn-lost` of the first one.
pub fn table(schedule: &MatchSchedule, sprt: Option<&Sprt>, games: &[Played]) -> String {
    let mut text = String::new();
    let tallies = tallies(schedule, games);
    let width = schedule.names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(6);
    // Writing to a `String` cannot fail.
    let _ =
        writeln!(text, "{:width$}  seat   games     won   drawn    lost   mean score", "player");
    for (name, tally) in schedule.names.iter().zip(&tallies) {
        let sides = tally.seats.iter().enumerate();
        let seats = sides.map(|(side, counts)| ((side + 1).to_string(), *counts));
        for (seat, counts) in std::iter::once(("all".to_owned(), tally.total())).chain(seats) {
            write_row(&mut text, name, width, &seat, counts);
        }
    }
    for (reason, count) in count_endings(schedule, games) {
        let _ = writeln!(text, "{reason}: {count}");
    }
    for (name, share) in schedule.names.iter().zip(clock_use(schedule, games)) {
        if let Some(share) = share {
            let _ = writeln!(text, "{name} used {:.0} % of its time", 100.0 * share);
        }
    }
    if let [first, _] = &schedule.names[..]
        && schedule.ids.len() == 2
    {
        write_strength(&mut text, sprt, games);
        let [won, drawn, lost] = tallies[0].total();
        let _ = writeln!(text, "{first}:\n{won}-{drawn}-{lost}");
    }
    text
}

/// Writes the row of one player and seat.
fn write_row(text: &mut String, name: &str, width: usize, seat: &str, counts: [u64; 3]) {
    let games: u64 = counts.iter().sum();
    if games == 0 {
        return;
    }
    let share = |count: u64| format!("{:.1}%", 100.0 * count as f64 / games as f64);
    let [won, drawn, lost] = counts.map(share);
    let (mean, error) = mean(counts);
    let _ = writeln!(
        text,
        "{name:width$}  {seat:>4} {games:>7} {won:>7} {drawn:>7} {lost:>7}   {mean:+.3} ± {error:.3}"
    );
}

/// Counts the reasons of the ends of games, with the player at fault.
fn count_endings(schedule: &MatchSchedule, games: &[Played]) -> BTreeMap<String, u64> {
    let mut reasons = BTreeMap::new();
    for game in games {
        let loser = game.scores.iter().position(|&score| score < 0).map(|side| game.seats[side]);
        let at_fault = if game.detail.is_empty() { None } else { loser };
        let name = at_fault.map(|entry| &schedule.names[schedule.ids[entry]]);
        let player = name.map(|name| format!(" of {name}")).unwrap_or_default();
        *reasons.entry(format!("ended by {}{player}", game.end)).or_insert(0) += 1;
    }
    reasons
}

/// Returns the share that each player used of the time that it had: the base and the increments up to the end of its
/// games. `None` without clocks. In bughouse clocks run also for those who wait, so that the share says nothing.
fn clock_use(schedule: &MatchSchedule, games: &[Played]) -> Vec<Option<f64>> {
    let mut sums = vec![(0, 0); schedule.names.len()];
    for game in games.iter().filter(|game| !game.start.contains('|')) {
        let sides = game.seats.len();
        // Clocks are for two sides, of which the second one is `b` in the FEN of any game.
        let first = usize::from(game.start.split_whitespace().nth(1) == Some("b"));
        for (side, &entry) in game.seats.iter().enumerate() {
            let mut own = game.left.iter().skip((side + sides - first) % sides).step_by(sides);
            let turns = own.len() as u64;
            let Some((time, &left)) = schedule.times[entry].zip(own.next_back()) else { continue };
            let available = time.base + time.increment * turns;
            let (used, total) = &mut sums[schedule.ids[entry]];
            *used += available.saturating_sub(left);
            *total += available;
        }
    }
    let share = |(used, total): (u64, u64)| (total > 0).then(|| used as f64 / total as f64);
    sums.into_iter().map(share).collect()
}

/// Writes the Elo difference of two players, and the state of the sequential test.
fn write_strength(text: &mut String, sprt: Option<&Sprt>, games: &[Played]) {
    let mut counted = Pentanomial::default();
    for pair in pairs(games) {
        counted.add(pair);
    }
    let classes = counted.0.map(|count| count.to_string()).join(" ");
    let _ = writeln!(text, "pairs with 0, 1/2, 1, 3/2, 2 points: {classes}");
    if let (Some(Estimate { value, low, high }), Some(los)) = (counted.elo(), counted.los()) {
        let _ = writeln!(
            text,
            "Elo {value:+.1} (95 % CI {low:+.1} to {high:+.1}), likelihood of superiority {:.1} %",
            100.0 * los
        );
    }
    let Some(sprt) = sprt else { return };
    let (low, high) = sprt.bounds();
    let ratio = sprt.ratio(&counted);
    let _ = writeln!(
        text,
        "SPRT of Elo {} against {}: log likelihood ratio {ratio:.2}, bounds {low:.2} and {high:.2}",
        sprt.elo0, sprt.elo1
    );
    if let Some((after, verdict)) = decision(sprt, games) {
        let accepted = if verdict == Verdict::Elo1 { sprt.elo1 } else { sprt.elo0 };
        let _ = writeln!(text, "SPRT: Elo {accepted} is accepted after {after} games");
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::MatchConfig;
    use super::*;

    #[test]
    fn use_of_clocks_counts_increments() {
        let players = ["uci:a,tc=10+1", "uci:b,tc=20+0"];
        let players = players.iter().map(|text| text.parse().unwrap()).collect();
        let schedule = MatchSchedule::new(&MatchConfig::new("chess", players));
        let game = |start: &str, seats: [usize; 2], left: &[u64]| Played {
            number: 0,
            seats: seats.to_vec(),
            scores: vec![0, 0],
            end: "draw".to_owned(),
            detail: String::new(),
            start: start.to_owned(),
            turns: vec!["e2e4".to_owned(); left.len()],
            left: left.to_vec(),
        };
        let white_first = game("8/8 w - -", [0, 1], &[9_000, 15_000, 6_000]);
        // 12 seconds of which 6 are left; 20 of which 15 are left.
        let share = clock_use(&schedule, std::slice::from_ref(&white_first));
        assert_eq!(share, [Some(0.5), Some(0.25)]);
        // The second player is Black and begins.
        let black_first = game("8/8 b - -", [0, 1], &[5_000, 11_000]);
        let games = [white_first, black_first, game("8/8 w - -", [1, 0], &[])];
        assert_eq!(clock_use(&schedule, &games), [Some(6.0 / 23.0), Some(0.5)]);
        assert_eq!(clock_use(&schedule, &games[2..]), [None, None]);
    }
}
