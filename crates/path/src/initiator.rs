//! The router's end of one path.

mod handshake;

use crate::cookie::Doorkeeper;
use crate::counters::{Counters, Rejected};
use crate::frame::Kind;
use crate::keylog::{DatagramKey, KeyLog};
use crate::measure::Measured;
use crate::noise::{PresharedKey, PrivateKey, PublicKey};
use crate::path::{Content, Event, NotSent, Path, Sent};
use crate::random::Random;
use crate::rate::Pace;
use crate::session::REKEY_AFTER;
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};
use core::net::SocketAddr;
use handshake::{Attempt, FIRST_RETRY};

/// Configuration of an [`Initiator`].
#[derive(Clone, Debug)]
pub struct InitiatorConfig {
    /// The router's key.
    pub local: PrivateKey,
    /// The home agent's key.
    pub home_agent: PublicKey,
    /// The preshared secret of both ends.
    pub preshared: PresharedKey,
    /// The home agent's address.
    pub remote: SocketAddr,
    /// The path's number at this router.
    pub path: u8,
    /// Longest IP packet of the uplink, in bytes.
    pub uplink_mtu: u16,
    /// True if both ends find the path's rate: [`Initiator::pace`]. Ends that differ in this refuse each other.
    pub finds_rate: bool,
    /// Nanoseconds since 1970 at the creation of the initiator. A clock that has gone back costs one round trip.
    pub unix_nanoseconds: u64,
    /// 32 bytes of the system's random source, used for nothing else.
    pub seed: [u8; 32],
}

/// One uplink's path to the home agent.
///
/// Order of calls: `handle_datagram`, `handle_timeout`, `send` or `uplink_*`; then [`Initiator::poll_transmit`] and
/// [`Initiator::poll_event`] until they return nothing; then wait until [`Initiator::poll_timeout`].
pub struct Initiator {
    config: InitiatorConfig,
    /// MACs for the home agent, and for this end.
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
    /// Time of the last reset that was accepted.
    reset_at: Option<Instant>,
    assigned: Vec<u8>,
    key_log: KeyLog,
    counters: Counters,
}

impl Initiator {
    /// Creates a path whose first initiation is due at once.
    pub fn new(now: Instant, config: InitiatorConfig) -> Initiator {
        let mut random = Random::new(config.seed);
        let incarnation = random.number();
        let mut path = Path::new(now, config.remote, true, incarnation, config.uplink_mtu);
        if config.finds_rate {
            path.find_rate(now);
        }
        Initiator {
            to_home: Doorkeeper::of(&config.home_agent),
            to_self: Doorkeeper::of(&config.local.public()),
            path,
            random,
            made: now,
            last_timestamp: 0,
            attempt: None,
            next_attempt: Some(now),
            retry: FIRST_RETRY,
            cookie: None,
            reset_at: None,
            assigned: Vec::new(),
            key_log: KeyLog::default(),
            counters: Counters::default(),
            config,
        }
    }

    /// Takes in a datagram, and returns the packet in it, if any. A rejected datagram changes nothing and is counted.
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
            Ok(Kind::Reset) => {
                let taken = self.take_reset(now, datagram);
                return self.counters.count(taken).map(|()| None);
            }
            Ok(Kind::Initiation) => Err(Rejected::Unexpected),
            Err(no_frame) => Err(no_frame.into()),
        };
        if taken.is_ok() && self.path.is_up() && !self.rekeys(now) {
            self.attempt = None;
            self.next_attempt = None;
        }
        self.counters.count(taken)
    }

    /// Appends a datagram with this packet to `out`, also on a path that is down. `kind` is [`PACKET`](crate::PACKET)
    /// or [`ELIDED`](crate::ELIDED).
    pub fn send(
        &mut self,
        now: Instant,
        kind: u8,
        packet: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Sent, NotSent> {
        self.path.send(now, kind, packet, out)
    }

    /// Appends a datagram of the path's own to `out`, if one is due, and returns its destination.
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

    /// Returns the time of the next [`Initiator::handle_timeout`].
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

    /// Performs the actions due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.path.handle_timeout(now);
        self.keep_trying(now);
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.path.events.pop_front()
    }

    /// Takes in the system's report that the uplink is down.
    pub fn uplink_down(&mut self, now: Instant) {
        self.path.set_down(now);
    }

    /// Takes in the system's report that the uplink may be up again: sends at once.
    pub fn uplink_up(&mut self, now: Instant) {
        match self.path.session() {
            Some(_) => self.path.hurry(now),
            None => self.begin_handshake(now),
        }
    }

    /// Takes in the system's report that the uplink has gained or lost an address: reports the new source to the home
    /// agent at once.
    pub fn uplink_moved(&mut self, now: Instant) {
        if self.path.is_up() {
            self.path.probe(now);
        }
    }

    /// Tells the home agent that the uplink is expected to go down at a time, or (`None`) to stay up: there it is
    /// [`Event::LossExpected`].
    pub fn expect_loss(&mut self, now: Instant, at: Option<Instant>) {
        self.path.expect_loss(now, at);
    }

    /// Returns true if the path carries packets.
    pub fn is_up(&self) -> bool {
        self.path.is_up()
    }

    /// Returns the length of the longest packet for [`Initiator::send`], in bytes. Until the search has found more,
    /// this is what fits into 1,280 bytes with all headers: 1,216 over IPv4, 1,196 over IPv6.
    pub fn packet_mtu(&self) -> u16 {
        self.path.packet_mtu()
    }

    /// Returns the counter after the largest reported as arrived by the home agent.
    pub fn receipted(&self) -> u64 {
        self.path.reported()
    }

    /// Returns the bytes assigned by the home agent in the last handshake.
    pub fn assigned(&self) -> &[u8] {
        &self.assigned
    }

    /// Returns the pace for datagrams of this path, if it finds its rate. [`Initiator::send`] itself holds nothing back.
    pub fn pace(&self, now: Instant) -> Option<Pace> {
        self.path.pace(now)
    }

    /// Sets the rate by a modem's or an administrator's word, IP and UDP headers included, instead of the search; `None`
    /// resumes the search. A link that carries less lowers the pace all the same.
    pub fn set_rate(&mut self, now: Instant, rate: Option<DataRate>) {
        self.path.set_rate(now, rate);
    }

    /// Begins to log the keys of new sessions, for [`Initiator::poll_key`]: who has them can read all datagrams.
    pub fn log_keys(&mut self) {
        self.key_log.begin();
    }

    /// Returns the next key of a new session, if keys are logged.
    pub fn poll_key(&mut self) -> Option<DatagramKey> {
        self.key_log.poll()
    }

    /// Returns the path's measurements.
    pub fn measured(&mut self, now: Instant) -> Measured {
        self.path.measured(now)
    }

    /// Returns the counters of sessions and rejected datagrams.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
}
