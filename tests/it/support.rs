//! Shared by several topics.

#[macro_use]
pub(crate) mod talk;

pub(crate) mod golden;
pub(crate) mod laws;
pub(crate) mod model;
pub(crate) mod naive;
