//! The home agent's end for mobiles that register over IPv4 in UDP.

use super::{is_proved, is_signalling, read, signed};
use crate::mobility::mobile_ipv6::{SharedKey, mobility_packet, sign_for_home};
use crate::packet::{Body, Packet};
use crate::time::Instant;
use crate::wire::mobility_header::{
    BindingAcknowledgement, BindingLifetime, BindingStatus, BindingUpdate, MobilityMessage,
    NatDetection, Timestamp,
};
use core::net::{Ipv6Addr, SocketAddrV4};
use std::collections::BTreeMap;

/// Maximum number of places remembered for a mobile: that of its uplinks (chosen).
const MOST_PLACES: usize = 16;
/// Tolerated difference of the two ends' clocks, in seconds (RFC 4285 section 6).
const CLOCK_TOLERANCE_S: u32 = 7;

/// Settings of a home agent's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomeEndSettings {
    /// Address of the home agent.
    pub home_agent: Ipv6Addr,
    /// Unix time at the instant zero, in nanoseconds.
    pub unix_nanoseconds: u64,
}

/// Counts of discarded datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HomeEndCounts {
    /// Malformed messages, and messages other than updates.
    pub malformed: u64,
    /// Updates from an unknown mobile, or with a wrong authenticator.
    pub unauthenticated: u64,
    /// Updates with a replayed timestamp, or one too far from this end's clock.
    pub out_of_date: u64,
    /// Tunnelled packets from an address at which no mobile is registered.
    pub unregistered: u64,
}

/// An accepted datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A message for the home agent.
    Message(Packet),
    /// A tunnelled packet, unchanged, from the mobile at this care-of address.
    Inside(Ipv6Addr),
    /// A refused update, with the packet that answers it.
    Refused(Packet),
}

/// A place of a mobile's registration.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Source of the latest update, as seen here.
    remote: SocketAddrV4,
    /// True if the mobile's own view of its address differs.
    is_translated: bool,
    /// Time of the latest update.
    timestamp: Timestamp,
}

/// A mobile that may register.
#[derive(Clone, Debug)]
struct Mobile {
    key: SharedKey,
    first_care_of: Ipv6Addr,
    /// Latest timestamp of an accepted update.
    latest: Option<Timestamp>,
    places: Vec<Place>,
}

impl Mobile {
    fn care_of(&self, place: usize) -> Ipv6Addr {
        let first = self.first_care_of.to_bits();
        Ipv6Addr::from_bits(first.wrapping_add((place as u128) << 64))
    }
}

/// The home agent's end for all mobiles. It keeps no state for a datagram that is not authenticated.
#[derive(Clone, Debug)]
pub struct HomeEnd {
    settings: HomeEndSettings,
    mobiles: BTreeMap<Ipv6Addr, Mobile>,
    /// Home address, and the number of the place.
    by_remote: BTreeMap<SocketAddrV4, (Ipv6Addr, usize)>,
    by_care_of: BTreeMap<Ipv6Addr, (Ipv6Addr, usize)>,
    counts: HomeEndCounts,
}

impl HomeEnd {
    /// Creates an end without mobiles.
    pub const fn new(settings: HomeEndSettings) -> HomeEnd {
        HomeEnd {
            settings,
            mobiles: BTreeMap::new(),
            by_remote: BTreeMap::new(),
            by_care_of: BTreeMap::new(),
            counts: HomeEndCounts {
                malformed: 0,
                unauthenticated: 0,
                out_of_date: 0,
                unregistered: 0,
            },
        }
    }

    /// Returns the counts.
    pub const fn counts(&self) -> HomeEndCounts {
        self.counts
    }

    /// Adds a mobile, by its home address; a known one keeps its places. The mobile's care-of addresses are the given
    /// one, and those with the same last 64 bits in the 15 following networks of 64 bits.
    pub fn add(&mut self, home: Ipv6Addr, key: SharedKey, first_care_of: Ipv6Addr) {
        let mobile = self.mobiles.entry(home).or_insert(Mobile {
            key,
            first_care_of,
            latest: None,
            places: Vec::new(),
        });
        mobile.key = key;
    }

    /// Removes the mobiles for whose home addresses `stays` returns false, with their places.
    pub fn retain(&mut self, stays: impl Fn(Ipv6Addr) -> bool) {
        self.mobiles.retain(|home, _| stays(*home));
        self.by_remote.retain(|_, (home, _)| stays(*home));
        self.by_care_of.retain(|_, (home, _)| stays(*home));
    }

    /// Returns the places of a mobile: the number and the remote address of each.
    pub fn places(&self, home: Ipv6Addr) -> impl Iterator<Item = (usize, SocketAddrV4)> {
        let places = self.mobiles.get(&home).into_iter();
        let places = places.flat_map(|mobile| mobile.places.iter().enumerate());
        places.map(|(number, place)| (number, place.remote))
    }

    /// Returns the home addresses of the mobiles that may register.
    pub fn mobiles(&self) -> impl Iterator<Item = Ipv6Addr> {
        self.mobiles.keys().copied()
    }

    /// Takes in a datagram that begins like an IP packet; counts it if it is discarded.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        from: SocketAddrV4,
        datagram: &[u8],
    ) -> Option<Arrival> {
        if is_signalling(datagram, self.settings.home_agent) {
            return self.handle_message(now, from, datagram);
        }
        let place = self.by_remote.get(&from);
        let mobile = place.and_then(|(home, number)| Some((self.mobiles.get(home)?, *number)));
        let Some((mobile, number)) = mobile else {
            self.counts.unregistered += 1;
            return None;
        };
        Some(Arrival::Inside(mobile.care_of(number)))
    }

    fn handle_message(
        &mut self,
        now: Instant,
        from: SocketAddrV4,
        datagram: &[u8],
    ) -> Option<Arrival> {
        let signalling = read(datagram);
        let (home, update) = match signalling.map(|read| (read.source, read.message)) {
            Some((home, MobilityMessage::BindingUpdate(update))) => (home, update),
            _ => {
                self.counts.malformed += 1;
                return None;
            }
        };
        let mobile = self.mobiles.get_mut(&home);
        let Some(mobile) = mobile.filter(|mobile| is_proved(&mobile.key, home, datagram)) else {
            self.counts.unauthenticated += 1;
            return None;
        };
        let nanoseconds = self.settings.unix_nanoseconds.wrapping_add(now.as_nanos());
        let refusal = check(mobile.latest, &update, Timestamp::of_unix(nanoseconds));
        let timestamp = match (refusal, update.timestamp) {
            (None, Some(timestamp)) => timestamp,
            (refusal, _) => {
                self.counts.out_of_date += 1;
                let answer = refusal.unwrap_or_else(|| required(&update));
                let message = MobilityMessage::BindingAcknowledgement(answer);
                let ends = (self.settings.home_agent, home);
                return Some(Arrival::Refused(signed(&mobile.key, home, ends, message)));
            }
        };
        mobile.latest = Some(timestamp);
        let place = Place {
            remote: from,
            is_translated: update.ipv4_care_of_address != Some(*from.ip()),
            timestamp,
        };
        let number = self.note(home, place)?;
        self.for_agent(home, number, update).map(Arrival::Message)
    }

    /// Records a place, if necessary instead of the one whose latest update is the oldest; returns its number.
    fn note(&mut self, home: Ipv6Addr, place: Place) -> Option<usize> {
        let mobile = self.mobiles.get_mut(&home)?;
        let known = mobile
            .places
            .iter()
            .position(|one| one.remote == place.remote);
        let oldest = || {
            let places = mobile.places.iter().enumerate();
            let oldest =
                places.reduce(
                    |one, other| match one.1.timestamp.is_after(other.1.timestamp) {
                        true => other,
                        false => one,
                    },
                );
            oldest.map(|(number, _)| number)
        };
        let number = match known {
            Some(number) => number,
            None if mobile.places.len() < MOST_PLACES => mobile.places.len(),
            None => oldest()?,
        };
        match mobile.places.get_mut(number) {
            Some(old) => {
                let before = core::mem::replace(old, place).remote;
                if before != place.remote && self.by_remote.get(&before) == Some(&(home, number)) {
                    self.by_remote.remove(&before);
                }
            }
            None => mobile.places.push(place),
        }
        self.by_care_of
            .insert(mobile.care_of(number), (home, number));
        self.by_remote.insert(place.remote, (home, number));
        Some(number)
    }

    /// Converts an update to the form of the home agent.
    fn for_agent(&self, home: Ipv6Addr, number: usize, update: BindingUpdate) -> Option<Packet> {
        let mobile = self.mobiles.get(&home)?;
        let care_of = mobile.care_of(number);
        let mut message = MobilityMessage::BindingUpdate(BindingUpdate {
            forces_udp_encapsulation: false,
            ipv4_care_of_address: None,
            alternate_care_of_address: None,
            timestamp: None,
            ..update
        });
        sign_for_home(&mobile.key, (care_of, home), &mut message);
        let ends = (care_of, self.settings.home_agent);
        Some(mobility_packet(ends, (Some(home), None), message))
    }

    /// Returns the remote address of the mobile at a care-of address.
    pub fn remote(&self, care_of: Ipv6Addr) -> Option<SocketAddrV4> {
        Some(self.place(care_of)?.2.remote)
    }

    fn place(&self, care_of: Ipv6Addr) -> Option<(Ipv6Addr, &Mobile, &Place)> {
        let (home, number) = self.by_care_of.get(&care_of)?;
        let mobile = self.mobiles.get(home)?;
        Some((*home, mobile, mobile.places.get(*number)?))
    }

    /// Converts a message of the home agent to a care-of address to its form over IPv4. Only an acknowledgement has
    /// one. Returns it with the mobile's home address.
    pub fn on_the_wire(&self, care_of: Ipv6Addr, packet: &Packet) -> Option<(Ipv6Addr, Packet)> {
        let (home, mobile, place) = self.place(care_of)?;
        let Body::Extended(extended) = &packet.body else {
            return None;
        };
        let Body::Mobility(message) = &extended.body else {
            return None;
        };
        let MobilityMessage::BindingAcknowledgement(answer) = &**message else {
            return None;
        };
        let answer = BindingAcknowledgement {
            nat_detection: Some(NatDetection {
                forces_udp_encapsulation: true,
                refresh_time_s: match place.is_translated {
                    true => NatDetection::DEFAULT_REFRESH_TIME_S,
                    false => NatDetection::NO_TRANSLATOR,
                },
            }),
            timestamp: Some(place.timestamp),
            ..answer.clone()
        };
        let message = MobilityMessage::BindingAcknowledgement(answer);
        let ends = (self.settings.home_agent, home);
        Some((home, signed(&mobile.key, home, ends, message)))
    }
}

/// Returns the answer to an update with an invalid timestamp; `None` if the timestamp is later than all before and
/// close to `present`.
fn check(
    latest: Option<Timestamp>,
    update: &BindingUpdate,
    present: Timestamp,
) -> Option<BindingAcknowledgement> {
    let timestamp = update.timestamp?;
    let is_new = latest.is_none_or(|latest| timestamp.is_after(latest));
    if is_new && timestamp.is_within(CLOCK_TOLERANCE_S, present) {
        return None;
    }
    Some(BindingAcknowledgement {
        timestamp: Some(timestamp.with_seconds_of(present)),
        ..refusal(BindingStatus::IDENTIFICATION_MISMATCH, update)
    })
}

/// Returns the answer to an update without a timestamp.
fn required(update: &BindingUpdate) -> BindingAcknowledgement {
    refusal(BindingStatus::IDENTIFICATION_REQUIRED, update)
}

fn refusal(status: BindingStatus, update: &BindingUpdate) -> BindingAcknowledgement {
    BindingAcknowledgement::new(status, update.sequence, BindingLifetime::ZERO)
}
