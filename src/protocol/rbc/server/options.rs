//! How a client plays on a server, in words.

use crate::protocol::rbc::players::Players;
use crate::protocol::rbc::settings::number;

/// So many games at once, unless it is said.
const GAMES: usize = 4;
/// Where journals are kept, unless it is said.
const STATE: &str = "rbc-games";

/// What a client is to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Service {
    /// The server's address.
    pub(super) url: String,
    /// The name, if it is said.
    pub(super) user: Option<String>,
    /// The file with name and password.
    pub(super) credentials: Option<String>,
    /// Where journals and histories are kept.
    pub(super) state: String,
    /// So many games are played at once.
    pub(super) games: usize,
    /// Whether games are to be ranked.
    pub(super) ranked: bool,
    /// Whether this is a new version of the player.
    pub(super) new_version: bool,
    /// Who is invited, in turn.
    pub(super) invite: Vec<String>,
    /// It leaves after so many games.
    pub(super) total: Option<usize>,
    /// It leaves when nothing is left to do.
    pub(super) once: bool,
}

/// Options that have no value.
const FLAGS: [&str; 3] = ["once", "ranked", "new-version"];

/// Whether an option of `rbc` has no value.
pub fn is_flag(name: &str) -> bool {
    FLAGS.contains(&name)
}

impl Service {
    /// What options with their values say; those of the player are left to [`Players`].
    ///
    /// # Errors
    /// If an option is not known or cannot have its value, which is quoted.
    pub(super) fn read(options: &[(String, String)]) -> Result<(Service, Players), String> {
        let mut service = Service {
            url: String::new(),
            user: None,
            credentials: None,
            state: STATE.to_owned(),
            games: GAMES,
            ranked: false,
            new_version: false,
            invite: Vec::new(),
            total: None,
            once: false,
        };
        let mut others = Vec::new();
        for (name, value) in options {
            match name.as_str() {
                "server" => service.url.clone_from(value),
                "user" => service.user = Some(value.clone()),
                "credentials" => service.credentials = Some(value.clone()),
                "state" => service.state.clone_from(value),
                "games" => service.games = number(name, value, 64)?,
                "total" => service.total = Some(number(name, value, 1_000_000)?),
                "invite" => {
                    let names = value.split(',').filter(|name| !name.is_empty());
                    service.invite.extend(names.map(str::to_owned));
                }
                "ranked" => service.ranked = true,
                "new-version" => service.new_version = true,
                "once" => service.once = true,
                _ => others.push((name.clone(), value.clone())),
            }
        }
        if service.new_version && !service.ranked {
            return Err("--new-version is for games that are --ranked".to_owned());
        }
        Ok((service, Players::read(&others)?))
    }
}
