//! Mobility that carries the kernel's packets: the real daemons through handovers, deaths and attacks.

mod announced;
mod attacks;
mod captures;
mod deaths;
mod gateways;
mod handovers;
mod hardships;
mod many;
mod plain;
mod uplinks;
mod world;
