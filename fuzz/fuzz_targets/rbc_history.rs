//! Any text as histories of RBC, and as cases of its rules.

#![no_main]

use libfuzzer_sys::fuzz_target;
use menagerie_fuzz::rbc;

fuzz_target!(|data: &[u8]| rbc::check_histories(data));
