//! Any text as a position of some game, and moves from there.

#![no_main]

use libfuzzer_sys::fuzz_target;
use menagerie_fuzz::games;

fuzz_target!(|data: &[u8]| games::fen(data));
