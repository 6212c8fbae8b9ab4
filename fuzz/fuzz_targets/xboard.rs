//! Lines of any bytes, said to the engine in the protocol of XBoard.

#![no_main]

use libfuzzer_sys::fuzz_target;
use menagerie_fuzz::{without_networks, xboard};

fuzz_target!(init: without_networks(), |data: &[u8]| xboard::speak(data));
