//! Finished games as rows of CSV.

use std::collections::BTreeMap;
use std::iter::repeat;

use serde::{Deserialize, Serialize};

use super::game::Played;

/// The header, with its line end.
pub(super) const HEADER: &[u8] = b"game,seats,scores,end,detail,start,turns\n";

/// A row.
#[derive(Serialize, Deserialize)]
struct GameRow {
    game: u64,
    seats: String,
    scores: String,
    end: String,
    detail: String,
    start: String,
    turns: String,
}

/// Returns the row of a game, with its line end.
pub(super) fn write_row(game: &Played) -> anyhow::Result<Vec<u8>> {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    writer.serialize(GameRow {
        game: game.number,
        seats: join(&game.seats),
        scores: join(&game.scores),
        end: game.end.clone(),
        detail: game.detail.clone(),
        start: game.start.clone(),
        turns: write_turns(game).join(" "),
    })?;
    writer.into_inner().map_err(|error| anyhow::anyhow!("{error}"))
}

/// Returns the turns of a game, each with the milliseconds left to its mover if they are known:
/// `1e2e4{59512}`.
fn write_turns(game: &Played) -> Vec<String> {
    let clocks = game.left.iter().map(|left| format!("{{{left}}}")).chain(repeat(String::new()));
    game.turns.iter().zip(clocks).map(|(turn, clock)| format!("{turn}{clock}")).collect()
}

/// Reads the text of [`write_turns`]: the turns and the clocks. Returns `None` if a clock is invalid.
fn parse_turns(text: &str) -> Option<(Vec<String>, Vec<u64>)> {
    let mut turns = Vec::new();
    let mut left = Vec::new();
    for word in text.split_whitespace() {
        let (turn, clock) = word.split_once('{').map_or((word, None), |(a, b)| (a, Some(b)));
        turns.push(turn.to_owned());
        if let Some(clock) = clock {
            left.push(clock.strip_suffix('}')?.parse().ok()?);
        }
    }
    Some((turns, left))
}

/// Reads a header and rows, sorted by the numbers of the games.
pub(super) fn parse_games(text: &[u8], sides: usize) -> anyhow::Result<Vec<Played>> {
    let mut games = BTreeMap::new();
    for row in csv::Reader::from_reader(text).deserialize::<GameRow>() {
        let row = row?;
        let damaged = || anyhow::anyhow!("game {} is damaged", row.game);
        let seats: Option<Vec<usize>> = row
            .seats
            .split(' ')
            .map(|seat| seat.parse().ok().filter(|&seat| seat < sides))
            .collect();
        let scores: Option<Vec<i8>> =
            row.scores.split(' ').map(|score| score.parse().ok()).collect();
        let seats = seats.filter(|seats| seats.len() == sides).ok_or_else(damaged)?;
        let scores = scores.filter(|scores| scores.len() == sides).ok_or_else(damaged)?;
        let (turns, left) = parse_turns(&row.turns).ok_or_else(damaged)?;
        games.insert(
            row.game,
            Played {
                number: row.game,
                seats,
                scores,
                end: row.end,
                detail: row.detail,
                start: row.start,
                turns,
                left,
            },
        );
    }
    Ok(games.into_values().collect())
}
fn join(numbers: &[impl ToString]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
