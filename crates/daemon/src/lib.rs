//! One node of Baton with this machine's clock and devices: the library of `batond`.
#![forbid(unsafe_code)]

pub mod attendant;
pub mod capture;
pub mod command_line;
pub mod config;
pub mod daemon;
pub mod device;
pub mod driver;
pub mod engine;
pub mod forecast;
pub mod gateway;
pub mod home_agent;
pub mod keys;
pub mod medium;
pub mod mobile_router;
pub mod node;
pub mod operation;
pub mod port;
pub mod protection;
pub mod role;
pub mod routing;
pub mod tunnel;
