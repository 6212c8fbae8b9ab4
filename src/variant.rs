//! The catalogue of games: checked sections of `variants.ini`.

mod axes;
mod ini;
mod section;

use std::sync::{Arc, OnceLock};

pub use section::IniError;

use crate::rules::{Family, FenError, Position};

/// One game of the catalogue.
#[derive(Clone, Debug)]
pub struct Variant {
    name: String,
    family: Family,
    start_fen: String,
    self_play_men: Option<String>,
    start: Position,
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

    /// The men that self-play places at random for its starts, as FEN letters, if it does so.
    pub fn self_play_men(&self) -> Option<&str> {
        self.self_play_men.as_deref()
    }

    /// Reads a position of this game. `chess960` says that castling is king takes rook.
    ///
    /// # Errors
    /// If the text is no FEN, or no position of this game.
    pub fn position(&self, fen: &str, chess960: bool) -> Result<Position, FenError> {
        Position::from_fen(&self.family, fen, chess960)
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

    /// Reads a text in the syntax of `variants.ini`.
    ///
    /// # Errors
    /// The first thing that cannot be honoured, with its line.
    pub fn parse(text: &str) -> Result<Catalogue, IniError> {
        let variants = ini::parse(text)?.into_iter().map(Arc::new).collect();
        Ok(Catalogue { variants })
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
