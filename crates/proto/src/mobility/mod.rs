//! How a mobile chooses and changes its point of attachment.

pub mod failback;
