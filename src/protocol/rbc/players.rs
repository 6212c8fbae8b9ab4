//! Players of blind chess as they were asked for.

use std::sync::{Arc, OnceLock};

use parking_lot::FairMutex;

use super::settings::settings;
use crate::engine::Adviser;
use crate::recon::{Likely, Network, Player, Settings, SharedNetwork};
use crate::rules::Color;
use crate::rules::blind::{Request, Truth};
use crate::variant::Catalogue;

/// The game whose networks see the boards that may be.
const BOARD: &str = "blindboard";

/// Makes players, one for each game. They share a network, which is opened for the first of them.
#[derive(Debug)]
pub struct Players {
    settings: Settings,
    network: String,
    opened: OnceLock<Opened>,
}

/// A network, and what there is to know about it.
#[derive(Debug, Default)]
struct Opened {
    network: Option<SharedNetwork>,
    /// Whether it is the one that was asked for.
    as_asked: bool,
    notes: Vec<String>,
}

impl Players {
    /// Players that think so, with the network of that file, or the shipped one if it has no name.
    pub fn new(settings: Settings, network: String) -> Players {
        Players { settings, network, opened: OnceLock::new() }
    }

    /// Players from options with their values, of which later ones prevail: `network`, and how they
    /// think.
    ///
    /// # Errors
    /// If an option is not known or cannot have its value, which is quoted.
    pub fn read(options: &[(String, String)]) -> Result<Players, String> {
        let (network, others): (Vec<_>, Vec<_>) =
            options.iter().cloned().partition(|(name, _)| name == "network");
        let network = network.into_iter().next_back().map(|(_, file)| file).unwrap_or_default();
        Ok(Players::new(settings(&others)?, network))
    }

    /// What there is to know about their network, a line each.
    pub fn notes(&self) -> &[String] {
        &self.opened().notes
    }

    /// Whether they think by what was asked for, and not by what stands in for a network that could
    /// not be had.
    pub fn is_complete(&self) -> bool {
        !self.settings.asks_network() || self.opened().as_asked
    }

    /// A player of a game that begins so; `seed` chooses between requests that are alike.
    pub fn player(&self, start: &Truth, color: Color, seed: u64) -> Player {
        let network = self.opened().network.clone();
        Player::new(self.settings, start, color, seed).with_network(network)
    }

    fn opened(&self) -> &Opened {
        self.opened.get_or_init(|| match self.settings.asks_network() {
            true => self.open(),
            false => Opened::default(),
        })
    }

    fn open(&self) -> Opened {
        let (adviser, notes) = Adviser::open(Catalogue::shipped(), BOARD, &self.network);
        let as_asked = adviser.as_ref().is_some_and(|adviser| !adviser.stands_in());
        let network = adviser.map(|adviser| -> SharedNetwork { Arc::new(FairMutex::new(adviser)) });
        Opened { network, as_asked, notes }
    }
}

impl Network for Adviser {
    fn ask(&mut self, boards: &[String]) -> Result<Vec<Likely>, String> {
        let request = |(text, chance): (String, f32)| Some((text.parse().ok()?, chance));
        let policies = self.policies(boards)?;
        Ok(policies.into_iter().map(|all| all.into_iter().filter_map(request).collect()).collect())
    }

    fn best(&mut self, board: &str, simulations: u32) -> Result<Option<Request>, String> {
        let ply = Adviser::best(self, board, simulations)?;
        Ok(ply.and_then(|text| text.parse().ok()))
    }
}
