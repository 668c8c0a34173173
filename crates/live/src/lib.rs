//! The laboratory under a real clock: real hosts in network namespaces, simulated links and hosts between them.

pub mod arguments;
pub mod clock;
pub mod control;
pub mod events;
pub mod namespace;
pub mod netlink;
pub mod plan;
pub mod program;
pub mod rights;
pub mod tun;
pub mod waiting;
