//! The translator as a layer of a router.

use super::{Nat, Refused};
use crate::host::RouteTable;
use crate::host::layer::{Layer, Look, Rank};
use crate::interface::InterfaceId;
use crate::packet::Packet;
use crate::time::Instant;

/// Translator at one interface of a router, which leads inside. Packets arriving there are translated before all other
/// processing, and packets leaving there after it, including the router's own.
#[derive(Debug)]
pub struct Translator {
    inside: InterfaceId,
    nat: Nat,
}

impl Translator {
    /// Creates a translator at this interface. Routes to its outside addresses have to lead there as well.
    pub fn new(inside: InterfaceId, nat: Nat) -> Translator {
        Translator { inside, nat }
    }

    /// Returns the counts of refused packets.
    pub fn refused(&self) -> Refused {
        self.nat.refused()
    }
}

impl Layer for Translator {
    fn rank(&self) -> Rank {
        Rank::Translator
    }

    fn inspects(&self) -> bool {
        true
    }

    fn inspect(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        _routes: &RouteTable,
        packet: &mut Packet,
    ) -> Look {
        match interface != self.inside || self.nat.translate_out(now, packet) {
            true => Look::Pass,
            false => Look::Drop,
        }
    }

    fn depart(&mut self, now: Instant, interface: InterfaceId, packet: &mut Packet) -> bool {
        interface != self.inside || self.nat.translate_in(now, packet)
    }
}

#[cfg(test)]
mod tests;
