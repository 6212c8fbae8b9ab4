//! Helpers of several topics.

#[path = "../../../tests/it/support/naive.rs"]
pub(crate) mod naive;
pub(crate) mod reading;
#[cfg(unix)]
pub(crate) mod script;
pub(crate) mod talk;
