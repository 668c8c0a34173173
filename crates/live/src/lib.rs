//! The laboratory under a real clock: real hosts in network namespaces, simulated links and hosts between them.

pub mod arguments;
pub mod clock;
pub mod control;
pub mod decisions;
pub mod emulator;
pub mod events;
pub mod forwarding;
pub mod machine;
pub mod namespace;
pub mod plan;
pub mod priority;
pub mod program;
pub mod rights;
pub mod sampler;
pub mod traffic;
mod waiting;
