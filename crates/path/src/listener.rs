//! The home agent's end of all paths of all routers.

mod facts;
mod handshake;
mod timers;

pub use facts::PathInfo;

use crate::cookie::{CookieSecret, Doorkeeper};
use crate::counters::{Counters, Rejected};
use crate::frame::{Kind, MOST_ASSIGNED, TRANSPORT_HEADER, array_at, u32_at};
use crate::keylog::{DatagramKey, KeyLog};
use crate::noise::{PresharedKey, PrivateKey, PublicKey};
use crate::path::{Content, Event, NotSent, Path, Sent};
use crate::random::Random;
use baton_proto::time::Instant;
use core::net::SocketAddr;
use handshake::Load;
use std::collections::{BTreeMap, VecDeque};
use timers::Timers;

/// Most paths of a router (chosen).
pub const MOST_PATHS: usize = 16;
/// Bits of a session's index for the place of its path.
const PLACE_BITS: u32 = 20;

/// Key of a path at a [`Listener`]. Keys of removed paths are never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PathKey {
    place: u32,
    generation: u32,
}

/// Error of assigning more bytes than fit a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0} bytes to be assigned to a router; a response has room for {MOST_ASSIGNED}")]
pub struct AssignedTooLong(usize);

/// Configuration of a [`Listener`].
#[derive(Clone, Debug)]
pub struct ListenerConfig {
    /// The home agent's key.
    pub local: PrivateKey,
    /// Longest IP packet of the home agent's device, in bytes.
    pub uplink_mtu: u16,
    /// True if both ends of each path find its rate: [`Listener::pace`]. Ends that differ in this refuse each other.
    pub finds_rate: bool,
    /// 32 bytes of the system's random source, used for nothing else.
    pub seed: [u8; 32],
}

/// A router that may have paths.
struct Peer {
    preshared: PresharedKey,
    assigned: Vec<u8>,
    /// Number of each path at the router, and its place here.
    paths: Vec<(u8, u32)>,
}

/// A path and its router.
struct Member {
    peer: PublicKey,
    id: u8,
    /// Timestamp of the newest initiation.
    timestamp: u64,
    /// True if its place is in [`Listener::ready`].
    is_ready: bool,
    path: Path,
}

#[derive(Default)]
struct Place {
    generation: u32,
    /// Number of the last session here, part of its index. Its random start keeps a session from before a restart from
    /// being taken for a later one.
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
    finds_rate: bool,
    to_self: Doorkeeper,
    random: Random,
    secret: CookieSecret,
    load: Load,
    peers: BTreeMap<PublicKey, Peer>,
    places: Vec<Place>,
    free: Vec<u32>,
    timers: Timers,
    /// Places of paths with output.
    ready: VecDeque<u32>,
    /// Responses, cookies and resets.
    answers: VecDeque<(SocketAddr, Vec<u8>)>,
    events: VecDeque<(PathKey, Event)>,
    key_log: KeyLog,
    counters: Counters,
}

impl Listener {
    /// Creates a home agent without routers.
    pub fn new(now: Instant, config: ListenerConfig) -> Listener {
        let mut random = Random::new(config.seed);
        Listener {
            to_self: Doorkeeper::of(&config.local.public()),
            secret: CookieSecret::new(now, &mut random),
            random,
            local: config.local,
            uplink_mtu: config.uplink_mtu,
            finds_rate: config.finds_rate,
            load: Load::default(),
            peers: BTreeMap::new(),
            places: Vec::new(),
            free: Vec::new(),
            timers: Timers::default(),
            ready: VecDeque::new(),
            answers: VecDeque::new(),
            events: VecDeque::new(),
            key_log: KeyLog::default(),
            counters: Counters::default(),
        }
    }

    /// Allows a router paths, or changes the secret and assigned bytes of a known one from its next handshake on.
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

    /// Ends all paths of a router, without events. Returns true if the router was known.
    pub fn remove_peer(&mut self, key: &PublicKey) -> bool {
        let Some(peer) = self.peers.remove(key) else {
            return false;
        };
        for (_, place) in peer.paths {
            self.vacate(place);
        }
        true
    }

    /// Takes in a datagram, and returns the packet in it, if any. A rejected datagram changes nothing and is counted.
    pub fn handle_datagram<'a>(
        &mut self,
        now: Instant,
        from: SocketAddr,
        datagram: &'a mut [u8],
    ) -> Result<Option<(PathKey, Content<'a>)>, Rejected> {
        let taken = match Kind::of(datagram) {
            Ok(Kind::Transport) => {
                let header: [u8; TRANSPORT_HEADER] = array_at(datagram, 0);
                let taken = self.take_transport(now, from, datagram);
                if matches!(taken, Err(Rejected::UnknownSession | Rejected::Expired)) {
                    self.reset(now, from, &header);
                }
                taken
            }
            Ok(Kind::Initiation) => self.take_initiation(now, from, datagram).map(|()| None),
            Ok(Kind::Response | Kind::Cookie | Kind::Reset) => Err(Rejected::Unexpected),
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

    /// Appends a datagram with this packet to `out`. `kind` is [`PACKET`](crate::PACKET) or [`ELIDED`](crate::ELIDED).
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

    /// Appends a datagram of the paths' own to `out`, if one is due, and returns its destination.
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

    /// Returns the next event, with the key of its path.
    pub fn poll_event(&mut self) -> Option<(PathKey, Event)> {
        self.events.pop_front()
    }

    /// Begins to log the keys of new sessions, for [`Listener::poll_key`]: who has them can read all datagrams.
    pub fn log_keys(&mut self) {
        self.key_log.begin();
    }

    /// Returns the next key of a new session, if keys are logged.
    pub fn poll_key(&mut self) -> Option<DatagramKey> {
        self.key_log.poll()
    }

    fn member(&self, key: PathKey) -> Option<&Member> {
        let at = self.places.get(key.place as usize)?;
        let member = at.member.as_deref();
        member.filter(|_| at.generation == key.generation)
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
