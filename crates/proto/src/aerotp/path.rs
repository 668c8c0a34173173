//! The paths of a connection: their ends, their MTUs, and the next sending time of each.

use super::adaptation::{Choice, choose};
use super::arrivals::Arrivals;
use super::output::PLAIN_HEADER;
use super::rate::RateControl;
use super::spreading::Silence;
use crate::rate::DataRate;
use crate::time::{Duration, Instant};
use crate::wire::aerotp::ErrorRate;
use core::net::IpAddr;
use std::collections::{BTreeMap, VecDeque};

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
    /// True from Link_Going_Down to Link_Up or the rollback.
    pub is_leaving: bool,
    pub rate: RateControl,
    /// Time at which the next packet with data may leave.
    pub free_at: Instant,
    /// Time that the first packet would take over it, once it is free; `None` if it is not known.
    pub takes: Option<Duration>,
    /// Packets in flight over it: the time of each, and the position of its first byte, in the order of sending.
    pub sent: VecDeque<(Instant, u64)>,
    /// Bytes of data sent over it that have arrived since the last measurement.
    pub arrived: u64,
    /// Sending time of the newest packet that is known to have arrived: one that was sent once, or is echoed.
    pub newest_arrived: Option<Instant>,
    /// Time since which packets to this address carry the token, until the peer answers.
    pub shown_since: Option<Instant>,
    /// True if packets on another path may reach the peer first, and this path does not replace that one.
    pub is_added: bool,
    /// Set while no packet over it is answered.
    pub silent: Option<Silence>,
    /// Packets received over it.
    pub arrivals: Arrivals,
    /// Bit error rate towards the peer, as the peer measures it.
    pub peer_error_rate: ErrorRate,
    choices: Choices,
}

/// Packet formats chosen so far, by error rate: a measured rate goes to and fro between a few steps, and each choice
/// weighs a thousand formats.
#[derive(Debug, Default)]
struct Choices {
    /// The MTU and the length of the IP header for which they were chosen.
    lengths: (u32, u32),
    by_rate: BTreeMap<ErrorRate, Choice>,
}

impl Path {
    pub fn new((local, remote): (IpAddr, IpAddr), mtu: u32, rate: DataRate) -> Path {
        Path {
            local,
            remote,
            mtu,
            is_up: true,
            is_leaving: false,
            rate: RateControl::new(rate),
            free_at: Instant::ZERO,
            takes: None,
            sent: VecDeque::new(),
            arrived: 0,
            newest_arrived: None,
            shown_since: None,
            is_added: false,
            silent: None,
            arrivals: Arrivals::default(),
            peer_error_rate: ErrorRate::NONE,
            choices: Choices::default(),
        }
    }

    /// Chooses the packet format with the highest expected goodput at the bit error rate towards the peer. An end that
    /// only answers gets few reports of that rate: for packets without data the worse rate of both directions counts.
    pub fn choice(&mut self, with_data: bool) -> Choice {
        let rate = match with_data {
            true => self.peer_error_rate,
            false => self.peer_error_rate.max(self.arrivals.meter.rate()),
        };
        let lengths = (self.mtu, self.ip_header());
        let choose = || choose(rate, lengths.0, lengths.1, PLAIN_HEADER);
        if rate == ErrorRate::NONE {
            return choose();
        }
        if self.choices.lengths != lengths {
            self.choices = Choices {
                lengths,
                by_rate: BTreeMap::new(),
            };
        }
        *self.choices.by_rate.entry(rate).or_insert_with(choose)
    }

    /// Returns true if data may be sent over it while others may be, too.
    pub fn is_good(&self) -> bool {
        self.is_up && !self.is_leaving && self.silent.is_none()
    }

    /// Returns its ends, the local one first.
    pub fn addresses(&self) -> (IpAddr, IpAddr) {
        (self.local, self.remote)
    }

    /// Returns the length of the IP header, in bytes.
    pub fn ip_header(&self) -> u32 {
        match self.local {
            IpAddr::V4(_) => 20,
            IpAddr::V6(_) => 40,
        }
    }

    /// Returns the number of bytes that fit behind the IP header.
    pub fn room(&self) -> u32 {
        self.mtu.saturating_sub(self.ip_header())
    }

    /// Returns the memory in use, in bytes.
    pub fn memory(&self) -> usize {
        size_of::<Path>() + self.sent.capacity() * size_of::<(Instant, u64)>()
    }

    /// Notes that a packet of `bytes` behind the IP header leaves at `now`. A late caller catches up by a packet or two
    /// at most.
    pub fn take(&mut self, now: Instant, bytes: u32) {
        /// A longer pause is not made up for.
        const BURST: Duration = Duration::from_millis(2);
        let bits = u64::from(bytes + self.ip_header()) * 8;
        self.rate.grow(now);
        let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(BURST.as_nanos()));
        let start = self.free_at.max(earliest);
        /// Interval of checks at a rate of zero.
        const STANDSTILL: Duration = Duration::from_secs(1);
        let time = self.rate.rate().transmission_time(bits);
        self.free_at = start + time.unwrap_or(STANDSTILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The MTU is part of what a format is chosen for: a format for a longer packet would not fit.
    #[test]
    fn a_format_is_chosen_anew_when_the_mtu_changes_and_comes_back_with_its_rate() {
        let addresses = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        let mut path = Path::new(addresses, 1500, DataRate::from_bits_per_second(1_000_000));
        for mtu in [1500, 576, 1500] {
            path.mtu = mtu;
            for code in [180, 150, 0, 180, 120, 150] {
                path.peer_error_rate = ErrorRate::from_code(code);
                let fresh = choose(path.peer_error_rate, mtu, 20, PLAIN_HEADER);
                assert_eq!(path.choice(true), fresh, "{mtu} {code}");
                assert!(fresh.packet <= mtu);
            }
            assert_eq!(path.choices.by_rate.len(), 3);
        }
    }
}
