//! Lines of any bytes, sent to the engine in UCI.

#![no_main]

use libfuzzer_sys::fuzz_target;
use menagerie_fuzz::{uci, without_networks};

fuzz_target!(init: without_networks(), |data: &[u8]| uci::send_lines(data));
