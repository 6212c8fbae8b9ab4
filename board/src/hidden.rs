//! Games of reconnaissance blind chess (RBC) between a client and the engine.
//!
//! The server is the referee. Before the end of a game the client receives a [`HiddenView`], which is made from
//! what its side knows. A game is identified by a token that only its client has.

mod game;
mod view;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use futures_util::future::join_all;
use menagerie::rules::rbc::{NotRequestable, ParseRequestError, Request, Truth};
use menagerie::rules::{Color, Square};
use menagerie_rbc::{PlayerOptions, Players};
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::Sender;

pub(crate) use self::game::HiddenGame;
use self::game::{GameClocks, WrongPhase};
pub(crate) use self::view::HiddenView;
use crate::limits::{
    HIDDEN_GAME_TIME, MAX_HIDDEN_GAMES, MAX_HIDDEN_IDLE_TIME, MAX_THINKING_PLAYERS, quote,
};
use crate::messages::{NewHiddenGame, write_message};

/// The presets, and the options of their players. The number of boards limits the memory of a game.
const PRESETS: [(&str, &[(&str, &str)]); 3] = [
    ("fast", &[("boards", "100000"), ("samples", "128"), ("depth", "3"), ("turn", "1000")]),
    ("best", &[("boards", "200000")]),
    ("paper", &[("preset", "paper"), ("boards", "200000")]),
];

/// A game that a client and the thread of its player share.
pub(crate) type SharedGame = Arc<Mutex<HiddenGame>>;

/// All games, and the players of each preset.
#[derive(Debug)]
pub(crate) struct HiddenGames {
    games: Mutex<HashMap<String, SharedGame>>,
    players: Vec<(&'static str, Players)>,
    thinking: Arc<Semaphore>,
}

/// What a client asks for in a game.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum HiddenCommand {
    Resume,
    Sense(Option<String>),
    Move(Option<String>),
    Resign,
}

/// Why a command of RBC was refused. The messages quote the input.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HiddenError {
    #[error("{MAX_HIDDEN_GAMES} games of RBC are in progress, try again later")]
    TooManyGames,
    #[error("no game with the token \"{0}\"")]
    Token(String),
    #[error("color must be white or black, not \"{0}\"")]
    Color(String),
    #[error("preset must be fast, best or paper, not \"{0}\"")]
    Preset(String),
    #[error("invalid square \"{0}\"")]
    Square(String),
    #[error(transparent)]
    Request(#[from] ParseRequestError),
    #[error(transparent)]
    NotRequestable(#[from] NotRequestable),
    #[error(transparent)]
    Phase(#[from] WrongPhase),
    #[error("the engine cannot play: {0}")]
    Options(#[from] menagerie_rbc::OptionsError),
}

/// The reply to all commands.
#[derive(Debug, Serialize)]
pub(crate) struct HiddenBody {
    token: String,
    view: HiddenView,
}

/// The event at the end of a turn of the engine.
#[derive(Debug, Serialize)]
struct TurnEvent<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    token: &'a str,
    view: HiddenView,
}

impl HiddenGames {
    /// Creates the store without games. Networks are opened by the first game.
    ///
    /// # Errors
    /// If the options of a preset are invalid.
    pub(crate) fn new() -> Result<HiddenGames, menagerie_rbc::OptionsError> {
        let mut players = Vec::with_capacity(PRESETS.len());
        for (name, options) in PRESETS {
            let options = PlayerOptions::from_pairs(options.iter().copied())?;
            players.push((name, options.players()));
        }
        Ok(HiddenGames {
            games: Mutex::default(),
            players,
            thinking: Arc::new(Semaphore::new(MAX_THINKING_PLAYERS)),
        })
    }

    /// Begins a game. Blocks while a network is opened.
    ///
    /// # Errors
    /// If the request is invalid, or there are too many games.
    pub(crate) fn begin(
        &self,
        request: &NewHiddenGame,
        listener: Sender<String>,
    ) -> Result<(HiddenBody, Option<SharedGame>), HiddenError> {
        let color = match &*request.color {
            "white" => Color::White,
            "black" => Color::Black,
            other => return Err(HiddenError::Color(quote(other))),
        };
        let preset = request.preset.as_deref().unwrap_or("fast");
        let found = self.players.iter().find(|(name, _)| *name == preset);
        let (_, players) = found.ok_or_else(|| HiddenError::Preset(quote(preset)))?;
        let mut truth = Truth::default();
        if let Some(clocks) = request.seconds.map(GameClocks::new) {
            truth = truth.with_clocks(clocks.0);
        }
        let player = players.create_player(&truth, !color, rand::random());
        let token = format!("{:032x}", rand::random::<u128>());
        let game = HiddenGame::new(token.clone(), truth, color, player, listener);
        let shared = Arc::new(Mutex::new(game));
        self.insert(token.clone(), Arc::clone(&shared))?;
        let mut game = lock(&shared);
        let body = HiddenBody { token, view: game.view() };
        let to_think = if game.begins_thinking() { Some(Arc::clone(&shared)) } else { None };
        Ok((body, to_think))
    }

    /// Adds a game. Removes old games, and if there is no room the finished game that was idle longest, or else the
    /// unfinished one, if it was idle for [`MAX_HIDDEN_IDLE_TIME`].
    fn insert(&self, token: String, game: SharedGame) -> Result<(), HiddenError> {
        let mut games = self.games.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        games.retain(|_, game| now.duration_since(lock(game).last_message) < HIDDEN_GAME_TIME);
        if games.len() >= MAX_HIDDEN_GAMES {
            let removable = games.iter().filter(|(_, game)| {
                let game = lock(game);
                game.is_over() || now.duration_since(game.last_message) >= MAX_HIDDEN_IDLE_TIME
            });
            let oldest = removable.min_by_key(|(_, game)| {
                let game = lock(game);
                (!game.is_over(), game.last_message)
            });
            let oldest = oldest.map(|(token, _)| token.clone());
            games.remove(&oldest.ok_or(HiddenError::TooManyGames)?);
        }
        games.insert(token, game);
        Ok(())
    }

    /// Executes a command in a game. Its next events go to `listener`, too. If the engine is to move, its game is
    /// returned too, for [`HiddenGames::think`].
    ///
    /// # Errors
    /// If there is no such game, or the command is not possible now.
    pub(crate) fn execute(
        &self,
        token: &str,
        command: HiddenCommand,
        listener: Sender<String>,
    ) -> Result<(HiddenBody, Option<SharedGame>), HiddenError> {
        let games = self.games.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = games.get(token).cloned();
        drop(games);
        let shared = shared.ok_or_else(|| HiddenError::Token(quote(token)))?;
        let mut game = lock(&shared);
        game.last_message = Instant::now();
        game.add_listener(listener);
        match command {
            HiddenCommand::Resume => game.check_clock(),
            HiddenCommand::Sense(square) => {
                let square = square.map(|text| parse_square(&text)).transpose()?;
                game.sense(square)?;
            }
            HiddenCommand::Move(request) => {
                let request = request.map(|text| parse_request(&text)).transpose()?;
                game.request(request)?;
            }
            HiddenCommand::Resign => game.resign(),
        }
        let body = HiddenBody { token: token.to_owned(), view: game.view() };
        let to_think = if game.begins_thinking() { Some(Arc::clone(&shared)) } else { None };
        Ok((body, to_think))
    }

    /// Plays the turn of the engine, when fewer other players think, and sends it to the clients.
    pub(crate) async fn think(&self, game: SharedGame) {
        // The semaphore is never closed.
        let Ok(permit) = Arc::clone(&self.thinking).acquire_owned().await else { return };
        let thinking = Arc::clone(&game);
        let done = tokio::task::spawn_blocking(move || {
            let has_played = game::play_engine_turn(&thinking);
            drop(permit);
            has_played
        });
        let has_played = done.await;
        if matches!(has_played, Ok(false)) {
            return;
        }
        let (listeners, text) = {
            let mut game = lock(&game);
            if has_played.is_err() {
                log::error!("the player of RBC failed and resigns");
                game.resign_engine();
            }
            let view = game.view();
            let event = TurnEvent { kind: "rbc.turn", token: &game.token, view };
            let text = write_message(&event);
            (game.open_listeners(), text)
        };
        // A client whose connection is closed gets the view when it resumes.
        join_all(listeners.iter().map(|listener| listener.send(text.clone()))).await;
    }
}

/// Locks a game. A thread that failed leaves it as it was before a step.
fn lock(game: &SharedGame) -> MutexGuard<'_, HiddenGame> {
    game.lock().unwrap_or_else(PoisonError::into_inner)
}

fn parse_square(text: &str) -> Result<Square, HiddenError> {
    text.parse().map_err(|_| HiddenError::Square(quote(text)))
}

fn parse_request(text: &str) -> Result<Request, HiddenError> {
    text.parse().map_err(|_| ParseRequestError(quote(text)).into())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn games_replace_finished_and_idle_games() {
        let games = HiddenGames::new().expect("valid presets");
        let insert = |token: &str, idle_seconds: u64| {
            let options = [("weights", "habits"), ("nodes", "0"), ("boards", "10")];
            let players = PlayerOptions::from_pairs(options).expect("valid options").players();
            let truth = Truth::default();
            let player = players.create_player(&truth, Color::Black, 0);
            let (listener, _) = tokio::sync::mpsc::channel(1);
            let mut game = HiddenGame::new(token.to_owned(), truth, Color::White, player, listener);
            let idle = Duration::from_secs(idle_seconds);
            game.last_message = game.last_message.checked_sub(idle).expect("uptime");
            let game = Arc::new(Mutex::new(game));
            games.insert(token.to_owned(), Arc::clone(&game)).map(|()| game)
        };
        for index in 0..MAX_HIDDEN_GAMES as u64 {
            insert(&index.to_string(), 10 * index).expect("room");
        }
        // The games that were idle for at least 300 s are removed, the oldest first.
        insert("a", 0).expect("room");
        let finished = insert("b", 0).expect("room");
        assert!(matches!(insert("c", 0), Err(HiddenError::TooManyGames)));
        lock(&finished).resign();
        insert("d", 0).expect("room");
        let games = games.games.lock().expect("no panic");
        let is_kept = ["29", "30", "31", "a", "b", "d"].map(|token| games.contains_key(token));
        assert_eq!(is_kept, [true, false, false, true, false, true]);
    }
}
