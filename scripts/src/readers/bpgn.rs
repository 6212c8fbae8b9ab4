//! Games of bughouse in BPGN, as they stand in the file: both boards in one stream, in order of time.
//!
//! Moves are text (`1a. Nf6{118.687}`: a capital letter is White, a small one Black; the letter is
//! the board; in braces the seconds left on the mover's clock). A game is read as it stands, with
//! each board's moves all there, in order; [`BoardsGame::record`] replays it.

use std::io;
use std::path::Path;

use menagerie::rules::{Color, Side, Table};
use menagerie::variant::Variant;

use super::clocks::Times;
use super::words::{Token, Tokens};
use super::{Fault, Games, Lines, ReadError, Replay, fault};
use crate::record::{End, GameRecord};
use crate::san;

/// One of the four players' places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seat {
    /// The board: `A` and `a` are the seats of the first.
    pub board: Table,
    /// The colour there.
    pub color: Color,
}

impl Seat {
    /// All four, with the names of the tags that tell their players.
    const ALL: [(Seat, &'static str); 4] = [
        (Seat { board: Table::A, color: Color::White }, "WhiteA"),
        (Seat { board: Table::A, color: Color::Black }, "BlackA"),
        (Seat { board: Table::B, color: Color::White }, "WhiteB"),
        (Seat { board: Table::B, color: Color::Black }, "BlackB"),
    ];

    /// The team of this seat: side 0 has White at the first board.
    pub fn team(self) -> Side {
        let first = (self.board == Table::A) == self.color.is_white();
        if first { Side::WHITE } else { Side::BLACK }
    }

    /// The number and the seat that `12A.` tells.
    fn numbered(word: &str) -> Option<(usize, Seat)> {
        let word = word.strip_suffix('.')?;
        let letter = word.chars().next_back()?;
        let board = match letter.to_ascii_lowercase() {
            'a' => Table::A,
            'b' => Table::B,
            _ => return None,
        };
        let color = Color::from_white(letter.is_ascii_uppercase());
        let number = word.strip_suffix(letter)?.parse().ok()?;
        Some((number, Seat { board, color }))
    }
}

/// A move on one of the boards.
#[derive(Clone, PartialEq, Debug)]
pub struct BoardMove {
    /// The line on which it stands, from 1.
    pub line: usize,
    /// Who made it.
    pub seat: Seat,
    /// The move as it is written there.
    pub san: String,
    /// The seconds left to the mover after it, if they are told.
    pub clock: Option<f64>,
}

/// A game on two boards.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BoardsGame {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// The tag pairs, in order.
    pub tags: Vec<(String, String)>,
    /// The moves of both boards, in order of time.
    pub moves: Vec<BoardMove>,
    /// How it ended, in words: `makaka checkmated`. Empty if nothing is said.
    pub ending: String,
    /// The mark at the end. It is White's on the board that ended, which it does not name: what the
    /// teams got is told by [`BoardsGame::winner`].
    pub result: String,
}

impl BoardsGame {
    /// The value of a tag.
    pub fn tag(&self, name: &str) -> Option<&str> {
        self.tags.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The team that won: the one of which the ending names no loser. `None` if it was a draw, was
    /// broken off, or if the ending does not tell.
    pub fn winner(&self) -> Option<Side> {
        let (name, fate) = self.ending.split_once(' ')?;
        let lost = ["checkmated", "forfeits on time", "resigns", "forfeits by disconnection"];
        lost.contains(&fate).then_some(())?;
        let seats = Seat::ALL.iter().filter(|(_, tag)| self.tag(tag) == Some(name));
        let mut losers = seats.map(|(seat, _)| seat.team());
        let loser = losers.next()?;
        // Nobody knows which of two players of the same name is meant.
        losers.all(|other| other == loser).then(|| loser.after(1, 2))
    }
}

impl BoardsGame {
    /// The game replayed as one of `variant`, which has two tables. Each move played is one to learn.
    ///
    /// # Errors
    /// The move that is not legal, and why.
    pub fn record(&self, variant: &Variant) -> Result<GameRecord, (&BoardMove, String)> {
        let mut replay = Replay::of_tables(variant, self.seconds().map(Times::new));
        for m in &self.moves {
            let refused = |reason: &str| (m, format!("{reason},"));
            let board = replay.position.at_table(m.seat.board);
            let board = board.ok_or_else(|| refused("its game has one board"))?;
            let turn = match board.view().turn == m.seat.color {
                true => san::read(&board, &m.san).map_err(|error| refused(&error.to_string()))?,
                false => return Err(refused("the seat is not on turn")),
            };
            let turn: Vec<_> = turn.into_iter().map(|ply| ply.at(m.seat.board)).collect();
            replay.play(&turn, &[(turn.clone(), None)]);
            replay.tell(m.seat.board, m.seat.color, m.clock);
        }
        let drawn = self.result == "1/2-1/2";
        let winner = self.winner().map(|side| side.index() as u8);
        let known = winner.is_some() || drawn;
        Ok(replay.finish(known.then_some(End { winner, turns: 0 })))
    }

    /// The seconds that each player had at first: `120+0`.
    fn seconds(&self) -> Option<f64> {
        self.tag("TimeControl")?.split('+').next()?.parse().ok().filter(|it: &f64| it.is_finite())
    }
}

/// Adds the games of a file to `found`, replayed.
pub(super) fn records(lines: &mut Lines, variant: &Variant, found: &mut Games) -> io::Result<()> {
    let file = lines.file;
    let BoardsGames { games, faults } = games(lines)?;
    found.faults.extend(faults);
    for game in games {
        match game.record(variant) {
            Ok(record) => found.games.push(record),
            Err((m, reason)) => found.faults.push(fault(file, m.line, &m.san, reason)),
        }
    }
    Ok(())
}

/// What was found in a file.
#[derive(Debug, Default)]
pub struct BoardsGames {
    /// The games that could be read.
    pub games: Vec<BoardsGame>,
    /// Those that could not.
    pub faults: Vec<Fault>,
}

/// Reads a file of games; a name that ends in `.gz` says that it is packed.
///
/// # Errors
/// If the file cannot be read; what is wrong with single games is told beside them.
pub fn read(path: &Path) -> Result<BoardsGames, ReadError> {
    super::lines(path, games)
}

fn games(lines: &mut Lines) -> io::Result<BoardsGames> {
    let mut found = BoardsGames::default();
    let mut tokens = Tokens::new(lines);
    let mut game = Unread::default();
    while let Some((line, token)) = tokens.next()? {
        if matches!(token, Token::Tag(..)) && game.begun {
            std::mem::take(&mut game).close(tokens.file(), &mut found);
        }
        if game.add(line, token) {
            std::mem::take(&mut game).close(tokens.file(), &mut found);
        }
    }
    game.close(tokens.file(), &mut found);
    Ok(found)
}

/// A game that is being read.
#[derive(Default)]
struct Unread {
    game: BoardsGame,
    /// Whether its tags are over.
    begun: bool,
    /// Whose move the next word is.
    seat: Option<Seat>,
    /// How many plies each board has had.
    plies: [usize; 2],
    /// What is wrong first: line, text and reason.
    bad: Option<(usize, String, String)>,
}

impl Unread {
    /// Says whether the game is over.
    fn add(&mut self, line: usize, token: Token) -> bool {
        if self.game.line == 0 && !matches!(token, Token::Comment(_)) {
            self.game.line = line;
        }
        self.begun |= !token.is_of_tags();
        match token {
            Token::Tag(name, value) => self.game.tags.push((name, value)),
            Token::Comment(text) => self.comment(text),
            Token::Word(text) if ["1-0", "0-1", "1/2-1/2", "*"].contains(&&*text) => {
                self.game.result = text;
                return true;
            }
            Token::Word(text) => self.word(line, text),
            Token::Bad(text, reason) => self.spoil(line, text, reason),
            Token::Open => self.spoil(line, "(".to_owned(), "there are no variations"),
            Token::Close => self.spoil(line, ")".to_owned(), "there are no variations"),
        }
        false
    }

    /// A clock, a remark (`C: ..`, of a player `R: ..`), or how the game ended.
    fn comment(&mut self, text: String) {
        let text = text.trim();
        match (text.parse::<f64>().ok().filter(|it| it.is_finite()), self.game.moves.last_mut()) {
            (Some(seconds), Some(last)) if last.clock.is_none() => last.clock = Some(seconds),
            _ if text.as_bytes().get(1) == Some(&b':') => {}
            _ => self.game.ending = text.to_owned(),
        }
    }

    fn word(&mut self, line: usize, text: String) {
        if let Some(seat) = self.seat.take() {
            self.game.moves.push(BoardMove { line, seat, san: text, clock: None });
            return;
        }
        let Some((number, seat)) = Seat::numbered(&text) else {
            return self.spoil(line, text, "it is no number of a move, such as 1A.,");
        };
        let plies = &mut self.plies[usize::from(seat.board == Table::B)];
        *plies += 1;
        if number != plies.div_ceil(2) || seat.color.is_white() != (*plies % 2 == 1) {
            return self.spoil(line, text, "it is not the next move of its board,");
        }
        self.seat = Some(seat);
    }

    fn spoil(&mut self, line: usize, text: String, reason: &str) {
        self.bad.get_or_insert((line, text, reason.to_owned()));
    }

    /// Adds the game, or what is wrong with it.
    fn close(mut self, file: &str, found: &mut BoardsGames) {
        let Some((name, value)) = self.game.tags.first() else {
            // Without tags nobody knows who played.
            if self.game.line > 0 {
                self.spoil(self.game.line, String::new(), "there are no tags");
            }
            return self.tell(file, found);
        };
        let head = format!("[{name} \"{value}\"]");
        let line = self.game.line;
        if let Some(seat) = self.seat {
            self.spoil(line, head, &format!("the last move of {seat:?} is missing"));
        } else if self.game.result.is_empty() {
            self.spoil(line, head, "there is no result at the end");
        }
        self.tell(file, found);
    }

    fn tell(self, file: &str, found: &mut BoardsGames) {
        match self.bad {
            Some((line, text, reason)) => found.faults.push(fault(file, line, &text, reason)),
            None if self.game.line > 0 => found.games.push(self.game),
            None => {}
        }
    }
}
