//! Operation of a daemon: its log, its state for people and for monitoring, commands to it, and its service manager.

pub mod control;
pub mod log;
pub mod metrics;
pub mod service;
pub mod status;
