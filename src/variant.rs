//! The catalogue of variants, as defined by `variants.ini`.

mod ini;
mod keys;
mod section;
mod unsupported;
mod values;

use std::sync::{Arc, OnceLock};

use ini::RawSection;
pub use section::IniError;
pub use values::ValueError;

use crate::rules::{Bughouse, EndValue, Family, FenError, FenRepair, Position, TurnOrder};

/// The name of the network that plays all chess-like variants.
pub const BASE_NETWORK: &str = "base";

/// The value of the key `network` of variants that only their own network plays.
const NO_NETWORK: &str = "none";

/// One variant of the catalogue.
#[derive(Clone, Debug)]
pub struct Variant {
    name: String,
    family: Family,
    start_fen: Arc<str>,
    self_play_pieces: Option<String>,
    network: Option<String>,
    inherits_network: bool,
    prefers_alpha_beta: bool,
    chess960: bool,
    display: GuiDisplay,
    start: Position,
}

/// How a GUI that does not know a variant displays it: the keys of Fairy-Stockfish for XBoard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuiDisplay {
    /// `variantTemplate`: the variant whose pieces are displayed.
    pub template: String,
    /// `pieceToCharTable`: the letters of the pieces in the order of XBoard; "-" if not set.
    pub table: String,
    /// `pocketSize`: the number of kinds of pieces in hand to display; 0 if not set.
    pub pocket: u32,
}

impl Variant {
    /// Returns its name, a value of `UCI_Variant`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the start position.
    pub fn start(&self) -> Position {
        self.start.clone()
    }

    /// Returns the FEN of [`Variant::start`] as in the catalogue.
    pub fn start_fen(&self) -> &str {
        &self.start_fen
    }

    /// Returns `true` if this is one board of bughouse, whose captured pieces go to the partner.
    pub fn is_bughouse_board(&self) -> bool {
        match &self.family {
            Family::ChessPosition(variant_rules) => {
                variant_rules.drops.is_some_and(|drops| drops.two_boards)
            }
            _ => false,
        }
    }

    /// Returns `true` if this is bughouse on two boards.
    pub fn has_two_boards(&self) -> bool {
        matches!(self.family, Family::Bughouse(_))
    }

    /// Returns bughouse on two boards with the rules of this one; `None` if this is no board of bughouse.
    pub fn on_two_boards(&self) -> Option<Variant> {
        let Family::ChessPosition(rules) = &self.family else { return None };
        if !self.is_bughouse_board() {
            return None;
        }
        // A player without a move waits for a piece.
        let mut board = (**rules).clone();
        board.ends.stalemate = EndValue::Draw;
        let rules =
            Bughouse { board: Arc::new(board), order: TurnOrder::Timed, mate_blockable: false };
        let family = Family::Bughouse(Arc::new(rules));
        let start_fen = format!("{0}|{0}", self.start_fen);
        let start = Position::from_fen(&family, &start_fen, self.chess960).ok()?;
        Some(Variant { family, start_fen: start_fen.into(), start, ..self.clone() })
    }

    /// Returns the same bughouse variant with another rule of mate: whether a mate is not final as long as
    /// the partner can bring a piece that blocks it. Other variants are returned unchanged.
    pub fn with_blockable_mate(self: &Arc<Variant>, blockable: bool) -> Arc<Variant> {
        match &self.family {
            Family::Bughouse(rules) if rules.mate_blockable != blockable => {
                let rules = Bughouse { mate_blockable: blockable, ..(**rules).clone() };
                let family = Family::Bughouse(Arc::new(rules));
                let start = Position::from_fen(&family, &self.start_fen, self.chess960)
                    .unwrap_or_else(|_| self.start());
                Arc::new(Variant { family, start, ..(**self).clone() })
            }
            _ => Arc::clone(self),
        }
    }

    /// Returns `true` if another variant has the same name and rules.
    pub fn is_same(&self, other: &Variant) -> bool {
        self.name == other.name && self.family == other.family
    }

    /// Returns the pieces, as FEN letters, that self-play places at random for start positions, if it does.
    pub fn self_play_pieces(&self) -> Option<&str> {
        self.self_play_pieces.as_deref()
    }

    /// Returns `true` if no network of another variant should evaluate this one, because its aim is too
    /// different.
    pub fn uses_own_network_only(&self) -> bool {
        self.network.as_deref() == Some(NO_NETWORK)
    }

    /// Returns the other variant whose network evaluates this one if it has no network of its own. `None`: the base
    /// network does, unless [`Variant::uses_own_network_only`].
    pub fn network(&self) -> Option<&str> {
        let named = self.network.as_deref()?;
        let is_other = ![NO_NETWORK, BASE_NETWORK, &self.name].contains(&named);
        is_other.then_some(named)
    }

    /// Returns `true` if the section has [`Variant::network`] from its parent. The rules may have changed so much that the
    /// network lacks inputs.
    pub fn inherits_network(&self) -> bool {
        self.inherits_network
    }

    /// Returns `true` if an alpha-beta search, where one is possible, plays it better than Monte-Carlo tree search.
    pub fn prefers_alpha_beta(&self) -> bool {
        self.prefers_alpha_beta
    }

    /// Returns how a GUI that does not know the variant displays it.
    pub fn display(&self) -> &GuiDisplay {
        &self.display
    }

    /// Parses the FEN of a position. With `chess960`, castling is written as king takes rook; some variants
    /// always write it so.
    ///
    /// # Errors
    /// `FenError::Syntax` if the FEN cannot be parsed, `FenError::Illegal` if the variant has no such
    /// position.
    pub fn position(&self, fen: &str, chess960: bool) -> Result<Position, FenError> {
        self.position_with_repairs(fen, chess960).map(|(position, _)| position)
    }

    /// Like [`Variant::position`], but also returns what was dropped from the FEN.
    ///
    /// # Errors
    /// As for [`Variant::position`].
    pub fn position_with_repairs(
        &self,
        fen: &str,
        chess960: bool,
    ) -> Result<(Position, Vec<FenRepair>), FenError> {
        Position::from_fen_with_repairs(&self.family, fen, self.writes_chess960(chess960))
    }

    /// Returns `true` if castling is written as king takes rook when the option `UCI_Chess960` is
    /// `chess960`.
    pub fn writes_chess960(&self, chess960: bool) -> bool {
        chess960 || self.chess960
    }
}

/// A name that no variant of the catalogue has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown variant \"{name}\", expected one of {known}")]
pub struct UnknownVariant {
    /// The name.
    pub name: String,
    /// The known names, separated by commas.
    pub known: String,
}

/// A set of variants with distinct names.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// All sections, including invalid ones, from which children can inherit.
    sections: Vec<RawSection>,
    variants: Vec<Arc<Variant>>,
}

impl Catalogue {
    /// Returns the variants that are shipped with the engine.
    pub fn shipped() -> &'static Catalogue {
        static SHIPPED: OnceLock<Catalogue> = OnceLock::new();
        SHIPPED.get_or_init(|| {
            let text = include_str!("../variants.ini");
            Catalogue::parse(text).unwrap_or_else(|error| unreachable!("variants.ini: {error}"))
        })
    }

    /// Parses a complete text in the syntax of `variants.ini`.
    ///
    /// # Errors
    /// Returns the first error.
    pub fn parse(text: &str) -> Result<Catalogue, IniError> {
        let empty = Catalogue { sections: Vec::new(), variants: Vec::new() };
        let (catalogue, errors) = empty.extended(text);
        errors.into_iter().next().map_or(Ok(catalogue), Err)
    }

    /// Returns a catalogue with the variants of a text added, whose sections can have sections of this
    /// catalogue as parents. Invalid sections are skipped; their errors are returned, by line.
    pub fn extended(&self, text: &str) -> (Catalogue, Vec<IniError>) {
        let (sections, errors) = ini::parse(text, &self.sections);
        let mut catalogue = self.clone();
        for (section, variant) in sections {
            catalogue.sections.push(section);
            catalogue.variants.extend(variant.map(Arc::new));
        }
        (catalogue, errors)
    }

    /// Returns the variant with a name.
    pub fn get(&self, name: &str) -> Option<Arc<Variant>> {
        self.variants.iter().find(|variant| variant.name == name).cloned()
    }

    /// Returns the variant with a name.
    ///
    /// # Errors
    /// `UnknownVariant` if there is none.
    pub fn require(&self, name: &str) -> Result<Arc<Variant>, UnknownVariant> {
        self.get(name).ok_or_else(|| {
            let names: Vec<_> = self.iter().map(|variant| variant.name()).collect();
            UnknownVariant { name: name.to_owned(), known: names.join(", ") }
        })
    }

    /// Returns all variants, in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Variant>> {
        self.variants.iter()
    }
}
