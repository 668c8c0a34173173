//! Rules of a gateway: which connections and datagrams cross as AeroTP, and how.

use super::end;
use crate::aerotp::Configuration;
use crate::packet::Packet;
use crate::tcp::Endpoint;
use crate::tcp::profile::Profile;
use crate::wire::aerotp::Mode;
use core::net::IpAddr;

/// Selection of packets for a rule. A field that is `None` matches every packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// Listening port of the far end.
    pub port: Option<u16>,
    /// Differentiated services code point: six bits (RFC 2474).
    pub code_point: Option<u8>,
    /// Network of the destination, and the length of its prefix in bits.
    pub destination: Option<(IpAddr, u8)>,
}

/// Treatment of the selected connections across the link.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The selection.
    pub selector: Selector,
    /// AeroTP settings between the gateways, above all the mode.
    pub configuration: Configuration,
    /// TCP profile of the halves.
    pub profile: Profile,
}

impl Selector {
    pub(super) fn selects(&self, packet: &Packet, port: u16) -> bool {
        let code_point = packet.ip.traffic_class >> 2;
        self.leads_to(end(packet.ip.destination, port))
            && self
                .code_point
                .is_none_or(|selected| selected == code_point)
    }

    pub(super) fn leads_to(&self, far: Endpoint) -> bool {
        self.port.is_none_or(|selected| selected == far.port)
            && self
                .destination
                .is_none_or(|(network, length)| is_within(far.address, network, length))
    }
}

impl Rule {
    /// Returns the mode for TCP, which needs a connection: for a mode without one, the nearest mode that has one.
    pub(super) fn connection_mode(&self) -> Mode {
        match self.configuration.mode {
            Mode::UnreliableDatagram => Mode::UnreliableConnection,
            mode => mode,
        }
    }
}

pub(super) fn is_within(address: IpAddr, network: IpAddr, length: u8) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => (u128::from(u32::from(address)) << 96, 32),
        IpAddr::V6(address) => (u128::from(address), 128),
    };
    let ((address, width), (network, other)) = (bits(address), bits(network));
    let length = u32::from(length).min(width);
    let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
    width == other && address & mask == network & mask
}
