//! Further addresses of a host.

use super::InterfaceId;
use core::net::IpAddr;
use std::collections::BTreeMap;

/// Maximum length of a list that is searched linearly.
const MOST_SEARCHED: usize = 8;

/// An address with its interface's number, if it belongs to one.
type Address = (IpAddr, Option<u32>);

/// The addresses of a host except for its first, each with its interface if it belongs to one.
#[derive(Debug)]
pub(super) enum Addresses {
    /// A list, at nearly all hosts.
    Few(Vec<Address>),
    /// A list with an index, for hosts with many addresses.
    Many(Box<ManyAddresses>),
}

#[derive(Debug)]
pub(super) struct ManyAddresses {
    in_order: Vec<Address>,
    /// Interfaces by address; for a duplicate address, the first one's.
    by_address: BTreeMap<IpAddr, Option<u32>>,
}

impl Default for Addresses {
    fn default() -> Self {
        Addresses::Few(Vec::new())
    }
}

impl Addresses {
    pub fn push(&mut self, address: IpAddr, interface: Option<InterfaceId>) {
        let added = (address, interface.map(|interface| interface.0 as u32));
        match self {
            Addresses::Few(all) if all.len() < MOST_SEARCHED => {
                all.reserve_exact(1);
                all.push(added);
            }
            Addresses::Few(all) => {
                let mut in_order = core::mem::take(all);
                in_order.push(added);
                let by_address = in_order.iter().rev().copied().collect();
                *self = Addresses::Many(Box::new(ManyAddresses {
                    in_order,
                    by_address,
                }));
            }
            Addresses::Many(many) => {
                many.in_order.push(added);
                many.by_address.entry(address).or_insert(added.1);
            }
        }
    }

    /// Returns the interface of an address, if the address belongs to one; `None` if the host does not have the
    /// address.
    #[inline]
    pub fn get(&self, address: IpAddr) -> Option<Option<InterfaceId>> {
        match self {
            Addresses::Few(none) if none.is_empty() => None,
            _ => self.search(address),
        }
    }

    fn search(&self, address: IpAddr) -> Option<Option<InterfaceId>> {
        let found = match self {
            Addresses::Few(all) => all.iter().find(|(own, _)| *own == address)?.1,
            Addresses::Many(many) => *many.by_address.get(&address)?,
        };
        Some(found.map(|number| InterfaceId(number as usize)))
    }

    /// Returns all addresses in the order of their addition.
    pub fn iter(&self) -> impl Iterator<Item = IpAddr> {
        let all = match self {
            Addresses::Few(all) => all,
            Addresses::Many(many) => &many.in_order,
        };
        all.iter().map(|&(address, _)| address)
    }
}
