//! Encodes positions as input planes and moves as policy indices.

mod layout;
mod planes;
mod policy;
mod shape;
pub mod sparse;

pub use layout::{Layout, PlaneIndices};
use planes::Planes;
use policy::Policy;
pub use shape::Shape;
pub use sparse::{SparseEncoding, SparseInput, SparseLayout, SparseShape};

use crate::rules::{BoardView, Color, GameSpec, Key, Move, Position, TeamStatus, View};

/// The name of the encoding, as stored in networks.
pub const NAME: &str = "family";
/// Its version. It changes if planes or indices of the same layout get another meaning.
pub const VERSION: u32 = 1;

/// The index of a move in the policy: `plane * height * width + square`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct PolicyIndex(pub u16);

/// The input and policy encoding of one game, derived from its [`GameSpec`].
///
/// The board is seen from the side to move, whose first rank comes first, unless both sides run for the
/// same rank. In bughouse the board on which the team to move has white comes first, and each board is
/// seen from the team, so that both teams see the same. See [`Encoding::layout`] for the planes.
#[derive(Clone, Debug)]
pub struct Encoding {
    game_spec: GameSpec,
    planes: Planes,
    policy: Policy,
    shape: Shape,
}

impl Encoding {
    /// Creates the encoding of a game.
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

    /// Creates the encoding of the game of `position`.
    pub fn of(position: &Position) -> Encoding {
        Encoding::new(&position.game_spec())
    }

    /// Returns the sparse encoding of the same game, or `None` if it has none.
    pub fn sparse(&self) -> Option<SparseEncoding> {
        SparseEncoding::new(&self.game_spec)
    }

    /// Returns the sparse encoding for a network with a layout, see [`SparseEncoding::for_layout`].
    pub fn sparse_for_layout(&self, layout: &str) -> Option<SparseEncoding> {
        SparseEncoding::for_layout(&self.game_spec, layout)
    }

    /// Returns the tensor sizes.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Returns the names of the input planes and policy planes, in order. Networks store the layout with
    /// which they were trained; encodings with equal layouts are equal.
    pub fn layout(&self) -> String {
        let Shape { width, height, .. } = self.shape;
        let planes = self.planes.names().join(" ");
        let policy = self.policy.names().join(" ");
        format!("{width}x{height} planes: {planes}; policy: {policy}")
    }

    /// Returns the names of the input planes, in order.
    pub fn plane_names(&self) -> Vec<String> {
        self.planes.names()
    }

    /// Writes the planes of `view` to `planes`, which has [`Shape::input`] values.
    ///
    /// # Panics
    /// Panics if `planes` has another length.
    pub fn write_planes(&self, view: &View<'_>, planes: &mut [f32]) {
        assert_eq!(planes.len(), self.shape.input());
        self.planes.write(view, planes);
    }

    /// Returns the policy index of the legal move `m`.
    pub fn index(&self, position: &Position, m: Move) -> PolicyIndex {
        if m != Move::Pass {
            return self.policy.index(position.turn(), m);
        }
        // The team can only sit if it can move on one board only.
        let view = position.view();
        let board = view.boards.iter().find(|board| board.team.may_move);
        self.policy.sits(board.map_or(Color::White, |board| board.turn))
    }

    /// Returns a hash of everything that [`Encoding::write_planes`] reads, as the key of a cache.
    pub fn input_key(&self, position: &Position) -> Key {
        let view = position.view();
        let counters = |board: &BoardView<'_>| {
            [planes::clock_step(board.halfmoves).into(), u64::from(board.repeated)]
        };
        let [counter, repeated] = counters(&view.boards[0]);
        let key = Key::of([position.key().0, counter, repeated]);
        let Some(second) = view.boards.get(1) else { return key };
        let [counter, repeated] = counters(second);
        let lead = |board: &BoardView<'_>| planes::lead_step(board.team.lead) as u64;
        Key::of([key.0, counter, repeated, lead(&view.boards[0]), lead(second)])
    }

    /// Returns hashes of the planes of each board of bughouse, first of the board on which the team to move
    /// has white. `None` in other games.
    pub fn board_keys(&self, position: &Position) -> Option<[Key; 2]> {
        if !self.policy.has_two_boards() {
            return None;
        }
        let view = position.view();
        let key = |color: Color| {
            let id = view.board_with(color);
            let board = view.on(id);
            let TeamStatus { may_move, on_turn, drawn, lead } = board.team;
            let flags = [color.is_white(), may_move, on_turn, drawn, board.repeated];
            let flags = flags.iter().fold(0, |word, &flag| word << 1 | u64::from(flag));
            let steps =
                [planes::clock_step(board.halfmoves).into(), planes::lead_step(lead) as u64];
            Some(Key::of([position.board_key(id)?.0, flags, steps[0], steps[1]]))
        };
        Some([key(Color::White)?, key(Color::Black)?])
    }

    /// Returns the policy index of sitting on the board on which the team to move has `color`. `None` in
    /// games other than bughouse.
    pub fn sits(&self, color: Color) -> Option<PolicyIndex> {
        self.policy.has_two_boards().then(|| self.policy.sits(color))
    }
}
