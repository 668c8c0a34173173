//! QUIC (RFC 9000) as a transport of a host, by `quinn-proto`.
//!
//! The library is sans-IO, but needs the standard library's time, randomness and TLS. Here time is the host's, all
//! random numbers are derived from the host's secret, and a [session](session) whose messages have TLS's lengths
//! replaces TLS. Nothing is encrypted, so that the same calls give the same bytes. A connection carries one stream in
//! each direction.
#![forbid(unsafe_code)]

mod configuration;
mod connection;
mod endpoint;
mod keys;
mod seeded;
mod session;
mod stop_watch;
#[cfg(test)]
mod tests;

pub use configuration::{Configuration, CongestionControl};
pub use connection::{QuicConnection, QuicStatistics};
pub use endpoint::QuicSockets;
