//! Operation of a daemon: log, state for people and for monitoring, commands, and service manager.

pub mod control;
pub mod log;
pub mod metrics;
pub mod service;
pub mod status;
