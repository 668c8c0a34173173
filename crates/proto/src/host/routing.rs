//! Routing at a host: the fate of an arrived packet, and the outgoing interface of a departing one.

use super::layer::Look;
use super::{Host, InterfaceId, Verdict};
use crate::packet::Packet;
use crate::time::Instant;
use crate::wire::icmp::IcmpError;

impl Host {
    /// Decides about a packet of `length` bytes that has arrived by an interface; forwarding decrements its hop limit.
    #[inline]
    pub fn route(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        packet: &mut Packet,
        length: u32,
    ) -> Verdict {
        match self.inspects() {
            true => self.route_inspected(now, interface, packet, length),
            false => self.decide(packet, length),
        }
    }

    /// Decides about an arrived packet, at a host with layers that inspect packets in transit.
    #[cold]
    fn route_inspected(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        packet: &mut Packet,
        length: u32,
    ) -> Verdict {
        if !self.takes(&packet.ip)
            && let Some(layers) = &mut self.layers
            && !layers.admit(interface, &self.routes, packet)
        {
            return Verdict::Discard;
        }
        if let Some(verdict) = self.inspect(now, interface, packet) {
            return verdict;
        }
        match self.decide(packet, length) {
            Verdict::Forward(interface) if !self.depart(now, interface, packet) => Verdict::Discard,
            verdict => verdict,
        }
    }

    #[inline]
    fn decide(&mut self, packet: &mut Packet, length: u32) -> Verdict {
        if self.takes(&packet.ip) {
            return Verdict::Local;
        }
        if packet.ip.hop_limit <= 1 {
            self.given_up().discarded.hop_limit += 1;
            return self.give_up(packet, IcmpError::TimeExceeded);
        }
        packet.ip.hop_limit -= 1;
        match self.route_out(packet, length) {
            // The layer decrements the hop limit itself.
            Ok(interface) if interface.is_virtual() => {
                packet.ip.hop_limit += 1;
                Verdict::Local
            }
            Ok(interface) => Verdict::Forward(interface),
            Err(error) => self.give_up(packet, error),
        }
    }

    /// Returns true if a layer inspects packets in transit.
    #[inline]
    pub(super) fn inspects(&self) -> bool {
        let layers = self.layers.as_ref();
        layers.is_some_and(|layers| layers.inspect_passing())
    }

    /// Passes a packet to the inspecting layers; returns their verdict, if there is one.
    fn inspect(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        packet: &mut Packet,
    ) -> Option<Verdict> {
        let layers = self.layers.as_mut()?;
        match layers.inspect(now, interface, &self.routes, packet) {
            Look::Pass => None,
            Look::Learn => {
                self.stirred = true;
                None
            }
            Look::Take => Some(Verdict::Local),
            Look::Absorb => {
                self.accepted = true;
                Some(Verdict::Discard)
            }
            Look::Drop => Some(Verdict::Discard),
        }
    }

    /// Passes a departing packet to the inspecting layers; returns false if one of them drops it.
    pub(super) fn depart(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        packet: &mut Packet,
    ) -> bool {
        match &mut self.layers {
            Some(layers) if layers.inspect_passing() => layers.depart(now, interface, packet),
            _ => true,
        }
    }

    #[cold]
    fn give_up(&mut self, packet: &Packet, error: IcmpError) -> Verdict {
        self.send_error(packet, error);
        Verdict::Discard
    }

    /// Returns the interface towards the destination of a packet of `length` bytes, if there is one and the packet fits
    /// its MTU. Otherwise counts the packet as discarded.
    ///
    /// # Errors
    /// The ICMP error that a router would send to the packet's source.
    // Called once a hop: the compiler does not inline it by itself, and a call costs a hundredth of all instructions.
    #[inline(always)]
    pub(super) fn route_out(
        &mut self,
        packet: &Packet,
        length: u32,
    ) -> Result<InterfaceId, IcmpError> {
        let Some(interface) = self.routes.lookup(packet.ip.destination) else {
            self.given_up().discarded.no_route += 1;
            return Err(IcmpError::Unreachable);
        };
        self.fit(interface, length)
    }

    /// Returns the interface over which one of this host's own packets leaves: that of its source address, or of the
    /// route.
    ///
    /// # Errors
    /// As for [`route_out`](Self::route_out).
    // Called once a packet; see `route_out`.
    #[inline(always)]
    pub(super) fn route_own(&mut self, packet: &Packet) -> Result<InterfaceId, IcmpError> {
        let length = packet.wire_length();
        match self.interface_of(packet.ip.source) {
            Some(interface) => self.fit(interface, length),
            None => self.route_out(packet, length),
        }
    }

    /// Returns the interface for a packet written by the kernel that replaces this host's transports: the one chosen by
    /// the kernel, or that of the route.
    ///
    /// # Errors
    /// As for [`route_out`](Self::route_out); `None` for a packet that a layer drops.
    pub fn route_written(
        &mut self,
        now: Instant,
        chosen: Option<InterfaceId>,
        packet: &mut Packet,
    ) -> Result<InterfaceId, Option<IcmpError>> {
        let length = packet.wire_length();
        let interface = match chosen {
            Some(interface) => self.fit(interface, length)?,
            None => self.route_out(packet, length)?,
        };
        match self.depart(now, interface, packet) {
            true => Ok(interface),
            false => Err(None),
        }
    }

    /// Returns the interface over which a waiting packet leaves by the present routes, after a mobility agent here has
    /// redirected its tunnel. A packet without a path is lost, and its source gets an ICMP error.
    pub fn route_again(&mut self, now: Instant, packet: &mut Packet) -> Option<InterfaceId> {
        // Layers have had the packet before it waited, and do not get it again. A translator at another interface would
        // have no mapping for it.
        let layers = self.layers.as_mut();
        let found = match layers.and_then(|layers| layers.redirect(now, packet)) {
            Some(interface) => Some(interface),
            None => self.routes.lookup(packet.ip.destination),
        };
        let found = found.filter(|interface| !interface.is_virtual());
        let length = packet.wire_length();
        let mtu = found.and_then(|interface| self.interface_mtus.get(interface.0).copied());
        let error = match (found, mtu) {
            (Some(_), Some(mtu)) if length > mtu => IcmpError::PacketTooBig { mtu },
            (Some(interface), _) => {
                return self.depart(now, interface, packet).then_some(interface);
            }
            (None, _) => IcmpError::Unreachable,
        };
        if let Some(quoted) = packet.quote() {
            self.tell(now, error, quoted);
        }
        None
    }

    /// Returns the interface, if a packet of `length` bytes fits its MTU. Otherwise counts the packet as discarded.
    ///
    /// # Errors
    /// The ICMP error that a router would send to the packet's source.
    #[inline]
    pub(super) fn fit(
        &mut self,
        interface: InterfaceId,
        length: u32,
    ) -> Result<InterfaceId, IcmpError> {
        // A layer checks the MTU of its own tunnel.
        match self.interface_mtus.get(interface.0) {
            Some(&mtu) if length > mtu => {
                self.given_up().discarded.too_big += 1;
                Err(IcmpError::PacketTooBig { mtu })
            }
            _ => Ok(interface),
        }
    }
}
