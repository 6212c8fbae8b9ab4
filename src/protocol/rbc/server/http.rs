//! Requests to a server, made again until they are answered.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::Agent;
use ureq::http::{HeaderValue, Uri};

use crate::protocol::output::{Output, one_line};

/// The pause before a request is made again; it doubles each time.
const PAUSE: Duration = Duration::from_millis(500);
/// It grows no longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// So long may an answer take.
const PATIENCE: Duration = Duration::from_secs(30);
/// An answer that makes no sense is asked for again so many times.
const NONSENSE: u32 = 4;
/// Longer answers are not read, in bytes.
const LONGEST: u64 = 1 << 24;
/// While it pauses, it looks so often whether it should go on.
const GLANCE: Duration = Duration::from_millis(50);

/// Why a request has no answer that is of use.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// The server does not know the name or the password.
    #[error("the server refuses the user or the password")]
    Unauthorized,
    /// The server says that it cannot be.
    #[error("{what}: the server says {status}: {reason}")]
    Refused {
        /// What was asked.
        what: String,
        /// The status, from 300 to 499.
        status: u16,
        /// What it said.
        reason: String,
    },
    /// What was answered is not what the API says.
    #[error("{what}: {reason}")]
    Nonsense {
        /// What was asked.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// What the server says cannot be.
    #[error("what the server says cannot be: {0}")]
    Contradiction(String),
    /// The request cannot even be made.
    #[error("{0}")]
    Impossible(String),
    /// It was to end, and the server was not there.
    #[error("the server did not answer before the end")]
    GivenUp,
}

impl Failure {
    /// Whether the server has heard the request, though its answer is of no use.
    pub(super) fn answered(&self) -> bool {
        matches!(self, Failure::Refused { .. } | Failure::Nonsense { .. })
    }
}

/// A way to a server.
pub(super) struct Http<'a> {
    agent: Agent,
    /// The address without a slash at its end.
    root: String,
    authorization: HeaderValue,
    output: &'a Output,
    /// Since when the server has not answered.
    silent: Mutex<Option<Instant>>,
}

impl<'a> Http<'a> {
    /// A way to the server at `url`.
    ///
    /// # Errors
    /// If that is no address of a server.
    pub(super) fn new(
        url: &str,
        authorization: HeaderValue,
        output: &'a Output,
    ) -> Result<Http<'a>, String> {
        let root = url.trim_end_matches('/');
        let uri: Uri = root.parse().map_err(|error| format!("--server: no address: {error}"))?;
        let host = uri.host().unwrap_or_default();
        // Not quoted: it may hold a password.
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err("--server: a user and a password have no place in an address".to_owned());
        }
        let secure = match uri.scheme_str() {
            Some("https") if cfg!(feature = "tls") => true,
            Some("https") => {
                return Err(format!(
                    "\"{url}\": this executable was built without the feature tls"
                ));
            }
            Some("http") => false,
            _ => return Err(format!("\"{url}\" is no address as https://server")),
        };
        if host.is_empty() || uri.query().is_some() {
            return Err(format!("\"{url}\" is no address as https://server"));
        }
        let name = host.trim_matches(['[', ']']);
        let here =
            name == "localhost" || name.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("menagerie/", env!("CARGO_PKG_VERSION")))
            .timeout_global(Some(PATIENCE));
        if here {
            config = config.proxy(None);
        } else if !secure {
            output.say("the password is sent for anybody to read: this is not https");
        }
        Ok(Http {
            agent: config.build().new_agent(),
            root: root.to_owned(),
            authorization,
            output,
            silent: Mutex::new(None),
        })
    }

    /// Asks for what is at `path`, or sends it something; gives what is answered, of which nothing
    /// at all is null. Where the server fails or is not there, it asks again until `leave` is set.
    ///
    /// # Errors
    /// If the server refuses, or makes no sense.
    pub(super) fn ask(
        &self,
        path: &str,
        sent: Option<&Value>,
        leave: Option<&AtomicBool>,
    ) -> Result<Value, Failure> {
        let (mut pause, mut nonsense) = (PAUSE, 0);
        let what = path.trim_start_matches("/api/").to_owned();
        loop {
            let trouble = match self.once(path, sent) {
                Ok((200..=299, text)) if text.trim().is_empty() => {
                    self.answers();
                    return Ok(Value::Null);
                }
                Ok((200..=299, text)) => match serde_json::from_str(&text) {
                    Ok(value) => {
                        self.answers();
                        return Ok(value);
                    }
                    Err(error) if nonsense == NONSENSE => {
                        let reason = format!("no JSON: {error}");
                        return Err(Failure::Nonsense { what, reason });
                    }
                    Err(_) => {
                        nonsense += 1;
                        "an answer that is no JSON".to_owned()
                    }
                },
                Ok((401, _)) => return Err(Failure::Unauthorized),
                Ok((status @ (408 | 429 | 500..), _)) => format!("status {status}"),
                Ok((status, text)) => {
                    return Err(Failure::Refused { what, status, reason: one_line(text.trim()) });
                }
                Err(error) if impossible(&error) => {
                    return Err(Failure::Impossible(one_line(&format!("{what}: {error}"))));
                }
                Err(ureq::Error::BodyExceedsLimit(limit)) => {
                    let reason = format!("an answer of more than {limit} bytes");
                    return Err(Failure::Nonsense { what, reason });
                }
                Err(error) => error.to_string(),
            };
            self.is_silent(&what, &trouble);
            let until = Instant::now() + pause;
            while Instant::now() < until {
                if leave.is_some_and(|leave| leave.load(Ordering::Relaxed)) {
                    return Err(Failure::GivenUp);
                }
                thread::sleep(GLANCE);
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn once(&self, path: &str, sent: Option<&Value>) -> Result<(u16, String), ureq::Error> {
        let url = format!("{}{path}", self.root);
        let mut response = match sent {
            None => {
                self.agent.get(&url).header("Authorization", self.authorization.clone()).call()?
            }
            Some(value) => self
                .agent
                .post(&url)
                .header("Authorization", self.authorization.clone())
                .content_type("application/json")
                .send(value.to_string())?,
        };
        let body = response.body_mut().with_config().limit(LONGEST).read_to_vec()?;
        Ok((response.status().as_u16(), String::from_utf8_lossy(&body).into_owned()))
    }

    fn is_silent(&self, what: &str, trouble: &str) {
        let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        if silent.is_none() {
            *silent = Some(Instant::now());
            let line = format!("{what}: no answer ({trouble}), asking again");
            self.output.say(&one_line(&line));
        }
    }

    fn answers(&self) {
        let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(since) = silent.take() {
            let seconds = since.elapsed().as_secs_f64();
            self.output.say(&format!("the server answers again after {seconds:.1} s"));
        }
    }
}

/// Whether asking again is in vain.
fn impossible(error: &ureq::Error) -> bool {
    use ureq::Error;
    matches!(error, Error::BadUri(_) | Error::Http(_) | Error::InvalidProxyUrl)
}
