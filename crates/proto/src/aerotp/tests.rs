//! Two ends and a channel between them that can do what channels do. Every packet goes through its bytes.

mod congestion;
mod goodput;
mod hostile;
mod link;
mod losses;
mod modes;
mod pair;
mod paths;
mod resumption;
mod survival;
mod timelines;

use link::Link;
use pair::{End, Pair, identity};

use super::*;
use crate::packet::{BitErrors, Body, IpHeader, Packet};
use crate::rate::DataRate;
use crate::time::{Duration, Instant};
use crate::wire::aerotp::Mode;
use crate::wire::sequence::SequenceNumber;
use core::net::Ipv4Addr;

pub(super) const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
pub(super) const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));
pub(super) const MTU: u32 = 1500;

/// The study's path: 5 Mbit/s, 10 ms.
fn study_path(bit_error_rate: f64, seed: u64) -> [Link; 2] {
    [0, 1].map(|direction| {
        let mut link = Link::new(
            5_000_000,
            Duration::from_millis(10),
            seed.wrapping_mul(2) + direction,
        );
        link.bit_error_rate = bit_error_rate;
        link
    })
}

fn with_mode(mode: Mode) -> Configuration {
    let mut configuration = Configuration::new(DataRate::from_bits_per_second(5_000_000));
    configuration.mode = mode;
    configuration
}
