//! Information service: information elements of networks (IEEE 802.21-2008, clause 6.5 and annex G), in their binary form.

use super::values::{LinkIdentifier, Reader, Writer, cut, network_type, read_network_type};
use super::{LONGEST_INFORMATION, field};
use crate::wire::DecodeError;
use core::net::Ipv6Addr;

/// Types of information elements.
mod element {
    pub const NETWORK_TYPE: u32 = 0x1000_0000;
    pub const OPERATOR: u32 = 0x1000_0001;
    pub const DATA_RATE: u32 = 0x1000_0106;
    pub const LINK_ADDRESS: u32 = 0x1000_0200;
    pub const CHANNEL_RANGE: u32 = 0x1000_0202;
    pub const IP_ADDRESS: u32 = 0x1000_0205;
    pub const LIST_OF_NETWORKS: u32 = 0x1000_0300;
    pub const NETWORK: u32 = 0x1000_0301;
    pub const POINT_OF_ATTACHMENT: u32 = 0x1000_0302;
}

/// OP_NAMESPACE: the operator's realm.
const REALM: u8 = 2;
/// TRANSPORT_ADDR of IPv6.
const IPV6: u16 = 2;
/// Largest number of networks in a response: those of a list of [`LONGEST_INFORMATION`] bytes have fewer.
const MOST_NETWORKS: usize = LONGEST_INFORMATION / 16;

/// A network, with one point of attachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// Its link: the network's type and the point of attachment's link address.
    pub link: LinkIdentifier,
    /// Name of the operator.
    operator: Box<[u8]>,
    /// Data rate in kbit/s; of a link with two, the lower one.
    pub rate: u32,
    /// Lowest and highest frequency of the channel in kHz, if known.
    pub channel: Option<[u32; 2]>,
    /// Address of the router.
    pub router: Ipv6Addr,
}

impl Network {
    /// Creates a network of an operator without a known channel; the operator's name is cut to
    /// [`LONGEST_NAME`](super::LONGEST_NAME) bytes.
    pub fn new(link: LinkIdentifier, operator: &[u8], rate: u32, router: Ipv6Addr) -> Network {
        Network {
            link,
            operator: cut(operator),
            rate,
            channel: None,
            router,
        }
    }

    /// Encodes an IE_CONTAINER_NETWORK.
    fn container(&self) -> Vec<u8> {
        let mut point = Writer(Vec::new());
        point.element(element::LINK_ADDRESS, &self.link.address_value());
        if let Some([low, high]) = self.channel.map(|ends| ends.map(u32::to_be_bytes)) {
            point.element(element::CHANNEL_RANGE, &[low, high].concat());
        }
        let mut address = Writer(IPV6.to_be_bytes().to_vec());
        address.counted(&self.router.octets());
        point.element(element::IP_ADDRESS, &address.0);
        let mut operator = Writer(Vec::new());
        operator.counted(&self.operator);
        operator.bytes(&[REALM]);
        let mut network = Writer(Vec::new());
        network.element(element::NETWORK_TYPE, &network_type(self.link.link_type));
        network.element(element::OPERATOR, &operator.0);
        network.element(element::DATA_RATE, &self.rate.to_be_bytes());
        network.element(element::POINT_OF_ATTACHMENT, &point.0);
        let mut out = Writer(Vec::new());
        out.element(element::NETWORK, &network.0);
        out.0
    }

    /// Decodes the contents of an IE_CONTAINER_NETWORK.
    fn read(elements: Reader<'_>) -> Result<Network, DecodeError> {
        let link_type = read_network_type(&mut needed(elements, element::NETWORK_TYPE)?)?;
        let point = needed(elements, element::POINT_OF_ATTACHMENT)?;
        let mut address = needed(point, element::LINK_ADDRESS)?;
        let channel = match find(point, element::CHANNEL_RANGE)? {
            Some(mut range) => Some([range.u32()?, range.u32()?]),
            None => None,
        };
        Ok(Network {
            link: LinkIdentifier::read_address(link_type, &mut address)?,
            operator: needed(elements, element::OPERATOR)?.name()?,
            rate: needed(elements, element::DATA_RATE)?.u32()?,
            channel,
            router: read_address(needed(point, element::IP_ADDRESS)?)?,
        })
    }
}

impl Writer {
    /// Writes an information element: a TLV with a number of four bytes.
    fn element(&mut self, kind: u32, value: &[u8]) {
        self.bytes(&kind.to_be_bytes());
        self.counted(value);
    }
}

/// Encodes a list of one IQ_BIN_DATA: all networks, with the elements that [`Network`] has.
pub(super) fn query() -> Vec<u8> {
    let template = [
        element::NETWORK_TYPE,
        element::OPERATOR,
        element::DATA_RATE,
        element::LINK_ADDRESS,
        element::CHANNEL_RANGE,
        element::IP_ADDRESS,
    ];
    // No location, network types and identifiers; the template; no limit and currency.
    let mut out = vec![1, 0, 0, 0, 1, template.len() as u8];
    out.extend(template.into_iter().flat_map(u32::to_be_bytes));
    out.extend([0, 0]);
    out
}

/// Encodes a list of one IR_BIN_DATA with one element, the list of networks: as many as fit [`LONGEST_INFORMATION`].
pub(super) fn write(networks: &[Network]) -> Vec<u8> {
    let mut all = Vec::new();
    for network in networks {
        let container = network.container();
        if all.len() + container.len() > LONGEST_INFORMATION {
            break;
        }
        all.extend(container);
    }
    let mut out = Writer(vec![1, 1]);
    out.element(element::LIST_OF_NETWORKS, &all);
    out.0
}

/// Decodes a list of IR_BIN_DATA, of which the first element of the first is the list of networks.
pub(super) fn read(mut value: Reader<'_>) -> Result<Vec<Network>, DecodeError> {
    for _ in 0..2 {
        let count = value.length()?;
        if count == 0 {
            return Ok(Vec::new());
        }
    }
    let mut elements = needed(value, element::LIST_OF_NETWORKS)?;
    let mut networks = Vec::new();
    while !elements.0.is_empty() {
        let (kind, contents) = next(&mut elements)?;
        if kind != element::NETWORK {
            continue;
        }
        if networks.len() == MOST_NETWORKS {
            return Err(field("list length", networks.len() as u32));
        }
        networks.push(Network::read(contents)?);
    }
    Ok(networks)
}

/// Takes the next element.
fn next<'a>(elements: &mut Reader<'a>) -> Result<(u32, Reader<'a>), DecodeError> {
    let kind = elements.u32()?;
    let length = elements.length()?;
    elements.take(length).map(|value| (kind, Reader(value)))
}

/// Returns the first element of this type.
fn find(mut elements: Reader<'_>, kind: u32) -> Result<Option<Reader<'_>>, DecodeError> {
    while !elements.0.is_empty() {
        let (found, value) = next(&mut elements)?;
        if found == kind {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

fn needed(elements: Reader<'_>, kind: u32) -> Result<Reader<'_>, DecodeError> {
    find(elements, kind)?.ok_or_else(|| field("missing information element", kind))
}

/// Reads an IP_ADDR of IPv6.
fn read_address(mut value: Reader<'_>) -> Result<Ipv6Addr, DecodeError> {
    let family = value.u16()?;
    if family != IPV6 {
        return Err(field("address family", u32::from(family)));
    }
    let length = value.length()?;
    let octets: Result<[u8; 16], _> = value.take(length)?.try_into();
    match octets {
        Ok(octets) => Ok(octets.into()),
        Err(_) => Err(field("address length", length as u32)),
    }
}
