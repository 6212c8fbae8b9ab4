//! The HTTP API of the server, as the documentation of reconchess 1.6.9 describes it.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use menagerie::protocol::lines::{LineWriter, one_line};
use menagerie::rules::rbc::{Played, Request, Sensed, WinReason};
use menagerie::rules::{Color, Square};
use menagerie_rbc::json::{
    format_move, format_square, parse_move, parse_nullable, parse_sense_result, parse_square,
    parse_tagged, parse_win_reason, quote,
};
use serde_json::{Value, json};
use ureq::Agent;
use ureq::http::{HeaderValue, Uri};

/// The time after which a request without an answer is repeated.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum length of an answer.
const MAX_ANSWER_BYTES: u64 = 1 << 24;
/// The number of times that a request is repeated whose answer is not JSON.
const MAX_JSON_RETRIES: u32 = 4;
/// The number of times that the state of a game is requested again if the answer is invalid.
const MAX_STATE_RETRIES: u32 = 3;
/// The pause between requests grows to this multiple of [`Connection::poll`].
const MAX_PAUSE_FACTOR: u32 = 10;
/// The interval in which a pause checks whether the client should stop.
const STOP_CHECK: Duration = Duration::from_millis(50);

/// Why a request has no usable answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum ServerError {
    /// Status 401.
    #[error("the server refuses the user or the password")]
    Unauthorized,
    /// Status 300 to 499.
    #[error("{endpoint}: the server refuses with status {status}: {reason}")]
    Refused { endpoint: String, status: u16, reason: String },
    /// The answer is not what the API describes.
    #[error("{endpoint}: invalid answer: {reason}")]
    Invalid { endpoint: String, reason: String },
    /// The answer contradicts what is known of the game.
    #[error("impossible answer: {0}")]
    Contradiction(String),
    /// The request cannot be sent.
    #[error("{0}")]
    Unsendable(String),
    /// The client was stopped before the server answered.
    #[error("stopped before the server answered")]
    Stopped,
}

impl ServerError {
    /// Returns `true` if the server has received the request, though its answer is not usable.
    pub(super) fn was_received(&self) -> bool {
        matches!(self, ServerError::Refused { .. } | ServerError::Invalid { .. })
    }

    /// Returns `true` if later requests will fail, too.
    pub(super) fn is_permanent(&self) -> bool {
        matches!(self, ServerError::Unauthorized | ServerError::Unsendable(_))
    }
}

/// A connection to a server: requests are repeated until they are answered.
pub(super) struct Connection<'a> {
    agent: Agent,
    /// The address without a slash at its end.
    root: String,
    authorization: HeaderValue,
    output: &'a LineWriter,
    /// The first pause before a request is repeated.
    poll: Duration,
    /// Since when the server has not answered.
    silent_since: Mutex<Option<Instant>>,
}

/// Why a request may have to be repeated.
enum AttemptError {
    Final(ServerError),
    NotJson(String),
    NoAnswer(String),
}

impl<'a> Connection<'a> {
    /// Creates a connection to the server at `url`. No request is made.
    ///
    /// # Errors
    /// If `url` is not the address of a server, or contains credentials.
    pub(super) fn new(
        url: &str,
        authorization: HeaderValue,
        poll: Duration,
        output: &'a LineWriter,
    ) -> anyhow::Result<Connection<'a>> {
        let root = url.trim_end_matches('/');
        // Neither error message quotes the address, which may contain a password.
        let Ok(uri) = root.parse::<Uri>() else { bail!("the server's address is invalid") };
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            bail!("the server's address must not contain a user or a password");
        }
        let is_secure = uri.scheme_str() == Some("https");
        let host = uri.host().unwrap_or_default();
        ensure!(
            (is_secure || uri.scheme_str() == Some("http"))
                && !host.is_empty()
                && uri.query().is_none(),
            "invalid address \"{url}\", expected one like https://server"
        );
        ensure!(
            !is_secure || cfg!(feature = "tls"),
            "\"{url}\": this executable was built without the feature tls"
        );
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("menagerie/", env!("CARGO_PKG_VERSION")))
            .timeout_global(Some(REQUEST_TIMEOUT));
        if is_local(host) {
            config = config.proxy(None);
        } else if !is_secure {
            output.print_message("warning: without https anyone can read the password");
        }
        Ok(Connection {
            agent: config.build().new_agent(),
            root: root.to_owned(),
            authorization,
            output,
            poll,
            silent_since: Mutex::new(None),
        })
    }

    /// The pause between two requests for the state of a game.
    pub(super) fn poll(&self) -> Duration {
        self.poll
    }

    /// Requests `path` by GET, or by POST if there is a `body`. Returns the answer, `null` if it is empty.
    /// The request is repeated while the server fails or does not answer, until `stop` is set.
    fn request(
        &self,
        path: &str,
        body: Option<&Value>,
        stop: Option<&AtomicBool>,
    ) -> Result<Value, ServerError> {
        let endpoint = endpoint_of(path);
        let mut pause = self.poll;
        let mut json_retries = 0;
        loop {
            let trouble = match self.attempt(&endpoint, path, body) {
                Ok(value) => {
                    self.report_answer();
                    return Ok(value);
                }
                Err(AttemptError::Final(error)) => return Err(error),
                Err(AttemptError::NotJson(reason)) if json_retries == MAX_JSON_RETRIES => {
                    return Err(ServerError::Invalid { endpoint, reason });
                }
                Err(AttemptError::NotJson(reason)) => {
                    json_retries += 1;
                    reason
                }
                Err(AttemptError::NoAnswer(reason)) => reason,
            };
            self.report_silence(&endpoint, &trouble);
            sleep_unless_stopped(pause, stop)?;
            pause = (pause * 2).min(self.poll * MAX_PAUSE_FACTOR);
        }
    }

    fn attempt(
        &self,
        endpoint: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, AttemptError> {
        let endpoint = endpoint.to_owned();
        match self.send(path, body) {
            Ok((200..=299, text)) if text.trim().is_empty() => Ok(Value::Null),
            Ok((200..=299, text)) => serde_json::from_str(&text)
                .map_err(|error| AttemptError::NotJson(format!("not JSON: {error}"))),
            Ok((401, _)) => Err(AttemptError::Final(ServerError::Unauthorized)),
            Ok((status @ (408 | 429 | 500..), _)) => {
                Err(AttemptError::NoAnswer(format!("status {status}")))
            }
            Ok((status, text)) => {
                let reason = one_line(text.trim());
                Err(AttemptError::Final(ServerError::Refused { endpoint, status, reason }))
            }
            Err(error) if is_unsendable(&error) => {
                let message = one_line(&format!("{endpoint}: {error}"));
                Err(AttemptError::Final(ServerError::Unsendable(message)))
            }
            Err(ureq::Error::BodyExceedsLimit(limit)) => {
                let reason = format!("longer than {limit} bytes");
                Err(AttemptError::Final(ServerError::Invalid { endpoint, reason }))
            }
            Err(error) => Err(AttemptError::NoAnswer(error.to_string())),
        }
    }

    /// Sends a request once. Returns the status and the text of the answer.
    fn send(&self, path: &str, body: Option<&Value>) -> Result<(u16, String), ureq::Error> {
        let url = format!("{}{path}", self.root);
        let authorization = self.authorization.clone();
        let mut response = match body {
            None => self.agent.get(&url).header("Authorization", authorization).call()?,
            Some(value) => self
                .agent
                .post(&url)
                .header("Authorization", authorization)
                .content_type("application/json")
                .send(value.to_string())?,
        };
        let bytes = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_vec()?;
        Ok((response.status().as_u16(), String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn report_silence(&self, endpoint: &str, trouble: &str) {
        let mut silent_since = self.silent_since.lock().unwrap_or_else(PoisonError::into_inner);
        if silent_since.is_none() {
            *silent_since = Some(Instant::now());
            self.output.print_message(&format!("{endpoint}: no answer ({trouble}), retrying"));
        }
    }

    fn report_answer(&self) {
        let mut silent_since = self.silent_since.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(since) = silent_since.take() {
            let seconds = since.elapsed().as_secs_f64();
            self.output.print_message(&format!("the server answers again after {seconds:.1} s"));
        }
    }
}

fn endpoint_of(path: &str) -> String {
    path.trim_start_matches("/api/").to_owned()
}

fn is_local(host: &str) -> bool {
    let name = host.trim_matches(['[', ']']);
    name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

fn is_unsendable(error: &ureq::Error) -> bool {
    matches!(error, ureq::Error::BadUri(_) | ureq::Error::Http(_) | ureq::Error::InvalidProxyUrl)
}

/// Sleeps for `pause`.
///
/// # Errors
/// [`ServerError::Stopped`] as soon as `stop` is set.
pub(super) fn sleep_unless_stopped(
    pause: Duration,
    stop: Option<&AtomicBool>,
) -> Result<(), ServerError> {
    let end = Instant::now() + pause;
    loop {
        if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(ServerError::Stopped);
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        thread::sleep(left.min(STOP_CHECK));
    }
}

/// Parses the value of a key of an answer.
fn parse_field<T>(
    path: &str,
    answer: &Value,
    key: &str,
    parse: impl Fn(&Value) -> Option<T>,
) -> Result<T, ServerError> {
    answer.get(key).and_then(parse).ok_or_else(|| ServerError::Invalid {
        endpoint: endpoint_of(path),
        reason: one_line(&format!("\"{key}\" in {}", quote(answer))),
    })
}

fn parse_one_line(value: &Value) -> Option<String> {
    value.as_str().map(one_line)
}

fn parse_color(value: &Value) -> Option<Color> {
    value.as_bool().map(Color::from_white)
}

fn parse_numbers(value: &Value) -> Option<Vec<u64>> {
    value.as_array()?.iter().map(Value::as_u64).collect()
}

fn parse_moves(value: &Value) -> Option<Vec<Request>> {
    value.as_array()?.iter().map(parse_move).collect()
}

fn parse_move_result(value: &Value) -> Option<Played> {
    let [requested, taken, capture] = value.as_array()?.as_slice() else { return None };
    Some(Played {
        requested: parse_nullable(requested, parse_move)?,
        taken: parse_nullable(taken, parse_move)?,
        capture: parse_nullable(capture, parse_square)?,
    })
}

/// The endpoints for users and invitations. Their requests are not repeated once `stop` is set.
pub(super) struct Server<'a> {
    pub(super) connection: Connection<'a>,
    pub(super) stop: &'a AtomicBool,
}

impl Server<'_> {
    fn get(&self, path: &str) -> Result<Value, ServerError> {
        self.connection.request(path, None, Some(self.stop))
    }

    fn post(&self, path: &str, body: &Value) -> Result<Value, ServerError> {
        self.connection.request(path, Some(body), Some(self.stop))
    }

    /// Requests the version of reconchess.
    pub(super) fn version(&self) -> Result<String, ServerError> {
        let path = "/api/version";
        parse_field(path, &self.get(path)?, "version", parse_one_line)
    }

    /// Announces that the user is online.
    pub(super) fn announce(&self) -> Result<(), ServerError> {
        self.post("/api/users/me", &json!({})).map(drop)
    }

    /// Sets the maximum number of simultaneous games.
    pub(super) fn set_max_games(&self, games: usize) -> Result<(), ServerError> {
        self.post("/api/users/me/max_games", &json!({ "max_games": games })).map(drop)
    }

    /// Sets whether the user plays ranked games.
    pub(super) fn set_ranked(&self, ranked: bool) -> Result<(), ServerError> {
        self.post("/api/users/me/ranked", &json!({ "ranked": ranked })).map(drop)
    }

    /// Requests the version of the player in ranked games; 0 before the first.
    pub(super) fn player_version(&self) -> Result<u64, ServerError> {
        let path = "/api/users/me/version";
        parse_field(path, &self.get(path)?, "version", Value::as_u64)
    }

    /// Increments the version of the player.
    pub(super) fn increment_player_version(&self) -> Result<(), ServerError> {
        self.post("/api/users/me/version", &json!({})).map(drop)
    }

    /// Requests the numbers of the open invitations.
    pub(super) fn invitations(&self) -> Result<Vec<u64>, ServerError> {
        let path = "/api/invitations/";
        parse_field(path, &self.get(path)?, "invitations", parse_numbers)
    }

    /// Accepts an invitation. Returns the number of the game.
    pub(super) fn accept(&self, invitation: u64) -> Result<u64, ServerError> {
        let path = format!("/api/invitations/{invitation}");
        parse_field(&path, &self.post(&path, &json!({}))?, "game_id", Value::as_u64)
    }

    /// Reports that the game of an invitation is over.
    pub(super) fn finish_invitation(&self, invitation: u64) -> Result<(), ServerError> {
        self.post(&format!("/api/invitations/{invitation}/finish"), &json!({})).map(drop)
    }

    /// Invites a user to a game in which we play `color`. Returns the number of the game.
    pub(super) fn invite(&self, opponent: &str, color: Color) -> Result<u64, ServerError> {
        let path = "/api/invitations/";
        let body = json!({ "opponent": opponent, "color": color.is_white() });
        parse_field(path, &self.post(path, &body)?, "game_id", Value::as_u64)
    }
}

/// The state of a game.
#[derive(Clone, Copy, Debug)]
pub(super) struct GameStatus {
    pub(super) is_over: bool,
    pub(super) is_my_turn: bool,
}

/// The endpoints of one game. Their requests are repeated until they are answered.
pub(super) struct GameApi<'a> {
    pub(super) connection: &'a Connection<'a>,
    pub(super) game: u64,
}

impl GameApi<'_> {
    fn path(&self, endpoint: &str) -> String {
        format!("/api/games/{}/{endpoint}", self.game)
    }

    /// Requests a value whose key is the name of the endpoint.
    fn get<T>(
        &self,
        endpoint: &str,
        parse: impl Fn(&Value) -> Option<T>,
    ) -> Result<T, ServerError> {
        self.get_key(endpoint, endpoint, parse)
    }

    fn get_key<T>(
        &self,
        endpoint: &str,
        key: &str,
        parse: impl Fn(&Value) -> Option<T>,
    ) -> Result<T, ServerError> {
        let path = self.path(endpoint);
        self.retry_invalid(|| {
            let answer = self.connection.request(&path, None, None)?;
            parse_field(&path, &answer, key, &parse)
        })
    }

    fn post(&self, endpoint: &str, body: &Value) -> Result<Value, ServerError> {
        self.connection.request(&self.path(endpoint), Some(body), None)
    }

    /// Repeats a request whose answer is invalid. A sense or move that was executed is refused then.
    fn retry_invalid<T>(
        &self,
        request: impl Fn() -> Result<T, ServerError>,
    ) -> Result<T, ServerError> {
        for _ in 0..MAX_STATE_RETRIES {
            match request() {
                Err(ServerError::Invalid { .. }) => thread::sleep(self.connection.poll),
                result => return result,
            }
        }
        request()
    }

    /// Requests our side.
    pub(super) fn color(&self) -> Result<Color, ServerError> {
        self.get("color", parse_color)
    }

    /// Requests the FEN of the start.
    pub(super) fn start(&self) -> Result<String, ServerError> {
        self.get_key("starting_board", "board", |value| {
            parse_tagged(value, "Board").map(str::to_owned)
        })
    }

    /// Requests the name of the other side.
    pub(super) fn opponent(&self) -> Result<String, ServerError> {
        self.get("opponent_name", parse_one_line)
    }

    /// Reports that we are ready.
    pub(super) fn set_ready(&self) -> Result<(), ServerError> {
        self.post("ready", &json!({})).map(drop)
    }

    /// Requests the state of the game.
    pub(super) fn status(&self) -> Result<GameStatus, ServerError> {
        let path = self.path("game_status");
        self.retry_invalid(|| {
            let answer = self.connection.request(&path, None, None)?;
            Ok(GameStatus {
                is_over: parse_field(&path, &answer, "is_over", Value::as_bool)?,
                is_my_turn: parse_field(&path, &answer, "is_my_turn", Value::as_bool)?,
            })
        })
    }

    /// Requests the square on which the other side's last move captured a piece.
    pub(super) fn opponent_capture(&self) -> Result<Option<Square>, ServerError> {
        self.get("opponent_move_results", |value| parse_nullable(value, parse_square))
    }

    /// Requests the time left in seconds.
    pub(super) fn seconds_left(&self) -> Result<f64, ServerError> {
        self.get("seconds_left", Value::as_f64)
    }

    /// Requests the possible moves.
    pub(super) fn possible_moves(&self) -> Result<Vec<Request>, ServerError> {
        self.get("move_actions", parse_moves)
    }

    /// Senses around a square.
    pub(super) fn sense(&self, square: Square) -> Result<Vec<Sensed>, ServerError> {
        self.retry_invalid(|| {
            let answer = self.post("sense", &json!({ "square": format_square(Some(square)) }))?;
            parse_field(&self.path("sense"), &answer, "sense_result", parse_sense_result)
        })
    }

    /// Requests a move; `None` is a pass.
    pub(super) fn play(&self, request: Option<Request>) -> Result<Played, ServerError> {
        self.retry_invalid(|| {
            let body = json!({ "requested_move": format_move(request) });
            let answer = self.post("move", &body)?;
            parse_field(&self.path("move"), &answer, "move_result", parse_move_result)
        })
    }

    /// Ends our turn.
    pub(super) fn end_turn(&self) -> Result<(), ServerError> {
        self.post("end_turn", &json!({})).map(drop)
    }

    /// Resigns because of an error.
    pub(super) fn resign(&self) -> Result<(), ServerError> {
        self.post("error_resign", &json!({})).map(drop)
    }

    /// Requests the winner; `None` after a draw.
    pub(super) fn winner(&self) -> Result<Option<Color>, ServerError> {
        self.get("winner_color", |value| parse_nullable(value, parse_color))
    }

    /// Requests the reason why the game ended.
    pub(super) fn win_reason(&self) -> Result<Option<WinReason>, ServerError> {
        self.get("win_reason", |value| parse_nullable(value, parse_win_reason))
    }

    /// Requests the history of the game in the JSON of reconchess.
    pub(super) fn history(&self) -> Result<Value, ServerError> {
        self.get("game_history", |value| if value.is_object() { Some(value.clone()) } else { None })
    }
}
