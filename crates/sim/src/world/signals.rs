//! The signalling ladder: sender, receiver and time of each message. A message is noted when a host sends it, and its
//! row is written at its end.

use super::{Probes, World};
use crate::link::DropReason;
use crate::packets::PacketId;
use crate::record::{SignalRecord, SignalWay};
use baton_proto::interface::LinkEvent;
use baton_proto::packet::Wording;
use baton_proto::time::Instant;
use std::collections::BTreeMap;

/// Messages under way, by the numbers of their packets and of their copies.
pub(super) type SignalsUnderWay = BTreeMap<(u64, u8), SignalRecord>;

impl World {
    /// Notes a packet sent by a host over a link, which may carry a signal. Called only where signals are recorded.
    #[inline(never)]
    pub(super) fn begin_signal(&mut self, node: usize, link: usize, id: PacketId) {
        let travelling = &self.net.packets[id];
        let Some(signal) = travelling.packet.signal() else {
            return;
        };
        let identity = travelling.packet.identity;
        let record = SignalRecord {
            signal,
            sender: node,
            link: Some(link),
            sent: self.now,
            way: SignalWay::Message {
                packet: Some(identity.number()),
                ended: None,
                dropped: None,
            },
        };
        if let Some(under_way) = &mut self.probes.signals {
            under_way.insert((identity.number(), identity.copy()), record);
        }
    }

    /// Notes a packet that has arrived at a node at this moment, or was lost on its way there.
    #[inline]
    pub(super) fn end_signal(
        &mut self,
        id: PacketId,
        ended: (Instant, usize),
        dropped: Option<DropReason>,
    ) {
        let Some(under_way) = &mut self.probes.signals else {
            return;
        };
        let identity = self.net.packets[id].packet.identity;
        if let Some(record) = under_way.remove(&(identity.number(), identity.copy())) {
            let way = SignalWay::Message {
                packet: Some(identity.number()),
                ended: Some(ended),
                dropped,
            };
            self.probes.recorder.signal(SignalRecord { way, ..record });
        }
    }

    /// Records a link's event for its end at a node.
    pub(super) fn record_link_signal(&mut self, node: usize, link: usize, signal: LinkEvent) {
        self.record_link(node, link, Wording::new(signal.name(), String::new()));
    }

    /// Records a link's signal to its end at a node, in these words.
    pub(super) fn record_link(&mut self, node: usize, link: usize, signal: Wording) {
        self.probes.recorder.signal(SignalRecord {
            signal,
            sender: node,
            link: Some(link),
            sent: self.now,
            way: SignalWay::Link,
        });
    }

    /// Records a layer's event for its host.
    pub(super) fn record_layer_signal(&mut self, node: usize, signal: Wording) {
        if self.probes.signals.is_some() {
            self.probes.recorder.signal(SignalRecord {
                signal,
                sender: node,
                link: None,
                sent: self.now,
                way: SignalWay::Agent,
            });
        }
    }
}

impl Probes {
    /// Records messages still under way at the end of the run.
    pub(super) fn end_signals(&mut self) {
        for (_, record) in self.signals.take().into_iter().flat_map(|all| *all) {
            self.recorder.signal(record);
        }
    }
}
