//! Association of mobiles with access points of WiFi: the Association Response tells a mobile the capacity of the access
//! point's queue (study S, table 2). It takes no time of its own: a link is up when the mobile is associated.

use super::World;
use super::media::parameters;
use crate::addresses::{access_point, station};
use crate::record::{SignalRecord, SignalWay};
use baton_proto::interface::{LinkEvent, LinkParameters};
use baton_proto::packet::Wording;
use baton_proto::wire::association::AssociationResponse;

impl World {
    /// Hides the capacity of an access point's queue from a mobile that is out of its reach.
    pub(super) fn conceal_queue(&mut self, link: usize, node: usize) {
        if self.net.wires.config(link).medium.is_contended() {
            self.tell_capacity(link, node, None);
        }
    }

    /// Lets the access point of a link that comes up answer its mobile's association.
    pub(super) fn associate(&mut self, link: usize, node: usize) {
        let config = self.net.wires.config(link);
        if !config.medium.is_contended() {
            return;
        }
        let here = self.net.wires.end_across(link, node).other();
        let queue = parameters(config, here).incoming_queue;
        let response = AssociationResponse {
            station: station(node),
            access_point: access_point(link),
            status: 0,
            association: 1,
            queue_packets: queue.map(|packets| u16::try_from(packets).unwrap_or(u16::MAX)),
        };
        // The mobile knows only the frame.
        let Ok(heard) = AssociationResponse::decode(&response.encode()) else {
            return;
        };
        self.record_association(link, node, heard);
        self.tell_capacity(link, node, heard.queue_packets);
    }

    fn tell_capacity(&mut self, link: usize, node: usize, packets: Option<u16>) {
        let here = self.net.wires.end_across(link, node).other();
        let told = LinkParameters {
            incoming_queue: packets.map(u32::from),
            ..parameters(self.net.wires.config(link), here)
        };
        let interface = self.net.interface(node, link);
        let host = &mut self.net.nodes[node].host;
        if host.link_parameters(interface) != Some(told) {
            host.handle_link(self.now, interface, LinkEvent::Parameters(told));
        }
    }

    fn record_association(&mut self, link: usize, node: usize, response: AssociationResponse) {
        if self.probes.signals.is_none() {
            return;
        }
        let packets = response.queue_packets;
        let details = packets.map_or(String::new(), |packets| {
            format!("queue of {packets} packets")
        });
        let (access_point, _) = self.net.wires.far_from(link, node);
        self.probes.recorder.signal(SignalRecord {
            signal: Wording::new("Association Response", details),
            sender: access_point,
            link: Some(link),
            sent: self.now,
            way: SignalWay::Message {
                packet: None,
                ended: Some((self.now, node)),
                dropped: None,
            },
        });
    }
}
