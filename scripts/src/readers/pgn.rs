//! Games in PGN: moves as people write them ([`san`](crate::san)) or in UCI, drops and ducks, too.
//!
//! What was played is what the policy learns. Comments may tell scores: `[%eval 0.35]` or
//! `[%eval #-3]` as on Lichess, White's of the position after the move, and `+0.35/12` or `-M4/20` as
//! Cute Chess and its like write them, the mover's of the position before. Variations, other comments
//! and marks are passed over. A game without the tag `Variant` is one of chess.

use std::io;

use menagerie::rules::Side;
use menagerie::variant::Variant;

use super::words::{Token, Tokens};
use super::{Games, Lines, Replay, fault, result};
use crate::eval_scale::Score;
use crate::record::{End, GameRecord};
use crate::san;

pub(super) fn read(lines: &mut Lines, variant: &Variant, found: &mut Games) -> io::Result<()> {
    let mut tokens = Tokens::new(lines);
    let mut game = Written::default();
    while let Some((line, token)) = tokens.next()? {
        if matches!(token, Token::Tag(..)) && game.begun {
            std::mem::take(&mut game).close(tokens.file(), variant, found);
        }
        if game.add(line, token) {
            std::mem::take(&mut game).close(tokens.file(), variant, found);
        }
    }
    game.close(tokens.file(), variant, found);
    Ok(())
}

/// What is wrong, and where: line, text and reason.
type Bad = (usize, String, String);

/// A game as it stands in the file.
#[derive(Default)]
struct Written {
    /// Where it begins; 0 as long as there is nothing of it.
    line: usize,
    tags: Vec<(String, String)>,
    /// Whether its tags are over.
    begun: bool,
    moves: Vec<Turn>,
    /// The mark at the end.
    result: Option<String>,
    /// How many variations are open.
    depth: usize,
    /// What cannot even be cut into parts.
    bad: Option<Bad>,
}

struct Turn {
    line: usize,
    text: String,
    comments: Vec<String>,
}

impl Written {
    /// Says whether the game is over.
    fn add(&mut self, line: usize, token: Token) -> bool {
        // A comment behind the result does not begin a game.
        if self.line == 0 && !matches!(token, Token::Comment(_)) {
            self.line = line;
        }
        self.begun |= !token.is_of_tags();
        match token {
            Token::Tag(name, value) => self.tags.push((name, value)),
            Token::Bad(text, reason) => self.spoil(line, text, reason),
            Token::Open => self.depth += 1,
            Token::Close => match self.depth.checked_sub(1) {
                Some(depth) => self.depth = depth,
                None => self.spoil(line, ")".to_owned(), "no variation is open"),
            },
            _ if self.depth > 0 => {}
            Token::Comment(text) => {
                if let Some(turn) = self.moves.last_mut() {
                    turn.comments.push(text);
                }
            }
            Token::Word(text) if ["1-0", "0-1", "1/2-1/2", "*"].contains(&&*text) => {
                self.result = Some(text);
                return true;
            }
            Token::Word(text) => {
                let text = numberless(&text);
                if !text.trim_matches(['!', '?']).is_empty() && !text.starts_with('$') {
                    self.moves.push(Turn { line, text: text.to_owned(), comments: Vec::new() });
                }
            }
        }
        false
    }

    /// Only what is wrong first is told.
    fn spoil(&mut self, line: usize, text: String, reason: &str) {
        self.bad.get_or_insert((line, text, reason.to_owned()));
    }

    /// Adds the game, or what is wrong with it.
    fn close(self, file: &str, variant: &Variant, found: &mut Games) {
        if self.line == 0 {
            return;
        }
        match self.game(variant) {
            Ok(game) => found.games.push(game),
            Err((line, text, reason)) => found.faults.push(fault(file, line, &text, reason)),
        }
    }

    fn tag(&self, name: &str) -> Option<&str> {
        self.tags.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    fn game(self, variant: &Variant) -> Result<GameRecord, Bad> {
        // What is wrong with the tags is told of the first line.
        let (line, head) = (self.line, self.tags.first());
        let head = head.map_or_else(String::new, |(name, value)| format!("[{name} \"{value}\"]"));
        let of_tags = |reason: String| (line, head.clone(), reason);
        if let Some(bad) = self.bad {
            return Err(bad);
        }
        if self.depth > 0 {
            return Err(of_tags("a variation has no end".to_owned()));
        }
        let told = self.tag("Variant").unwrap_or("chess");
        let (name, chess960) = game_of(told);
        if name != simple(variant.name()) {
            return Err(of_tags(format!("it is a game of {told}, not of {},", variant.name())));
        }
        let start = match self.tag("FEN") {
            None if chess960 => return Err(of_tags(format!("{told} without a FEN"))),
            start => start.unwrap_or(variant.start_fen()),
        };
        let end = self.end(variant).map_err(of_tags)?;
        let mut replay = Replay::new(variant, start, chess960).map_err(of_tags)?;
        // White's, of the position that was reached last.
        let mut reached = None;
        for Turn { line, text, comments } in &self.moves {
            let bad = |reason: String| (*line, text.clone(), reason);
            let turn = san::read(&replay.position, text).map_err(|error| bad(error.to_string()))?;
            let white = replay.position.turn() == Side::new(0);
            let own = |score: Score| if white { score } else { score.turned() };
            let before = comments.iter().find_map(|text| score_before(text));
            let score = before.or(reached.map(own)).map(Score::expected);
            reached = None;
            for comment in comments {
                reached = score_after(comment).map_err(&bad)?.or(reached);
            }
            replay.play(&turn, &[(turn.clone(), score)]);
        }
        if self.moves.is_empty() {
            return Err(of_tags("there are no moves".to_owned()));
        }
        Ok(replay.finish(end))
    }

    /// How the game ended: by the mark at its end, by the tag, or where more than two play by the
    /// tag `Outcome`.
    fn end(&self, variant: &Variant) -> Result<Option<End>, String> {
        let sides = variant.start().game_spec().sides;
        if let Some(outcome) = self.tag("Outcome").filter(|_| sides > 2) {
            let wins = |side: &Side| outcome == format!("{} wins", side.letter());
            let winner = Side::all(sides).find(wins).map(|side| side.index() as u8);
            let known = winner.is_some() || outcome == "draw";
            return Ok(known.then_some(End { winner, turns: 0 }));
        }
        // A tag may say `?`.
        let tag = self.tag("Result").and_then(|text| result(text).ok()).flatten();
        let mark = self.result.as_deref().map_or(Ok(None), result)?;
        match (tag, mark) {
            (Some(tag), Some(mark)) if tag != mark => {
                Err("the tag Result is not the result at the end".to_owned())
            }
            (tag, mark) => Ok(mark.or(tag)),
        }
    }
}

/// A word without the number of a move that stands before it: `e5` of `1...e5`.
fn numberless(word: &str) -> &str {
    let rest = word.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.is_empty() || rest.starts_with('.') { rest.trim_start_matches('.') } else { word }
}

/// A name without what people write differently.
fn simple(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// The game of our catalogue that a tag `Variant` means, and whether it is its Chess960.
fn game_of(tag: &str) -> (String, bool) {
    let name = simple(tag);
    let name = match &*name {
        "fischerandom" | "fischerrandom" | "freestyle" => "chess960",
        name => name,
    };
    let (name, chess960) = name.strip_suffix("960").map_or((name, false), |name| (name, true));
    let name = match name {
        "" | "standard" | "normal" | "fromposition" => "chess",
        "threecheck" => "3check",
        "fivecheck" => "5check",
        "koth" => "kingofthehill",
        "zh" => "crazyhouse",
        "duckchess" => "duck",
        name => name,
    };
    (name.to_owned(), chess960)
}

/// White's score of the position after the move: `[%eval 0.35]`, `[%eval #-3]`, `[%eval 0.35,18]`.
fn score_after(comment: &str) -> Result<Option<Score>, String> {
    let Some((_, rest)) = comment.split_once("[%eval") else { return Ok(None) };
    let text = rest.split([']', ',']).next().unwrap_or(rest).trim();
    let score = match text.strip_prefix('#') {
        Some(moves) => moves.parse().ok().map(Score::Mate),
        None => pawns(text),
    };
    score.map(Some).ok_or_else(|| format!("\"{text}\" is no score,"))
}

/// The mover's score of the position before the move: `+0.35/12 1.2s`, `-M4/20`. Other comments
/// tell none.
fn score_before(comment: &str) -> Option<Score> {
    let (score, depth) = comment.split_ascii_whitespace().next()?.split_once('/')?;
    depth.starts_with(|c: char| c.is_ascii_digit()).then_some(())?;
    let (sign, size) = match score.strip_prefix('-') {
        Some(size) => (-1, size),
        None => (1, score.strip_prefix('+').unwrap_or(score)),
    };
    match size.strip_prefix('M') {
        // Whoever tells `+M0` has mated.
        Some(moves) => Some(Score::Mate(sign * moves.parse::<u16>().ok()?.max(1) as i32)),
        None => pawns(score).filter(|_| size.contains('.')),
    }
}

/// A score in pawns.
fn pawns(text: &str) -> Option<Score> {
    let pawns = text.parse::<f32>().ok().filter(|pawns| pawns.is_finite())?;
    Some(Score::Centipawns((pawns * 100.0).round() as i32))
}
