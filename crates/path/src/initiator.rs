//! The router's end of one path.

use crate::cookie::{Doorkeeper, write_mac2};
use crate::counters::{Counters, Rejected};
use crate::frame::{
    INITIATION_MAC1, Kind, MOST_ASSIGNED, RESPONSE_NOISE, Reply, Request, Start, array_at, u32_at,
};
use crate::hash::MAC_BYTES;
use crate::measure::Measured;
use crate::noise::{Asked, PresharedKey, PrivateKey, PublicKey};
use crate::path::{Content, Event, NotSent, Path, Sent};
use crate::random::Random;
use crate::session::{Agreed, REKEY_AFTER, REKEY_AFTER_MESSAGES, Session};
use baton_proto::time::{Duration, Instant};
use core::net::SocketAddr;

/// First distance of two initiations where no round trip is known (chosen, as RFC 6298 has it for an unknown round trip).
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// Least distance of two initiations (chosen).
const LEAST_RETRY: Duration = Duration::from_millis(250);
/// Largest distance of two initiations (WireGuard, section 6.4).
const LARGEST_RETRY: Duration = Duration::from_secs(5);
/// Time for which a cookie is used (WireGuard, section 6.6).
const COOKIE_LIFE: Duration = Duration::from_secs(120);

/// What an [`Initiator`] is made of.
#[derive(Clone, Debug)]
pub struct InitiatorConfig {
    /// The router's key.
    pub local: PrivateKey,
    /// The home agent's key.
    pub home_agent: PublicKey,
    /// The secret that both have beside.
    pub preshared: PresharedKey,
    /// The home agent's address.
    pub remote: SocketAddr,
    /// The path's number among those of this router.
    pub path: u8,
    /// Length of the longest IP packet that the uplink sends, in bytes.
    pub uplink_mtu: u16,
    /// Nanoseconds since 1970 at the moment at which the initiator is made. A clock that has gone back costs one round trip.
    pub unix_nanoseconds: u64,
    /// 32 bytes of the system's random source, used for nothing else.
    pub seed: [u8; 32],
}

/// An initiation that waits for its response.
struct Attempt {
    asked: Asked,
    index: u32,
    start: Start,
    timestamp: u64,
    mac1: [u8; MAC_BYTES],
    sent: Instant,
}

/// One uplink's path to the home agent.
///
/// Order of calls: `handle_datagram`, `handle_timeout`, `send` or `uplink_*`; then [`Initiator::poll_transmit`] and
/// [`Initiator::poll_event`] until they return nothing; then wait until [`Initiator::poll_timeout`].
pub struct Initiator {
    config: InitiatorConfig,
    /// Codes for the home agent, and for this end.
    to_home: Doorkeeper,
    to_self: Doorkeeper,
    random: Random,
    path: Path,
    made: Instant,
    last_timestamp: u64,
    attempt: Option<Box<Attempt>>,
    next_attempt: Option<Instant>,
    retry: Duration,
    cookie: Option<([u8; 32], Instant)>,
    assigned: Vec<u8>,
    counters: Counters,
}

impl Initiator {
    /// A path whose first initiation is to be sent at once.
    pub fn new(now: Instant, config: InitiatorConfig) -> Initiator {
        let mut random = Random::new(config.seed);
        let incarnation = random.number();
        Initiator {
            to_home: Doorkeeper::of(&config.home_agent),
            to_self: Doorkeeper::of(&config.local.public()),
            path: Path::new(now, config.remote, true, incarnation, config.uplink_mtu),
            random,
            made: now,
            last_timestamp: 0,
            attempt: None,
            next_attempt: Some(now),
            retry: FIRST_RETRY,
            cookie: None,
            assigned: Vec::new(),
            counters: Counters::default(),
            config,
        }
    }

    /// Takes a datagram, and returns the packet in it if there is one. A rejected datagram has changed nothing and is counted.
    pub fn handle_datagram<'a>(
        &mut self,
        now: Instant,
        from: SocketAddr,
        datagram: &'a mut [u8],
    ) -> Result<Option<Content<'a>>, Rejected> {
        let taken = match Kind::of(datagram) {
            Ok(Kind::Transport) => self.path.receive(now, from, datagram),
            Ok(Kind::Response) => self.take_response(now, datagram).map(|()| None),
            Ok(Kind::Cookie) => self.take_cookie(now, datagram).map(|()| None),
            Ok(Kind::Initiation) => Err(Rejected::Unexpected),
            Err(no_frame) => Err(no_frame.into()),
        };
        if taken.is_ok() && self.path.is_up() && !self.rekeys(now) {
            self.attempt = None;
            self.next_attempt = None;
        }
        self.counters.count(taken)
    }

    /// Writes a datagram with this packet behind what `out` has, on a path that is down too. `kind` is [`PACKET`](crate::PACKET) or
    /// [`ELIDED`](crate::ELIDED).
    pub fn send(
        &mut self,
        now: Instant,
        kind: u8,
        packet: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Sent, NotSent> {
        self.path.send(now, kind, packet, out)
    }

    /// Writes a datagram of the path's own behind what `out` has, and returns its destination, if there is one to be sent.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<SocketAddr> {
        if self.next_attempt.is_some_and(|time| now >= time) {
            let start = out.len();
            if self.initiate(now, out).is_err() {
                out.truncate(start);
                return None;
            }
            return Some(self.config.remote);
        }
        self.path.poll_transmit(now, out)?;
        Some(self.path.remote)
    }

    /// The moment of the next [`Initiator::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Instant> {
        let rekey = self
            .path
            .session()
            .map(|session| session.established + REKEY_AFTER);
        let handshake = self.next_attempt.or(rekey);
        [handshake, self.path.deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Does what is due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.path.handle_timeout(now);
        self.keep_trying(now);
    }

    /// Returns news.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.path.events.pop_front()
    }

    /// Takes the word of the system that the uplink cannot carry anything.
    pub fn uplink_down(&mut self, now: Instant) {
        self.path.set_down(now);
        self.keep_trying(now);
    }

    /// Takes the word of the system that the uplink may carry again: tries at once.
    pub fn uplink_up(&mut self, now: Instant) {
        if !self.path.is_up() {
            self.path.hurry(now);
            self.begin_handshake(now);
        }
    }

    /// Whether the path carries packets.
    pub fn is_up(&self) -> bool {
        self.path.is_up()
    }

    /// Length of the longest packet that [`Initiator::send`] takes, in bytes. Until the search has found more it is what fits
    /// into 1,280 bytes with all headers: 1,216 over IPv4, 1,196 over IPv6.
    pub fn packet_mtu(&self) -> u16 {
        self.path.packet_mtu()
    }

    /// The counter after the largest that the home agent has reported as arrived.
    pub fn receipted(&self) -> u64 {
        self.path.reported()
    }

    /// Bytes that the home agent has assigned in the last handshake.
    pub fn assigned(&self) -> &[u8] {
        &self.assigned
    }

    /// What is known of the path.
    pub fn measured(&mut self, now: Instant) -> Measured {
        self.path.measured(now)
    }

    /// Datagrams that were not taken, and sessions.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    fn rekeys(&self, now: Instant) -> bool {
        self.path
            .session()
            .is_some_and(|session| now >= session.established + REKEY_AFTER)
            || self.path.messages() >= REKEY_AFTER_MESSAGES
    }

    /// Sees to it that initiations go on while new keys are due, or the path is down: a home agent that was started anew has
    /// none of its keys, and is silent as if the path were dead.
    fn keep_trying(&mut self, now: Instant) {
        if self.next_attempt.is_none() && (!self.path.is_up() || self.rekeys(now)) {
            self.begin_handshake(now);
        }
    }

    fn begin_handshake(&mut self, now: Instant) {
        let known = self.path.known_round_trip();
        self.retry = known.map_or(FIRST_RETRY, |trip| trip.saturating_mul(2).max(LEAST_RETRY));
        self.next_attempt = Some(now);
    }

    /// Writes an initiation. Each has a timestamp and an ephemeral key of its own.
    fn initiate(&mut self, now: Instant, out: &mut Vec<u8>) -> Result<(), snow::Error> {
        let clock = self.config.unix_nanoseconds;
        let timestamp = clock.saturating_add(now.saturating_since(self.made).as_nanos());
        let timestamp = timestamp.max(self.last_timestamp.saturating_add(1));
        let start = self.path.start();
        let request = Request {
            timestamp,
            path: self.config.path,
            start,
        };
        let index = self.random.number();
        let begin = out.len();
        Kind::Initiation.write(out);
        out.extend_from_slice(&index.to_le_bytes());
        let InitiatorConfig {
            local,
            home_agent,
            preshared,
            ..
        } = &self.config;
        let seed = self.random.bytes();
        let asked = Asked::write(local, home_agent, preshared, seed, &request.encode(), out)?;
        self.to_home.write_mac1(begin, out);
        let mac1 = array_at(out, begin + INITIATION_MAC1);
        self.cookie
            .take_if(|(_, received)| now.saturating_since(*received) >= COOKIE_LIFE);
        write_mac2(self.cookie.as_ref().map(|(cookie, _)| cookie), begin, out);
        self.last_timestamp = timestamp;
        self.attempt = Some(Box::new(Attempt {
            asked,
            index,
            start,
            timestamp,
            mac1,
            sent: now,
        }));
        self.next_attempt = Some(now + self.retry);
        self.retry = self.retry.saturating_mul(2).min(LARGEST_RETRY);
        Ok(())
    }

    fn take_response(&mut self, now: Instant, frame: &[u8]) -> Result<(), Rejected> {
        let attempt = self
            .attempt
            .take_if(|attempt| attempt.index == u32_at(frame, 8));
        let mut attempt = attempt.ok_or(Rejected::Unexpected)?;
        let mut payload = [0; Reply::LEAST_BYTES + MOST_ASSIGNED];
        let read = self.read_response(&mut attempt, frame, &mut payload);
        let (split, reply) = match read {
            Ok(read) => read,
            Err(rejected) => {
                self.attempt = Some(attempt);
                return Err(rejected);
            }
        };
        match reply {
            Reply::Accepted(peer, assigned) => {
                self.assigned = assigned.to_vec();
                if self.path.known_round_trip().is_none() {
                    self.path.round_trip(now.saturating_since(attempt.sent));
                }
                let agreed = Agreed {
                    local_index: attempt.index,
                    remote_index: u32_at(frame, 4),
                    own: attempt.start,
                    peer,
                };
                self.path
                    .adopt(now, Session::of_initiator(now, split, agreed));
                self.counters.sessions += 1;
            }
            Reply::Stale(largest) => {
                self.last_timestamp = largest.max(attempt.timestamp);
                self.next_attempt = Some(now);
            }
            Reply::TooManyPaths => self.path.events.push_back(Event::Refused),
        }
        Ok(())
    }

    fn read_response<'a>(
        &self,
        attempt: &mut Attempt,
        frame: &[u8],
        payload: &'a mut [u8],
    ) -> Result<(crate::noise::Split, Reply<'a>), Rejected> {
        let end = frame.len().saturating_sub(MAC_BYTES);
        if !self.to_self.is_known(frame, end) {
            return Err(Rejected::Stranger);
        }
        let message = frame.get(RESPONSE_NOISE..end).unwrap_or_default();
        let length = message.len().saturating_sub(crate::noise::SECOND_OVERHEAD);
        let split = attempt
            .asked
            .read(message, payload)
            .map_err(|_| Rejected::Handshake)?;
        let reply = Reply::decode(payload.get(..length).unwrap_or_default());
        Ok((split, reply.ok_or(Rejected::Content)?))
    }

    fn take_cookie(&mut self, now: Instant, frame: &[u8]) -> Result<(), Rejected> {
        let index = u32_at(frame, 4);
        let attempt = self.attempt.take_if(|attempt| attempt.index == index);
        let attempt = attempt.ok_or(Rejected::Unexpected)?;
        let Some(cookie) = self.to_home.read_cookie(&attempt.mac1, frame) else {
            self.attempt = Some(attempt);
            return Err(Rejected::Forged);
        };
        self.cookie = Some((cookie, now));
        self.next_attempt = Some(now);
        Ok(())
    }
}
