//! A server for tests: the API over the loopback interface, with a referee, an opponent that replies at
//! once, and faults that a test chooses.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use menagerie::rules::rbc::{Played, Request, Truth};
use menagerie::rules::{Color, Square};
use menagerie_rbc::GameHistory;
use menagerie_rbc::json::{format_move, format_sense_result, format_square, format_tagged};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

/// A fault of the server.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// The request is not executed, and answered with this status.
    Before(u16),
    /// The request is executed, and answered with this status.
    After(u16),
    /// The request is executed, and the connection is closed without an answer.
    NoAnswer,
    /// The request is executed, and answered with this text.
    Text(String),
}

/// Returns the fault of a request, given its path.
pub(crate) type Faults = Box<dyn FnMut(&str) -> Option<Fault> + Send>;

/// A game against an opponent that plays random moves.
pub(crate) struct Game {
    pub(crate) color: Color,
    pub(crate) truth: Truth,
    pub(crate) history: GameHistory,
    is_ready: bool,
    has_sensed: bool,
    has_moved: bool,
    opponent_capture: Option<Square>,
    is_resigned: bool,
    rng: StdRng,
}

/// The state of the server.
pub(crate) struct State {
    pub(crate) games: BTreeMap<u64, Game>,
    /// Invitations whose games are not over.
    pub(crate) invitations: Vec<u64>,
    /// The games of accepted invitations.
    accepted: BTreeMap<u64, u64>,
    pub(crate) finished: Vec<u64>,
    /// The paths of all requests.
    pub(crate) log: Vec<String>,
    pub(crate) ranked: Vec<bool>,
    faults: Faults,
    seed: u64,
}

/// A running server.
#[derive(Clone)]
pub(crate) struct ReferenceServer {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
}

/// A request of HTTP.
struct HttpRequest {
    method: String,
    path: String,
    is_authorized: bool,
    body: Value,
}

/// A status and JSON.
type Answer = (u16, Value);

/// `ours:open sesame` in Base64.
const AUTHORIZATION: &str = "Basic b3VyczpvcGVuIHNlc2FtZQ==";

fn refuse(reason: &str) -> Answer {
    (400, json!({ "error": reason }))
}

fn accept(value: Value) -> Answer {
    (200, value)
}

impl Game {
    fn new(color: Color, seed: u64) -> Game {
        Game {
            color,
            truth: Truth::default(),
            history: GameHistory::default(),
            is_ready: false,
            has_sensed: false,
            has_moved: false,
            opponent_capture: None,
            is_resigned: false,
            rng: StdRng::seed_from_u64(seed),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_resigned || self.truth.end().is_some()
    }

    /// Our turn lasts until it is ended, not until the move.
    fn is_our_turn(&self) -> bool {
        let is_ours_on_board = self.truth.turn() == self.color;
        self.is_ready && !self.is_over() && is_ours_on_board != self.has_moved
    }

    fn play(&mut self, request: Option<Request>) -> Option<Played> {
        let color = self.truth.turn();
        let before = self.truth.fen();
        let played = self.truth.play(request).ok()?;
        self.history.add_move(color, played, before, self.truth.fen());
        Some(played)
    }

    /// Plays the opponent's turn, if it is to move.
    fn play_opponent(&mut self) {
        if !self.is_ready || self.is_over() || self.truth.turn() == self.color {
            return;
        }
        self.history.add_sense(!self.color, None, Vec::new());
        let requests = self.truth.requests();
        let request = requests.get(self.rng.random_range(0..=requests.len())).copied();
        self.opponent_capture = self.play(request).expect("one of the requests").capture;
    }

    fn answer(&mut self, method: &str, endpoint: &str, body: &Value) -> Answer {
        let end = if self.is_resigned { None } else { self.truth.end() };
        match (method, endpoint) {
            ("GET", "color") => accept(json!({ "color": self.color.is_white() })),
            ("GET", "starting_board") => {
                accept(json!({ "board": format_tagged("Board", &Truth::default().fen()) }))
            }
            ("GET", "opponent_name") => accept(json!({ "opponent_name": "a\nfoe" })),
            ("GET", "game_status") => {
                accept(json!({ "is_over": self.is_over(), "is_my_turn": self.is_our_turn() }))
            }
            ("POST", "ready") if self.is_ready => refuse("already ready"),
            ("POST", "ready") => {
                self.is_ready = true;
                self.play_opponent();
                accept(json!({}))
            }
            ("POST", "error_resign") => {
                self.is_resigned = true;
                accept(json!({}))
            }
            ("GET", "winner_color" | "win_reason" | "game_history") if !self.is_over() => {
                refuse("not over")
            }
            ("GET", "winner_color") => {
                let winner = end.and_then(|end| end.winner).map(Color::is_white);
                accept(json!({ "winner_color": winner }))
            }
            ("GET", "win_reason") => {
                let reason = end.map(|end| format_tagged("WinReason", end.reason.name()));
                accept(json!({ "win_reason": reason }))
            }
            ("GET", "game_history") => {
                self.history.set_end(end);
                accept(json!({ "game_history": self.history.to_json() }))
            }
            (_, "end_turn") if self.has_moved => {
                self.has_sensed = false;
                self.has_moved = false;
                self.play_opponent();
                accept(json!({}))
            }
            _ if !self.is_our_turn() => refuse("not your turn"),
            ("GET", "seconds_left") => accept(json!({ "seconds_left": 600.5 })),
            ("GET", "opponent_move_results") => {
                accept(json!({ "opponent_move_results": format_square(self.opponent_capture) }))
            }
            ("GET", "move_actions") => {
                let requests = self.truth.requests().into_iter();
                let moves: Value = requests.map(|request| format_move(Some(request))).collect();
                accept(json!({ "move_actions": moves }))
            }
            ("POST", "sense") if self.has_sensed => refuse("already sensed"),
            ("POST", "sense") => self.sense(body),
            ("POST", "move") if !self.has_sensed || self.has_moved => {
                refuse("sense first, move once")
            }
            ("POST", "move") => self.request_move(body),
            _ => refuse("not now"),
        }
    }

    fn sense(&mut self, body: &Value) -> Answer {
        let square = body["square"].as_u64().and_then(|index| Square::try_from(index as u32).ok());
        let seen = self.truth.sense(square);
        let answer = json!({ "sense_result": format_sense_result(&seen) });
        self.history.add_sense(self.color, square, seen);
        self.has_sensed = true;
        accept(answer)
    }

    fn request_move(&mut self, body: &Value) -> Answer {
        let text = body["requested_move"]["value"].as_str();
        let request = text.map(|text| text.parse().expect("a move"));
        let Some(played) = self.play(request) else { return refuse("not among the move actions") };
        self.has_moved = true;
        let requested = format_move(played.requested);
        let taken = format_move(played.taken);
        accept(json!({ "move_result": [requested, taken, format_square(played.capture)] }))
    }
}

impl State {
    fn start_game(&mut self, color: Color) -> u64 {
        let number = self.games.len() as u64 + 1;
        self.games.insert(number, Game::new(color, self.seed + number));
        number
    }

    fn answer(&mut self, request: &HttpRequest) -> Answer {
        let HttpRequest { method, path, body, .. } = request;
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        match (method.as_str(), &parts[..]) {
            ("GET", ["api", "version"]) => accept(json!({ "version": "1.6.9" })),
            ("GET", ["api", "users", "me", "version"]) => accept(json!({ "version": 0 })),
            ("POST", ["api", "users", "me", "ranked"]) => {
                self.ranked.push(body["ranked"] == json!(true));
                accept(json!({}))
            }
            ("POST", ["api", "users", "me", ..]) => accept(json!({ "username": "ours" })),
            ("GET", ["api", "invitations"]) => accept(json!({ "invitations": self.invitations })),
            ("POST", ["api", "invitations"]) if body["opponent"] == "foe" => {
                let color = Color::from_white(body["color"] == json!(true));
                accept(json!({ "game_id": self.start_game(color) }))
            }
            ("POST", ["api", "invitations", number]) => {
                self.accept_invitation(number.parse().expect("a number"))
            }
            ("POST", ["api", "invitations", number, "finish"]) => {
                let number: u64 = number.parse().expect("a number");
                self.finished.push(number);
                self.invitations.retain(|&other| other != number);
                accept(Value::Null)
            }
            (method, ["api", "games", number, endpoint]) => {
                let number: u64 = number.parse().expect("a number");
                match self.games.get_mut(&number) {
                    Some(game) => game.answer(method, endpoint, body),
                    None => (404, json!({ "error": "game does not exist" })),
                }
            }
            _ => refuse("no such user or endpoint"),
        }
    }

    /// Accepting twice leads to the same game.
    fn accept_invitation(&mut self, number: u64) -> Answer {
        if !self.invitations.contains(&number) {
            return refuse("invitation does not exist");
        }
        let game = match self.accepted.get(&number) {
            Some(&game) => game,
            None => self.start_game(Color::Black),
        };
        self.accepted.insert(number, game);
        accept(json!({ "game_id": game }))
    }
}

impl ReferenceServer {
    /// Starts a server at a free port.
    pub(crate) fn start(
        seed: u64,
        faults: impl FnMut(&str) -> Option<Fault> + Send + 'static,
    ) -> ReferenceServer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(Mutex::new(State {
            games: BTreeMap::new(),
            invitations: Vec::new(),
            accepted: BTreeMap::new(),
            finished: Vec::new(),
            log: Vec::new(),
            ranked: Vec::new(),
            faults: Box::new(faults),
            seed,
        }));
        let server = ReferenceServer { url, state };
        let accepting = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = accepting.clone();
                thread::spawn(move || server.serve(&stream));
            }
        });
        server
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic")
    }

    /// Answers the requests of a connection.
    fn serve(&self, mut stream: &TcpStream) {
        let mut reader = BufReader::new(stream);
        while let Some(request) = read_request(&mut reader) {
            let (status, text) = self.answer(&request);
            let Some(text) = text else { return };
            let head = format!(
                "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                text.len()
            );
            if stream.write_all(format!("{head}{text}").as_bytes()).is_err() {
                return;
            }
        }
    }

    /// Returns a status and a text; no text if there is no answer.
    fn answer(&self, request: &HttpRequest) -> (u16, Option<String>) {
        let mut state = self.state();
        state.log.push(request.path.clone());
        if !request.is_authorized {
            return (401, Some("{\"error\": \"unauthorized\"}".to_owned()));
        }
        let fault = (state.faults)(&request.path);
        if let Some(Fault::Before(status)) = fault {
            return (status, Some("<html>".to_owned()));
        }
        let (status, value) = state.answer(request);
        match fault {
            Some(Fault::After(status)) => (status, Some("<html>".to_owned())),
            Some(Fault::NoAnswer) => (status, None),
            Some(Fault::Text(text)) => (200, Some(text)),
            _ if value.is_null() => (status, Some(String::new())),
            _ => (status, Some(value.to_string())),
        }
    }
}

/// Reads a request, or returns `None` at the end of the connection.
fn read_request(reader: &mut impl BufRead) -> Option<HttpRequest> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let method = words.next()?;
    let path = words.next()?;
    let mut length = 0;
    let mut is_authorized = false;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "authorization" => is_authorized = value.trim() == AUTHORIZATION,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(HttpRequest { method, path, is_authorized, body })
}
