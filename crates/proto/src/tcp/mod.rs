//! TCP (RFC 9293) as one sans-IO connection.

pub mod congestion;
pub mod profile;
