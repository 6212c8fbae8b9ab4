//! How high players have come.

use std::fmt;

use super::rating::{Pairing, Rating, ratings};
use super::results::{Ascent, Results};

/// A player that has climbed.
#[derive(Clone, Debug, PartialEq)]
pub struct Climber {
    /// Who it is.
    pub name: String,
    /// Its rating, if it has played at all.
    pub rating: Option<Rating>,
    /// Its games won, drawn and lost at each rung.
    pub games: Vec<[u64; 3]>,
}

/// A ladder with those who climbed it.
#[derive(Clone, Debug, PartialEq)]
pub struct Standings {
    /// The game.
    pub variant: String,
    /// Whose rating is 0.
    pub anchor: String,
    /// The rungs from the weakest on, each with its rating if that is known.
    pub rungs: Vec<(String, Option<Rating>)>,
    /// The players, in the order of their folders.
    pub climbers: Vec<Climber>,
}

impl Standings {
    /// What follows from results: all of them bear on all ratings.
    pub fn of(results: &Results) -> Standings {
        let Results { variant, anchor, rungs: steps, climbers } = results;
        let mut pairings = Vec::new();
        let mut pair = |players, games| {
            let pairing = Pairing::of(players, games);
            if pairing.games > 0.0 {
                pairings.push(pairing);
            }
        };
        // The rungs are numbered first, and then the players.
        let rungs = steps.len();
        for (upper, step) in steps.iter().enumerate() {
            step.over.iter().for_each(|games| pair([upper, upper - 1], *games));
        }
        for (number, Ascent { games, .. }) in climbers.iter().enumerate() {
            games.iter().enumerate().for_each(|(rung, games)| pair([rungs + number, rung], *games));
        }
        let mut ratings = ratings(rungs + climbers.len(), *anchor, &pairings);
        let own = ratings.split_off(rungs);
        let climber = |(ascent, rating): (&Ascent, _)| {
            let Ascent { name, games } = ascent.clone();
            Climber { name, rating, games }
        };
        Standings {
            variant: variant.clone(),
            anchor: steps[*anchor].name.clone(),
            rungs: steps.iter().map(|step| step.name.clone()).zip(ratings).collect(),
            climbers: climbers.iter().zip(own).map(climber).collect(),
        }
    }
}

/// As a table of Markdown: a row for each opponent and a column for each player.
impl fmt::Display for Standings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "| {} | Elo |", self.variant)?;
        self.climbers.iter().try_for_each(|climber| write!(f, " {} |", climber.name))?;
        write!(f, "\n|---|---|")?;
        self.climbers.iter().try_for_each(|_| write!(f, "---|"))?;
        write!(f, "\n| Elo | |")?;
        self.climbers.iter().try_for_each(|climber| write!(f, " {} |", words(climber.rating)))?;
        for (rung, (name, rating)) in self.rungs.iter().enumerate() {
            write!(f, "\n| {name} | {} |", words(*rating))?;
            for climber in &self.climbers {
                match climber.games[rung] {
                    [0, 0, 0] => write!(f, " |")?,
                    [won, drawn, lost] => write!(f, " {won}-{drawn}-{lost} |")?,
                }
            }
        }
        writeln!(f)
    }
}

fn words(rating: Option<Rating>) -> String {
    rating.map_or("?".to_owned(), |rating| match rating.margin() {
        0.0 => "0".to_owned(),
        margin => format!("{:+.0} ± {margin:.0}", rating.elo),
    })
}
