//! Players that share a network.

use std::sync::{Arc, OnceLock};

use menagerie::rbc::{Player, Settings, SharedNetwork};
use menagerie::rules::Color;
use menagerie::rules::rbc::Truth;
use parking_lot::FairMutex;

use crate::board_network::BoardNetwork;

/// Creates one player a game. All of them share a network, which is opened on first use.
#[derive(Debug)]
pub struct Players {
    settings: Settings,
    network_file: String,
    opened: OnceLock<Opened>,
}

/// The result of opening a network.
#[derive(Debug, Default)]
struct Opened {
    network: Option<SharedNetwork>,
    is_requested: bool,
    notes: Vec<String>,
}

impl Players {
    /// Creates players with the network in `network_file`, or the shipped one if that is empty.
    pub fn new(settings: Settings, network_file: String) -> Players {
        Players { settings, network_file, opened: OnceLock::new() }
    }

    /// Returns messages about the network for the user, a line each.
    pub fn notes(&self) -> &[String] {
        &self.opened().notes
    }

    /// Returns `true` if the players need no network or have the requested one, not a substitute.
    pub fn has_requested_network(&self) -> bool {
        !self.settings.uses_network() || self.opened().is_requested
    }

    /// Creates the player of a game that begins with `start`. `seed` decides between equal requests.
    pub fn create_player(&self, start: &Truth, color: Color, seed: u64) -> Player {
        let network = self.opened().network.clone();
        Player::new(self.settings, start, color, seed).with_network(network)
    }

    fn opened(&self) -> &Opened {
        self.opened.get_or_init(|| {
            if self.settings.uses_network() { self.open() } else { Opened::default() }
        })
    }

    fn open(&self) -> Opened {
        let mut notes = Vec::new();
        let for_alpha_beta = self.settings.searches_by_network();
        let opened = BoardNetwork::open(&self.network_file, for_alpha_beta, &mut notes);
        let Some(network) = opened else {
            return Opened { network: None, is_requested: false, notes };
        };
        let can_search = network.has_alpha_beta() || !for_alpha_beta;
        let is_requested = can_search && !network.is_substitute();
        Opened { network: Some(Arc::new(FairMutex::new(network))), is_requested, notes }
    }
}
