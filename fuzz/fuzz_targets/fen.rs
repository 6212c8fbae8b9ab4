//! Any text as a position of a variant, and moves from it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use menagerie_fuzz::games;

fuzz_target!(|data: &[u8]| games::fen(data));
