//! The line protocol of blind chess: `rbc` as the first line chooses it.
//!
//! `newgame COLOR OPPONENT FEN`, then turn by turn `oppmove SQUARE|-`, `gosense MS`, answered by
//! `sense SQUARE`, `senseresult SQUARE=MAN ..`, `gomove MS`, answered by `move REQUEST|0000`, and
//! `moveresult REQUESTED TAKEN CAPTURE|-`; at last `gameover WINNER REASON`. Whatever cannot be
//! obeyed is answered by a line `info error ..` that quotes it, and changes nothing.

use std::time::Duration;

use crate::protocol::output::{Output, one_line};
use crate::recon::{Player, Settings};
use crate::rules::blind::{Request, Sensed, Truth};
use crate::rules::{Color, Piece, Square};

/// A conversation about one game after another.
pub(in crate::protocol) struct Talk<'a> {
    settings: Settings,
    output: &'a Output,
    player: Option<Player>,
}

/// Why a line was not obeyed, in words.
type Refused = String;

impl<'a> Talk<'a> {
    pub(in crate::protocol) fn new(settings: Settings, output: &'a Output) -> Talk<'a> {
        Talk { settings, output, player: None }
    }

    /// Obeys a line; says whether there is to be another.
    pub(in crate::protocol) fn obey(&mut self, line: &str) -> bool {
        self.output.heard(line);
        let mut words = line.split_whitespace();
        let Some(command) = words.next() else { return true };
        let words: Vec<&str> = words.collect();
        let done = match command {
            "quit" => return false,
            "rbc" => {
                self.say(concat!("id name Menagerie ", env!("CARGO_PKG_VERSION")));
                self.say("rbcok");
                Ok(())
            }
            "isready" => {
                self.say("readyok");
                Ok(())
            }
            "newgame" => self.new_game(&words),
            "oppmove" => self.opponent_moved(&words),
            "gosense" => self.sense(&words),
            "senseresult" => self.sensed(&words),
            "gomove" => self.request(&words),
            "moveresult" => self.moved(&words),
            "gameover" => {
                self.player = None;
                Ok(())
            }
            _ => Err(format!("unknown command \"{command}\"")),
        };
        if let Err(refused) = done {
            self.say(&format!("info error {}", one_line(&refused)));
        }
        true
    }

    /// Works ahead a little; says whether there is more to do.
    pub(in crate::protocol) fn anticipate(&mut self) -> bool {
        self.player.as_mut().is_some_and(Player::anticipate)
    }

    fn say(&self, line: &str) {
        self.output.say(line);
    }

    fn player(&mut self) -> Result<&mut Player, Refused> {
        self.player
            .as_mut()
            .ok_or_else(|| "no game has begun: newgame COLOR OPPONENT FEN".to_owned())
    }

    fn new_game(&mut self, words: &[&str]) -> Result<(), Refused> {
        let [color, _, fen @ ..] = words else {
            return Err("newgame needs a colour, an opponent and a FEN".to_owned());
        };
        let color = match *color {
            "white" => Color::White,
            "black" => Color::Black,
            other => return Err(format!("\"{other}\" is neither white nor black")),
        };
        let fen = fen.join(" ");
        let start = Truth::from_fen(&fen).map_err(|error| error.to_string())?;
        for side in Color::ALL {
            if start.army(side).king().is_none() {
                return Err(format!("impossible position \"{fen}\": {side} has no king"));
            }
        }
        self.player = Some(Player::new(self.settings, &start, color));
        Ok(())
    }

    fn opponent_moved(&mut self, words: &[&str]) -> Result<(), Refused> {
        let [word] = words else { return Err("oppmove needs a square or -".to_owned()) };
        let capture = square_or_none(word)?;
        let player = self.player()?;
        let own = player.belief().own();
        if let Some(square) = capture
            && (own.role_at(square).is_none() || own.king() == Some(square))
        {
            return Err(format!("\"{square}\": nothing of ours can have been taken there"));
        }
        player.heard(capture);
        Ok(())
    }

    fn sense(&mut self, words: &[&str]) -> Result<(), Refused> {
        let left = milliseconds(words)?;
        let player = self.player()?;
        let before = player.summary();
        let center = player.sense(left);
        self.say(&format!("info {before}"));
        self.say(&format!("sense {center}"));
        Ok(())
    }

    fn sensed(&mut self, words: &[&str]) -> Result<(), Refused> {
        let words = if words == ["-"] { &[] } else { words };
        let pair = |word: &&str| -> Option<Sensed> {
            let (square, man) = word.split_once('=')?;
            let mut letters = man.chars();
            let (letter, None) = (letters.next()?, letters.next()) else { return None };
            let man = if letter == '.' { None } else { Some(Piece::from_char(letter)?) };
            Some((square.parse().ok()?, man))
        };
        let read = |word: &&str| pair(word).ok_or_else(|| format!("\"{word}\" is no square=man"));
        let seen: Vec<Sensed> = words.iter().map(read).collect::<Result<_, _>>()?;
        let player = self.player()?;
        let belief = player.belief();
        for &(square, man) in &seen {
            let known = belief.own().role_at(square);
            if man.filter(|man| man.color == belief.color()).map(|man| man.role) != known {
                return Err(format!("\"{square}\" does not show the man of ours that we know of"));
            }
        }
        player.sensed(&seen);
        Ok(())
    }

    fn request(&mut self, words: &[&str]) -> Result<(), Refused> {
        let left = milliseconds(words)?;
        let player = self.player()?;
        let before = player.summary();
        let request = player.request(left);
        self.say(&format!("info {before}"));
        self.say(&format!("move {}", request.map_or("0000".to_owned(), |step| step.to_string())));
        Ok(())
    }

    fn moved(&mut self, words: &[&str]) -> Result<(), Refused> {
        let [requested, taken, capture] = words else {
            return Err("moveresult needs what was requested, taken and captured".to_owned());
        };
        let (requested, taken) = (step_or_none(requested)?, step_or_none(taken)?);
        let capture = square_or_none(capture)?;
        let player = self.player()?;
        let own = player.belief().own();
        let color = player.belief().color();
        let requests = own.requests(color);
        let known = |step: Request| requests.contains(&own.meant(step));
        // What became of it is a step that the same man could have been asked for.
        let same = match (requested, taken) {
            (None, Some(_)) => false,
            (Some(request), Some(taken)) => request.from == taken.from && known(taken),
            (_, None) => capture.is_none(),
        };
        let ours = capture.is_some_and(|square| own.role_at(square).is_some());
        if !same || ours || !requested.is_none_or(known) {
            return Err(format!("\"{}\" cannot have happened", words.join(" ")));
        }
        player.moved(requested, taken, capture);
        Ok(())
    }
}

fn square_or_none(word: &str) -> Result<Option<Square>, Refused> {
    if word == "-" {
        return Ok(None);
    }
    word.parse().map(Some).map_err(|_| format!("\"{word}\" is no square"))
}

fn step_or_none(word: &str) -> Result<Option<Request>, Refused> {
    if word == "0000" { Ok(None) } else { word.parse().map(Some) }
}

fn milliseconds(words: &[&str]) -> Result<Duration, Refused> {
    let [word] = words else { return Err("how many milliseconds are left?".to_owned()) };
    let left: i64 = word.parse().map_err(|_| format!("\"{word}\" is no number of milliseconds"))?;
    Ok(Duration::from_millis(left.max(0).unsigned_abs().min(1 << 40)))
}
