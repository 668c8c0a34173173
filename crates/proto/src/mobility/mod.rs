//! How a mobile chooses and changes its point of attachment.

pub mod draws;
pub mod failback;
pub mod mobile_ipv4;
