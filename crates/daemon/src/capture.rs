//! Captures of a running daemon: the packets inside the tunnel, the datagrams outside, and events, in one file.
//!
//! Media and the attendant write to a [`Tap`]. While a client of the control socket has it open, a separate thread
//! takes its records and streams them as pcapng. The daemon never waits for the client: the queue is bounded.

pub mod client;
pub mod stream;
pub mod tap;
pub mod view;

pub use baton_pcapng::Direction;
pub use tap::Tap;
pub use view::View;
