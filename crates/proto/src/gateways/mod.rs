//! Gateways: layers of routers that end connections of others, or look into them as they pass.

pub mod aerotp;
pub mod path;
