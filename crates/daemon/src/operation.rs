//! Operation of a daemon: its state for people and for monitoring, commands to it, and its service manager.

pub mod control;
pub mod metrics;
pub mod service;
pub mod status;
