//! The links of a host: their last reported state, and the delivery of link events to the host's parts.

use super::{Host, InterfaceId, LinkEvent};
use crate::crosslayer::{CrossLayerSignal, Signal};
use crate::interface::{LinkParameters, StatusInterests, TransmitStatus};
use crate::packet::Packet;
use crate::rate::DataRate;
use crate::time::{Duration, Instant};

/// States of a host's links, by interface.
#[derive(Debug, Default)]
pub(super) struct Links(Box<[LinkState]>);

/// State of one link. The fields of the medium's last report are inline: options around the report and its queues would
/// cost a third more memory.
#[derive(Clone, Copy, Debug, Default)]
struct LinkState {
    outgoing: DataRate,
    incoming: DataRate,
    round_trip: Duration,
    /// [`UNKNOWN`] if not reported.
    outgoing_queue: u32,
    incoming_queue: u32,
    mtu: u32,
    /// True once the medium has reported.
    is_known: bool,
    /// True from Link_Down to the next Link_Up.
    is_down: bool,
}

/// Queue capacity that means "unknown": larger than any real one.
const UNKNOWN: u32 = u32::MAX;

impl LinkState {
    /// Returns the medium's latest report, if there was one.
    fn parameters(self) -> Option<LinkParameters> {
        let queue = |packets: u32| (packets != UNKNOWN).then_some(packets);
        self.is_known.then_some(LinkParameters {
            outgoing: self.outgoing,
            incoming: self.incoming,
            round_trip: self.round_trip,
            outgoing_queue: queue(self.outgoing_queue),
            incoming_queue: queue(self.incoming_queue),
            mtu: self.mtu,
        })
    }

    /// Returns the state after a report.
    fn reported(self, report: LinkParameters) -> LinkState {
        let queue = |packets: Option<u32>| packets.map_or(UNKNOWN, |most| most.min(UNKNOWN - 1));
        LinkState {
            outgoing: report.outgoing,
            incoming: report.incoming,
            round_trip: report.round_trip,
            outgoing_queue: queue(report.outgoing_queue),
            incoming_queue: queue(report.incoming_queue),
            mtu: report.mtu,
            is_known: true,
            ..self
        }
    }
}

impl Links {
    /// Returns the latest report of an interface's medium, if there was one.
    pub fn parameters(&self, interface: InterfaceId) -> Option<LinkParameters> {
        self.0.get(interface.0)?.parameters()
    }

    /// Returns true if the medium's latest report is that the link is down.
    pub fn is_down(&self, interface: InterfaceId) -> bool {
        self.0.get(interface.0).is_some_and(|link| link.is_down)
    }

    /// Notes an event at one of `count` interfaces.
    fn note(&mut self, interface: InterfaceId, count: usize, event: LinkEvent) {
        if self.0.len() < count {
            let mut all = core::mem::take(&mut self.0).into_vec();
            all.resize(count, LinkState::default());
            self.0 = all.into();
        }
        let link = &mut self.0[interface.0];
        match event {
            LinkEvent::Up => link.is_down = false,
            LinkEvent::Down => link.is_down = true,
            LinkEvent::Parameters(parameters) => *link = link.reported(parameters),
            _ => {}
        }
    }
}

impl Host {
    /// Changes the MTU of an interface, in bytes, until the medium reports another.
    pub fn set_mtu(&mut self, interface: InterfaceId, mtu: u32) {
        if let Some(known) = self.interface_mtus.get_mut(interface.0) {
            *known = mtu;
        }
    }

    /// Takes in a medium's event of the link at one of this host's interfaces; then drain the polls. At a mobile's
    /// access links, the attachment selects the events for the other parts.
    pub fn handle_link(&mut self, now: Instant, interface: InterfaceId, event: LinkEvent) {
        if let LinkEvent::QueueStatus(flow, status) = event {
            let signal = CrossLayerSignal::QueueStatus(status);
            return self.sockets.signal_to_flow(now, flow, &signal);
        }
        let count = self.interface_mtus.len();
        if let Some(mtu) = self.interface_mtus.get_mut(interface.0) {
            if let LinkEvent::Parameters(parameters) = event {
                *mtu = parameters.mtu;
            }
            self.links.note(interface, count, event);
        }
        if let Some(layers) = &mut self.layers {
            layers.handle_medium(interface, event);
        }
        let own = self.attachment.as_mut().map(|own| &mut own.machine);
        let own = own.filter(|own| own.has(interface));
        match (own, event) {
            (Some(own), LinkEvent::Parameters(parameters)) => {
                own.handle_parameters(interface, parameters);
                self.signal(now, Signal::Link(interface, event));
            }
            (Some(own), _) => own.handle_link(now, interface, event),
            (None, _) => self.signal(now, Signal::Link(interface, event)),
        }
        let rate = self.links.parameters(interface).map(|link| link.outgoing);
        self.tell_transports_of_link(interface, event, rate);
        self.tell_signals(now);
    }

    /// Returns the kinds of packet status that this host wants from media.
    pub fn status_interests(&self) -> StatusInterests {
        let layers = self.layers.as_ref();
        layers.map_or_else(StatusInterests::default, |layers| layers.status_interests())
    }

    /// Takes in the status of a packet that this host has handed to the medium at an interface. Returns true if the
    /// polls are to be drained because of it.
    pub fn handle_transmit_status(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        packet: &Packet,
        status: TransmitStatus,
    ) -> bool {
        let layers = self.layers.as_mut();
        layers.is_some_and(|layers| layers.handle_transmit_status(now, interface, packet, status))
    }

    /// Returns the latest report of an interface's medium, if there was one.
    pub fn link_parameters(&self, interface: InterfaceId) -> Option<LinkParameters> {
        self.links.parameters(interface)
    }
}
