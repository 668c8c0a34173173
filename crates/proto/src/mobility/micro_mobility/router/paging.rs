//! Paging of idle mobiles, which have no routes.

use super::DomainRouter;
use super::held::HeldPackets;
use crate::host::layer::Step;
use crate::interface::InterfaceId;
use crate::mobility::buffering::{BufferCounts, Held};
use crate::mobility::micro_mobility::message_bytes;
use crate::mobility::micro_mobility::routes::Routes;
use crate::packet::{IpHeader, Packet};
use crate::time::{Duration, Instant};
use crate::wire::micro_mobility::{RouteKind, RouteMessage};
use core::net::{IpAddr, Ipv4Addr};
use std::collections::BTreeMap;

/// Time to the repetition of an unanswered page. Chosen, as for an unanswered handoff.
const REPETITION: Duration = Duration::from_secs(1);
/// Unanswered pages before the packets are dropped. Chosen.
const MOST_PAGES: u32 = 3;

/// Settings of a router in a domain with idle mobiles.
#[derive(Clone, Debug)]
pub struct PagingConfig {
    /// Lifetime of a paging entry after the last message for it; `None` for a router without paging entries.
    pub lifetime: Option<Duration>,
    /// Interfaces to the domain routers below.
    pub below: Vec<InterfaceId>,
}

/// A router's part in paging.
#[derive(Debug)]
pub(super) struct Paging {
    below: Vec<InterfaceId>,
    entries: Option<Routes>,
    /// Packets for mobiles that are paged (HAWAII's root), and for each the pages so far and the time of the next.
    held: HeldPackets,
    paged: BTreeMap<Ipv4Addr, (u32, Instant)>,
}

impl Paging {
    pub fn new(config: PagingConfig) -> Paging {
        Paging {
            below: config.below,
            entries: config.lifetime.map(Routes::new),
            // The pages bound the time, and nothing else the packets.
            held: HeldPackets::new(u32::MAX),
            paged: BTreeMap::new(),
        }
    }

    /// Returns true if a timestamp is later than that of the mobile's last paging update here.
    pub fn is_news(&self, mobile: Ipv4Addr, timestamp: u64) -> bool {
        let entries = self.entries.as_ref();
        entries.is_none_or(|entries| entries.is_news(mobile, timestamp))
    }

    /// Notes that a message of a mobile to the root has come by an interface.
    pub fn note(&mut self, now: Instant, mobile: Ipv4Addr, timestamp: u64, interface: InterfaceId) {
        if let Some(entries) = &mut self.entries {
            entries.set(now, mobile, timestamp, interface);
        }
    }

    /// Returns true for an interface to a router below.
    pub fn is_below(&self, interface: InterfaceId) -> bool {
        self.below.contains(&interface)
    }

    /// Returns the interfaces by which to look for a mobile: that of its paging entry; at a router without such entries
    /// all that lead down, with that to the mobile itself.
    pub fn ways(&self, mobile: Ipv4Addr, air: Option<InterfaceId>) -> Vec<InterfaceId> {
        match &self.entries {
            Some(entries) => {
                let entry = entries.get(mobile);
                entry.map(|entry| entry.interface).into_iter().collect()
            }
            None => self.below.iter().copied().chain(air).collect(),
        }
    }

    /// Keeps a packet until its mobile has answered; returns true if the mobile is to be paged.
    pub fn hold(&mut self, now: Instant, mobile: Ipv4Addr, packet: Packet) -> bool {
        self.held.begin(mobile);
        let _ = self.held.take(now, mobile, packet);
        let is_new = !self.paged.contains_key(&mobile);
        if is_new {
            self.paged.insert(mobile, (1, now + REPETITION));
        }
        is_new
    }

    /// Ends the paging of a mobile that has a route, and returns its packets.
    pub fn release(&mut self, now: Instant, mobile: Ipv4Addr) -> Vec<Packet> {
        self.paged.remove(&mobile);
        self.held.release(now, mobile)
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        let expiry = self.entries.as_ref().and_then(Routes::poll_timeout);
        let pages = self.paged.values().map(|&(_, at)| at);
        pages.chain(expiry).min()
    }

    /// Expires entries, drops the packets of mobiles that have not answered, and returns the mobiles to page again.
    pub fn handle_timeout(&mut self, now: Instant) -> Vec<Ipv4Addr> {
        if let Some(entries) = &mut self.entries {
            entries.expire(now);
        }
        let mut again = Vec::new();
        let held = &mut self.held;
        self.paged.retain(|&mobile, (pages, at)| {
            if *at > now {
                return true;
            }
            if *pages == MOST_PAGES {
                held.drop_all(mobile);
                return false;
            }
            *pages += 1;
            *at = now + REPETITION;
            again.push(mobile);
            true
        });
        again
    }

    pub fn poll_told(&mut self) -> Option<Held> {
        self.held.poll_told()
    }

    pub fn counts(&self) -> BufferCounts {
        self.held.counts()
    }
}

impl DomainRouter {
    /// Sends a packet for an idle mobile down to it, or keeps it and pages the mobile (HAWAII's root); returns one of a
    /// mobile that is not known to be below.
    pub(super) fn page(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        let IpAddr::V4(mobile) = packet.ip.destination else {
            return Some(packet);
        };
        let (Some(paging), Some(&air)) = (&mut self.paging, self.config.mobiles.get(&mobile))
        else {
            return Some(packet);
        };
        let ways = paging.ways(mobile, air);
        let Some((last, others)) = ways.split_last() else {
            return Some(packet);
        };
        let keeps = self.config.path_setup.is_some() && self.config.address == self.config.root;
        if keeps && message_bytes(&packet).is_none() {
            if paging.hold(now, mobile, packet) {
                self.send_page(now, mobile);
            }
            return None;
        }
        for &way in others {
            self.copies += 1;
            self.outbox.push_back(Step::Send(way, packet.clone()));
        }
        self.outbox.push_back(Step::Send(*last, packet));
        None
    }

    pub(super) fn send_page(&mut self, now: Instant, mobile: Ipv4Addr) {
        let page = RouteMessage {
            kind: RouteKind::Page,
            mobile,
            new_base_station: Ipv4Addr::UNSPECIFIED,
            old_base_station: Ipv4Addr::UNSPECIFIED,
            timestamp: self.config.clock.timestamp(now),
        };
        self.send(mobile, RouteKind::Page, page);
    }

    /// Returns true for a packet that has come from below, and goes up if its mobile has no entry.
    pub(super) fn goes_up(&self, from: InterfaceId, ip: &IpHeader) -> bool {
        let IpAddr::V4(mobile) = ip.destination else {
            return false;
        };
        let air = self.config.mobiles.get(&mobile).copied().flatten();
        let paging = self.paging.as_ref();
        self.config.address != self.config.root
            && (air == Some(from) || paging.is_some_and(|paging| paging.is_below(from)))
    }
}
