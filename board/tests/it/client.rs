//! A server on a free port, and a client of its socket.

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use board::{Server, ServerOptions};
use menagerie::variant::Catalogue;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tungstenite::client::IntoClientRequest;
use tungstenite::http::HeaderValue;
use tungstenite::{Message, WebSocket};

/// A missing reply fails the test after this time.
const MAX_READ_TIME: Duration = Duration::from_secs(120);

/// The types of messages that are no replies.
const EVENTS: [&str; 5] = ["info", "moves", "note", "bestmove", "rbc.turn"];

/// A server that runs until the process ends.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    folder: TempDir,
}

impl TestServer {
    pub(crate) fn start() -> TestServer {
        TestServer::with_sessions(16)
    }

    pub(crate) fn with_sessions(sessions: usize) -> TestServer {
        let folder = tempfile::tempdir().expect("a folder");
        let page = folder.path().join("dist");
        std::fs::create_dir(&page).expect("a folder");
        std::fs::write(page.join("index.html"), "<!doctype html><title>board</title>")
            .expect("a file");
        std::fs::write(page.join("page.js"), "// page").expect("a file");
        std::fs::write(folder.path().join("secret.txt"), "secret").expect("a file");
        let options =
            ServerOptions { page, catalogue: Catalogue::shipped(), sessions, remote_host: None };
        let server = Server::new(options).expect("a server");
        let (sender, receiver) = channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
                sender.send(listener.local_addr().expect("an address")).expect("a receiver");
                server.serve(listener).await.expect("a listener");
            });
        });
        TestServer { address: receiver.recv().expect("an address"), folder }
    }

    /// Returns the folder of the page.
    pub(crate) fn page(&self) -> std::path::PathBuf {
        Path::join(self.folder.path(), "dist")
    }

    pub(crate) fn connect(&self) -> Client {
        Client::new(self.address)
    }
}

/// A client of the socket.
pub(crate) struct Client {
    socket: WebSocket<TcpStream>,
    requests: u64,
    /// Events that were received before a reply.
    events: VecDeque<Value>,
}

impl Client {
    fn new(address: SocketAddr) -> Client {
        let mut request = format!("ws://{address}/ws").into_client_request().expect("an address");
        let origin = HeaderValue::from_str(&format!("http://{address}")).expect("a header");
        request.headers_mut().insert("origin", origin);
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(MAX_READ_TIME)).expect("a timeout");
        let (socket, _) = tungstenite::client(request, stream).expect("a socket");
        Client { socket, requests: 0, events: VecDeque::new() }
    }

    /// Sends any message.
    pub(crate) fn send(&mut self, message: Message) {
        self.socket.send(message).expect("an open socket");
    }

    /// Returns the next message; `None` if the server has closed the socket.
    pub(crate) fn read(&mut self) -> Option<Value> {
        loop {
            match self.socket.read() {
                Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).expect("JSON")),
                Ok(Message::Close(_)) | Err(tungstenite::Error::ConnectionClosed) => return None,
                Ok(_) => {}
                Err(error) => panic!("no message: {error}"),
            }
        }
    }

    /// Returns the next reply. Events before it are kept.
    pub(crate) fn read_reply(&mut self) -> Value {
        loop {
            let message = self.read().expect("an open socket");
            if !EVENTS.contains(&message["type"].as_str().expect("a type")) {
                return message;
            }
            self.events.push_back(message);
        }
    }

    /// Sends a request and returns its reply.
    pub(crate) fn request(&mut self, kind: &str, mut body: Value) -> Value {
        self.requests += 1;
        body["type"] = json!(kind);
        body["id"] = json!(self.requests);
        self.send(Message::text(body.to_string()));
        let reply = self.read_reply();
        assert_eq!(reply["id"], json!(self.requests), "{reply}");
        reply
    }

    /// Sends a request and returns its reply, which must be no error.
    pub(crate) fn accepted(&mut self, kind: &str, body: Value) -> Value {
        let reply = self.request(kind, body);
        let expected = if kind.starts_with("rbc.") { "rbc" } else { kind };
        assert_eq!(reply["type"], expected, "{reply}");
        reply
    }

    /// Sends a request that must be refused and returns the error message.
    pub(crate) fn refused(&mut self, kind: &str, body: Value) -> String {
        let reply = self.request(kind, body);
        assert_eq!(reply["type"], "error", "{reply}");
        reply["message"].as_str().expect("a message").to_owned()
    }

    /// Returns `true` if an event of a type was received before the last reply, and not returned yet.
    pub(crate) fn has_received(&self, kind: &str) -> bool {
        self.events.iter().any(|event| event["type"] == kind)
    }

    /// Returns the next event of a type. Other events are skipped.
    pub(crate) fn event(&mut self, kind: &str) -> Value {
        loop {
            let event = self.events.pop_front().or_else(|| self.read()).expect("an open socket");
            if event["type"] == kind {
                return event;
            }
            assert_ne!(event["type"], "error", "{event}");
        }
    }
}
