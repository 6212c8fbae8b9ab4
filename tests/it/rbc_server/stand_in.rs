//! A stand-in for the public server of blind chess: its API over the loopback, with a referee and an
//! opponent that replies at once, and faults as a test wants them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use menagerie::protocol::rbc::GameHistory;
use menagerie::rules::blind::{Played, Truth};
use menagerie::rules::{Color, Square};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

/// What goes wrong with a request.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// It is not obeyed, and answered by this status.
    Before(u16),
    /// It is obeyed, and answered by this status.
    After(u16),
    /// It is obeyed, and the connection ends without an answer.
    Silence,
    /// It is obeyed, and answered by this text.
    Text(String),
}

/// Decides whether a request, by its method and path, goes wrong.
pub(crate) type Faults = Box<dyn FnMut(&str, &str) -> Option<Fault> + Send>;

/// A game against an opponent that moves anywhere.
pub(crate) struct Game {
    pub(crate) color: Color,
    pub(crate) truth: Truth,
    pub(crate) history: GameHistory,
    ready: bool,
    sensed: bool,
    moved: bool,
    told: Option<Square>,
    given_up: bool,
    rng: StdRng,
}

/// What the server knows.
pub(crate) struct World {
    pub(crate) games: BTreeMap<u64, Game>,
    /// Those that are listed: until their games are finished, whether or not they were accepted.
    pub(crate) invitations: Vec<u64>,
    /// The games of those that were accepted.
    accepted: BTreeMap<u64, u64>,
    pub(crate) finished: Vec<u64>,
    /// All requests that came, by method and path.
    pub(crate) log: Vec<String>,
    pub(crate) ranked: Vec<bool>,
    pub(crate) faults: Faults,
    seed: u64,
}

/// A server at work.
#[derive(Clone)]
pub(crate) struct StandIn {
    pub(crate) url: String,
    world: Arc<Mutex<World>>,
}

/// `user:password` in Base64, as it comes with each request.
const AUTHORIZATION: &str = "Basic b3VyczpvcGVuIHNlc2FtZQ==";

impl Game {
    fn new(color: Color, seed: u64) -> Game {
        Game {
            color,
            truth: Truth::default(),
            history: GameHistory::default(),
            ready: false,
            sensed: false,
            moved: false,
            told: None,
            given_up: false,
            rng: StdRng::seed_from_u64(seed),
        }
    }

    pub(crate) fn over(&self) -> bool {
        self.given_up || self.truth.end().is_some()
    }

    fn mine(&self) -> bool {
        // Until it is ended, a turn is ours.
        self.ready && !self.over() && (self.truth.turn() == self.color) != self.moved
    }

    fn play(&mut self, request: Option<menagerie::rules::blind::Request>) -> Option<Played> {
        let (color, before) = (self.truth.turn(), self.truth.fen());
        let played = self.truth.play(request).ok()?;
        self.history.note_move(color, played, before, self.truth.fen());
        Some(played)
    }

    /// The opponent's turn, if it is that.
    fn reply(&mut self) {
        if self.ready && !self.over() && self.truth.turn() != self.color {
            self.history.note_sense(!self.color, None, Vec::new());
            let requests = self.truth.requests();
            let request = requests.get(self.rng.random_range(0..=requests.len())).copied();
            self.told = self.play(request).expect("it may be requested").capture;
        }
    }

    fn obey(&mut self, method: &str, what: &str, body: &Value) -> (u16, Value) {
        let refused = |why: &str| (400, json!({ "error": why }));
        let end = self.truth.end().filter(|_| !self.given_up);
        match (method, what) {
            ("GET", "color") => (200, json!({ "color": self.color.is_white() })),
            ("GET", "starting_board") => {
                let start = Truth::default().fen();
                (200, json!({ "board": { "type": "Board", "value": start } }))
            }
            ("GET", "opponent_name") => (200, json!({ "opponent_name": "a\nfoe" })),
            ("GET", "game_status") => {
                (200, json!({ "is_over": self.over(), "is_my_turn": self.mine() }))
            }
            ("POST", "ready") if self.ready => refused("already ready"),
            ("POST", "ready") => {
                self.ready = true;
                self.reply();
                (200, json!({}))
            }
            ("POST", "error_resign") => {
                self.given_up = true;
                (200, json!({}))
            }
            ("GET", "winner_color" | "win_reason" | "game_history") if !self.over() => {
                refused("not over")
            }
            ("GET", "winner_color") => {
                let winner = end.and_then(|end| end.winner).map(Color::is_white);
                (200, json!({ "winner_color": winner }))
            }
            ("GET", "win_reason") => {
                let reason =
                    end.map(|end| json!({ "type": "WinReason", "value": end.reason.name() }));
                (200, json!({ "win_reason": reason }))
            }
            ("GET", "game_history") => {
                self.history.note_end(end);
                (200, json!({ "game_history": self.history.to_json() }))
            }
            (_, "end_turn") if self.moved => {
                (self.sensed, self.moved) = (false, false);
                self.reply();
                (200, json!({}))
            }
            _ if !self.mine() => refused("not your turn"),
            ("GET", "seconds_left") => (200, json!({ "seconds_left": 600.5 })),
            ("GET", "opponent_move_results") => {
                (200, json!({ "opponent_move_results": self.told.map(u32::from) }))
            }
            ("GET", "move_actions") => {
                let all = self.truth.requests().into_iter();
                let step = |step: menagerie::rules::blind::Request| json!({ "type": "Move", "value": step.to_string() });
                (200, json!({ "move_actions": all.map(step).collect::<Vec<_>>() }))
            }
            ("POST", "sense") if self.sensed => refused("already sensed"),
            ("POST", "sense") => {
                let center =
                    body["square"].as_u64().and_then(|at| Square::try_from(at as u32).ok());
                let seen = self.truth.sense(center);
                self.history.note_sense(self.color, center, seen.clone());
                self.sensed = true;
                let man = |man: Option<menagerie::rules::Piece>| {
                    man.map(|man| json!({ "type": "Piece", "value": man.char().to_string() }))
                };
                let pair = |&(at, piece): &(Square, _)| json!([u32::from(at), man(piece)]);
                (200, json!({ "sense_result": seen.iter().map(pair).collect::<Vec<_>>() }))
            }
            ("POST", "move") if !self.sensed || self.moved => refused("sense first, move once"),
            ("POST", "move") => {
                let text = body["requested_move"]["value"].as_str();
                let Some(played) = self.play(text.map(|text| text.parse().expect("a move"))) else {
                    return refused("not among the move actions");
                };
                self.moved = true;
                let step = |step: Option<menagerie::rules::blind::Request>| {
                    step.map(|step| json!({ "type": "Move", "value": step.to_string() }))
                };
                let capture = played.capture.map(u32::from);
                (
                    200,
                    json!({ "move_result": [step(played.requested), step(played.taken), capture] }),
                )
            }
            _ => refused("not now"),
        }
    }
}

impl World {
    fn new_game(&mut self, color: Color) -> u64 {
        let number = self.games.len() as u64 + 1;
        self.games.insert(number, Game::new(color, self.seed + number));
        number
    }

    fn obey(&mut self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let words: Vec<&str> = path.trim_matches('/').split('/').collect();
        match (method, &words[..]) {
            ("GET", ["api", "version"]) => (200, json!({ "version": "1.6.9" })),
            ("GET", ["api", "users", "me", "version"]) => (200, json!({ "version": 0 })),
            ("POST", ["api", "users", "me", "ranked"]) => {
                self.ranked.push(body["ranked"] == json!(true));
                (200, json!({}))
            }
            ("POST", ["api", "users", "me", ..]) => (200, json!({ "username": "ours" })),
            ("GET", ["api", "invitations"]) => (200, json!({ "invitations": self.invitations })),
            ("POST", ["api", "invitations"]) if body["opponent"] == "foe" => {
                let color = Color::from_white(body["color"] == json!(true));
                (200, json!({ "game_id": self.new_game(color) }))
            }
            ("POST", ["api", "invitations", number]) => {
                let number: u64 = number.parse().expect("a number");
                if !self.invitations.contains(&number) {
                    return (400, json!({ "error": "Invitation does not exist" }));
                }
                let game = match self.accepted.get(&number) {
                    Some(&game) => game,
                    None => self.new_game(Color::Black),
                };
                self.accepted.insert(number, game);
                (200, json!({ "game_id": game }))
            }
            ("POST", ["api", "invitations", number, "finish"]) => {
                let number: u64 = number.parse().expect("a number");
                self.finished.push(number);
                self.invitations.retain(|&other| other != number);
                (200, Value::Null)
            }
            (_, ["api", "games", number, what]) => {
                match number.parse().ok().and_then(|number: u64| self.games.get_mut(&number)) {
                    Some(game) => game.obey(method, what, body),
                    None => (404, json!({ "error": "Game does not exist" })),
                }
            }
            _ => (400, json!({ "error": "no such user or endpoint" })),
        }
    }
}

impl StandIn {
    /// A server at a free port.
    pub(crate) fn new(seed: u64, faults: Faults) -> StandIn {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let world = Arc::new(Mutex::new(World {
            games: BTreeMap::new(),
            invitations: Vec::new(),
            accepted: BTreeMap::new(),
            finished: Vec::new(),
            log: Vec::new(),
            ranked: Vec::new(),
            faults,
            seed,
        }));
        let server = StandIn { url, world };
        let answers = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = answers.clone();
                thread::spawn(move || server.converse(stream));
            }
        });
        server
    }

    /// What it knows.
    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().expect("nobody panicked")
    }

    fn converse(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().expect("two ends"));
        while let Some((status, text)) = self.exchange(&mut reader) {
            let Some(text) = text else { return };
            let head = format!(
                "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                text.len()
            );
            let mut stream = &stream;
            if stream.write_all(format!("{head}{text}").as_bytes()).is_err() {
                return;
            }
        }
    }

    /// Reads a request and obeys it: status and text of the answer, or no text for silence.
    fn exchange(&self, reader: &mut impl BufRead) -> Option<(u16, Option<String>)> {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        let (method, path) = (words.next()?, words.next()?);
        let (mut length, mut allowed) = (0, false);
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim().split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().ok()?,
                "authorization" => allowed = value.trim() == AUTHORIZATION,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let mut world = self.world();
        world.log.push(format!("{method} {path}"));
        if !allowed {
            return Some((401, Some("{\"error\": \"who?\"}".to_owned())));
        }
        let fault = (world.faults)(&method, &path);
        if let Some(Fault::Before(status)) = fault {
            return Some((status, Some("<html>".to_owned())));
        }
        let (status, value) = world.obey(&method, &path, &body);
        let text = if value.is_null() { String::new() } else { value.to_string() };
        match fault {
            Some(Fault::After(status)) => Some((status, Some("<html>".to_owned()))),
            Some(Fault::Silence) => Some((status, None)),
            Some(Fault::Text(text)) => Some((200, Some(text))),
            _ => Some((status, Some(text))),
        }
    }
}
