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
    pub const ALL: [(Seat, &'static str); 4] = [
        (Seat { board: Table::A, color: Color::White }, "WhiteA"),
        (Seat { board: Table::A, color: Color::Black }, "BlackA"),
        (Seat { board: Table::B, color: Color::White }, "WhiteB"),
        (Seat { board: Table::B, color: Color::Black }, "BlackB"),
    ];

    /// The seat of a team at a board.
    pub fn of(team: Side, board: Table) -> Seat {
        let color = Color::from_white((board == Table::A) == (team == Side::WHITE));
        Seat { board, color }
    }

    /// What it is called in the tags of a game: `WhiteA`.
    pub fn name(self) -> &'static str {
        Seat::ALL.iter().find(|(seat, _)| *seat == self).map_or("", |(_, name)| name)
    }

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

/// How a player may lose a game.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// By mate.
    Mated,
    /// On time.
    Time,
    /// By giving up.
    Resigned,
    /// By leaving the seat.
    Left,
}

impl Ending {
    const ALL: [Ending; 4] = [Ending::Mated, Ending::Time, Ending::Resigned, Ending::Left];

    /// What stands behind the loser's name.
    pub fn words(self) -> &'static str {
        match self {
            Ending::Mated => "checkmated",
            Ending::Time => "forfeits on time",
            Ending::Resigned => "resigns",
            Ending::Left => "forfeits by disconnection",
        }
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
        Ending::ALL.iter().any(|lost| lost.words() == fate).then_some(())?;
        let seats = Seat::ALL.iter().filter(|(_, tag)| self.tag(tag) == Some(name));
        let mut losers = seats.map(|(seat, _)| seat.team());
        let loser = losers.next()?;
        // Nobody knows which of two players of the same name is meant.
        losers.all(|other| other == loser).then(|| loser.after(1, 2))
    }
}

/// Why a game cannot be replayed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{reason} in \"{text}\", line {line}")]
pub struct Unplayable {
    /// The line, from 1.
    pub line: usize,
    /// The move, or the tag.
    pub text: String,
    /// What is wrong with it.
    pub reason: String,
}

impl BoardsGame {
    /// The game replayed as one of `variant`, which has two tables, from its start or from the
    /// position of the tag `FEN`. Each move played is one to learn.
    ///
    /// # Errors
    /// The move that is not legal, and why, or the FEN that is none.
    pub fn record(&self, variant: &Variant) -> Result<GameRecord, Unplayable> {
        let start = self.tag("FEN").unwrap_or(variant.start_fen());
        let unplayable = |line: usize, text: &str, reason: &str| {
            let (text, reason) = (text.to_owned(), format!("{reason},"));
            Unplayable { line, text, reason }
        };
        let mut replay = Replay::new(variant, start, false)
            .map_err(|reason| unplayable(self.line, start, &reason))?;
        replay.times = self.times();
        for m in &self.moves {
            let refused = |reason: &str| unplayable(m.line, &m.san, reason);
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

    /// The clocks at the start, if they are told: `120+0` for all players, or for each one by a tag
    /// of its own.
    fn times(&self) -> Option<Times> {
        let all = self.tag("TimeControl").and_then(time);
        let own = |seat: Seat| self.tag(&format!("TimeControl{}", seat.name())).and_then(time);
        let known = Seat::ALL.iter().all(|&(seat, _)| own(seat).or(all).is_some());
        let fen = self.tag("FEN").unwrap_or_default();
        let on_turn = Table::ALL.map(|board| Color::from_white(!black_begins(fen, board)));
        known.then(|| {
            Times::of(
                |board, color| own(Seat { board, color }).or(all).unwrap_or_default(),
                on_turn,
            )
        })
    }
}

/// The seconds that a player has, and those that a move adds: `120+0`.
fn time(text: &str) -> Option<(f64, f64)> {
    let (base, increment) = text.split_once('+').unwrap_or((text, "0"));
    let seconds = |text: &str| text.parse().ok().filter(|it: &f64| it.is_finite());
    Some((seconds(base)?, seconds(increment)?))
}

/// Whether Black moves first at a board of a FEN.
fn black_begins(fen: &str, board: Table) -> bool {
    let board = fen.split('|').nth(board as usize).unwrap_or_default();
    board.split_whitespace().nth(1) == Some("b")
}

/// Adds the games of a file to `found`, replayed.
pub(super) fn records(lines: &mut Lines, variant: &Variant, found: &mut Games) -> io::Result<()> {
    let file = lines.file;
    let BoardsGames { games, faults } = games(lines)?;
    found.faults.extend(faults);
    for game in games {
        match game.record(variant) {
            Ok(record) => found.games.push(record),
            Err(Unplayable { line, text, reason }) => {
                found.faults.push(fault(file, line, &text, reason));
            }
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
    /// How many plies each board has had, counted from a move of White.
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
            Token::Tag(name, value) => {
                if name == "FEN" {
                    // Where Black begins, the first number has one move.
                    self.plies = Table::ALL.map(|board| usize::from(black_begins(&value, board)));
                }
                self.game.tags.push((name, value));
            }
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
