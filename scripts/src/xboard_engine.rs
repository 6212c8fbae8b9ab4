//! An engine that speaks XBoard's protocol (CECP, version 2), as a child process.
//!
//! <https://www.gnu.org/software/xboard/engine-intf.html>. Version 1 is not supported.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use menagerie::protocol::legs;

use crate::engine_process::{EngineError, EngineProcess};

/// A running engine.
#[derive(Debug)]
pub struct XboardEngine {
    process: EngineProcess,
    /// The features of the engine, without quotes.
    features: BTreeMap<String, String>,
    /// The names of the options of the engine.
    options: Vec<String>,
    timeout: Duration,
    pings: u32,
    /// The engine answers each move at once: it is not in force mode.
    playing: bool,
}

/// The answer of an engine that is to move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A turn in the notation of the engine; the legs of a turn are joined by commas.
    Move(String),
    /// The engine resigns.
    Resigns,
    /// The engine claims that the game is over, with this result: `1-0` or another.
    Claims(String),
    /// The engine rejects a message, as an illegal move or an unknown command.
    Protests(String),
}

/// The start of a game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewGame<'a> {
    /// The variant by its name in XBoard's protocol, `normal` for chess.
    pub variant: &'a str,
    /// The FEN of the opening.
    pub fen: &'a str,
    /// The commands that limit time or depth: `st 5`, `sd 7`, `level 0 1:00 0.6`.
    pub limits: &'a [String],
}

/// Time limit of the first `feature`, as in the protocol.
const FIRST_FEATURE_TIMEOUT: Duration = Duration::from_secs(2);

impl XboardEngine {
    /// Reads the features of a process that has been started. Answers to anything but a search may take `timeout`.
    ///
    /// # Errors
    /// If the engine ends, sends `done=0` but not `done=1` in time, or lacks `setboard`.
    pub fn connect(process: EngineProcess, timeout: Duration) -> Result<XboardEngine, EngineError> {
        let mut engine = XboardEngine {
            process,
            features: BTreeMap::new(),
            options: Vec::new(),
            timeout,
            pings: 0,
            playing: false,
        };
        engine.send("xboard")?;
        engine.send("protover 2")?;
        engine.read_features()?;
        if engine.feature("setboard") != "1" {
            return Err(EngineError::Line { line: "feature setboard=0".to_owned() });
        }
        // Moves have coordinate notation in both directions.
        if engine.feature("san") == "1" {
            engine.send("rejected san")?;
        }
        Ok(engine)
    }

    fn read_features(&mut self) -> Result<(), EngineError> {
        let mut timeout = FIRST_FEATURE_TIMEOUT;
        loop {
            let begun = Instant::now();
            let received = self.process.await_line("feature", timeout, |line| {
                line.trim().strip_prefix("feature ").map(parse_pairs)
            });
            let pairs = match received {
                Ok(pairs) => pairs,
                // An engine without further features is ready, unless it asked for time.
                Err(EngineError::Timeout { .. }) if self.feature("done") != "0" => return Ok(()),
                Err(error) => return Err(error),
            };
            self.take_features(pairs)?;
            match self.feature("done") {
                "1" => return Ok(()),
                "0" => timeout = self.timeout,
                _ => timeout = timeout.saturating_sub(begun.elapsed()),
            }
        }
    }

    /// Accepts features, except for moves in SAN.
    fn take_features(&mut self, pairs: Vec<(String, String)>) -> Result<(), EngineError> {
        for (name, value) in pairs {
            if name == "option" {
                let name = value.split(" -").next().unwrap_or_default();
                self.options.push(name.trim().to_owned());
                continue;
            }
            let answer = if name == "san" { "rejected" } else { "accepted" };
            self.send(&format!("{answer} {name}"))?;
            self.features.insert(name, value);
        }
        Ok(())
    }

    /// Returns the value of a feature, or the default of the protocol.
    pub fn feature(&self, name: &str) -> &str {
        let default = match name {
            "time" | "draw" | "reuse" | "colors" => "1",
            "ping" | "setboard" | "usermove" | "memory" | "smp" | "san" => "0",
            _ => "",
        };
        self.features.get(name).map_or(default, String::as_str)
    }

    /// Returns `true` if the engine plays a variant. All engines play `normal`.
    pub fn plays(&self, variant: &str) -> bool {
        variant == "normal"
            || self.feature("variants").split(',').any(|name| name.trim() == variant)
    }

    /// Sets an option, or `memory` in megabytes, or `cores`. If the engine supports `ping`, waits until it has read
    /// the value; an option such as a file of variants may change its features.
    ///
    /// # Errors
    /// [`EngineError::Option`] if there is no such option or the engine answers with an error, or if the pipe is
    /// broken.
    pub fn set_option(&mut self, name: &str, value: &str) -> Result<(), EngineError> {
        let refused = |engine: &XboardEngine| EngineError::Option {
            engine: engine.process.executable().to_owned(),
            name: name.to_owned(),
            value: value.to_owned(),
        };
        match name {
            "memory" if self.feature("memory") == "1" => self.send(&format!("memory {value}"))?,
            "cores" if self.feature("smp") == "1" => self.send(&format!("cores {value}"))?,
            _ if self.options.iter().any(|known| known == name) => {
                self.send(&format!("option {name}={value}"))?;
            }
            _ => return Err(refused(self)),
        }
        let mut features = Vec::new();
        let mut has_error = false;
        self.synchronise(|line| {
            features.extend(line.strip_prefix("feature ").map(parse_pairs).unwrap_or_default());
            has_error |= line.starts_with("Error");
        })?;
        self.take_features(features)?;
        if has_error { Err(refused(self)) } else { Ok(()) }
    }

    /// Starts a game. Lines of an earlier game are ignored.
    ///
    /// # Errors
    /// If the engine ends or does not answer.
    pub fn new_game(&mut self, game: &NewGame<'_>) -> Result<(), EngineError> {
        self.send("new")?;
        if game.variant != "normal" {
            self.send(&format!("variant {}", game.variant))?;
        }
        for line in ["force", "easy", "nopost"] {
            self.send(line)?;
        }
        self.playing = false;
        for line in game.limits {
            self.send(line)?;
        }
        self.send(&format!("setboard {}", game.fen))?;
        self.synchronise(|_| ())
    }

    /// Waits until the engine has read all messages, if it supports `ping`. Calls `on_other` with the other lines that
    /// it prints until then.
    fn synchronise(&mut self, mut on_other: impl FnMut(&str)) -> Result<(), EngineError> {
        if self.feature("ping") != "1" {
            return Ok(());
        }
        self.pings += 1;
        let number = self.pings.to_string();
        self.send(&format!("ping {number}"))?;
        let pong = format!("pong {number}");
        self.process.await_line(&pong, self.timeout, |line| {
            let is_pong = line.trim() == pong;
            if !is_pong {
                on_other(line.trim());
            }
            is_pong.then_some(())
        })
    }

    /// Sends the turns since the engine's last one, in the notation of UCI, and lets it play the next turn, which is
    /// returned in the same notation. `clocks` are the milliseconds left to the engine and to its opponent;
    /// `timeout` is the time limit of the answer.
    ///
    /// # Errors
    /// If the engine ends or does not answer.
    pub fn go(
        &mut self,
        turns: &[String],
        clocks: Option<(u64, u64)>,
        timeout: Duration,
    ) -> Result<Reply, EngineError> {
        self.start_search(turns, clocks)?;
        let mut legs = String::new();
        self.process.await_line("move", timeout, |line| {
            let reply = parse_reply(line)?;
            let Reply::Move(leg) = reply else { return Some(reply) };
            legs.push_str(&leg);
            // A turn of two legs may have two lines: the first ends with a comma, and the second begins where
            // the first ended.
            if legs.ends_with(',') {
                return None;
            }
            Some(Reply::Move(legs::from_xboard(&std::mem::take(&mut legs))))
        })
    }

    /// Sends the turns and starts the search, as [`XboardEngine::go`] does, without waiting for the answer.
    ///
    /// # Errors
    /// If the pipe is broken.
    pub fn start_search(
        &mut self,
        turns: &[String],
        clocks: Option<(u64, u64)>,
    ) -> Result<(), EngineError> {
        let answers_at_once = self.playing && turns.len() == 1;
        if !answers_at_once {
            self.send("force")?;
            for turn in turns {
                self.send_turn(turn)?;
            }
        }
        if let Some(clocks) = clocks {
            self.send_clocks(clocks)?;
        }
        if answers_at_once {
            self.send_turn(&turns[0])?;
        } else {
            self.send("go")?;
        }
        self.playing = true;
        Ok(())
    }

    /// Sends the milliseconds left to the engine and to its opponent, if it has the feature `time`.
    ///
    /// # Errors
    /// If the pipe is broken.
    pub fn send_clocks(&mut self, (own, other): (u64, u64)) -> Result<(), EngineError> {
        if self.feature("time") == "1" {
            self.send(&format!("time {}", own / 10))?;
            self.send(&format!("otim {}", other / 10))?;
        }
        Ok(())
    }

    /// Sends a line.
    ///
    /// # Errors
    /// If the pipe is broken.
    pub fn send(&mut self, line: &str) -> Result<(), EngineError> {
        self.process.send(line)
    }

    /// Returns the next line that the engine has printed, and its time; `None` if there is none.
    ///
    /// # Errors
    /// If the engine has ended.
    pub fn poll(&mut self) -> Result<Option<(Instant, String)>, EngineError> {
        self.process.poll("move")
    }

    fn send_turn(&mut self, turn: &str) -> Result<(), EngineError> {
        let word = if self.feature("usermove") == "1" { "usermove " } else { "" };
        self.send(&format!("{word}{}", legs::to_xboard(turn)))
    }

    /// Ends the game.
    ///
    /// # Errors
    /// If the pipe is broken.
    pub fn end_game(&mut self, result: &str, reason: &str) -> Result<(), EngineError> {
        self.playing = false;
        self.send("force")?;
        self.send(&format!("result {result} {{{reason}}}"))
    }
}

/// Parses a line about the game; `None` for thinking output and other lines.
pub fn parse_reply(line: &str) -> Option<Reply> {
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

/// Parses the pairs of a `feature` line: `ping=1 myname="Some Engine"`.
fn parse_pairs(mut text: &str) -> Vec<(String, String)> {
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
    fn features_are_parsed_with_and_without_quotes() {
        let pairs =
            parse_pairs("ping=1 myname=\"Some Engine 1.0\" variants=\"normal,duck\"  done=1");
        let wanted = [
            ("ping", "1"),
            ("myname", "Some Engine 1.0"),
            ("variants", "normal,duck"),
            ("done", "1"),
        ];
        assert_eq!(pairs, wanted.map(|(a, b)| (a.to_owned(), b.to_owned())));
        assert_eq!(parse_pairs("option=\"Hash -spin 1 1 9\"")[0].1, "Hash -spin 1 1 9");
        assert_eq!(parse_pairs("nonsense"), []);
        assert_eq!(parse_pairs("cut=\"off"), [("cut".to_owned(), "off".to_owned())]);
    }

    #[test]
    fn replies_differ_from_thinking_output() {
        assert_eq!(parse_reply("move e2e4"), Some(Reply::Move("e2e4".to_owned())));
        assert_eq!(parse_reply("resign"), Some(Reply::Resigns));
        assert_eq!(parse_reply("1-0 {White mates}"), Some(Reply::Claims("1-0".to_owned())));
        let protest = "Illegal move: e2e5";
        assert_eq!(parse_reply(protest), Some(Reply::Protests(protest.to_owned())));
        for thought in
            ["9 156 1084 48000 Nf3 Nc6", "# move e2e4", "offer draw", "", "tellall hello"]
        {
            assert_eq!(parse_reply(thought), None, "{thought}");
        }
    }
}
