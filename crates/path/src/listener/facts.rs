//! Facts about a home agent's paths, and their measurements.

use super::{Listener, PathKey};
use crate::counters::Counters;
use crate::measure::Measured;
use crate::noise::PublicKey;
use crate::rate::Pace;
use baton_proto::rate::DataRate;
use baton_proto::time::Instant;
use core::net::SocketAddr;

/// Facts about a path at a [`Listener`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathInfo {
    /// The router's key.
    pub peer: PublicKey,
    /// The path's number at its router.
    pub path: u8,
    /// Destination address of its datagrams.
    pub remote: SocketAddr,
    /// True if it carries packets.
    pub is_up: bool,
    /// Longest packet that it carries, in bytes.
    pub packet_mtu: u16,
    /// Counter after the largest reported as arrived by the router.
    pub receipted: u64,
}

impl Listener {
    /// Returns the paths of a router.
    pub fn paths_of(&self, peer: &PublicKey) -> impl Iterator<Item = PathKey> {
        let paths = self.peers.get(peer).map(|peer| peer.paths.as_slice());
        let key = |&(_, place): &(u8, u32)| {
            let generation = self.places.get(place as usize)?.generation;
            Some(PathKey { place, generation })
        };
        paths.unwrap_or_default().iter().filter_map(key)
    }

    /// Returns the path with this number at a router.
    pub fn find(&self, peer: &PublicKey, path: u8) -> Option<PathKey> {
        let is_it = |key: &PathKey| self.path(*key).is_some_and(|info| info.path == path);
        self.paths_of(peer).find(is_it)
    }

    /// Returns the facts about a path; `None` if it was removed.
    pub fn path(&self, key: PathKey) -> Option<PathInfo> {
        let member = self.member(key)?;
        Some(PathInfo {
            peer: member.peer,
            path: member.id,
            remote: member.path.remote,
            is_up: member.path.is_up(),
            packet_mtu: member.path.packet_mtu(),
            receipted: member.path.reported(),
        })
    }

    /// Returns the pace for a path's datagrams, if it exists and finds its rate. [`Listener::send`] itself holds nothing
    /// back.
    pub fn pace(&self, now: Instant, key: PathKey) -> Option<Pace> {
        self.member(key)?.path.pace(now)
    }

    /// Sets a path's rate by a modem's or an administrator's word, IP and UDP headers included, instead of the search;
    /// `None` resumes the search. A link that carries less lowers the pace all the same.
    pub fn set_rate(&mut self, now: Instant, key: PathKey, rate: Option<DataRate>) {
        if let Some(member) = self.member_mut(key) {
            member.path.set_rate(now, rate);
        }
    }

    /// Tells a path's router that this end's link is expected to go down at a time, or (`None`) to stay up: there it is
    /// [`Event::LossExpected`](crate::Event::LossExpected).
    pub fn expect_loss(&mut self, now: Instant, key: PathKey, at: Option<Instant>) {
        if let Some(member) = self.member_mut(key) {
            member.path.expect_loss(now, at);
        }
        self.touch(now, key.place);
    }

    /// Returns a path's measurements; `None` if it was removed.
    pub fn measured(&mut self, now: Instant, key: PathKey) -> Option<Measured> {
        self.member_mut(key).map(|member| member.path.measured(now))
    }

    /// Returns the counters of sessions and rejected datagrams.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
}
