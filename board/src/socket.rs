//! One connection: reads requests, lets them be answered, and writes replies and events.

use std::fmt::Display;
use std::pin::pin;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::ws::{Message, WebSocket};
use futures_util::future::select;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use serde::Serialize;
use serde_json::Number;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout;

use crate::analysis::{Analysis, Command};
use crate::context::Context;
use crate::game::PlayedTurns;
use crate::hidden::{HiddenBody, HiddenCommand, HiddenError, SharedGame};
use crate::limits::{MAX_WAITING_REPLIES, MAX_WRITE_TIME, PING_INTERVAL};
use crate::messages::{MessageError, Refusal, Request, error_message, message, parse_request};
use crate::notation::read_san;
use crate::state::describe_game;

/// A request failed in a way that is a defect of the server.
const INTERNAL_ERROR: &str = "internal error, the request was not executed";

#[derive(Serialize)]
struct TurnBody {
    #[serde(rename = "move")]
    turn: String,
}

/// Serves a connection until the client closes it.
pub(crate) async fn serve_socket(socket: WebSocket, context: Arc<Context>) {
    let (sink, stream) = socket.split();
    let (replies, waiting) = channel(MAX_WAITING_REPLIES);
    let analysis = match Analysis::start(context.catalogue, replies.clone()) {
        Ok(analysis) => analysis,
        Err(error) => {
            log::error!("cannot start a session: {error}");
            return;
        }
    };
    let connection = Connection { context, analysis, played: None, replies };
    // When one ends, the other is dropped: a game of RBC may still hold a sender, so that the writer would not
    // end by itself. The events of a search that has not ended yet have no receiver then.
    select(pin!(connection.read(stream)), pin!(write_replies(sink, waiting))).await;
}

/// Refuses a connection.
pub(crate) async fn refuse_socket(mut socket: WebSocket, error: &(impl Display + Sync)) {
    let text = error_message(None, error);
    let _ = socket.send(Message::Text(text.into())).await;
    let _ = socket.send(Message::Close(None)).await;
}

/// Writes messages until there are no more, or the client does not accept them.
async fn write_replies(mut sink: SplitSink<WebSocket, Message>, mut waiting: Receiver<String>) {
    loop {
        let message = match timeout(PING_INTERVAL, waiting.recv()).await {
            Ok(Some(text)) => Message::Text(text.into()),
            Ok(None) => return,
            // A client that has vanished does not answer.
            Err(_) => Message::Ping(Bytes::new()),
        };
        if !matches!(timeout(MAX_WRITE_TIME, sink.send(message)).await, Ok(Ok(()))) {
            return;
        }
    }
}

/// The state of a connection.
struct Connection {
    context: Arc<Context>,
    analysis: Analysis,
    /// The game of the last `state` or `san`.
    played: Option<PlayedTurns>,
    replies: Sender<String>,
}

impl Connection {
    /// Answers requests until the client leaves. Reading waits for the answer of a request about a position,
    /// so that a client cannot have many of them in progress.
    async fn read(mut self, mut stream: SplitStream<WebSocket>) {
        while let Some(Ok(received)) = stream.next().await {
            let reply = match received {
                Message::Text(text) => self.answer(text.as_str()).await,
                Message::Binary(_) => Some(error_message(None, &MessageError::Binary)),
                Message::Ping(_) | Message::Pong(_) => None,
                Message::Close(_) => return,
            };
            if let Some(reply) = reply
                && self.replies.send(reply).await.is_err()
            {
                return;
            }
        }
    }

    /// Returns the reply to a message; `None` if another thread sends it.
    async fn answer(&mut self, text: &str) -> Option<String> {
        let (id, request) = match parse_request(text) {
            Ok(parsed) => parsed,
            Err(Refusal { id, error }) => return Some(error_message(id.as_ref(), &error)),
        };
        match request {
            Request::Hello => Some(message("hello", &id, &self.context.hello)),
            Request::State { position } => {
                self.answer_blocking(id, move |context, played, id| {
                    let state = describe_game(&position, context.catalogue, played);
                    reply_text("state", id, state)
                })
                .await
            }
            Request::San { position, text, board } => {
                self.answer_blocking(id, move |context, played, id| {
                    let turns =
                        match PlayedTurns::replay(&position, context.catalogue, played.take()) {
                            Ok(turns) => played.insert(turns),
                            Err(error) => return error_message(Some(id), &error),
                        };
                    let turn = read_san(&turns.position, &text, board);
                    reply_text("san", id, turn.map(|turn| TurnBody { turn }))
                })
                .await
            }
            Request::Go(request) => self.send_command(id, Command::Go(request)),
            Request::Stop => self.send_command(id, Command::Stop),
            Request::Eval { position } => self.send_command(id, Command::Eval(position)),
            Request::Option { name, value } => {
                self.send_command(id, Command::SetOption { name, value })
            }
            Request::HiddenNew(request) => {
                let replies = self.replies.clone();
                self.answer_hidden(id, move |context| context.hidden.begin(&request, replies)).await
            }
            Request::HiddenResume { token } => {
                self.hidden_command(id, token, HiddenCommand::Resume).await
            }
            Request::HiddenSense { token, square } => {
                self.hidden_command(id, token, HiddenCommand::Sense(square)).await
            }
            Request::HiddenMove { token, request } => {
                self.hidden_command(id, token, HiddenCommand::Move(request)).await
            }
            Request::HiddenResign { token } => {
                self.hidden_command(id, token, HiddenCommand::Resign).await
            }
        }
    }

    /// Answers on a thread that may block.
    async fn answer_blocking(
        &mut self,
        id: Number,
        answer: impl FnOnce(&Context, &mut Option<PlayedTurns>, &Number) -> String + Send + 'static,
    ) -> Option<String> {
        let context = Arc::clone(&self.context);
        let mut played = self.played.take();
        let answered_id = id.clone();
        let answered = tokio::task::spawn_blocking(move || {
            let text = answer(&context, &mut played, &answered_id);
            (text, played)
        });
        Some(match answered.await {
            Ok((text, played)) => {
                self.played = played;
                text
            }
            Err(_) => error_message(Some(&id), &INTERNAL_ERROR),
        })
    }

    fn send_command(&self, id: Number, command: Command) -> Option<String> {
        let sent = self.analysis.send(id.clone(), command);
        sent.err().map(|error| error_message(Some(&id), &error))
    }

    async fn hidden_command(
        &self,
        id: Number,
        token: String,
        command: HiddenCommand,
    ) -> Option<String> {
        let replies = self.replies.clone();
        self.answer_hidden(id, move |context| context.hidden.execute(&token, command, replies))
            .await
    }

    /// Answers a request of RBC. The reply is sent before the engine begins to think, so that it comes
    /// before the event of the engine's turn.
    async fn answer_hidden(
        &self,
        id: Number,
        answer: impl FnOnce(&Context) -> Result<(HiddenBody, Option<SharedGame>), HiddenError>
        + Send
        + 'static,
    ) -> Option<String> {
        let context = Arc::clone(&self.context);
        let answered = tokio::task::spawn_blocking(move || answer(&context)).await;
        let (body, to_think) = match answered {
            Ok(Ok(answered)) => answered,
            Ok(Err(error)) => return Some(error_message(Some(&id), &error)),
            Err(_) => return Some(error_message(Some(&id), &INTERNAL_ERROR)),
        };
        // The game goes on without a client, until it resumes.
        let _ = self.replies.send(message("rbc", &id, body)).await;
        if let Some(game) = to_think {
            let context = Arc::clone(&self.context);
            tokio::spawn(async move { context.hidden.think(game).await });
        }
        None
    }
}

fn reply_text(kind: &str, id: &Number, result: Result<impl Serialize, impl Display>) -> String {
    match result {
        Ok(body) => message(kind, id, body),
        Err(error) => error_message(Some(id), &error),
    }
}
