//! Routers of a home agent without encryption, beside the paths of the others.

use super::uplink::add;
use super::{cut, longest_carried};
use crate::home_agent::RouterConfig;
use crate::node::shared_key;
use crate::operation::status::{PathStatus, RouterStatus, Status};
use crate::protection::Protection;
use crate::tunnel::addresses::CareOfPrefix;
use crate::tunnel::arrivals::Arrivals;
use crate::tunnel::datagrams::{Outgoing, Sockets};
use crate::tunnel::outer::Outer;
use crate::tunnel::pieces::Cutter;
use baton_path::{ELIDED, NotSent};
use baton_proto::mobility::dual_stack::{Arrival, HomeEnd, HomeEndSettings};
use baton_proto::packet::Packet;
use baton_proto::time::Instant;
use core::net::{Ipv6Addr, SocketAddr, SocketAddrV4};
use std::collections::{BTreeMap, VecDeque};

/// Routers without encryption.
#[derive(Debug)]
pub struct PlainRouters {
    end: HomeEnd,
    home_agent: Ipv6Addr,
    care_of: CareOfPrefix,
    /// MTU of the home agent's own link, in bytes.
    mtu: u32,
    /// Care-of address of the latest message to each router, by home address.
    current: BTreeMap<Ipv6Addr, Ipv6Addr>,
    /// Answers to send.
    refusals: VecDeque<(SocketAddrV4, Packet)>,
}

impl PlainRouters {
    /// Creates an empty set. The instant zero is so many nanoseconds after the Unix epoch.
    pub fn new(
        (home_agent, care_of): (Ipv6Addr, CareOfPrefix),
        mtu: u32,
        unix_nanoseconds: u64,
    ) -> PlainRouters {
        PlainRouters {
            end: HomeEnd::new(HomeEndSettings {
                home_agent,
                unix_nanoseconds,
            }),
            home_agent,
            care_of,
            mtu,
            current: BTreeMap::new(),
            refusals: VecDeque::new(),
        }
    }

    /// Replaces the routers that may register; those that stay are unaffected.
    pub fn set(&mut self, routers: &[RouterConfig]) {
        let plain = |router: &RouterConfig| match &router.protection {
            Protection::Unencrypted(plain) => Some((router.home_address.0, plain.clone())),
            Protection::Encrypted { .. } => None,
        };
        let plain: BTreeMap<Ipv6Addr, _> = routers.iter().filter_map(plain).collect();
        self.end.retain(|home| plain.contains_key(&home));
        self.current.retain(|home, _| plain.contains_key(home));
        for (home, router) in plain {
            if let Some(first) = self.care_of.care_of(0, home.to_bits() as u64) {
                let key = shared_key(router.security_parameter_index, router.key);
                self.end.add(home, key, first);
            }
        }
    }

    /// Takes in a datagram that begins like an IP packet, with its byte of DSCP and ECN. Returns false if its packet is
    /// dropped: it needed a congestion mark that its sender does not support.
    pub fn take(
        &mut self,
        now: Instant,
        (sender, carried): (SocketAddrV4, u8),
        datagram: &mut [u8],
        incoming: &mut Arrivals,
    ) -> bool {
        match self.end.handle_datagram(now, sender, datagram) {
            Some(Arrival::Message(packet)) => incoming.push(Ok(packet)),
            Some(Arrival::Refused(answer)) => self.refusals.push_back((sender, answer)),
            Some(Arrival::Inside(source)) => {
                let outer = Outer {
                    source,
                    destination: self.home_agent,
                };
                return incoming.take(outer, carried, datagram);
            }
            None => {}
        }
        true
    }

    /// Returns true if a care-of address belongs to one of these routers.
    pub fn has(&self, care_of: Ipv6Addr) -> bool {
        self.end.remote(care_of).is_some()
    }

    /// Sends a packet of the node to a care-of address, of the kind that a path would carry.
    ///
    /// # Errors
    /// The reason for not sending it.
    pub fn send(
        &mut self,
        care_of: Ipv6Addr,
        (kind, content, class): (u8, &Packet, u8),
        (outgoing, sockets, cutter): (&mut Outgoing, &mut Sockets, &mut Cutter),
    ) -> Result<(), NotSent> {
        let remote = self.end.remote(care_of).ok_or(NotSent::UnknownPath)?;
        let to = (SocketAddr::V4(remote), class);
        if kind == ELIDED {
            return cut(cutter, content, longest_carried(self.mtu), |bytes| {
                add(outgoing, sockets, to, bytes);
            });
        }
        let (home, message) = self
            .end
            .on_the_wire(care_of, content)
            .ok_or(NotSent::Kind(kind))?;
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        add(outgoing, sockets, to, &bytes);
        self.current.insert(home, care_of);
        Ok(())
    }

    /// Appends the next answer to a datagram, and returns its destination.
    pub fn poll_transmit(&mut self, out: &mut Vec<u8>) -> Option<SocketAddr> {
        let (to, answer) = self.refusals.pop_front()?;
        answer.encode(out);
        Some(to.into())
    }

    /// Adds these routers to a state.
    pub fn report(&self, status: &mut Status) {
        for home in self.end.mobiles() {
            let current = self.current.get(&home);
            let bound = current.and_then(|care_of| self.care_of.of(*care_of));
            let mtu = u16::try_from(longest_carried(self.mtu)).unwrap_or(u16::MAX);
            let places = self.end.places(home).map(|(number, remote)| {
                PathStatus::new((number.to_string(), true), remote.into(), mtu)
            });
            status.routers.push(RouterStatus {
                home_address: home,
                bound_to: bound.map(|(number, _)| number.to_string()),
                paths: places.collect(),
                held_packets: 0,
            });
        }
        let counts = self.end.counts();
        status.refuse("Malformed", counts.malformed);
        status.refuse("Unauthenticated", counts.unauthenticated);
        status.refuse("OutOfDate", counts.out_of_date);
        status.refuse("Unregistered", counts.unregistered);
    }
}
