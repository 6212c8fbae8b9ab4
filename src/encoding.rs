//! How a position becomes planes, and a move an index into the policy.

mod layout;
mod planes;
mod policy;
mod shape;
pub mod sparse;

pub use layout::{Layout, Places};
use planes::Planes;
use policy::Policy;
pub use shape::Shape;
pub use sparse::{SparseEncoding, SparseInput, SparseLayout, SparseShape};

use crate::rules::{Color, GameSpec, Key, Move, Position, Seat, Table, View};

/// The name of the encoding, as networks carry it.
pub const NAME: &str = "family";
/// Its version: raised whenever planes or indices of the same layout would mean something else.
pub const VERSION: u32 = 1;

/// Where a move stands in the policy, `plane * height * width + square`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct PolicyIndex(pub u16);

/// One game's way into a network and out of it, composed from what the game is made of.
///
/// The board is seen from the mover, whose own side lies below, unless both sides run for the
/// same rank. Of two tables each is seen so, and that comes first at which the mover has White: the
/// teams' games look alike. See [`Encoding::layout`] for the planes.
#[derive(Clone, Debug)]
pub struct Encoding {
    game_spec: GameSpec,
    planes: Planes,
    policy: Policy,
    shape: Shape,
}

impl Encoding {
    /// The encoding of all positions of a game.
    pub fn new(game_spec: &GameSpec) -> Encoding {
        let planes = Planes::new(game_spec);
        let policy = Policy::new(game_spec);
        let shape = Shape {
            planes: planes.count(),
            height: game_spec.ranks,
            width: game_spec.files,
            policy_planes: policy.planes(),
            outcomes: game_spec.sides + 1,
        };
        Encoding { game_spec: game_spec.clone(), planes, policy, shape }
    }

    /// The encoding of the game of `position`.
    pub fn of(position: &Position) -> Encoding {
        Encoding::new(&position.game_spec())
    }

    /// Returns the sparse encoding of the same game, or `None` if it has none.
    pub fn sparse(&self) -> Option<SparseEncoding> {
        SparseEncoding::new(&self.game_spec)
    }

    /// The sizes of its tensors.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// What each input plane and each policy plane stands for, in order. Two encodings with the
    /// same layout are the same: a network carries the layout it was trained with.
    pub fn layout(&self) -> String {
        let Shape { width, height, .. } = self.shape;
        let (planes, policy) = (self.planes.names().join(" "), self.policy.names().join(" "));
        format!("{width}x{height} planes: {planes}; policy: {policy}")
    }

    /// What each input plane stands for, in order.
    pub fn plane_names(&self) -> Vec<String> {
        self.planes.names()
    }

    /// Writes the planes of `view` over `planes`, of [`Shape::input`] numbers.
    ///
    /// # Panics
    /// If `planes` is of another length.
    pub fn write_planes(&self, view: View<'_>, planes: &mut [f32]) {
        assert_eq!(planes.len(), self.shape.input());
        self.planes.write(view, planes);
    }

    /// Where the policy of `position` has the legal move `m`.
    pub fn index(&self, position: &Position, m: Move) -> PolicyIndex {
        if m != Move::Pass {
            return self.policy.index(position.turn(), m);
        }
        // Only where it alone could move.
        let sits = |color: &Color| position.view().table_of(*color).seat.asked;
        self.policy.sits(Color::ALL.into_iter().find(sits).unwrap_or(Color::White))
    }

    /// The identity of all that [`Encoding::write_planes`] reads: the key of a cache.
    pub fn input_key(&self, position: &Position) -> Key {
        let view = position.view();
        let counter = planes::clock_step(view.halfmoves);
        let key = Key::of([position.key().0, u64::from(counter), u64::from(view.repeated)]);
        let Some(second) = view.second else { return key };
        let counter = planes::clock_step(second.halfmoves);
        let leads = [view.seat, second.seat].map(|seat| planes::lead_step(seat.lead) as u64);
        Key::of([key.0, u64::from(counter), u64::from(second.repeated), leads[0], leads[1]])
    }

    /// The identity of the planes of each of two tables, in their order: first that of the table at which
    /// the mover has White. `None` if there are not two.
    pub fn table_keys(&self, position: &Position) -> Option<[Key; 2]> {
        if !self.policy.tables() {
            return None;
        }
        let view = position.view();
        let key = |color: Color| {
            let seen = view.table_of(color);
            let table = if color == view.turn { Table::A } else { Table::B };
            let Seat { asked, on_turn, drawn, lead } = seen.seat;
            let flags = [color.is_white(), asked, on_turn, drawn, seen.repeated];
            let flags = flags.iter().fold(0, |word, &flag| word << 1 | u64::from(flag));
            let steps = [planes::clock_step(seen.halfmoves).into(), planes::lead_step(lead) as u64];
            Some(Key::of([position.key_at(table)?.0, flags, steps[0], steps[1]]))
        };
        Some([key(Color::White)?, key(Color::Black)?])
    }

    /// Where the policy has that the mover sits at the table where it has `color`; `None` if there are not
    /// two tables.
    pub fn sits(&self, color: Color) -> Option<PolicyIndex> {
        self.policy.tables().then(|| self.policy.sits(color))
    }
}
