//! The rules of a game of rows, from the keys of its section.

use super::section::Section;
use super::values::{flag, number, size};
use crate::rules::{ConnectN, MAX_SIDES};

/// Takes the keys of a game from its section.
pub(super) fn read(section: &mut Section<'_>) -> ConnectN {
    let lines = ConnectN {
        files: section.take("maxFile", size).unwrap_or(8),
        ranks: section.take("maxRank", size).unwrap_or(8),
        sides: section.take("sides", sides).unwrap_or(2),
        length: section.take("connectN", length).unwrap_or(3),
        gravity: section.take("gravity", flag).unwrap_or(false),
    };
    if lines.length > lines.files.max(lines.ranks) {
        section.fault("no row of the board is as long as connectN");
    }
    lines
}

fn sides(value: &str) -> Result<usize, String> {
    let sides = number(value)? as usize;
    let most = MAX_SIDES;
    (2..=most).contains(&sides).then_some(sides).ok_or_else(|| format!("not from 2 to {most}"))
}

fn length(value: &str) -> Result<usize, String> {
    let length = number(value)? as usize;
    (2..=8).contains(&length).then_some(length).ok_or_else(|| "not from 2 to 8".to_owned())
}
