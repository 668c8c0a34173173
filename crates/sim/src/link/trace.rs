//! Recordings that drive a link.

/// A recording of one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {}
