//! Any bytes as the model of a network.

#![no_main]

use libfuzzer_sys::fuzz_target;
use menagerie_fuzz::network;

fuzz_target!(|data: &[u8]| network::model(data));
