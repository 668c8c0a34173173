//! A node's part in AeroTP's rate control: where a queue fills, the node tells the sources of what waits there at which rate it can
//! be served. Study A leaves this to AeroNP, which it does not define; all of this is chosen.

use super::World;
use super::remedies::packet_rate;
use crate::link::End;
use crate::link::config::{LinkConfig, QueueLimit};
use crate::packets::PacketId;
use baton_proto::packet::{Body, Packet};
use baton_proto::time::{Duration, Instant};
use core::net::IpAddr;
use std::collections::BTreeMap;

/// Who was not seen for so long shares a queue no more.
const SHARES: Duration = Duration::from_secs(1);
/// A source is told no more often.
const PAUSE: Duration = Duration::from_millis(100);
/// Percents of a link's rate that are given away: the rest empties the queue.
const GIVEN_AWAY: u64 = 95;

/// What is known of the sources at each queue, by the number of its link and its end.
#[derive(Debug, Default)]
pub(super) struct Pressures(BTreeMap<(usize, usize), BTreeMap<IpAddr, Source>>);

/// A source at a queue.
#[derive(Clone, Copy, Debug)]
struct Source {
    seen: Instant,
    told: Option<Instant>,
}

impl World {
    /// Notes that a packet has been offered to a link, and tells its source if the queue is more than half full. Asked only where
    /// a flow goes over AeroTP, or gateways do; of a packet in a tunnel nobody is told.
    #[cold]
    pub(super) fn press_back(&mut self, node: usize, (link, from): (usize, End), id: PacketId) {
        let packet = &self.packets[id].packet;
        if !is_aerotp(packet) {
            return;
        }
        let source = packet.ip.source;
        let pressures = self.pressures.get_or_insert_default();
        let sources = pressures.0.entry((link, from.index())).or_default();
        sources.retain(|_, source| source.seen + SHARES > self.now);
        let told = sources.get(&source).and_then(|source| source.told);
        let seen = self.now;
        sources.insert(source, Source { seen, told });
        if told.is_some_and(|told| told + PAUSE > self.now) {
            return;
        }
        let count = sources.len() as u64;
        let wire = &mut self.wires[link].link;
        wire.catch_up(self.now);
        if !is_half_full(wire.config(), from, wire.queue(from)) {
            return;
        }
        let whole = packet_rate(wire.config(), from).bits_per_second();
        let rate = whole / 100 * GIVEN_AWAY / count / 1000;
        let told = Some(self.now);
        sources.insert(source, Source { seen, told });
        let rate = u32::try_from(rate.max(1)).unwrap_or(u32::MAX);
        let host = &mut self.nodes[node].host;
        host.notify_of_backpressure(self.now, packet, rate);
        self.pump(node);
    }
}

fn is_aerotp(packet: &Packet) -> bool {
    match &packet.body {
        Body::Aerotp(_) => true,
        Body::Extended(extended) => matches!(extended.body, Body::Aerotp(_)),
        _ => false,
    }
}

/// Whether more waits than half of what may.
fn is_half_full(config: &LinkConfig, from: End, (packets, bytes): (u32, u64)) -> bool {
    let direction = match from {
        End::A => &config.down,
        End::B => &config.up,
    };
    match direction.queue.limit {
        QueueLimit::Packets(limit) => packets > limit / 2,
        QueueLimit::Bytes(limit) => bytes > limit / 2,
    }
}
