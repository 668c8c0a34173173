//! Gateways: layers of routers that end connections of others, or look into packets as they pass.

pub mod aerotp;
pub mod nat;
pub mod path;
