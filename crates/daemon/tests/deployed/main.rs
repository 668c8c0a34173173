//! Mobility that carries the kernel's packets: the real daemons through handovers, deaths and attacks.

mod attacks;
mod deaths;
mod handovers;
mod hardships;
mod world;
