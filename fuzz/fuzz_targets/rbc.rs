//! Lines of any bytes, sent to the player of RBC.

#![no_main]

use libfuzzer_sys::fuzz_target;
use menagerie_fuzz::rbc;

fuzz_target!(|data: &[u8]| rbc::send_lines(data));
