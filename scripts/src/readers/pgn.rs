//! Games in PGN, with moves in algebraic notation ([`san`](menagerie::rules::san)) or in the notation of UCI, also for
//! variants with drops and duck chess.
//!
//! The policy targets are the played moves. Comments may have scores: `[%eval 0.35]` or `[%eval #-3]` as on
//! Lichess, the score of White for the position after the move, and `+0.35/12` or `-M4/20` as in Cute Chess, the
//! score of the mover for the position before the move. Variations, other comments and marks are ignored. A game
//! without the tag `Variant` is a game of chess.

use std::io;

use menagerie::rules::Side;
use menagerie::variant::Variant;

use super::tokens::{SyntaxError, Token, Tokens};
use super::{GameErrorKind, Games, LineError, Lines, PgnError, Replay, parse_result};
use crate::eval_scale::EngineScore;
use crate::record::{End, GameRecord};
use menagerie::rules::san;

pub(super) fn read(lines: &mut Lines, variant: &Variant, found: &mut Games) -> io::Result<()> {
    let mut tokens = Tokens::new(lines);
    let mut game = PgnGame::default();
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

/// A game of the file, before it is replayed.
#[derive(Default)]
struct PgnGame {
    /// The first line; 0 before the first token.
    line: usize,
    tags: Vec<(String, String)>,
    /// The tags are complete.
    begun: bool,
    moves: Vec<PgnTurn>,
    /// The result at the end.
    result: Option<String>,
    /// The number of open variations.
    depth: usize,
    /// The first invalid token.
    invalid: Option<LineError>,
}

struct PgnTurn {
    line: usize,
    text: String,
    comments: Vec<String>,
}

impl PgnGame {
    /// Adds a token. Returns `true` if it ends the game.
    fn add(&mut self, line: usize, token: Token) -> bool {
        // A comment after the result does not begin a game.
        if self.line == 0 && !matches!(token, Token::Comment(_)) {
            self.line = line;
        }
        self.begun |= !token.is_tag();
        match token {
            Token::Tag(name, value) => self.tags.push((name, value)),
            Token::Invalid(text, reason) => self.set_invalid(line, text, reason),
            Token::Open => self.depth += 1,
            Token::Close => match self.depth.checked_sub(1) {
                Some(depth) => self.depth = depth,
                None => self.set_invalid(line, ")".to_owned(), SyntaxError::NoOpenVariation),
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
                let text = strip_number(&text);
                if !text.trim_matches(['!', '?']).is_empty() && !text.starts_with('$') {
                    self.moves.push(PgnTurn { line, text: text.to_owned(), comments: Vec::new() });
                }
            }
        }
        false
    }

    /// Notes an invalid token; only the first one is reported.
    fn set_invalid(&mut self, line: usize, text: String, reason: SyntaxError) {
        self.invalid.get_or_insert(LineError { line, text, reason: reason.into() });
    }

    /// Adds the game to `found`, or the reason why it is invalid.
    fn close(self, file: &str, variant: &Variant, found: &mut Games) {
        if self.line == 0 {
            return;
        }
        match self.game(variant) {
            Ok(game) => found.games.push(game),
            Err(error) => found.errors.push(error.in_file(file)),
        }
    }

    fn tag(&self, name: &str) -> Option<&str> {
        self.tags.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Replays the game.
    fn game(self, variant: &Variant) -> Result<GameRecord, LineError> {
        // Errors of the tags are reported for the first line.
        let line = self.line;
        let head = self
            .tags
            .first()
            .map_or_else(String::new, |(name, value)| format!("[{name} \"{value}\"]"));
        let in_tags = |reason: GameErrorKind| LineError { line, text: head.clone(), reason };
        if let Some(invalid) = self.invalid {
            return Err(invalid);
        }
        if self.depth > 0 {
            return Err(in_tags(SyntaxError::OpenVariation.into()));
        }
        let tag = self.tag("Variant").unwrap_or("chess");
        let (name, chess960) = variant_of_tag(tag);
        if name != normalize(variant.name()) {
            let found = tag.to_owned();
            let expected = variant.name().to_owned();
            return Err(in_tags(GameErrorKind::OtherVariant { found, expected }));
        }
        let start = match self.tag("FEN") {
            None if chess960 => return Err(in_tags(PgnError::NoFen(tag.to_owned()).into())),
            start => start.unwrap_or(variant.start_fen()),
        };
        let end = self.end(variant).map_err(in_tags)?;
        let mut replay =
            Replay::new(variant, start, chess960).map_err(|error| in_tags(error.into()))?;
        // The score of White for the current position.
        let mut white_score = None;
        for PgnTurn { line, text, comments } in &self.moves {
            let invalid =
                |reason: GameErrorKind| LineError { line: *line, text: text.clone(), reason };
            let turn = san::read(&replay.position, text).map_err(|error| invalid(error.into()))?;
            let is_white = replay.position.turn() == Side::WHITE;
            let for_mover = |score: EngineScore| if is_white { score } else { score.negated() };
            let before = comments.iter().find_map(|text| score_before(text));
            let score = before.or(white_score.map(for_mover)).map(EngineScore::expected);
            white_score = None;
            for comment in comments {
                let score = score_after(comment).map_err(|error| invalid(error.into()))?;
                white_score = score.or(white_score);
            }
            replay.play(&turn, &[(turn.clone(), score)]);
        }
        if self.moves.is_empty() {
            return Err(in_tags(GameErrorKind::NoMoves));
        }
        replay.check_result(end).map_err(in_tags)?;
        Ok(replay.finish(end))
    }

    /// Returns the end of the game: by the result at the end, by the tag `Result`, or for more than two sides by the
    /// tag `Outcome`.
    fn end(&self, variant: &Variant) -> Result<Option<End>, GameErrorKind> {
        let sides = variant.start().game_spec().sides;
        if sides > 2
            && let Some(outcome) = self.tag("Outcome")
        {
            let wins = |side: &Side| outcome == format!("{} wins", side.letter());
            let winner = Side::all(sides).find(wins).map(|side| side.index() as u8);
            let known = winner.is_some() || outcome == "draw";
            return Ok(known.then_some(End { winner, turns: 0 }));
        }
        // The tag may be `?`.
        let tag = self.tag("Result").and_then(|text| parse_result(text).ok()).flatten();
        let mark = self.result.as_deref().map_or(Ok(None), parse_result)?;
        match (tag, mark) {
            (Some(tag), Some(mark)) if tag != mark => Err(PgnError::ResultsDiffer.into()),
            (tag, mark) => Ok(mark.or(tag)),
        }
    }
}

/// Returns a word without a move number: `e5` for `1...e5`.
fn strip_number(word: &str) -> &str {
    let rest = word.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.is_empty() || rest.starts_with('.') { rest.trim_start_matches('.') } else { word }
}

/// Returns the letters and digits of a name in lower case.
fn normalize(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Returns the variant of the catalogue for a tag `Variant`, and whether it is played as Chess960.
fn variant_of_tag(tag: &str) -> (String, bool) {
    let name = normalize(tag);
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

/// Returns the score of White for the position after the move: `[%eval 0.35]`, `[%eval #-3]`,
/// `[%eval 0.35,18]`.
fn score_after(comment: &str) -> Result<Option<EngineScore>, PgnError> {
    let Some((_, rest)) = comment.split_once("[%eval") else { return Ok(None) };
    let text = rest.split([']', ',']).next().unwrap_or(rest).trim();
    let score = match text.strip_prefix('#') {
        Some(moves) => moves.parse().ok().map(EngineScore::Mate),
        None => parse_pawns(text),
    };
    score.map(Some).ok_or_else(|| PgnError::Score(text.to_owned()))
}

/// Returns the score of the mover for the position before the move: `+0.35/12 1.2s`, `-M4/20`. Other comments
/// have none.
fn score_before(comment: &str) -> Option<EngineScore> {
    let (score, depth) = comment.split_ascii_whitespace().next()?.split_once('/')?;
    if !depth.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (sign, size) = match score.strip_prefix('-') {
        Some(size) => (-1, size),
        None => (1, score.strip_prefix('+').unwrap_or(score)),
    };
    match size.strip_prefix('M') {
        // `+M0` is a mate on the board.
        Some(moves) => Some(EngineScore::Mate(sign * moves.parse::<u16>().ok()?.max(1) as i32)),
        None if size.contains('.') => parse_pawns(score),
        None => None,
    }
}

/// Parses a score in pawns.
fn parse_pawns(text: &str) -> Option<EngineScore> {
    let pawns = text.parse::<f32>().ok().filter(|pawns| pawns.is_finite())?;
    Some(EngineScore::Centipawns((pawns * 100.0).round() as i32))
}
