//! How a position becomes planes, and a move an index into the policy.

mod shape;

pub use shape::Shape;
