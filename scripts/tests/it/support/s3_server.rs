//! A server of the S3 protocol in the process of the test, with faults on request.
//!
//! It knows the requests that `object_store` makes: put (also if there is no such object), get, head, the removal of
//! one object or of many, and listings in pages. It checks the name of the access key, not the signature.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, ETAG, IF_NONE_MATCH, LAST_MODIFIED};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::runtime::Builder;

/// The bucket.
pub(crate) const BUCKET: &str = "bucket";

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// The connection ends in the middle of the body, and nothing is done.
    CutBody,
    /// The request is done, but the connection ends before the answer.
    LoseAnswer,
    /// The answer is an error with this status and code.
    Status(u16, &'static str),
}

/// A fault of requests.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    /// The method of the requests.
    pub(crate) method: Method,
    /// A part of their paths.
    pub(crate) path: &'static str,
    /// What happens to them.
    pub(crate) kind: FaultKind,
    /// The number of requests to which it happens.
    pub(crate) count: usize,
}

/// The running server. Its thread ends with the process.
pub(crate) struct S3Server {
    address: String,
    state: Arc<ServerState>,
}

struct ServerState {
    objects: Mutex<BTreeMap<String, Bytes>>,
    faults: Mutex<Vec<Fault>>,
    /// The access key that is valid now.
    key: Mutex<String>,
    /// Every request: method and path.
    log: Mutex<Vec<String>>,
    page_names: usize,
}

/// The error of a service that closes the connection without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the connection is cut")]
struct Cut;

impl S3Server {
    /// Starts a server whose listings have pages of this size.
    pub(crate) fn start(page_names: usize) -> S3Server {
        let state = Arc::new(ServerState {
            objects: Mutex::default(),
            faults: Mutex::default(),
            key: Mutex::new("key".to_owned()),
            log: Mutex::default(),
            page_names,
        });
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let shared = Arc::clone(&state);
        thread::spawn(move || runtime.block_on(serve(listener, shared)));
        S3Server { address, state }
    }

    /// The environment variables of clients.
    pub(crate) fn settings(&self) -> Vec<(String, String)> {
        let endpoint = format!("http://{}", self.address);
        [
            ("AWS_ENDPOINT", endpoint.as_str()),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "test-1"),
            ("AWS_ACCESS_KEY_ID", "key"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
    }

    /// Makes this access key the only valid one.
    pub(crate) fn set_key(&self, key: &str) {
        *lock(&self.state.key) = key.to_owned();
    }

    /// Adds a fault.
    pub(crate) fn add_fault(&self, fault: Fault) {
        lock(&self.state.faults).push(fault);
    }

    /// Ends all faults.
    pub(crate) fn clear_faults(&self) {
        lock(&self.state.faults).clear();
    }

    /// Returns the number of requests with this method and part of the path.
    pub(crate) fn requests(&self, method: &str, path: &str) -> usize {
        let log = lock(&self.state.log);
        log.iter().filter(|line| line.starts_with(method) && line.contains(path)).count()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no panic")
}

async fn serve(listener: TcpListener, state: Arc<ServerState>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let service = service_fn(|request| answer(request, Arc::clone(&state)));
            // An error is a connection that was cut.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    state: Arc<ServerState>,
) -> Result<Response<Full<Bytes>>, Cut> {
    let path = request.uri().path().to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    let method = request.method().clone();
    lock(&state.log).push(format!("{method} {path}?{query}"));
    let key = format!("Credential={}/", lock(&state.key));
    let header = request.headers().get(AUTHORIZATION);
    let is_known = header.is_some_and(|text| text.to_str().is_ok_and(|text| text.contains(&key)));
    let is_create = request.headers().contains_key(IF_NONE_MATCH);
    let fault = take_fault(&state, &method, &path);
    let body = match fault {
        Some(FaultKind::CutBody) => {
            // The first part of the body at most.
            let _ = request.into_body().frame().await;
            return Err(Cut);
        }
        _ => request.into_body().collect().await.map_err(|_| Cut)?.to_bytes(),
    };
    if let Some(FaultKind::Status(status, code)) = fault {
        return Ok(error(status, code));
    }
    if !is_known {
        return Ok(error(400, "ExpiredToken"));
    }
    let name = path.strip_prefix(&format!("/{BUCKET}")).unwrap_or_default();
    let name = name.trim_start_matches('/');
    let response = match method {
        Method::PUT => put(&state, name, body, is_create),
        Method::GET if name.is_empty() => list(&state, &query),
        Method::GET | Method::HEAD => get(&state, name),
        Method::DELETE => {
            lock(&state.objects).remove(name);
            response(StatusCode::NO_CONTENT, Bytes::new())
        }
        Method::POST if query.starts_with("delete") => remove_many(&state, &body),
        _ => error(400, "NotImplemented"),
    };
    if fault == Some(FaultKind::LoseAnswer) { Err(Cut) } else { Ok(response) }
}

fn take_fault(state: &ServerState, method: &Method, path: &str) -> Option<FaultKind> {
    let mut faults = lock(&state.faults);
    let applies = |fault: &&mut Fault| {
        fault.count > 0 && fault.method == *method && path.contains(fault.path)
    };
    let fault = faults.iter_mut().find(applies)?;
    fault.count -= 1;
    Some(fault.kind)
}

fn put(state: &ServerState, name: &str, body: Bytes, is_create: bool) -> Response<Full<Bytes>> {
    let mut objects = lock(&state.objects);
    if is_create && objects.contains_key(name) {
        return error(412, "PreconditionFailed");
    }
    objects.insert(name.to_owned(), body);
    response(StatusCode::OK, Bytes::new())
}

fn get(state: &ServerState, name: &str) -> Response<Full<Bytes>> {
    match lock(&state.objects).get(name) {
        Some(bytes) => response(StatusCode::OK, bytes.clone()),
        None => error(404, "NoSuchKey"),
    }
}

fn list(state: &ServerState, query: &str) -> Response<Full<Bytes>> {
    let parameters: BTreeMap<_, _> =
        url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let text = |key: &str| parameters.get(key).map_or("", String::as_str);
    let objects = lock(&state.objects);
    let after = text("continuation-token").max(text("start-after"));
    let mut names = objects
        .iter()
        .filter(|(name, _)| name.starts_with(text("prefix")) && name.as_str() > after)
        .peekable();
    let mut xml = String::from("<ListBucketResult>");
    let mut last = String::new();
    for (name, bytes) in names.by_ref().take(state.page_names) {
        write!(
            xml,
            "<Contents><Key>{name}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>\
             <ETag>\"1\"</ETag><Size>{}</Size></Contents>",
            bytes.len()
        )
        .expect("a text");
        last.clone_from(name);
    }
    let is_truncated = names.peek().is_some();
    write!(xml, "<IsTruncated>{is_truncated}</IsTruncated>").expect("a text");
    if is_truncated {
        write!(xml, "<NextContinuationToken>{last}</NextContinuationToken>").expect("a text");
    }
    xml.push_str("</ListBucketResult>");
    response(StatusCode::OK, xml.into())
}

fn remove_many(state: &ServerState, body: &[u8]) -> Response<Full<Bytes>> {
    let text = String::from_utf8_lossy(body);
    let names = text.split("<Key>").skip(1).filter_map(|rest| rest.split_once("</Key>"));
    let mut xml = String::from("<DeleteResult>");
    for (name, _) in names {
        lock(&state.objects).remove(name);
        write!(xml, "<Deleted><Key>{name}</Key></Deleted>").expect("a text");
    }
    xml.push_str("</DeleteResult>");
    response(StatusCode::OK, xml.into())
}

fn response(status: StatusCode, body: Bytes) -> Response<Full<Bytes>> {
    Response::builder()
        .status(status)
        .header(ETAG, "\"1\"")
        .header(LAST_MODIFIED, "Thu, 01 Jan 2026 00:00:00 GMT")
        .body(Full::new(body))
        .expect("a response")
}

fn error(status: u16, code: &str) -> Response<Full<Bytes>> {
    let body = format!("<Error><Code>{code}</Code><Message>a fault of the test</Message></Error>");
    response(StatusCode::from_u16(status).expect("a status"), body.into())
}
