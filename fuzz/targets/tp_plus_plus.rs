//! Searches for an input that `baton_fuzz::run("tp-plus-plus", …)` does not survive.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| baton_fuzz::run("tp-plus-plus", data));
