//! The packets of a frame from a device with offloads, each with headers of its own.

use super::checksum::{fold, sum};
use super::headers::{
    CWR, FIN, IPV4_HEADER, IPV6_HEADER, PSH, TCP_CHECKSUM, TCP_FLAGS, TCP_HEADER, UDP_CHECKSUM,
    UDP_HEADER, put, u16_at,
};
use super::virtio::{Cut, Header, LENGTH};
use std::io;

/// Packets sent by the kernel at once: one, or several of one TCP connection or UDP flow.
#[derive(Debug)]
pub struct Packets<'a> {
    plan: Plan,
    whole: &'a [u8],
    /// Payload of the remaining packets.
    payload: &'a [u8],
    /// Number of the next packet.
    number: u16,
    is_finished: bool,
}

/// The segmentation of a packet that stands for several of a TCP connection or UDP flow. Their headers are its own
/// except for lengths, numbers and checksums; its checksum field holds the sum of the pseudo-header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segmentation {
    /// Offset of the transport protocol's header, in bytes.
    pub transport: u16,
    /// Length of all headers, in bytes.
    pub headers: u16,
    /// Payload of each packet, in bytes; the last one may have less.
    pub segment: u16,
}

/// A plan for the packets of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// Segmentation; `None` for a packet that stays whole.
    segmentation: Option<Segmentation>,
    /// Bytes before the payload: all of a packet that stays whole.
    headers: usize,
    /// Longest payload of a packet, in bytes.
    segment: usize,
    /// Offsets in the headers of segmented packets.
    shape: Option<Shape>,
}

#[derive(Clone, Copy, Debug)]
struct Shape {
    is_ipv4: bool,
    is_tcp: bool,
    /// Offset of the transport protocol's header.
    transport: usize,
    /// Sum of the pseudo-header, without its length.
    pseudo_header: u32,
}

impl Segmentation {
    /// Returns true for TCP, false for UDP.
    pub(super) const fn is_tcp(self) -> bool {
        self.headers.saturating_sub(self.transport) as usize != UDP_HEADER
    }

    /// Returns the offset of the checksum in the transport protocol's header.
    pub(super) const fn checksum_offset(self) -> usize {
        if self.is_tcp() {
            TCP_CHECKSUM
        } else {
            UDP_CHECKSUM
        }
    }
}

impl Plan {
    /// Reads a frame, and completes the checksum of a packet that stays whole; `None` if its headers do not give a
    /// valid segmentation.
    pub(super) fn read(frame: &mut [u8]) -> Option<Plan> {
        let (header, packet) = frame.split_first_chunk_mut::<LENGTH>()?;
        let header = Header::read(header)?;
        let (transport, offset) = (header.checksum_start.into(), header.checksum_offset.into());
        let (is_tcp, is_ipv4) = match header.cut {
            Cut::TcpOverIpv4 => (true, true),
            Cut::TcpOverIpv6 => (true, false),
            Cut::Udp => (false, packet.first()? >> 4 == 4),
            Cut::None => {
                if header.needs_checksum {
                    complete_checksum(packet, transport, offset)?;
                }
                return Some(Plan::whole(packet));
            }
        };
        let length = if is_tcp {
            usize::from(packet.get(transport + 12)? >> 4) * 4
        } else {
            UDP_HEADER
        };
        let segmentation = Segmentation {
            transport: header.checksum_start,
            headers: u16::try_from(transport + length).ok()?,
            segment: header.segment,
        };
        let is_sound = header.needs_checksum
            && offset == segmentation.checksum_offset()
            && is_tcp == segmentation.is_tcp();
        Plan::of(packet, segmentation, is_ipv4).filter(|_| is_sound)
    }

    /// Keeps a packet whole.
    fn whole(packet: &[u8]) -> Plan {
        Plan {
            segmentation: None,
            headers: packet.len(),
            segment: 0,
            shape: None,
        }
    }

    /// Segments a packet; `None` if that is impossible.
    fn of(packet: &[u8], segmentation: Segmentation, is_ipv4: bool) -> Option<Plan> {
        let (transport, headers) = (
            usize::from(segmentation.transport),
            usize::from(segmentation.headers),
        );
        let is_tcp = segmentation.is_tcp();
        let is_sound = segmentation.segment > 0
            && headers >= transport + if is_tcp { TCP_HEADER } else { UDP_HEADER }
            && transport >= if is_ipv4 { IPV4_HEADER } else { IPV6_HEADER }
            && headers <= packet.len();
        let whole = u16::try_from(packet.len().checked_sub(transport)?).ok()?;
        let partial = u16_at(packet, transport + segmentation.checksum_offset())?;
        is_sound.then_some(Plan {
            segmentation: Some(segmentation),
            headers,
            segment: segmentation.segment.into(),
            shape: Some(Shape {
                is_ipv4,
                is_tcp,
                transport,
                pseudo_header: u32::from(partial) + u32::from(!whole),
            }),
        })
    }
}

impl<'a> Packets<'a> {
    /// Starts with the first packet of a segmentation; `None` if that is impossible.
    pub fn of(packet: &'a [u8], segmentation: Segmentation) -> Option<Packets<'a>> {
        let is_ipv4 = packet.first()? >> 4 == 4;
        let plan = Plan::of(packet, segmentation, is_ipv4)?;
        Some(Packets::new(packet, plan))
    }

    /// Starts with the first packet of a frame.
    pub(super) fn new(packet: &'a [u8], plan: Plan) -> Packets<'a> {
        Packets {
            plan,
            whole: packet,
            payload: packet.get(plan.headers..).unwrap_or_default(),
            number: 0,
            is_finished: false,
        }
    }

    /// Returns the whole packet, with its segmentation if it stands for several.
    pub const fn whole(&self) -> (&'a [u8], Option<Segmentation>) {
        (self.whole, self.plan.segmentation)
    }

    /// Returns the length of the longest remaining packet, in bytes.
    pub fn longest(&self) -> usize {
        self.headers().len() + self.plan.segment.min(self.payload.len())
    }

    /// Returns the headers of the whole IP packet, whose lengths and checksums differ from those of its packets.
    pub fn headers(&self) -> &'a [u8] {
        self.whole.get(..self.plan.headers).unwrap_or_default()
    }

    /// Writes the next packet into `place` and returns its length in bytes; `None` after the last one.
    ///
    /// # Errors
    /// A place too short for the packet (`InvalidInput`), which then remains the next one.
    pub fn write_next(&mut self, place: &mut [u8]) -> io::Result<Option<usize>> {
        if self.is_finished {
            return Ok(None);
        }
        let first = self.headers();
        let segment = self.plan.segment.min(self.payload.len());
        let length = first.len() + segment;
        let Some(packet) = place.get_mut(..length) else {
            let what = format!("{} bytes of room for a packet of {length}", place.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        };
        let (payload, rest) = self.payload.split_at(segment);
        let (headers, body) = packet.split_at_mut(first.len());
        headers.copy_from_slice(first);
        body.copy_from_slice(payload);
        if let Some(shape) = self.plan.shape {
            shape.finish(packet, self, rest.is_empty());
        }
        self.payload = rest;
        self.number = self.number.wrapping_add(1);
        self.is_finished = rest.is_empty();
        Ok(Some(length))
    }
}

impl Shape {
    /// Sets the fields that differ between packets.
    fn finish(self, packet: &mut [u8], packets: &Packets<'_>, is_last: bool) {
        let length = packet.len();
        let (ip, transport) = packet.split_at_mut(self.transport);
        if self.is_ipv4 {
            let identification = u16_at(ip, 4).unwrap_or(0).wrapping_add(packets.number);
            put(ip, 2, length as u16);
            put(ip, 4, identification);
            put(ip, 10, 0);
            put(ip, 10, !fold(sum(ip)));
        } else {
            put(ip, 4, (length - IPV6_HEADER) as u16);
        }
        let checksum_at = if self.is_tcp {
            let (number, segment) = (u32::from(packets.number), packets.plan.segment as u32);
            if let Some(sequence) = transport
                .get_mut(4..)
                .and_then(|rest| rest.first_chunk_mut())
            {
                let first = u32::from_be_bytes(*sequence);
                *sequence = first.wrapping_add(number * segment).to_be_bytes();
            }
            if let Some(flags) = transport.get_mut(TCP_FLAGS) {
                // As in the kernel: only the last packet marks the end of the data, and only the first carries CWR.
                *flags &= if is_last { u8::MAX } else { !(FIN | PSH) };
                *flags &= if number == 0 { u8::MAX } else { !CWR };
            }
            TCP_CHECKSUM
        } else {
            put(transport, 4, transport.len() as u16);
            UDP_CHECKSUM
        };
        put(transport, checksum_at, 0);
        let sum = fold(self.pseudo_header + transport.len() as u32 + sum(transport));
        // In UDP, a checksum of 0 stands for none (RFC 768).
        let checksum = if sum == u16::MAX && !self.is_tcp {
            sum
        } else {
            !sum
        };
        put(transport, checksum_at, checksum);
    }
}

/// Completes a checksum whose field holds the sum of the pseudo-header.
fn complete_checksum(packet: &mut [u8], start: usize, offset: usize) -> Option<()> {
    let covered = packet.get_mut(start..)?;
    let place = offset..offset + 2;
    covered.get(place.clone())?;
    let sum = fold(sum(covered));
    // As the kernel writes it: in UDP a checksum of 0 would stand for none, and for other protocols both values are
    // equivalent (RFC 1624).
    let checksum = if sum == u16::MAX { sum } else { !sum };
    covered
        .get_mut(place)?
        .copy_from_slice(&checksum.to_be_bytes());
    Some(())
}

#[cfg(test)]
mod tests;
