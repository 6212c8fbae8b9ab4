//! Helpers of several topics.

#[path = "../../../tests/it/support/naive.rs"]
pub(crate) mod naive;
pub(crate) mod reading;
pub(crate) mod s3_server;
#[cfg(unix)]
pub(crate) mod script;
pub(crate) mod storage;
pub(crate) mod talk;
