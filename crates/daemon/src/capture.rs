//! Captures of a daemon under way: the packets inside the tunnel, the datagrams outside, and what has happened, in one file.
//!
//! Media and the attendant have a [`Tap`]. While a client of the control socket has opened it, a thread of its own takes what has
//! come there and streams it as pcapng. The daemon never waits for it: what a slow client leaves in the queue is bounded.

pub mod client;
pub mod stream;
pub mod tap;
pub mod view;

pub use baton_pcapng::Direction;
pub use tap::Tap;
pub use view::View;
