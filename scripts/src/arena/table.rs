//! The results of a match in words.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::game::Played;
use super::schedule::Schedule;
use super::statistics::{Estimate, Pentanomial, Sprt, Verdict};

/// What one player has come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Games won, drawn and lost, by seat. A game in which a player has several seats counts for
    /// each.
    pub seats: Vec<[u64; 3]>,
}

impl Tally {
    /// Games won, drawn and lost in all seats.
    pub fn total(&self) -> [u64; 3] {
        let sum = |kind: usize| self.seats.iter().map(|seat| seat[kind]).sum();
        [sum(0), sum(1), sum(2)]
    }
}

/// The mean of a seat's scores, each -1, 0 or 1, and its standard error.
pub fn mean([won, drawn, lost]: [u64; 3]) -> (f64, f64) {
    let games = (won + drawn + lost) as f64;
    let mean = (won as f64 - lost as f64) / games;
    let variance = (won + lost) as f64 / games - mean * mean;
    // Of a sample, so one degree of freedom is spent.
    (mean, (variance.max(0.0) / (games - 1.0).max(1.0)).sqrt())
}

/// Counts games by player and seat.
pub fn tallies(schedule: &Schedule, games: &[Played]) -> Vec<Tally> {
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

/// The pairs of a match between two, in order, as far as both games are over: each the first
/// player's scores.
pub fn pairs(games: &[Played]) -> Vec<[i8; 2]> {
    let score =
        |game: &Played| game.seats.iter().position(|&seat| seat == 0).map(|side| game.scores[side]);
    let scores: BTreeMap<u64, i8> =
        games.iter().filter_map(|game| Some((game.number, score(game)?))).collect();
    let both = |(&number, &first): (&u64, &i8)| {
        let second = scores.get(&(number + 1)).filter(|_| number % 2 == 0);
        second.map(|&second| [first, second])
    };
    scores.iter().filter_map(both).collect()
}

/// Where a test ends: after so many games, with that verdict. Pairs count in the order of their
/// numbers, up to the first that is not over, so that it does not matter which games were quick.
pub fn decision(sprt: &Sprt, games: &[Played]) -> Option<(u64, Verdict)> {
    let over = games.iter().enumerate().take_while(|(index, game)| game.number == *index as u64);
    let row: Vec<Played> = over.map(|(_, game)| game.clone()).collect();
    let mut counted = Pentanomial::default();
    for (index, pair) in pairs(&row).into_iter().enumerate() {
        counted.add(pair);
        if let Some(verdict) = sprt.verdict(&counted) {
            return Some((2 * (index as u64 + 1), verdict));
        }
    }
    None
}

/// The results of `games`, which are in the order of their numbers. The last line of a match between
/// two is the first player's `won-drawn-lost`.
pub fn table(schedule: &Schedule, sprt: Option<&Sprt>, games: &[Played]) -> String {
    let mut text = String::new();
    let tallies = tallies(schedule, games);
    let width = schedule.names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(6);
    // Writing into a String cannot fail.
    let _ =
        writeln!(text, "{:width$}  seat   games     won   drawn    lost   mean score", "player");
    for (name, tally) in schedule.names.iter().zip(&tallies) {
        let sides = tally.seats.iter().enumerate();
        let seats = sides.map(|(side, counts)| ((side + 1).to_string(), *counts));
        for (seat, counts) in std::iter::once(("all".to_owned(), tally.total())).chain(seats) {
            line(&mut text, name, width, &seat, counts);
        }
    }
    for (reason, count) in reasons(schedule, games) {
        let _ = writeln!(text, "{reason}: {count}");
    }
    if let [first, _] = &schedule.names[..]
        && schedule.ids.len() == 2
    {
        two(&mut text, sprt, games);
        let [won, drawn, lost] = tallies[0].total();
        let _ = writeln!(text, "{first}:\n{won}-{drawn}-{lost}");
    }
    text
}

fn line(text: &mut String, name: &str, width: usize, seat: &str, counts: [u64; 3]) {
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

/// How often games ended for each reason; and who was at fault.
fn reasons(schedule: &Schedule, games: &[Played]) -> BTreeMap<String, u64> {
    let mut reasons = BTreeMap::new();
    for game in games {
        let guilty = game.scores.iter().position(|&score| score < 0).map(|side| game.seats[side]);
        let who = guilty.filter(|_| !game.detail.is_empty()).map(|entry| schedule.ids[entry]);
        let who = who.map(|id| format!(" of {}", schedule.names[id])).unwrap_or_default();
        *reasons.entry(format!("ended by {}{who}", game.end)).or_insert(0) += 1;
    }
    reasons
}

/// What is known of two players' strength.
fn two(text: &mut String, sprt: Option<&Sprt>, games: &[Played]) {
    let mut counted = Pentanomial::default();
    pairs(games).into_iter().for_each(|pair| counted.add(pair));
    let classes = counted.0.map(|count| count.to_string()).join(" ");
    let _ = writeln!(text, "pairs with 0, 1/2, 1, 3/2, 2 points: {classes}");
    if let (Some(Estimate { value, low, high }), Some(los)) = (counted.elo(), counted.los()) {
        let _ = writeln!(
            text,
            "Elo {value:+.1}, 95% sure from {low:+.1} to {high:+.1}; likely stronger {:.1}%",
            100.0 * los
        );
    }
    let Some(sprt) = sprt else { return };
    let (low, high) = sprt.bounds();
    let ratio = sprt.ratio(&counted);
    let _ = writeln!(
        text,
        "SPRT of Elo {} against {}: log likelihood ratio {ratio:.2} within {low:.2} and {high:.2}",
        sprt.elo0, sprt.elo1
    );
    if let Some((after, verdict)) = decision(sprt, games) {
        let accepted = if verdict == Verdict::Elo1 { sprt.elo1 } else { sprt.elo0 };
        let _ = writeln!(text, "SPRT: Elo {accepted} is accepted after {after} games");
    }
}
