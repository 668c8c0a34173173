//! Successive segments of a TCP connection as one packet, joined as by the kernel's own receive offload
//! (Documentation/networking/segmentation-offloads.rst).

mod segment;

use super::checksum::{fold, pseudo_header, sum};
use super::headers::{IPV4_HEADER, PSH, TCP, TCP_CHECKSUM, TCP_FLAGS, put};
use super::split::Segmentation;
use segment::{Segment, addresses, same_hosts};

/// Longest packet, in bytes.
const LONGEST: usize = 65_535;

/// Connections whose segments are gathered at the same time (chosen: more of them rarely interleave within some hundred
/// packets).
const RUNS: usize = 8;

/// A coalescer of TCP segments. Packets between two hosts keep their order, except those of different TCP connections.
#[derive(Debug)]
pub struct Coalescer {
    runs: [Run; RUNS],
    /// The run to end next if none is free.
    next: usize,
}

/// Successive segments of one connection; at first none.
#[derive(Debug)]
struct Run {
    /// First segment, followed by the payload of the later ones.
    packet: Vec<u8>,
    packets: usize,
    /// Offset of the TCP header in the packet.
    transport: usize,
    /// Length of the headers, in bytes.
    headers: usize,
    /// Data of each segment except the last one, in bytes.
    segment: usize,
    /// True if the last one had PSH.
    is_pushed: bool,
}

impl Default for Coalescer {
    fn default() -> Coalescer {
        Coalescer {
            runs: core::array::from_fn(|_| Run {
                packet: Vec::with_capacity(LONGEST),
                packets: 0,
                transport: 0,
                headers: 0,
                segment: 0,
                is_pushed: false,
            }),
            next: 0,
        }
    }
}

impl Coalescer {
    /// Takes in a packet. It goes to `take` at once, or joined with later ones: after the last packet of a batch, call
    /// [`Coalescer::flush`].
    pub fn add(&mut self, packet: &[u8], take: &mut impl FnMut(&[u8], Option<Segmentation>)) {
        let segment = Segment::read(packet);
        if let Some(segment) = &segment
            && let Some(run) = self.runs.iter_mut().find(|run| run.takes(segment))
        {
            if run.join(segment) {
                run.end(take);
            }
            return;
        }
        // A packet that is not joined must not overtake earlier ones.
        for run in &mut self.runs {
            let overtakes = match &segment {
                Some(segment) => segment.same_connection(&run.packet),
                None => same_hosts(packet, &run.packet),
            };
            if overtakes {
                run.end(take);
            }
        }
        match segment {
            Some(segment) if !segment.is_pushed() => {
                let free = self.runs.iter().position(|run| run.packets == 0);
                let place = free.unwrap_or(self.next);
                self.next = (place + 1) % RUNS;
                let run = &mut self.runs[place];
                run.end(take);
                run.begin(&segment);
            }
            _ => take(packet, None),
        }
    }

    /// Passes on all gathered packets.
    pub fn flush(&mut self, take: &mut impl FnMut(&[u8], Option<Segmentation>)) {
        for run in &mut self.runs {
            run.end(take);
        }
    }
}

impl Run {
    /// Returns true if a segment continues this run.
    fn takes(&self, segment: &Segment<'_>) -> bool {
        let length = segment.payload().len();
        let Some((first, data)) = self.packet.split_at_checked(self.headers) else {
            return false;
        };
        self.packets > 0
            && length <= self.segment
            && self.packet.len() + length <= LONGEST
            && segment.follows(first, self.packets, data.len())
    }

    fn begin(&mut self, segment: &Segment<'_>) {
        self.packet.extend_from_slice(segment.packet);
        self.packets = 1;
        self.transport = segment.transport;
        self.headers = segment.headers;
        self.segment = segment.payload().len();
        self.is_pushed = false;
    }

    /// Joins a segment; returns true if it must be the last one.
    fn join(&mut self, segment: &Segment<'_>) -> bool {
        self.packet.extend_from_slice(segment.payload());
        self.packets += 1;
        self.is_pushed = segment.is_pushed();
        self.is_pushed || segment.payload().len() < self.segment
    }

    /// Passes the packet on, if there is one.
    fn end(&mut self, take: &mut impl FnMut(&[u8], Option<Segmentation>)) {
        match core::mem::take(&mut self.packets) {
            0 => {}
            1 => take(&self.packet, None),
            _ => {
                self.describe();
                let segmentation = Segmentation {
                    transport: self.transport as u16,
                    headers: self.headers as u16,
                    segment: self.segment as u16,
                };
                take(&self.packet, Some(segmentation));
            }
        }
        self.packet.clear();
    }

    /// Sets the headers of a joined packet.
    fn describe(&mut self) {
        let packet = &mut self.packet[..];
        let length = packet.len();
        if self.transport == IPV4_HEADER {
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
