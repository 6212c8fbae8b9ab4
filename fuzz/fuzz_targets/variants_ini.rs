//! Any text as a catalogue of variants.

#![no_main]

use libfuzzer_sys::fuzz_target;
use menagerie_fuzz::games;

fuzz_target!(|data: &[u8]| games::ini(data));
