//! Mobility that carries the kernel's packets: the real daemons through handovers, deaths and attacks.

mod handovers;
mod world;
