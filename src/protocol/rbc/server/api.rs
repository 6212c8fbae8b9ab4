//! The public server's API, as the documentation of reconchess 1.6.9 has it.

use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::http::{Failure, Http};
use crate::protocol::output::one_line;
use crate::protocol::rbc::history::{optional, quoted, request, sensed, square, tagged};
use crate::rules::blind::{Played, Request, Sensed, WinReason};
use crate::rules::{Color, Square};

/// What makes no sense is asked for so many times.
const TRIES: u32 = 4;
/// .. with such a pause.
const PAUSE: Duration = Duration::from_millis(500);

/// What the server has beside games.
pub(super) struct Server<'a> {
    /// The way to it.
    pub(super) http: Http<'a>,
    /// When it is set, requests beside games are no longer made again.
    pub(super) leaving: &'a AtomicBool,
}

impl Server<'_> {
    fn get(&self, path: &str) -> Result<Value, Failure> {
        self.http.ask(path, None, Some(self.leaving))
    }

    fn post(&self, path: &str, sent: &Value) -> Result<Value, Failure> {
        self.http.ask(path, Some(sent), Some(self.leaving))
    }

    /// The version of reconchess that it is.
    pub(super) fn version(&self) -> Result<String, Failure> {
        let path = "/api/version";
        let text = |value: &Value| value.as_str().map(one_line);
        field(path, &self.get(path)?, "version", text)
    }

    /// Says that it is there; the server knows the name and the password if it is not refused.
    pub(super) fn greet(&self) -> Result<(), Failure> {
        self.post("/api/users/me", &json!({})).map(drop)
    }

    /// Says how many games it plays at once.
    pub(super) fn set_games(&self, games: usize) -> Result<(), Failure> {
        self.post("/api/users/me/max_games", &json!({ "max_games": games })).map(drop)
    }

    /// Says whether games are to be ranked.
    pub(super) fn set_ranked(&self, ranked: bool) -> Result<(), Failure> {
        self.post("/api/users/me/ranked", &json!({ "ranked": ranked })).map(drop)
    }

    /// Which version of the player its ranked games are of; 0 before the first.
    pub(super) fn player_version(&self) -> Result<u64, Failure> {
        let path = "/api/users/me/version";
        field(path, &self.get(path)?, "version", Value::as_u64)
    }

    /// Makes it the next version of the player.
    pub(super) fn new_player_version(&self) -> Result<(), Failure> {
        self.post("/api/users/me/version", &json!({})).map(drop)
    }

    /// The invitations that wait.
    pub(super) fn invitations(&self) -> Result<Vec<u64>, Failure> {
        let path = "/api/invitations/";
        let numbers =
            |value: &Value| value.as_array()?.iter().map(Value::as_u64).collect::<Option<Vec<_>>>();
        field(path, &self.get(path)?, "invitations", numbers)
    }

    /// Accepts one of them; gives the game.
    pub(super) fn accept(&self, invitation: u64) -> Result<u64, Failure> {
        let path = format!("/api/invitations/{invitation}");
        field(&path, &self.post(&path, &json!({}))?, "game_id", Value::as_u64)
    }

    /// Says that the game of an invitation is over.
    pub(super) fn finish(&self, invitation: u64) -> Result<(), Failure> {
        self.post(&format!("/api/invitations/{invitation}/finish"), &json!({})).map(drop)
    }

    /// Invites somebody to a game in which we play `color`; gives the game.
    pub(super) fn invite(&self, opponent: &str, color: Color) -> Result<u64, Failure> {
        let path = "/api/invitations/";
        let sent = json!({ "opponent": opponent, "color": color.is_white() });
        field(path, &self.post(path, &sent)?, "game_id", Value::as_u64)
    }
}

/// Where a game stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Status {
    /// Whether it has ended.
    pub(super) over: bool,
    /// Whether it is our turn.
    pub(super) mine: bool,
}

/// One game on a server.
pub(super) struct Table<'a> {
    /// The way to it.
    pub(super) http: &'a Http<'a>,
    /// Its number.
    pub(super) game: u64,
}

impl Table<'_> {
    fn path(&self, what: &str) -> String {
        format!("/api/games/{}/{what}", self.game)
    }

    /// The value under a key that is called like the endpoint.
    fn get<T>(&self, what: &str, read: impl Fn(&Value) -> Option<T>) -> Result<T, Failure> {
        self.get_field(what, what, read)
    }

    fn get_field<T>(
        &self,
        what: &str,
        key: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<T, Failure> {
        let path = self.path(what);
        insist(|| field(&path, &self.http.ask(&path, None, None)?, key, &read))
    }

    fn post(&self, what: &str, sent: &Value) -> Result<Value, Failure> {
        self.http.ask(&self.path(what), Some(sent), None)
    }

    /// Our side.
    pub(super) fn color(&self) -> Result<Color, Failure> {
        self.get("color", |value| value.as_bool().map(Color::from_white))
    }

    /// Where it begins, as a FEN.
    pub(super) fn start(&self) -> Result<String, Failure> {
        self.get_field("starting_board", "board", |value| tagged(value, "Board").map(str::to_owned))
    }

    /// The name of the other side.
    pub(super) fn opponent(&self) -> Result<String, Failure> {
        self.get("opponent_name", |value| value.as_str().map(one_line))
    }

    /// Says that we are ready.
    pub(super) fn ready(&self) -> Result<(), Failure> {
        self.post("ready", &json!({})).map(drop)
    }

    /// Where it stands.
    pub(super) fn status(&self) -> Result<Status, Failure> {
        let path = self.path("game_status");
        insist(|| {
            let value = self.http.ask(&path, None, None)?;
            Ok(Status {
                over: field(&path, &value, "is_over", Value::as_bool)?,
                mine: field(&path, &value, "is_my_turn", Value::as_bool)?,
            })
        })
    }

    /// Where a man of ours was taken.
    pub(super) fn on_line(&self) -> Result<Option<Square>, Failure> {
        self.get("opponent_move_results", |value| optional(value, square))
    }

    /// How many seconds we have left.
    pub(super) fn seconds_left(&self) -> Result<f64, Failure> {
        self.get("seconds_left", Value::as_f64)
    }

    /// What we may request.
    pub(super) fn requests(&self) -> Result<Vec<Request>, Failure> {
        let all = |value: &Value| value.as_array()?.iter().map(request).collect();
        self.get("move_actions", all)
    }

    /// Looks around a square.
    pub(super) fn sense(&self, center: Square) -> Result<Vec<Sensed>, Failure> {
        insist(|| {
            let value = self.post("sense", &json!({ "square": u32::from(center) }))?;
            field(&self.path("sense"), &value, "sense_result", sensed)
        })
    }

    /// Requests a move; `None` is a pass.
    pub(super) fn request(&self, step: Option<Request>) -> Result<Played, Failure> {
        let sent = step.map(|step| json!({ "type": "Move", "value": step.to_string() }));
        let played = |value: &Value| match value.as_array()?.as_slice() {
            [requested, taken, capture] => Some(Played {
                requested: optional(requested, request)?,
                taken: optional(taken, request)?,
                capture: optional(capture, square)?,
            }),
            _ => None,
        };
        insist(|| {
            let value = self.post("move", &json!({ "requested_move": sent }))?;
            field(&self.path("move"), &value, "move_result", played)
        })
    }

    /// Ends our turn.
    pub(super) fn end_turn(&self) -> Result<(), Failure> {
        self.post("end_turn", &json!({})).map(drop)
    }

    /// Tells the server that we cannot go on.
    pub(super) fn give_up(&self) -> Result<(), Failure> {
        self.post("error_resign", &json!({})).map(drop)
    }

    /// Who has won; `None` if nobody has.
    pub(super) fn winner(&self) -> Result<Option<Color>, Failure> {
        let color = |value: &Value| value.as_bool().map(Color::from_white);
        self.get("winner_color", |value| optional(value, color))
    }

    /// Why it has ended, in the server's word.
    pub(super) fn reason(&self) -> Result<Option<WinReason>, Failure> {
        let reason = |value: &Value| {
            let name = tagged(value, "WinReason")?;
            WinReason::ALL.into_iter().find(|reason| reason.name() == name)
        };
        self.get("win_reason", |value| optional(value, reason))
    }

    /// All that happened in it, in the JSON of reconchess.
    pub(super) fn history(&self) -> Result<Value, Failure> {
        self.get("game_history", |value| value.is_object().then(|| value.clone()))
    }
}

/// Asks again a few times if what is answered makes no sense; what was obeyed once is refused then.
fn insist<T>(ask: impl Fn() -> Result<T, Failure>) -> Result<T, Failure> {
    for _ in 1..TRIES {
        match ask() {
            Err(Failure::Nonsense { .. }) => thread::sleep(PAUSE),
            answer => return answer,
        }
    }
    ask()
}

fn field<T>(
    path: &str,
    value: &Value,
    key: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<T, Failure> {
    let what = path.trim_start_matches("/api/").to_owned();
    let found = value.get(key).and_then(read);
    found.ok_or_else(|| {
        let reason = format!("\"{key}\" is not what it should be in {}", quoted(value));
        Failure::Nonsense { what, reason: one_line(&reason) }
    })
}
