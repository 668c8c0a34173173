//! Numbers of the endpoints of packets.

use super::names::Growing;
use arrow_array::ArrayRef;
use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;

/// Slots of the cache; a power of two.
const SLOTS: usize = 2048;

/// An address, with a port where the protocol has ports.
type Endpoint = (IpAddr, Option<u16>);

/// Names of endpoints, such as `10.0.0.1:80` or `[fd00::1]:80`, or an address alone.
///
/// A packet names two of them. A direct-mapped cache saves the look-up in the ordered map: an endpoint has one slot,
/// which holds the last endpoint mapped there.
pub(super) struct Endpoints {
    numbers: BTreeMap<Endpoint, i32>,
    names: Growing,
    cache: Vec<Option<(Endpoint, i32)>>,
}

impl Endpoints {
    pub(super) fn new() -> Endpoints {
        Endpoints {
            numbers: BTreeMap::new(),
            names: Growing::new(Vec::new()),
            cache: vec![None; SLOTS],
        }
    }

    /// Returns the number of an endpoint.
    #[inline]
    pub(super) fn number(&mut self, address: IpAddr, port: Option<u16>) -> i32 {
        let endpoint = (address, port);
        let slot = &mut self.cache[slot_of(address, port)];
        if let Some((held, number)) = slot
            && *held == endpoint
        {
            return *number;
        }
        let names = &mut self.names;
        let number = *self
            .numbers
            .entry(endpoint)
            .or_insert_with_key(|endpoint| names.add(name(endpoint)));
        *slot = Some((endpoint, number));
        number
    }

    /// Returns all names so far.
    pub(super) fn values(&mut self) -> ArrayRef {
        self.names.values()
    }
}

fn slot_of(address: IpAddr, port: Option<u16>) -> usize {
    let bits = match address {
        IpAddr::V4(address) => u64::from(address.to_bits()),
        IpAddr::V6(address) => {
            let bits = address.to_bits();
            (bits >> 64) as u64 ^ bits as u64
        }
    };
    let mixed = (bits << 16 ^ u64::from(port.unwrap_or(0))).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 40) as usize % SLOTS
}

fn name((address, port): &Endpoint) -> String {
    match port {
        Some(port) => SocketAddr::new(*address, *port).to_string(),
        None => address.to_string(),
    }
}
