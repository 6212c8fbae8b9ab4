//! A player of reconnaissance blind chess (RBC).
//!
//! A [`Player`] keeps a [`Belief`]: the set of boards that agree with all that it has learned, with
//! weights. [`Belief::best_sense`] chooses the square of a sense. For a request, a sample of the boards is
//! searched as if both sides saw all pieces, and the values are combined over the boards. docs/rbc.md
//! describes the method.
//!
//! - `belief`: the set of boards and how results change it.
//! - `board_pool`: boards without duplicates, and weighted samples of them.
//! - `expansion`: the boards after a move of the opponent.
//! - `opponent`: the likelihood of the opponent's moves.
//! - `sense`: the choice of a sense.
//! - `choice`: the choice of a request.
//! - `score_table`: scores of requests on boards.
//! - `tactics`: the alpha-beta search of one board without a network.
//! - `policy_network`: the interface of a network that sees both sides.
//! - `player`: one game of one side, with its time management.

mod belief;
mod board_pool;
mod choice;
mod expansion;
mod opponent;
mod player;
mod policy_network;
mod score_table;
mod sense;
mod tactics;

pub use belief::{Belief, Certainty, DEFAULT_CAPACITY};
pub use opponent::{Habits, OpponentModel, Prediction, Replies, UniformOpponent};
pub use player::{Player, Preset, Settings, Weighting};
pub use policy_network::{
    BoardScorer, PolicyNetwork, PolicyNetworkError, RequestPolicy, SharedNetwork,
};
pub use score_table::Combination;
pub use sense::{RequestValues, SensePolicy};
