//! Mobility that carries the kernel's packets: the real daemons through handovers, deaths and attacks.

mod announced;
mod attacks;
mod captures;
mod custody;
mod deaths;
mod gateways;
mod handovers;
mod hardships;
mod hostile;
mod many;
mod plain;
mod restarts;
mod signals;
mod soak;
mod uplinks;
mod world;
