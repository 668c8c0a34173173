//! Searches for an input that `baton_fuzz::run("forecast-gpsd", …)` does not survive.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| baton_fuzz::run("forecast-gpsd", data));
