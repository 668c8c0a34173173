//! Mobility that carries the kernel's packets: the real daemons through handovers, deaths and attacks.

mod announced;
mod attacks;
mod deaths;
mod handovers;
mod world;
