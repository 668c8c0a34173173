//! Successive segments of a TCP connection as one frame for the kernel, as its own receive offload would join them
//! (Documentation/networking/segmentation-offloads.rst).

mod segment;

use super::checksum::{fold, pseudo_header, sum};
use super::headers::{IPV4_HEADER, PSH, TCP, TCP_CHECKSUM, TCP_FLAGS, put};
use super::virtio::{Cut, Header, LENGTH};
use super::{LONGEST_FRAME, OffloadTun};
use segment::{Segment, addresses, same_hosts};
use std::io;

/// Connections whose segments are gathered at once (chosen: more of them seldom come mixed within some hundred packets).
const RUNS: usize = 8;

/// A place where segments are gathered before they go to the kernel. Packets between two hosts keep their order, but for those
/// of different TCP connections.
#[derive(Debug)]
pub struct Coalescer {
    runs: [Run; RUNS],
    /// The run that makes room if none is free.
    next: usize,
    refused: u64,
}

/// Successive segments of one connection; at first none.
#[derive(Debug)]
struct Run {
    /// The frame: the first segment as it came, after room for a header, and the payload of those behind it.
    frame: Vec<u8>,
    packets: usize,
    /// Place of TCP's header in the packet.
    transport: usize,
    /// Length of the headers, in bytes.
    headers: usize,
    /// Data of each segment but the last one, in bytes.
    segment: usize,
    /// True if the last one had PSH.
    is_pushed: bool,
}

impl Default for Coalescer {
    fn default() -> Coalescer {
        Coalescer {
            runs: core::array::from_fn(|_| Run {
                frame: Vec::with_capacity(LONGEST_FRAME),
                packets: 0,
                transport: 0,
                headers: 0,
                segment: 0,
                is_pushed: false,
            }),
            next: 0,
            refused: 0,
        }
    }
}

impl Coalescer {
    /// Takes a packet for the kernel. It goes there at once, or with those behind it: after the last of those that came at
    /// once, call [`Coalescer::flush`].
    ///
    /// # Errors
    /// Errors of the kernel; for packets that it does not take see [`Coalescer::refused`].
    pub fn send(&mut self, tun: &OffloadTun, packet: &[u8]) -> io::Result<()> {
        let segment = Segment::read(packet);
        if let Some(segment) = &segment
            && let Some(run) = self.runs.iter_mut().find(|run| run.takes(segment))
        {
            if run.join(segment) {
                self.refused += run.write(tun)?;
            }
            return Ok(());
        }
        // What is not joined may not overtake what came before it.
        for run in &mut self.runs {
            let overtakes = match &segment {
                Some(segment) => segment.same_connection(run.packet()),
                None => same_hosts(packet, run.packet()),
            };
            if overtakes {
                self.refused += run.write(tun)?;
            }
        }
        match segment {
            Some(segment) if !segment.is_pushed() => {
                let free = self.runs.iter().position(|run| run.packets == 0);
                let place = free.unwrap_or(self.next);
                self.next = (place + 1) % RUNS;
                let run = &mut self.runs[place];
                self.refused += run.write(tun)?;
                run.begin(&segment);
            }
            _ => self.refused += u64::from(!tun.send(packet)?),
        }
        Ok(())
    }

    /// Hands to the kernel what was gathered.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn flush(&mut self, tun: &OffloadTun) -> io::Result<()> {
        for run in &mut self.runs {
            self.refused += run.write(tun)?;
        }
        Ok(())
    }

    /// Returns the number of packets that the kernel did not take: the interface was switched off, or they are no IP packets.
    pub const fn refused(&self) -> u64 {
        self.refused
    }
}

impl Run {
    /// Returns the packet; an empty one if there is none.
    fn packet(&self) -> &[u8] {
        self.frame.get(LENGTH..).unwrap_or_default()
    }

    /// Tells whether a segment goes on where this ends.
    fn takes(&self, segment: &Segment<'_>) -> bool {
        let (packet, length) = (self.packet(), segment.payload().len());
        let Some((first, data)) = packet.split_at_checked(self.headers) else {
            return false;
        };
        self.packets > 0
            && length <= self.segment
            && self.frame.len() + length <= LONGEST_FRAME
            && segment.follows(first, self.packets, data.len())
    }

    fn begin(&mut self, segment: &Segment<'_>) {
        self.frame.extend_from_slice(&[0; LENGTH]);
        self.frame.extend_from_slice(segment.packet);
        self.packets = 1;
        self.transport = segment.transport;
        self.headers = segment.headers;
        self.segment = segment.payload().len();
        self.is_pushed = false;
    }

    /// Joins a segment; returns true if none may follow.
    fn join(&mut self, segment: &Segment<'_>) -> bool {
        self.frame.extend_from_slice(segment.payload());
        self.packets += 1;
        self.is_pushed = segment.is_pushed();
        self.is_pushed || segment.payload().len() < self.segment
    }

    /// Hands the frame to the kernel, if there is one; returns how many packets it did not take.
    fn write(&mut self, tun: &OffloadTun) -> io::Result<u64> {
        let packets = core::mem::take(&mut self.packets);
        if packets > 1 {
            self.describe();
        }
        let written = if packets == 0 {
            Ok(true)
        } else {
            tun.send_frame(&self.frame)
        };
        self.frame.clear();
        Ok(if written? { 0 } else { packets as u64 })
    }

    /// Sets the headers of a frame of several segments.
    fn describe(&mut self) {
        let Some((header, packet)) = self.frame.split_first_chunk_mut::<LENGTH>() else {
            return;
        };
        let is_ipv4 = self.transport == IPV4_HEADER;
        *header = Header {
            needs_checksum: true,
            cut: if is_ipv4 {
                Cut::TcpOverIpv4
            } else {
                Cut::TcpOverIpv6
            },
            headers: self.headers as u16,
            segment: self.segment as u16,
            checksum_start: self.transport as u16,
            checksum_offset: TCP_CHECKSUM as u16,
        }
        .write();
        let length = packet.len();
        if is_ipv4 {
            put(packet, 2, length as u16);
            put(packet, 10, 0);
            let sum = sum(packet.get(..self.transport).unwrap_or_default());
            put(packet, 10, !fold(sum));
        } else {
            put(packet, 4, (length - self.transport) as u16);
        }
        if self.is_pushed
            && let Some(flags) = packet.get_mut(self.transport + TCP_FLAGS)
        {
            *flags |= PSH;
        }
        let addresses = addresses(packet).unwrap_or_default();
        let sum = pseudo_header(addresses, TCP, length - self.transport);
        put(packet, self.transport + TCP_CHECKSUM, fold(sum));
    }
}
