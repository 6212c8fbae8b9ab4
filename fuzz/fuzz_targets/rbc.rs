//! Lines of any bytes, said to the player of blind chess.

#![no_main]

use libfuzzer_sys::fuzz_target;
use menagerie_fuzz::rbc;

fuzz_target!(|data: &[u8]| rbc::speak(data));
