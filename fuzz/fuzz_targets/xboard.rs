//! Lines of any bytes, sent to the engine in the XBoard protocol.

#![no_main]

use libfuzzer_sys::fuzz_target;
use menagerie_fuzz::{without_networks, xboard};

fuzz_target!(init: without_networks(), |data: &[u8]| xboard::send_lines(data));
