//! One node of Baton behind this machine's clock and devices: what `batond` runs.
#![forbid(unsafe_code)]

pub mod config;
pub mod device;
pub mod driver;
pub mod engine;
pub mod medium;
pub mod node;
pub mod port;
