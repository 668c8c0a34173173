//! A world under a real clock, and what of the kernel takes part in it.

pub mod sampler;
pub mod traffic;
mod waiting;
