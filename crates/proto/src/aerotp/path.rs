//! The paths of a connection: where they lead, what they take, and when the next packet may leave over each.

use super::adaptation::{Choice, choose};
use super::arrivals::Arrivals;
use super::output::PLAIN_HEADER;
use super::rate::RateControl;
use super::spreading::Silence;
use crate::rate::DataRate;
use crate::time::{Duration, Instant};
use crate::wire::aerotp::ErrorRate;
use core::net::IpAddr;
use std::collections::VecDeque;

/// A path by its place in its connection; the first is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u8);

/// One path.
#[derive(Debug)]
pub(super) struct Path {
    pub local: IpAddr,
    pub remote: IpAddr,
    /// Largest packet, IP header included.
    pub mtu: u32,
    pub is_up: bool,
    pub rate: RateControl,
    /// Time at which the next packet with data may leave.
    pub free_at: Instant,
    /// Packets that were sent over it and may still be on their way: the time of each, and the position of its first
    /// byte; in the order of sending.
    pub sent: VecDeque<(Instant, u64)>,
    /// Sending time of the newest packet that is known to have arrived.
    pub newest_arrived: Option<Instant>,
    /// Until the peer has answered to here it is shown the token: since then.
    pub shown_since: Option<Instant>,
    /// True if the peer may have heard of another path first, which this one does not replace.
    pub is_added: bool,
    /// Set while nothing is answered that goes over it.
    pub silent: Option<Silence>,
    /// Packets that have come over it.
    pub arrivals: Arrivals,
    /// Bit error rate of the way to the peer, as the peer measures it.
    pub peer_error_rate: ErrorRate,
    /// Ways of making packets without data, and with data, with the error rate and MTU that each was chosen for.
    choices: [Option<((ErrorRate, u32), Choice)>; 2],
}

impl Path {
    pub fn new((local, remote): (IpAddr, IpAddr), mtu: u32, rate: DataRate) -> Path {
        Path {
            local,
            remote,
            mtu,
            is_up: true,
            rate: RateControl::new(rate),
            free_at: Instant::ZERO,
            sent: VecDeque::new(),
            newest_arrived: None,
            shown_since: None,
            is_added: false,
            silent: None,
            arrivals: Arrivals::default(),
            peer_error_rate: ErrorRate::NONE,
            choices: [None; 2],
        }
    }

    /// Chooses the packets that promise the most goodput at the bit error rate of the way to the peer. An end that only
    /// answers is told hardly anything of that way: for packets without data the rate is the worse of both ways.
    pub fn choice(&mut self, with_data: bool) -> Choice {
        let rate = match with_data {
            true => self.peer_error_rate,
            false => self.peer_error_rate.max(self.arrivals.meter.rate()),
        };
        let (key, ip_header) = ((rate, self.mtu), self.ip_header());
        match &mut self.choices[usize::from(with_data)] {
            Some((of, choice)) if *of == key => *choice,
            other => {
                let choice = choose(rate, key.1, ip_header, PLAIN_HEADER);
                *other = Some((key, choice));
                choice
            }
        }
    }

    /// Its ends, own first.
    pub fn addresses(&self) -> (IpAddr, IpAddr) {
        (self.local, self.remote)
    }

    /// Bytes of the IP header.
    pub fn ip_header(&self) -> u32 {
        match self.local {
            IpAddr::V4(_) => 20,
            IpAddr::V6(_) => 40,
        }
    }

    /// Bytes that fit behind the IP header.
    pub fn room(&self) -> u32 {
        self.mtu.saturating_sub(self.ip_header())
    }

    /// Bytes of memory that it takes now.
    pub fn memory(&self) -> usize {
        size_of::<Path>() + self.sent.capacity() * size_of::<(Instant, u64)>()
    }

    /// A packet of `bytes` behind the IP header leaves at `now`. A late caller catches up with no more than a packet or two.
    pub fn take(&mut self, now: Instant, bytes: u32) {
        /// A pause longer than this is not made up for.
        const BURST: Duration = Duration::from_millis(2);
        let bits = u64::from(bytes + self.ip_header()) * 8;
        self.rate.grow(now);
        let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(BURST.as_nanos()));
        let start = self.free_at.max(earliest);
        /// At no rate at all one asks again so soon.
        const STANDSTILL: Duration = Duration::from_secs(1);
        let time = self.rate.rate().transmission_time(bits);
        self.free_at = start + time.unwrap_or(STANDSTILL);
    }
}
