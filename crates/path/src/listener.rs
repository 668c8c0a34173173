//! The home agent's end of all paths of all routers.

mod handshake;
mod timers;

use crate::cookie::{CookieSecret, Doorkeeper};
use crate::counters::{Counters, Rejected};
use crate::frame::{Kind, MOST_ASSIGNED, u32_at};
use crate::measure::Measured;
use crate::noise::{PresharedKey, PrivateKey, PublicKey};
use crate::path::{Content, Event, NotSent, Path, Sent};
use crate::random::Random;
use baton_proto::time::Instant;
use core::net::SocketAddr;
use handshake::Load;
use std::collections::{BTreeMap, VecDeque};
use timers::Timers;

/// Largest number of a router's paths (chosen).
pub const MOST_PATHS: usize = 16;
/// Bits of a session's index that are its path's place.
const PLACE_BITS: u32 = 20;

/// Key of a path at a [`Listener`]. Those of removed paths are never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PathKey {
    place: u32,
    generation: u32,
}

/// Facts about a path at a [`Listener`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathInfo {
    /// The router's key.
    pub peer: PublicKey,
    /// The path's number at its router.
    pub path: u8,
    /// The address to which its datagrams go.
    pub remote: SocketAddr,
    /// Whether it carries packets.
    pub is_up: bool,
    /// Length of the longest packet that it carries, in bytes.
    pub packet_mtu: u16,
    /// The counter after the largest that the router has reported as arrived.
    pub receipted: u64,
}

/// More bytes were to be assigned than a response has room for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0} bytes are to be assigned to a router, and a response has room for {MOST_ASSIGNED}")]
pub struct AssignedTooLong(usize);

/// What a [`Listener`] is made of.
#[derive(Clone, Debug)]
pub struct ListenerConfig {
    /// The home agent's key.
    pub local: PrivateKey,
    /// Length of the longest IP packet that the home agent's device sends, in bytes.
    pub uplink_mtu: u16,
    /// 32 bytes of the system's random source, used for nothing else.
    pub seed: [u8; 32],
}

/// A router that may have paths.
struct Peer {
    preshared: PresharedKey,
    assigned: Vec<u8>,
    /// Number of each path at the router, and its place.
    paths: Vec<(u8, u32)>,
}

/// A path and whose it is.
struct Member {
    peer: PublicKey,
    id: u8,
    /// Timestamp of the youngest initiation.
    timestamp: u64,
    /// Whether its place is in [`Listener::ready`].
    is_ready: bool,
    path: Path,
}

#[derive(Default)]
struct Place {
    generation: u32,
    /// Number of the last session here, which is part of its index.
    sessions: u32,
    member: Option<Box<Member>>,
}

/// All paths of a home agent.
///
/// Order of calls: `handle_datagram`, `handle_timeout` or `send`; then [`Listener::poll_transmit`] and
/// [`Listener::poll_event`] until they return nothing; then wait until [`Listener::poll_timeout`].
pub struct Listener {
    local: PrivateKey,
    uplink_mtu: u16,
    to_self: Doorkeeper,
    random: Random,
    secret: CookieSecret,
    load: Load,
    peers: BTreeMap<PublicKey, Peer>,
    places: Vec<Place>,
    free: Vec<u32>,
    timers: Timers,
    /// Places that have something to send.
    ready: VecDeque<u32>,
    /// Responses and cookies.
    answers: VecDeque<(SocketAddr, Vec<u8>)>,
    events: VecDeque<(PathKey, Event)>,
    counters: Counters,
}

impl Listener {
    /// A home agent without routers.
    pub fn new(now: Instant, config: ListenerConfig) -> Listener {
        let mut random = Random::new(config.seed);
        Listener {
            to_self: Doorkeeper::of(&config.local.public()),
            secret: CookieSecret::new(now, &mut random),
            random,
            local: config.local,
            uplink_mtu: config.uplink_mtu,
            load: Load::default(),
            peers: BTreeMap::new(),
            places: Vec::new(),
            free: Vec::new(),
            timers: Timers::default(),
            ready: VecDeque::new(),
            answers: VecDeque::new(),
            events: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// Lets a router have paths, or gives one that has them another secret and other bytes at its next handshake.
    pub fn add_peer(
        &mut self,
        key: PublicKey,
        preshared: PresharedKey,
        assigned: &[u8],
    ) -> Result<(), AssignedTooLong> {
        if assigned.len() > MOST_ASSIGNED {
            return Err(AssignedTooLong(assigned.len()));
        }
        let assigned = assigned.to_vec();
        match self.peers.get_mut(&key) {
            Some(peer) => (peer.preshared, peer.assigned) = (preshared, assigned),
            None => {
                let paths = Vec::new();
                self.peers.insert(
                    key,
                    Peer {
                        preshared,
                        assigned,
                        paths,
                    },
                );
            }
        }
        Ok(())
    }

    /// Ends all paths of a router, without events. Returns whether it was known.
    pub fn remove_peer(&mut self, key: &PublicKey) -> bool {
        let Some(peer) = self.peers.remove(key) else {
            return false;
        };
        for (_, place) in peer.paths {
            self.vacate(place);
        }
        true
    }

    /// Takes a datagram, and returns the packet in it if there is one. A rejected datagram has changed nothing and is counted.
    pub fn handle_datagram<'a>(
        &mut self,
        now: Instant,
        from: SocketAddr,
        datagram: &'a mut [u8],
    ) -> Result<Option<(PathKey, Content<'a>)>, Rejected> {
        let taken = match Kind::of(datagram) {
            Ok(Kind::Transport) => self.take_transport(now, from, datagram),
            Ok(Kind::Initiation) => self.take_initiation(now, from, datagram).map(|()| None),
            Ok(Kind::Response | Kind::Cookie) => Err(Rejected::Unexpected),
            Err(no_frame) => Err(no_frame.into()),
        };
        self.counters.count(taken)
    }

    fn take_transport<'a>(
        &mut self,
        now: Instant,
        from: SocketAddr,
        datagram: &'a mut [u8],
    ) -> Result<Option<(PathKey, Content<'a>)>, Rejected> {
        let place = u32_at(datagram, 4) & ((1 << PLACE_BITS) - 1);
        let at = self
            .places
            .get_mut(place as usize)
            .ok_or(Rejected::UnknownSession)?;
        let key = PathKey {
            place,
            generation: at.generation,
        };
        let member = at.member.as_mut().ok_or(Rejected::UnknownSession)?;
        let offered = member.path.is_offered();
        let taken = member.path.receive(now, from, datagram);
        self.counters.sessions += u64::from(offered && !member.path.is_offered());
        self.touch(now, place);
        Ok(taken?.map(|content| (key, content)))
    }

    /// Writes a datagram with this packet behind what `out` has. `kind` is [`PACKET`](crate::PACKET) or
    /// [`ELIDED`](crate::ELIDED).
    pub fn send(
        &mut self,
        now: Instant,
        key: PathKey,
        kind: u8,
        packet: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Sent, NotSent> {
        let member = self.member_mut(key).ok_or(NotSent::UnknownPath)?;
        let sent = member.path.send(now, kind, packet, out);
        self.touch(now, key.place);
        sent
    }

    /// Writes a datagram of the paths' own behind what `out` has, and returns its destination, if there is one to be sent.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<SocketAddr> {
        if let Some((to, answer)) = self.answers.pop_front() {
            out.extend_from_slice(&answer);
            return Some(to);
        }
        while let Some(&place) = self.ready.front() {
            if let Some(member) = self
                .places
                .get_mut(place as usize)
                .and_then(|at| at.member.as_mut())
            {
                if member.path.poll_transmit(now, out).is_some() {
                    return Some(member.path.remote);
                }
                member.is_ready = false;
            }
            self.ready.pop_front();
            self.touch(now, place);
        }
        None
    }

    /// Returns news, and of which path.
    pub fn poll_event(&mut self) -> Option<(PathKey, Event)> {
        self.events.pop_front()
    }

    /// Finds the path that a router calls by this number.
    pub fn find(&self, peer: &PublicKey, path: u8) -> Option<PathKey> {
        let paths = &self.peers.get(peer)?.paths;
        let (_, place) = paths.iter().find(|(id, _)| *id == path)?;
        let generation = self.places.get(*place as usize)?.generation;
        Some(PathKey {
            place: *place,
            generation,
        })
    }

    /// Facts about a path; nothing, if it was removed.
    pub fn path(&self, key: PathKey) -> Option<PathInfo> {
        let at = self.places.get(key.place as usize)?;
        let member = at
            .member
            .as_ref()
            .filter(|_| at.generation == key.generation)?;
        Some(PathInfo {
            peer: member.peer,
            path: member.id,
            remote: member.path.remote,
            is_up: member.path.is_up(),
            packet_mtu: member.path.packet_mtu(),
            receipted: member.path.reported(),
        })
    }

    /// What is known of a path.
    pub fn measured(&mut self, now: Instant, key: PathKey) -> Option<Measured> {
        self.member_mut(key).map(|member| member.path.measured(now))
    }

    /// Datagrams that were not taken, and sessions.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    fn member_mut(&mut self, key: PathKey) -> Option<&mut Member> {
        let at = self.places.get_mut(key.place as usize)?;
        let generation = at.generation;
        at.member
            .as_deref_mut()
            .filter(|_| generation == key.generation)
    }

    /// Removes a path.
    fn vacate(&mut self, place: u32) {
        if let Some(at) = self.places.get_mut(place as usize) {
            at.member = None;
            at.generation = at.generation.wrapping_add(1);
            self.free.push(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Initiator, InitiatorConfig};

    fn resident_bytes() -> Option<u64> {
        let status = std::fs::read_to_string("/proc/self/statm").ok()?;
        let pages: u64 = status.split(' ').nth(1)?.parse().ok()?;
        Some(pages * 4096)
    }

    /// The issue allows a home agent 8 kB for each bound router; a path may take half of that.
    #[test]
    fn a_thousand_routers_take_less_than_four_kilobytes_each() {
        let now = Instant::from_secs(1);
        let address = SocketAddr::from(([192, 0, 2, 1], 1000));
        let local = PrivateKey::from_bytes([200; 32]);
        let home_agent = local.public();
        let config = ListenerConfig {
            local,
            uplink_mtu: 1500,
            seed: [1; 32],
        };
        let mut home = Listener::new(now, config);
        let before = resident_bytes();
        let count = 1_000;
        for number in 0..count {
            let mut bytes = [0x55; 32];
            bytes[..4].copy_from_slice(&u32::to_be_bytes(number));
            let local = PrivateKey::from_bytes(bytes);
            home.add_peer(local.public(), PresharedKey::default(), &[0; 32])
                .unwrap();
            let config = InitiatorConfig {
                local,
                home_agent,
                preshared: PresharedKey::default(),
                remote: address,
                path: 0,
                uplink_mtu: 1500,
                unix_nanoseconds: 1,
                seed: bytes,
            };
            let mut router = Initiator::new(now, config);
            let mut datagram = Vec::new();
            loop {
                datagram.clear();
                if router.poll_transmit(now, &mut datagram).is_some() {
                    home.handle_datagram(now, address, &mut datagram).unwrap();
                } else if home.poll_transmit(now, &mut datagram).is_some() {
                    router.handle_datagram(now, address, &mut datagram).unwrap();
                } else {
                    break;
                }
            }
            assert!(router.is_up());
            while home.poll_event().is_some() {}
        }
        assert_eq!(home.counters().sessions, u64::from(count));
        println!("a path: {} B", size_of::<Member>() + size_of::<Place>());
        if let (Some(before), Some(after)) = (before, resident_bytes()) {
            let each = (after - before) / u64::from(count);
            println!("a router: {each} B");
            assert!(each < 4_000, "{each} B a router");
        }
    }
}
