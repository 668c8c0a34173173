//! The header of each packet of a device with offloads: struct virtio_net_hdr (linux/virtio_net.h), in the machine's
//! byte order.

use super::split::Segmentation;

/// Length of the header in bytes.
pub(super) const LENGTH: usize = 10;

/// VIRTIO_NET_HDR_F_NEEDS_CSUM: the checksum field holds the sum of the pseudo-header only.
const NEEDS_CHECKSUM: u8 = 1;
/// VIRTIO_NET_HDR_GSO_ECN, beside a kind: the TCP segment has CWR, since its sender has slowed down.
const WITH_CWR: u8 = 0x80;

/// Remaining work on a packet (virtio_net_hdr).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// True if the checksum must be completed.
    pub needs_checksum: bool,
    /// Kind of segmentation.
    pub cut: Cut,
    /// Length of all headers, in bytes.
    pub headers: u16,
    /// Payload of each segment, in bytes.
    pub segment: u16,
    /// Offset of the transport protocol's header, from which the checksum is computed.
    pub checksum_start: u16,
    /// Offset of the checksum in that header.
    pub checksum_offset: u16,
}

/// Kinds of segmentation (VIRTIO_NET_HDR_GSO_*).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// No segmentation.
    None,
    /// TCP over IPv4.
    TcpOverIpv4,
    /// TCP over IPv6.
    TcpOverIpv6,
    /// UDP datagrams.
    Udp,
}

impl Header {
    /// Describes a packet that stands for several.
    pub(super) fn of(packet: &[u8], segmentation: Segmentation) -> Header {
        let is_ipv4 = packet.first().is_some_and(|first| first >> 4 == 4);
        Header {
            needs_checksum: true,
            cut: match (segmentation.is_tcp(), is_ipv4) {
                (true, true) => Cut::TcpOverIpv4,
                (true, false) => Cut::TcpOverIpv6,
                (false, _) => Cut::Udp,
            },
            headers: segmentation.headers,
            segment: segmentation.segment,
            checksum_start: segmentation.transport,
            checksum_offset: segmentation.checksum_offset() as u16,
        }
    }

    /// Reads a frame's header; `None` if it is invalid.
    pub(super) fn read(bytes: &[u8; LENGTH]) -> Option<Header> {
        let [flags, kind, a, b, c, d, e, f, g, h] = *bytes;
        Some(Header {
            needs_checksum: flags & NEEDS_CHECKSUM != 0,
            cut: match kind & !WITH_CWR {
                0 => Cut::None,
                1 => Cut::TcpOverIpv4,
                4 => Cut::TcpOverIpv6,
                5 => Cut::Udp,
                _ => return None,
            },
            headers: u16::from_ne_bytes([a, b]),
            segment: u16::from_ne_bytes([c, d]),
            checksum_start: u16::from_ne_bytes([e, f]),
            checksum_offset: u16::from_ne_bytes([g, h]),
        })
    }

    /// Writes a frame's header.
    pub(super) fn write(self) -> [u8; LENGTH] {
        let [a, b] = self.headers.to_ne_bytes();
        let [c, d] = self.segment.to_ne_bytes();
        let [e, f] = self.checksum_start.to_ne_bytes();
        let [g, h] = self.checksum_offset.to_ne_bytes();
        let kind = match self.cut {
            Cut::None => 0,
            Cut::TcpOverIpv4 => 1,
            Cut::TcpOverIpv6 => 4,
            Cut::Udp => 5,
        };
        let flags = u8::from(self.needs_checksum) * NEEDS_CHECKSUM;
        [flags, kind, a, b, c, d, e, f, g, h]
    }
}
