//! The line protocol of blind chess: `rbc` as the first line chooses it.
//!
//! `newgame COLOR OPPONENT FEN`, then turn by turn `oppmove SQUARE|-`, `gosense MS`, answered by
//! `sense SQUARE`, `senseresult SQUARE=MAN ..`, `gomove MS`, answered by `move REQUEST|0000`, and
//! `moveresult REQUESTED TAKEN CAPTURE|-`; at last `gameover WINNER REASON`. Whatever cannot be
//! obeyed is answered by a line `info error ..` that quotes it, and changes nothing.

use std::time::Duration;

use super::players::Players;
use super::told::{Told, start, step_or_none};
use crate::protocol::output::{Output, one_line};
use crate::recon::Player;
use crate::rules::Color;

/// A conversation about one game after another.
pub(in crate::protocol) struct Talk<'a> {
    players: &'a Players,
    output: &'a Output,
    player: Option<Player>,
    /// Whether it was said what there is to know about the players' network.
    noted: bool,
}

/// Why a line was not obeyed, in words.
type Refused = String;

impl<'a> Talk<'a> {
    pub(in crate::protocol) fn new(players: &'a Players, output: &'a Output) -> Talk<'a> {
        Talk { players, output, player: None, noted: false }
    }

    /// Obeys a line; says whether there is to be another.
    pub(in crate::protocol) fn handle(&mut self, line: &str) -> bool {
        self.output.on_line(line);
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
                self.note();
                self.say("readyok");
                Ok(())
            }
            "newgame" => self.new_game(&words),
            "oppmove" | "senseresult" | "moveresult" => self.tell(line),
            "gosense" => self.sense(&words),
            "gomove" => self.request(&words),
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

    /// Says once what there is to know about the network, which is opened for that.
    fn note(&mut self) {
        if !std::mem::replace(&mut self.noted, true) {
            self.players.notes().iter().for_each(|note| self.say(&format!("info {note}")));
        }
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
        let start = start(&fen)?;
        self.note();
        self.player = Some(self.players.player(&start, color, rand::random()));
        Ok(())
    }

    /// Tells the player what it has to know.
    fn tell(&mut self, line: &str) -> Result<(), Refused> {
        let told: Told = line.parse()?;
        told.tell(self.player()?)
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

    fn request(&mut self, words: &[&str]) -> Result<(), Refused> {
        let left = milliseconds(words)?;
        let player = self.player()?;
        let before = player.summary();
        let request = player.request(left);
        self.say(&format!("info {before}"));
        self.say(&format!("move {}", step_or_none(request)));
        Ok(())
    }
}

fn milliseconds(words: &[&str]) -> Result<Duration, Refused> {
    let [word] = words else { return Err("how many milliseconds are left?".to_owned()) };
    let left: i64 = word.parse().map_err(|_| format!("\"{word}\" is no number of milliseconds"))?;
    Ok(Duration::from_millis(left.max(0).unsigned_abs().min(1 << 40)))
}
