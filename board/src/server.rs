//! Routes, headers, and the hosts and origins that are served.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Request, State};
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use axum::serve::ListenerExt;
use menagerie::variant::Catalogue;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::context::Context;
use crate::files::read_file;
use crate::limits::MAX_READ_BYTES;
use crate::socket::{refuse_socket, serve_socket};

/// What is served, and to whom.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The folder of the page.
    pub page: PathBuf,
    /// The variants.
    pub catalogue: &'static Catalogue,
    /// The maximum number of connections, each with an engine session.
    pub sessions: usize,
    /// The host that was given to listen on, if it is not this machine alone.
    pub remote_host: Option<String>,
}

/// The server cannot be set up.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("cannot set up the players of RBC: {0}")]
pub struct ServerOptionsError(#[from] menagerie_rbc::OptionsError);

/// The server of the page.
#[derive(Clone, Debug)]
pub struct Server {
    shared: Arc<Shared>,
}

/// What requests are checked and answered with.
#[derive(Debug)]
struct Shared {
    context: Arc<Context>,
    page: PathBuf,
    remote_host: Option<String>,
    session_limit: usize,
    sessions: Arc<Semaphore>,
}

impl Server {
    /// Creates the server.
    ///
    /// # Errors
    /// If the players of RBC cannot be set up.
    pub fn new(options: ServerOptions) -> Result<Server, ServerOptionsError> {
        let shared = Shared {
            context: Arc::new(Context::new(options.catalogue)?),
            page: options.page,
            remote_host: options.remote_host,
            session_limit: options.sessions,
            sessions: Arc::new(Semaphore::new(options.sessions)),
        };
        Ok(Server { shared: Arc::new(shared) })
    }

    /// Serves connections until the process ends.
    ///
    /// # Errors
    /// If the listener fails.
    pub async fn serve(self, listener: TcpListener) -> std::io::Result<()> {
        let router = Router::new()
            .route("/ws", any(upgrade_socket))
            .fallback(serve_page)
            .layer(from_fn_with_state(Arc::clone(&self.shared), guard))
            .with_state(self.shared);
        // An event would otherwise wait until the client has confirmed the one before, for 40 ms.
        let listener = listener.tap_io(|stream| {
            if let Err(error) = stream.set_nodelay(true) {
                log::debug!("cannot send without delay: {error}");
            }
        });
        axum::serve(listener, router).await
    }

    /// Returns the address of the page for a browser on this machine.
    pub fn page_address(listener: SocketAddr) -> String {
        let port = listener.port();
        match listener.ip() {
            ip if ip.is_unspecified() => format!("http://127.0.0.1:{port}/"),
            ip => format!("http://{}/", SocketAddr::new(ip, port)),
        }
    }
}

/// Refuses requests of other hosts and origins, and adds the security headers to all responses.
async fn guard(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).map(str::to_owned);
    let refusal = check_source(request.headers(), shared.remote_host.as_deref());
    let mut response = match refusal {
        Some(refusal) => (StatusCode::FORBIDDEN, refusal).into_response(),
        None => next.run(request).await,
    };
    add_headers(response.headers_mut(), host.as_deref().unwrap_or_default());
    response
}

/// Returns why a request is refused: a page of another origin could send it, also by a name of its own that it
/// lets point to this machine (DNS rebinding).
fn check_source(headers: &HeaderMap, remote_host: Option<&str>) -> Option<&'static str> {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    if headers.get_all(HOST).iter().count() != 1 || !is_served_host(host, remote_host) {
        return Some("this host is not served");
    }
    let mut origins = headers.get_all(ORIGIN).iter();
    let is_same = |origin: &HeaderValue| {
        origin.to_str().is_ok_and(|it| it.strip_prefix("http://") == Some(host))
    };
    if origins.all(is_same) { None } else { Some("requests of other origins are refused") }
}

/// Returns `true` if a `Host` header names this machine, or the host that was given to listen on. If that is the
/// unspecified address, all addresses are served, but no names.
fn is_served_host(host: &str, remote_host: Option<&str>) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        _ => host,
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    let address = bare.parse::<IpAddr>().ok();
    if bare.eq_ignore_ascii_case("localhost")
        || address.is_some_and(|address| address.is_loopback())
    {
        return true;
    }
    remote_host.is_some_and(|remote| match remote.parse::<IpAddr>() {
        Ok(remote) if remote.is_unspecified() => address.is_some(),
        _ => bare.eq_ignore_ascii_case(remote),
    })
}

/// Adds the security headers. `host` is the checked `Host` header.
fn add_headers(headers: &mut HeaderMap, host: &str) {
    // Not all browsers include the socket in 'self'.
    let socket = if host.is_empty() { String::new() } else { format!(" ws://{host}") };
    let policy = format!(
        "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
         connect-src 'self'{socket}; object-src 'none'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    );
    // A host that is not served may have any bytes.
    let policy = HeaderValue::from_str(&policy)
        .unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'"));
    headers.insert(HeaderName::from_static("content-security-policy"), policy);
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("x-frame-options", "DENY"),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
}

/// Opens a session, if there is room for one.
async fn upgrade_socket(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    // Browsers always send the origin of a socket.
    if !headers.contains_key(ORIGIN) {
        return (StatusCode::FORBIDDEN, "the origin of a socket is required").into_response();
    }
    let upgrade = upgrade.max_message_size(MAX_READ_BYTES).max_frame_size(MAX_READ_BYTES);
    let permit = Arc::clone(&shared.sessions).try_acquire_owned();
    upgrade.on_upgrade(move |socket| async move {
        match permit {
            Ok(permit) => {
                serve_socket(socket, Arc::clone(&shared.context)).await;
                drop(permit);
            }
            Err(_) => {
                let error =
                    format!("all {} sessions are in use, close another tab", shared.session_limit);
                refuse_socket(socket, &error).await;
            }
        }
    })
}

async fn serve_page(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let path = request.uri().path().to_owned();
    let read = tokio::task::spawn_blocking(move || read_file(&shared.page, &path)).await;
    read.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_must_be_local_or_given() {
        for host in [
            "localhost",
            "localhost:80",
            "LOCALHOST:8000",
            "127.0.0.1:1",
            "127.0.0.2:80",
            "[::1]:8000",
        ] {
            assert!(is_served_host(host, None), "{host}");
        }
        for host in
            ["", "evil.example", "localhost.evil.example:80", "127.0.0.1.nip.io", "192.168.0.2"]
        {
            assert!(!is_served_host(host, None), "{host}");
        }
        assert!(is_served_host("192.168.0.2:80", Some("192.168.0.2")));
        assert!(!is_served_host("192.168.0.3:80", Some("192.168.0.2")));
        assert!(is_served_host("board.lan:80", Some("board.lan")));
        assert!(is_served_host("192.168.0.3:80", Some("0.0.0.0")));
        assert!(is_served_host("[fe80::1]:80", Some("::")));
        assert!(!is_served_host("evil.example:80", Some("0.0.0.0")));
    }

    #[test]
    fn page_address_is_the_address_of_the_listener() {
        for (listener, page) in [
            ("127.0.0.1:80", "http://127.0.0.1:80/"),
            ("127.0.0.2:80", "http://127.0.0.2:80/"),
            ("0.0.0.0:80", "http://127.0.0.1:80/"),
            ("[::1]:80", "http://[::1]:80/"),
            ("192.168.0.2:80", "http://192.168.0.2:80/"),
        ] {
            let listener = listener.parse().expect("an address");
            assert_eq!(Server::page_address(listener), page);
        }
    }
}
