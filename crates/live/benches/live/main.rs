//! Accuracy and speed of the emulator beside its model and a bare pair of devices: `make bench-live`.
//!
//! Needs root or user namespaces, and some two minutes. Every figure comes with its target.

mod accuracy;
mod capacity;
mod pair;
mod traffic;

use baton_live::rights::Rights;

fn main() {
    if let Err(error) = Rights::acquire() {
        eprintln!("{error}");
        std::process::exit(2);
    }
    baton_live::priority::raise();
    accuracy::run();
    capacity::run();
}
