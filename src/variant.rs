//! The catalogue of games: checked sections of `variants.ini`.

mod connect_n;
mod ini;
mod section;
mod tables;
mod unplayed;
mod values;
mod variant_rules;

use std::sync::{Arc, OnceLock};

pub use section::IniError;

use ini::Raw;

use crate::rules::{Bughouse, Family, FenError, FenRepair, Position};

/// One game of the catalogue.
#[derive(Clone, Debug)]
pub struct Variant {
    name: String,
    family: Family,
    start_fen: Arc<str>,
    self_play_men: Option<String>,
    network: Option<String>,
    chess960: bool,
    look: Look,
    start: Position,
}

/// What a program that does not know a game is told to show it: Fairy-Stockfish's keys for XBoard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Look {
    /// `variantTemplate`: the game whose looks it takes.
    pub template: String,
    /// `pieceToCharTable`: the letters of the men in XBoard's order of pictures; "-" if not said.
    pub table: String,
    /// `pocketSize`: how many places for men in hand to show; 0 if not said.
    pub pocket: u32,
}

impl Variant {
    /// Its name, as `UCI_Variant` has it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The position from which a game begins.
    pub fn start(&self) -> Position {
        self.start.clone()
    }

    /// The FEN of [`Variant::start`] as the catalogue has it.
    pub fn start_fen(&self) -> &str {
        &self.start_fen
    }

    /// Whether it is one of two tables whose players give one another what they take.
    pub fn has_partner(&self) -> bool {
        match &self.family {
            Family::ChessPosition(variant_rules) => {
                variant_rules.drops.is_some_and(|drops| drops.two_boards)
            }
            _ => false,
        }
    }

    /// Whether it is played at two tables.
    pub fn has_tables(&self) -> bool {
        matches!(self.family, Family::Bughouse(_))
    }

    /// The same game at two tables, but `blockable` says whether a check that leaves no move is no
    /// mate yet where the partner may bring a man. Other games are as they are.
    pub fn with_mate(self: &Arc<Variant>, blockable: bool) -> Arc<Variant> {
        match &self.family {
            Family::Bughouse(game) if game.blockable != blockable => {
                let game = Bughouse { blockable, ..(**game).clone() };
                let family = Family::Bughouse(Arc::new(game));
                let start = Position::from_fen(&family, &self.start_fen, self.chess960);
                let start = start.unwrap_or_else(|_| self.start());
                Arc::new(Variant { family, start, ..(**self).clone() })
            }
            _ => Arc::clone(self),
        }
    }

    /// Whether another is the same game by name and rules.
    pub fn is_same(&self, other: &Variant) -> bool {
        self.name == other.name && self.family == other.family
    }

    /// The men that self-play places at random for its starts, as FEN letters, if it does so.
    pub fn self_play_men(&self) -> Option<&str> {
        self.self_play_men.as_deref()
    }

    /// Returns `true` if the game is to be played without a network as long as it has none of its own, as
    /// those that know other games would play it badly.
    pub fn wants_no_other_network(&self) -> bool {
        self.network.as_deref() == Some("none")
    }

    /// The game whose network plays this one while it has none of its own, if there is one.
    pub fn network(&self) -> Option<&str> {
        self.network.as_deref().filter(|name| *name != "none")
    }

    /// What a program that does not know the game is told to show it.
    pub fn look(&self) -> &Look {
        &self.look
    }

    /// Reads a position of this game. `chess960` says that castling is king takes rook, as it is
    /// anyway in games whose section says so.
    ///
    /// # Errors
    /// If the text is no FEN, or no position of this game.
    pub fn position(&self, fen: &str, chess960: bool) -> Result<Position, FenError> {
        self.position_with_repairs(fen, chess960).map(|(position, _)| position)
    }

    /// [`Variant::position`], and what was left out of the FEN because it cannot be true.
    ///
    /// # Errors
    /// If the text is no FEN, or no position of this game.
    pub fn position_with_repairs(
        &self,
        fen: &str,
        chess960: bool,
    ) -> Result<(Position, Vec<FenRepair>), FenError> {
        Position::from_fen_with_repairs(&self.family, fen, self.writes_chess960(chess960))
    }

    /// Returns `true` if castling is written as king takes rook where the option `UCI_Chess960` is
    /// `chess960`: some games always write it so.
    pub fn writes_chess960(&self, chess960: bool) -> bool {
        chess960 || self.chess960
    }
}

/// A name that no game of the catalogue has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no variant is called \"{name}\"; there are {known}")]
pub struct UnknownVariant {
    /// The name.
    pub name: String,
    /// The names there are, separated by commas.
    pub known: String,
}

/// A set of games with different names.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// All sections, those too that make no game: children may inherit from them.
    sections: Vec<Raw>,
    variants: Vec<Arc<Variant>>,
}

impl Catalogue {
    /// The games that come with the engine.
    pub fn shipped() -> &'static Catalogue {
        static SHIPPED: OnceLock<Catalogue> = OnceLock::new();
        SHIPPED.get_or_init(|| {
            let text = include_str!("../variants.ini");
            Catalogue::parse(text).unwrap_or_else(|error| unreachable!("variants.ini: {error}"))
        })
    }

    /// Reads a text in the syntax of `variants.ini` that stands for itself.
    ///
    /// # Errors
    /// The first thing that cannot be honoured, with its line.
    pub fn parse(text: &str) -> Result<Catalogue, IniError> {
        let nothing = Catalogue { sections: Vec::new(), variants: Vec::new() };
        let (catalogue, faults) = nothing.extended(text);
        faults.into_iter().next().map_or(Ok(catalogue), Err)
    }

    /// These games and those of a text, whose sections may have any of these for parents. Sections
    /// that cannot be honoured are left out, and all that is wrong with them is told, by line.
    pub fn extended(&self, text: &str) -> (Catalogue, Vec<IniError>) {
        let (made, faults) = ini::parse(text, &self.sections);
        let mut catalogue = self.clone();
        for (raw, game) in made {
            catalogue.sections.push(raw);
            catalogue.variants.extend(game.map(Arc::new));
        }
        (catalogue, faults)
    }

    /// The game of that name.
    pub fn get(&self, name: &str) -> Option<Arc<Variant>> {
        self.variants.iter().find(|variant| variant.name == name).cloned()
    }

    /// The game of that name.
    ///
    /// # Errors
    /// If there is none; the error quotes the name and tells those that there are.
    pub fn require(&self, name: &str) -> Result<Arc<Variant>, UnknownVariant> {
        let names = || self.iter().map(|variant| variant.name()).collect::<Vec<_>>().join(", ");
        self.get(name).ok_or_else(|| UnknownVariant { name: name.to_owned(), known: names() })
    }

    /// All games, in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Variant>> {
        self.variants.iter()
    }
}
