//! Initiations: cheap checks first, then public-key work, then the peer.

use super::{Listener, MOST_PATHS, Member, PLACE_BITS, Place};
use crate::cookie::has_mac2;
use crate::counters::Rejected;
use crate::frame::{
    FIRST, INITIATION_MAC1, Kind, RESET_MAC1, Reply, Request, TRANSPORT_HEADER, array_at, u32_at,
};
use crate::hash::MAC_BYTES;
use crate::noise::{Heard, PresharedKey, PublicKey, prologue};
use crate::path::Path;
use crate::session::{Agreed, Session};
use baton_proto::time::Instant;
use core::net::SocketAddr;

/// Initiations in a second above which addresses must be proven: a fifth of a core's work (chosen).
const MOST_UNPROVEN: u32 = 1_000;
/// Most handshakes in a second, including proven addresses: enough to lose no router, and too few to starve packets
/// (chosen).
const MOST_HANDSHAKES: u32 = 2_500;
/// Most resets in a second: the limit of handshakes, which they request.
const MOST_RESETS: u32 = MOST_HANDSHAKES;
/// Most answers waiting to be polled (chosen).
const MOST_ANSWERS: usize = 1_024;

/// Counts of the present second.
#[derive(Default)]
pub(super) struct Load {
    second: u64,
    initiations: u32,
    handshakes: u32,
    resets: u32,
    /// True if the previous second was one of load, so that a flood gains nothing at the start of a second.
    was_high: bool,
}

impl Load {
    /// Restarts the counts in a new second.
    fn turn(&mut self, now: Instant) {
        let second = now.as_nanos() / 1_000_000_000;
        if second != self.second {
            let was_high = second == self.second + 1 && self.initiations > MOST_UNPROVEN;
            *self = Load {
                second,
                was_high,
                ..Load::default()
            };
        }
    }

    /// Counts an initiation. Returns true if there are so many that its address must be proven.
    fn is_high(&mut self, now: Instant) -> bool {
        self.turn(now);
        self.initiations = self.initiations.saturating_add(1);
        self.was_high || self.initiations > MOST_UNPROVEN
    }

    /// Counts a handshake. Returns true if there is time for it.
    fn has_time(&mut self) -> bool {
        self.handshakes = self.handshakes.saturating_add(1);
        self.handshakes <= MOST_HANDSHAKES
    }

    /// Counts a reset. Returns true if it may be sent.
    fn may_reset(&mut self, now: Instant) -> bool {
        self.turn(now);
        self.resets = self.resets.saturating_add(1);
        self.resets <= MOST_RESETS
    }
}

impl Listener {
    pub(super) fn take_initiation(
        &mut self,
        now: Instant,
        from: SocketAddr,
        frame: &[u8],
    ) -> Result<(), Rejected> {
        if !self.to_self.is_known(frame, INITIATION_MAC1) {
            return Err(Rejected::Stranger);
        }
        if self.load.is_high(now) {
            let cookie = self.secret.cookie(now, from, &mut self.random);
            if !has_mac2(&cookie, frame) {
                let mut answer = Vec::new();
                self.to_self
                    .write_cookie(frame, cookie, &mut self.random, &mut answer);
                self.answer(from, answer);
                return Err(Rejected::Load);
            }
        }
        if !self.load.has_time() {
            return Err(Rejected::Load);
        }
        let mut payload = [0; Request::BYTES];
        let message: [u8; FIRST] = array_at(frame, 8);
        let (prologue, seed) = (prologue(self.finds_rate), self.random.bytes());
        let heard = Heard::read(prologue, &self.local, seed, &message, &mut payload);
        let heard = heard.map_err(|_| Rejected::Handshake)?;
        let peer = heard.remote();
        let request = Request::decode(&payload);
        let Some(preshared) = self.peers.get(&peer).map(|peer| peer.preshared.clone()) else {
            return Err(Rejected::UnknownPeer);
        };
        let outcome = self.place_of(now, from, &peer, &request);
        let asked = Answered {
            now,
            from,
            remote_index: u32_at(frame, 4),
        };
        match outcome {
            Ok(place) => self.accept(asked, heard, &preshared, place, &request),
            Err(refused) => {
                let reply = match refused {
                    Refused::Repeated => return Err(Rejected::Stale),
                    Refused::Stale(largest) => Reply::Stale(largest),
                    Refused::TooManyPaths => Reply::TooManyPaths,
                };
                self.respond(&asked, heard, &preshared, 0, &reply)?;
                Err(match refused {
                    Refused::TooManyPaths => Rejected::TooManyPaths,
                    _ => Rejected::Stale,
                })
            }
        }
    }

    /// Returns the path for an initiation, and creates it if necessary.
    fn place_of(
        &mut self,
        now: Instant,
        from: SocketAddr,
        peer: &PublicKey,
        request: &Request,
    ) -> Result<u32, Refused> {
        if let Some(key) = self.find(peer, request.path) {
            let member = self.member_mut(key).ok_or(Refused::TooManyPaths)?;
            if request.timestamp < member.timestamp {
                return Err(Refused::Stale(member.timestamp));
            }
            if request.timestamp == member.timestamp {
                return Err(Refused::Repeated);
            }
            member.timestamp = request.timestamp;
            return Ok(key.place);
        }
        self.make_room(peer)?;
        let mut path = Path::new(now, from, false, self.random.number(), self.uplink_mtu);
        if self.finds_rate {
            path.find_rate(now);
        }
        let member = Member {
            peer: *peer,
            id: request.path,
            timestamp: request.timestamp,
            is_ready: false,
            path,
        };
        let place = match self.free.pop() {
            Some(place) => place,
            None if self.places.len() < 1 << PLACE_BITS => {
                self.places.push(Place {
                    sessions: self.random.number(),
                    ..Place::default()
                });
                self.places.len() as u32 - 1
            }
            None => return Err(Refused::TooManyPaths),
        };
        if let Some(at) = self.places.get_mut(place as usize) {
            at.member = Some(Box::new(member));
        }
        if let Some(peer) = self.peers.get_mut(peer) {
            peer.paths.push((request.path, place));
        }
        Ok(place)
    }

    /// Removes a path without a session, if the peer has its maximum of paths.
    fn make_room(&mut self, peer: &PublicKey) -> Result<(), Refused> {
        let Some(peer) = self.peers.get_mut(peer) else {
            return Err(Refused::TooManyPaths);
        };
        if peer.paths.len() < MOST_PATHS {
            return Ok(());
        }
        let is_idle = |place: u32| {
            let member = self
                .places
                .get(place as usize)
                .and_then(|at| at.member.as_ref());
            member.is_none_or(|member| member.path.is_idle())
        };
        let idle = peer.paths.iter().position(|(_, place)| is_idle(*place));
        let (_, place) = peer.paths.swap_remove(idle.ok_or(Refused::TooManyPaths)?);
        self.vacate(place);
        Ok(())
    }

    fn accept(
        &mut self,
        asked: Answered,
        heard: Heard,
        preshared: &PresharedKey,
        place: u32,
        request: &Request,
    ) -> Result<(), Rejected> {
        let Some(at) = self.places.get_mut(place as usize) else {
            return Err(Rejected::TooManyPaths);
        };
        at.sessions = at.sessions.wrapping_add(1);
        let index = place | at.sessions << PLACE_BITS;
        let Some(member) = at.member.as_mut() else {
            return Err(Rejected::TooManyPaths);
        };
        let own = member.path.start();
        let assigned = self
            .peers
            .get(&member.peer)
            .map(|peer| peer.assigned.clone());
        let reply = Reply::Accepted(own, assigned.as_deref().unwrap_or_default());
        let split = self.respond(&asked, heard, preshared, index, &reply)?;
        let agreed = Agreed {
            local_index: index,
            remote_index: asked.remote_index,
            own,
            peer: request.start,
        };
        let session = Session::of_responder(asked.now, split, agreed);
        self.key_log.add(session.keys());
        if let Some(member) = self
            .places
            .get_mut(place as usize)
            .and_then(|at| at.member.as_mut())
        {
            member.path.offer(session);
        }
        self.touch(asked.now, place);
        Ok(())
    }

    fn respond(
        &mut self,
        asked: &Answered,
        heard: Heard,
        preshared: &PresharedKey,
        index: u32,
        reply: &Reply<'_>,
    ) -> Result<crate::noise::Split, Rejected> {
        let mut payload = Vec::with_capacity(Reply::LEAST_BYTES);
        reply.write(&mut payload);
        let mut frame = Vec::new();
        Kind::Response.write(&mut frame);
        frame.extend_from_slice(&index.to_le_bytes());
        frame.extend_from_slice(&asked.remote_index.to_le_bytes());
        let remote = heard.remote();
        let split = heard.write(preshared, &payload, &mut frame);
        let split = split.map_err(|_| Rejected::Handshake)?;
        crate::cookie::Doorkeeper::of(&remote).write_mac1(0, &mut frame);
        self.answer(asked.from, frame);
        Ok(split)
    }

    /// Reports to the sender of a transport frame that its session is unknown here, after a restart. Nothing is stored
    /// for it, and the answer is no longer than the frame.
    pub(super) fn reset(&mut self, now: Instant, to: SocketAddr, transport: &[u8]) {
        if !self.load.may_reset(now) {
            self.counters.answers_dropped += 1;
            return;
        }
        let mut frame = Vec::with_capacity(RESET_MAC1 + MAC_BYTES);
        Kind::Reset.write(&mut frame);
        frame.extend_from_slice(transport.get(4..TRANSPORT_HEADER).unwrap_or_default());
        self.to_self.write_mac1(0, &mut frame);
        self.answer(to, frame);
    }

    fn answer(&mut self, to: SocketAddr, frame: Vec<u8>) {
        if self.answers.len() < MOST_ANSWERS {
            self.answers.push_back((to, frame));
        } else {
            self.counters.answers_dropped += 1;
        }
    }
}

/// Circumstances of an initiation.
struct Answered {
    now: Instant,
    from: SocketAddr,
    remote_index: u32,
}

/// Reason why an authentic initiation creates no session.
#[derive(Clone, Copy)]
enum Refused {
    /// Repetition of the initiation answered last.
    Repeated,
    Stale(u64),
    TooManyPaths,
}
