//! An engine that speaks the protocol of XBoard (CECP, version 2), as a child process.
//!
//! <https://www.gnu.org/software/xboard/engine-intf.html>. Version 1 is not spoken.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use menagerie::protocol::legs;

use crate::engine_process::{EngineError, EngineProcess};

/// A running engine.
#[derive(Debug)]
pub struct XboardEngine {
    process: EngineProcess,
    /// What it said of itself, without quotes.
    features: BTreeMap<String, String>,
    /// The options it told.
    options: Vec<String>,
    patience: Duration,
    pings: u32,
    /// Whether it plays the side to move as soon as it is told of a move.
    playing: bool,
}

/// What an engine answers when it is to move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A turn, in its own words; the legs of a turn are joined by commas.
    Move(String),
    /// It gives up.
    Resigns,
    /// It says that the game is over: the result, `1-0` or another.
    Claims(String),
    /// It says that it was told of an illegal move, or of something that it does not understand.
    Protests(String),
}

/// What is said at the beginning of a game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beginning<'a> {
    /// The game as XBoard calls it, `normal` for chess.
    pub variant: &'a str,
    /// Where it begins.
    pub fen: &'a str,
    /// What limits its time or depth: `st 5`, `sd 7`, `level 0 1:00 0.6`.
    pub limits: &'a [String],
}

/// How long an engine may take for its first `feature`, as the protocol has it.
const FIRST_FEATURE: Duration = Duration::from_secs(2);

impl XboardEngine {
    /// Shakes hands with an engine that has been started; an answer to anything but a search may
    /// take as long as `patience`.
    ///
    /// # Errors
    /// If it ends, says `done=0` and not `done=1` in time, or lacks `setboard`.
    pub fn shaken(process: EngineProcess, patience: Duration) -> Result<XboardEngine, EngineError> {
        let (features, options) = Default::default();
        let mut engine =
            XboardEngine { process, features, options, patience, pings: 0, playing: false };
        engine.process.say("xboard")?;
        engine.process.say("protover 2")?;
        engine.hear_features()?;
        if engine.feature("setboard") != "1" {
            let line = "feature setboard=0".to_owned();
            return Err(EngineError::Line { line });
        }
        // Moves are told and heard as coordinates.
        if engine.feature("san") == "1" {
            engine.process.say("rejected san")?;
        }
        Ok(engine)
    }

    fn hear_features(&mut self) -> Result<(), EngineError> {
        let mut patience = FIRST_FEATURE;
        loop {
            let begun = Instant::now();
            let heard = self.process.await_line("feature", patience, |line| {
                line.trim().strip_prefix("feature ").map(pairs)
            });
            let pairs = match heard {
                Ok(pairs) => pairs,
                // One that says nothing of the kind is done, unless it asked for time.
                Err(EngineError::Silent { .. }) if self.feature("done") != "0" => return Ok(()),
                Err(error) => return Err(error),
            };
            for (name, value) in pairs {
                if name == "option" {
                    let name = value.split(" -").next().unwrap_or_default();
                    self.options.push(name.trim().to_owned());
                    continue;
                }
                let known = if name == "san" { "rejected" } else { "accepted" };
                self.process.say(&format!("{known} {name}"))?;
                self.features.insert(name, value);
            }
            match self.feature("done") {
                "1" => return Ok(()),
                "0" => patience = self.patience,
                _ => patience = patience.saturating_sub(begun.elapsed()),
            }
        }
    }

    /// What it said of a feature; if nothing, what the protocol takes it to be.
    pub fn feature(&self, name: &str) -> &str {
        let usual = match name {
            "time" | "draw" | "reuse" | "colors" => "1",
            "ping" | "setboard" | "usermove" | "memory" | "smp" | "san" => "0",
            _ => "",
        };
        self.features.get(name).map_or(usual, String::as_str)
    }

    /// Whether it says that it plays a game; all are thought to play `normal`.
    pub fn plays(&self, variant: &str) -> bool {
        variant == "normal"
            || self.feature("variants").split(',').any(|name| name.trim() == variant)
    }

    /// Sets an option, or `memory` in megabytes, or `cores`.
    ///
    /// # Errors
    /// If it told no such option, or the pipe is broken.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), EngineError> {
        match name {
            "memory" if self.feature("memory") == "1" => {
                self.process.say(&format!("memory {value}"))
            }
            "cores" if self.feature("smp") == "1" => self.process.say(&format!("cores {value}")),
            _ if self.options.iter().any(|known| known == name) => {
                self.process.say(&format!("option {name}={value}"))
            }
            _ => {
                let (name, value) = (name.to_owned(), value.to_owned());
                Err(EngineError::Option {
                    engine: self.process.executable().to_owned(),
                    name,
                    value,
                })
            }
        }
    }

    /// A game begins. What the engine said of an earlier one is passed over.
    ///
    /// # Errors
    /// If the engine ends or is silent.
    pub fn begin(&mut self, game: &Beginning<'_>) -> Result<(), EngineError> {
        self.process.say("new")?;
        if game.variant != "normal" {
            self.process.say(&format!("variant {}", game.variant))?;
        }
        for line in ["force", "easy", "nopost"] {
            self.process.say(line)?;
        }
        self.playing = false;
        for line in game.limits {
            self.process.say(line)?;
        }
        self.process.say(&format!("setboard {}", game.fen))?;
        self.synchronise()
    }

    /// Waits until all that was said has been heard, if the engine can tell.
    fn synchronise(&mut self) -> Result<(), EngineError> {
        if self.feature("ping") != "1" {
            return Ok(());
        }
        self.pings += 1;
        let number = self.pings.to_string();
        self.process.say(&format!("ping {number}"))?;
        let pong = format!("pong {number}");
        self.process.await_line(&pong, self.patience, |line| (line.trim() == pong).then_some(()))
    }

    /// Tells the turns since the engine's last one, written as UCI has them, and lets it play the
    /// next, which is given likewise. `clocks` are its own
    /// and its opponent's time left, in milliseconds; `patience` is how long it may take.
    ///
    /// # Errors
    /// If it ends, or says nothing of meaning in time.
    pub fn go(
        &mut self,
        turns: &[String],
        clocks: Option<(u64, u64)>,
        patience: Duration,
    ) -> Result<Reply, EngineError> {
        self.ask(turns, clocks)?;
        let mut told = String::new();
        self.process.await_line("move", patience, |line| {
            let reply = reply(line)?;
            let Reply::Move(leg) = reply else { return Some(reply) };
            told.push_str(&leg);
            // A turn of two legs may come in two lines, the first with a comma at its end; the
            // second begins where the first ended.
            (!told.ends_with(',')).then(|| Reply::Move(legs::read(&std::mem::take(&mut told))))
        })
    }

    /// What [`XboardEngine::go`] does before it waits.
    ///
    /// # Errors
    /// If the pipe is broken.
    pub fn ask(&mut self, turns: &[String], clocks: Option<(u64, u64)>) -> Result<(), EngineError> {
        let at_once = self.playing && turns.len() == 1;
        if !at_once {
            self.process.say("force")?;
            for turn in turns {
                self.tell(turn)?;
            }
        }
        if let Some(clocks) = clocks {
            self.tell_clocks(clocks)?;
        }
        if at_once {
            self.tell(&turns[0])?
        } else {
            self.process.say("go")?
        };
        self.playing = true;
        Ok(())
    }

    /// Tells the engine its own and its opponent's time left, in milliseconds, if it wants to know.
    ///
    /// # Errors
    /// If the pipe is broken.
    pub fn tell_clocks(&mut self, (own, other): (u64, u64)) -> Result<(), EngineError> {
        if self.feature("time") == "1" {
            self.say(&format!("time {}", own / 10))?;
            self.say(&format!("otim {}", other / 10))?;
        }
        Ok(())
    }

    /// Sends a line.
    ///
    /// # Errors
    /// If the pipe is broken.
    pub fn say(&mut self, line: &str) -> Result<(), EngineError> {
        self.process.say(line)
    }

    /// The next line that the engine has written already, and when it came.
    ///
    /// # Errors
    /// If it has ended.
    pub fn poll(&mut self) -> Result<Option<(Instant, String)>, EngineError> {
        self.process.poll("move")
    }

    fn tell(&mut self, turn: &str) -> Result<(), EngineError> {
        let word = if self.feature("usermove") == "1" { "usermove " } else { "" };
        self.process.say(&format!("{word}{}", legs::written(turn)))
    }

    /// The game is over.
    ///
    /// # Errors
    /// If the pipe is broken.
    pub fn end(&mut self, result: &str, why: &str) -> Result<(), EngineError> {
        self.playing = false;
        self.process.say("force")?;
        self.process.say(&format!("result {result} {{{why}}}"))
    }
}

/// What a line says about the game; `None` for thoughts and the rest.
pub fn reply(line: &str) -> Option<Reply> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match word {
        "move" => Some(Reply::Move(rest.trim().to_owned())),
        "resign" => Some(Reply::Resigns),
        "1-0" | "0-1" | "1/2-1/2" => Some(Reply::Claims(word.to_owned())),
        "Illegal" | "Error" => Some(Reply::Protests(line.to_owned())),
        _ => None,
    }
}

/// The pairs of a `feature` line: `ping=1 myname="Some Engine"`.
fn pairs(mut text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    while let Some((name, rest)) = text.trim_start().split_once('=') {
        let end;
        let value = match rest.strip_prefix('"') {
            Some(quoted) => {
                let close = quoted.find('"').unwrap_or(quoted.len());
                end = (close + 2).min(rest.len());
                &quoted[..close]
            }
            None => {
                end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                &rest[..end]
            }
        };
        found.push((name.trim().to_owned(), value.to_owned()));
        text = &rest[end..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_read_with_quotes_or_without() {
        let pairs = pairs("ping=1 myname=\"Some Engine 1.0\" variants=\"normal,duck\"  done=1");
        let wanted = [
            ("ping", "1"),
            ("myname", "Some Engine 1.0"),
            ("variants", "normal,duck"),
            ("done", "1"),
        ];
        assert_eq!(pairs, wanted.map(|(a, b)| (a.to_owned(), b.to_owned())));
        assert_eq!(super::pairs("option=\"Hash -spin 1 1 9\"")[0].1, "Hash -spin 1 1 9");
        assert_eq!(super::pairs("nonsense"), []);
        assert_eq!(super::pairs("cut=\"off"), [("cut".to_owned(), "off".to_owned())]);
    }

    #[test]
    fn replies_are_told_from_thoughts() {
        assert_eq!(reply("move e2e4"), Some(Reply::Move("e2e4".to_owned())));
        assert_eq!(reply("resign"), Some(Reply::Resigns));
        assert_eq!(reply("1-0 {White mates}"), Some(Reply::Claims("1-0".to_owned())));
        let protest = "Illegal move: e2e5";
        assert_eq!(reply(protest), Some(Reply::Protests(protest.to_owned())));
        for thought in
            ["9 156 1084 48000 Nf3 Nc6", "# move e2e4", "offer draw", "", "tellall hello"]
        {
            assert_eq!(reply(thought), None, "{thought}");
        }
    }
}
