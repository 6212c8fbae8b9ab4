//! Games of bughouse in BPGN: the moves of both boards in one sequence, in the order of time.
//!
//! Moves have the form `1a. Nf6{118.687}`: the letter is the board, a capital letter is White and a small one
//! Black, and the number in braces is the seconds left to the mover. A game is read without replaying it, but the
//! moves of each board must be complete and in order; [`BoardsGame::record`] replays it.

use std::io;
use std::path::Path;

use menagerie::rules::{BoardId, Color, Side};
use menagerie::variant::Variant;

use super::clocks::RecordedClocks;
use super::tokens::{Token, Tokens};
use super::{BpgnError, GameError, GameErrorKind, Games, LineError, Lines, ReadError, Replay};
use crate::record::{End, GameRecord};
use menagerie::rules::san;

/// One of the four players.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seat {
    /// The board.
    pub board: BoardId,
    /// The colour.
    pub color: Color,
}

impl Seat {
    /// All four seats, with the names of the tags of their players.
    pub const ALL: [(Seat, &'static str); 4] = [
        (Seat { board: BoardId::A, color: Color::White }, "WhiteA"),
        (Seat { board: BoardId::A, color: Color::Black }, "BlackA"),
        (Seat { board: BoardId::B, color: Color::White }, "WhiteB"),
        (Seat { board: BoardId::B, color: Color::Black }, "BlackB"),
    ];

    /// Returns the seat of a team on a board.
    pub fn of(team: Side, board: BoardId) -> Seat {
        let color = Color::from_white((board == BoardId::A) == (team == Side::WHITE));
        Seat { board, color }
    }

    /// Returns the name of the tag of the player: `WhiteA`.
    pub fn name(self) -> &'static str {
        Seat::ALL.iter().find(|(seat, _)| *seat == self).map_or("", |(_, name)| name)
    }

    /// Returns the team of the seat: side 0 has White on the first board.
    pub fn team(self) -> Side {
        let first = (self.board == BoardId::A) == self.color.is_white();
        if first { Side::WHITE } else { Side::BLACK }
    }

    /// Parses the number and the seat of `12A.`.
    fn parse_number(word: &str) -> Option<(usize, Seat)> {
        let word = word.strip_suffix('.')?;
        let letter = word.chars().next_back()?;
        let board = match letter.to_ascii_lowercase() {
            'a' => BoardId::A,
            'b' => BoardId::B,
            _ => return None,
        };
        let color = Color::from_white(letter.is_ascii_uppercase());
        let number = word.strip_suffix(letter)?.parse().ok()?;
        Some((number, Seat { board, color }))
    }
}

/// The reason for which a player loses a game.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossReason {
    /// Checkmate.
    Mate,
    /// The clock ran out.
    Time,
    /// The player resigned.
    Resignation,
    /// The player left the game.
    Disconnection,
}

impl LossReason {
    const ALL: [LossReason; 4] =
        [LossReason::Mate, LossReason::Time, LossReason::Resignation, LossReason::Disconnection];

    /// Returns the text after the loser's name.
    pub fn text(self) -> &'static str {
        match self {
            LossReason::Mate => "checkmated",
            LossReason::Time => "forfeits on time",
            LossReason::Resignation => "resigns",
            LossReason::Disconnection => "forfeits by disconnection",
        }
    }
}

/// A move on one of the boards.
#[derive(Clone, PartialEq, Debug)]
pub struct BoardMove {
    /// The number of its line, from 1.
    pub line: usize,
    /// The mover.
    pub seat: Seat,
    /// The text of the move.
    pub san: String,
    /// The seconds left to the mover after the move, if the file has them.
    pub clock: Option<f64>,
}

/// A game on two boards.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BoardsGame {
    /// The number of its first line, from 1.
    pub line: usize,
    /// The tag pairs, in order.
    pub tags: Vec<(String, String)>,
    /// The moves of both boards, in order of time.
    pub moves: Vec<BoardMove>,
    /// The comment about the end: `makaka checkmated`. Empty if there is none.
    pub ending: String,
    /// The result at the end. It is that of White on the board on which the game ended, which it does not name;
    /// [`BoardsGame::winner`] returns the winning team.
    pub result: String,
}

impl BoardsGame {
    /// Returns the value of a tag.
    pub fn tag(&self, name: &str) -> Option<&str> {
        self.tags.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the team that won: the opponents of the loser whom the ending names. `None` for a draw, an aborted
    /// game, or an ending without a known loser.
    pub fn winner(&self) -> Option<Side> {
        let (name, reason) = self.ending.split_once(' ')?;
        LossReason::ALL.iter().find(|known| known.text() == reason)?;
        let seats = Seat::ALL.iter().filter(|(_, tag)| self.tag(tag) == Some(name));
        let mut losers = seats.map(|(seat, _)| seat.team());
        let loser = losers.next()?;
        // A name may belong to players of both teams.
        if losers.all(|other| other == loser) { Some(loser.after(1, 2)) } else { None }
    }
}

impl BoardsGame {
    /// Replays the game as one of `variant`, which has two boards, from its start or from the position of the tag
    /// `FEN`. The policy targets are the played moves.
    ///
    /// # Errors
    /// If a move is not legal, or the FEN is invalid.
    pub fn record(&self, variant: &Variant) -> Result<GameRecord, LineError> {
        let start = self.tag("FEN").unwrap_or(variant.start_fen());
        let mut replay = Replay::new(variant, start, false).map_err(|error| LineError {
            line: self.line,
            text: start.to_owned(),
            reason: error.into(),
        })?;
        replay.clocks = self.clocks();
        for m in &self.moves {
            let invalid =
                |reason: GameErrorKind| LineError { line: m.line, text: m.san.clone(), reason };
            let Some(board) = replay.position.board_position(m.seat.board) else {
                return Err(invalid(BpgnError::OneBoard(variant.name().to_owned()).into()));
            };
            if board.board().turn != m.seat.color {
                return Err(invalid(BpgnError::NotToMove.into()));
            }
            let turn = san::read(&board, &m.san).map_err(|error| invalid(error.into()))?;
            let turn: Vec<_> = turn.into_iter().map(|ply| ply.on(m.seat.board)).collect();
            replay.play(&turn, &[(turn.clone(), None)]);
            replay.set_clock(m.seat.board, m.seat.color, m.clock);
        }
        let drawn = self.result == "1/2-1/2";
        let winner = self.winner().map(|side| side.index() as u8);
        let is_known = winner.is_some() || drawn;
        Ok(replay.finish(if is_known { Some(End { winner, turns: 0 }) } else { None }))
    }

    /// Returns the clocks at the start, if the tags have the time controls of all players: `TimeControl` for all, or
    /// a tag for each player.
    fn clocks(&self) -> Option<RecordedClocks> {
        let common = self.tag("TimeControl").and_then(parse_time_control);
        let time = |seat: Seat| {
            let own = self.tag(&format!("TimeControl{}", seat.name()));
            own.and_then(parse_time_control).or(common)
        };
        if Seat::ALL.iter().any(|&(seat, _)| time(seat).is_none()) {
            return None;
        }
        let fen = self.tag("FEN").unwrap_or_default();
        let to_move = BoardId::ALL.map(|board| Color::from_white(!black_moves_first(fen, board)));
        Some(RecordedClocks::with_times(
            |board, color| time(Seat { board, color }).unwrap_or_default(),
            to_move,
        ))
    }
}

/// Parses a time control, `120+0`: the seconds at the start, and those that each move adds.
fn parse_time_control(text: &str) -> Option<(f64, f64)> {
    let (base, increment) = text.split_once('+').unwrap_or((text, "0"));
    let seconds = |text: &str| text.parse().ok().filter(|it: &f64| it.is_finite());
    Some((seconds(base)?, seconds(increment)?))
}

/// Returns `true` if Black moves first on a board of a FEN.
fn black_moves_first(fen: &str, board: BoardId) -> bool {
    let board = fen.split('|').nth(board as usize).unwrap_or_default();
    board.split_whitespace().nth(1) == Some("b")
}

/// Adds the replayed games of a file to `found`.
pub(super) fn records(lines: &mut Lines, variant: &Variant, found: &mut Games) -> io::Result<()> {
    let file = lines.file;
    let BoardsGames { games, errors } = games(lines)?;
    found.errors.extend(errors);
    for game in games {
        match game.record(variant) {
            Ok(record) => found.games.push(record),
            Err(error) => found.errors.push(error.in_file(file)),
        }
    }
    Ok(())
}

/// The games of a file.
#[derive(Debug, Default)]
pub struct BoardsGames {
    /// The games that could be read.
    pub games: Vec<BoardsGame>,
    /// The errors of the games that were skipped.
    pub errors: Vec<GameError>,
}

/// Reads a file of games, which is compressed if its name ends with `.gz`.
///
/// # Errors
/// If the file cannot be read. Invalid games are skipped with one of [`BoardsGames::errors`].
pub fn read(path: &Path) -> Result<BoardsGames, ReadError> {
    super::read_lines(path, games)
}

fn games(lines: &mut Lines) -> io::Result<BoardsGames> {
    let mut found = BoardsGames::default();
    let mut tokens = Tokens::new(lines);
    let mut game = GameParser::default();
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
struct GameParser {
    game: BoardsGame,
    /// The tags are complete.
    begun: bool,
    /// The mover of the next word.
    seat: Option<Seat>,
    /// The number of plies of each board, counted from a move of White.
    plies: [usize; 2],
    /// The first invalid token.
    invalid: Option<LineError>,
}

impl GameParser {
    /// Adds a token. Returns `true` if it ends the game.
    fn add(&mut self, line: usize, token: Token) -> bool {
        if self.game.line == 0 && !matches!(token, Token::Comment(_)) {
            self.game.line = line;
        }
        self.begun |= !token.is_tag();
        match token {
            Token::Tag(name, value) => {
                if name == "FEN" {
                    // If Black moves first, the first number has one move.
                    self.plies =
                        BoardId::ALL.map(|board| usize::from(black_moves_first(&value, board)));
                }
                self.game.tags.push((name, value));
            }
            Token::Comment(text) => self.comment(text),
            Token::Word(text) if ["1-0", "0-1", "1/2-1/2", "*"].contains(&&*text) => {
                self.game.result = text;
                return true;
            }
            Token::Word(text) => self.word(line, text),
            Token::Invalid(text, reason) => self.set_invalid(line, text, reason),
            Token::Open => self.set_invalid(line, "(".to_owned(), BpgnError::Variation),
            Token::Close => self.set_invalid(line, ")".to_owned(), BpgnError::Variation),
        }
        false
    }

    /// Adds a comment: a clock, a chat message (`C: ..`, `R: ..`), or the end of the game.
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
        let Some((number, seat)) = Seat::parse_number(&text) else {
            return self.set_invalid(line, text, BpgnError::MoveNumber);
        };
        let plies = &mut self.plies[usize::from(seat.board == BoardId::B)];
        *plies += 1;
        if number != plies.div_ceil(2) || seat.color.is_white() != (*plies % 2 == 1) {
            return self.set_invalid(line, text, BpgnError::MoveOrder);
        }
        self.seat = Some(seat);
    }

    /// Notes an invalid token; only the first one is reported.
    fn set_invalid(&mut self, line: usize, text: String, reason: impl Into<GameErrorKind>) {
        self.invalid.get_or_insert(LineError { line, text, reason: reason.into() });
    }

    /// Adds the game to `found`, or the reason why it is invalid.
    fn close(mut self, file: &str, found: &mut BoardsGames) {
        let Some((name, value)) = self.game.tags.first() else {
            // Without tags the players are unknown.
            if self.game.line > 0 {
                self.set_invalid(self.game.line, String::new(), BpgnError::NoTags);
            }
            return self.store(file, found);
        };
        let head = format!("[{name} \"{value}\"]");
        let line = self.game.line;
        if let Some(seat) = self.seat {
            self.set_invalid(line, head, BpgnError::NoLastMove(seat.name()));
        } else if self.game.result.is_empty() {
            self.set_invalid(line, head, BpgnError::NoResult);
        }
        self.store(file, found);
    }

    fn store(self, file: &str, found: &mut BoardsGames) {
        match self.invalid {
            Some(error) => found.errors.push(error.in_file(file)),
            None if self.game.line > 0 => found.games.push(self.game),
            None => {}
        }
    }
}
