//! Attachment of a host: delivery of link events and handovers to its sockets and its mobility protocol.
//!
//! For an event of the link in use, sockets come first, then the mobility protocol. A connection gets "connected" when
//! the handover is complete; a connection to a correspondent that still sends to the old place gets it when the binding
//! update to that correspondent leaves.
//!
//! The attachment is a field of the host, not a layer: packets do not pass through it, and it selects the link events
//! for layers.

use super::{Host, HostEvent};
use crate::crosslayer::{CrossLayerSignal, PathParameters, Signal};
use crate::interface::{InterfaceId, LinkEvent};
use crate::mobility::attachment::{Attachment, Handover, Input, Output, Refusal};
use crate::time::Instant;
use core::net::IpAddr;
use std::collections::BTreeSet;

/// A mobile host's attachment.
#[derive(Debug)]
pub(super) struct HostAttachment {
    pub machine: Attachment,
    /// True if binding updates report the parameters of the new link.
    reports_paths: bool,
}

impl Host {
    /// Makes this host a mobile. With `reports_paths`, its binding updates report the parameters of the new link.
    pub fn set_attachment(&mut self, mut machine: Attachment, reports_paths: bool) {
        for interface in (0..self.interface_mtus.len()).map(InterfaceId) {
            if let Some(parameters) = self.links.parameters(interface) {
                machine.handle_parameters(interface, parameters);
            }
        }
        self.attachment = Some(Box::new(HostAttachment {
            machine,
            reports_paths,
        }));
    }

    /// Returns this host's attachment, if it is a mobile.
    pub fn attachment(&self) -> Option<&Attachment> {
        self.attachment.as_ref().map(|own| &own.machine)
    }

    /// Returns this host's attachment, mutably.
    pub fn attachment_mut(&mut self) -> Option<&mut Attachment> {
        self.attachment.as_mut().map(|own| &mut own.machine)
    }

    /// Returns the attachment's next output. The driver carries out a command before the next poll; a signal has
    /// already reached this host's own parts, which may have packets to send.
    pub fn poll_attachment(&mut self, now: Instant) -> Option<Output> {
        let output = self.attachment.as_mut()?.machine.poll()?;
        if let Output::Signal(signal) = output {
            self.signal(now, signal);
        }
        self.tell_signals(now);
        Some(output)
    }

    /// Begins a handover on demand, like an entry of a timetable: to an interface, or to none.
    ///
    /// # Errors
    /// The reason for the refusal; never at a host that is not a mobile.
    pub fn request_handover(
        &mut self,
        now: Instant,
        to: Option<InterfaceId>,
        handover: Handover,
    ) -> Result<(), Refusal> {
        match self.attachment_mut() {
            Some(own) => own.request(now, to, handover),
            None => Ok(()),
        }
    }

    /// Takes in a measurement of the mobile, or an answer of its external decision.
    pub fn handle_input(&mut self, now: Instant, input: Input) {
        if let Some(own) = self.attachment_mut() {
            own.handle_input(now, input);
        }
    }

    /// Returns the parameters of the link in use, as far as this host knows.
    pub(super) fn path_in_use(&self) -> Option<PathParameters> {
        self.path_at(self.attachment()?.attached()?)
    }

    /// Passes the layers' signals to this host's other parts, before any packets that result from the signals are sent.
    pub(super) fn tell_signals(&mut self, now: Instant) {
        while let Some(layers) = &mut self.layers
            && let Some(signal) = layers.poll_signal()
        {
            self.signal(now, signal);
        }
    }

    /// Passes a signal to this host's parts: to its transports, to its layers, and to its attachment.
    pub(super) fn signal(&mut self, now: Instant, signal: Signal) {
        match signal {
            Signal::InUse(interface, event) => self.tell_of_link(now, interface, event),
            Signal::Complete(Some(interface)) => {
                self.tell_of_completion(now, interface);
                self.handle_attached(now, interface);
            }
            Signal::BindingSent(correspondent) => self.tell_of_update(now, correspondent),
            Signal::PeerMoved(peer, moved) => {
                let moved = CrossLayerSignal::PeerMoved(moved);
                self.tell_transports(now, &moved, |address| address == peer);
            }
            Signal::Bound(_) => self.events.push_back(HostEvent::MobileBound),
            Signal::AddressAcquired(interface, address) => {
                let acquired = HostEvent::AddressAcquired { interface, address };
                self.events.push_back(acquired);
            }
            _ => {}
        }
        if let Some(layers) = &mut self.layers {
            layers.handle_signal(now, &signal);
        }
        if let Some(own) = &mut self.attachment {
            own.machine.handle_signal(now, &signal);
        }
        if let Signal::Attached(Some(interface)) = signal {
            self.report_path(now, interface);
        }
    }

    fn path_at(&self, interface: InterfaceId) -> Option<PathParameters> {
        let link = self.links.parameters(interface);
        link.map(PathParameters::at_mobile)
    }

    fn tell_of_link(&mut self, now: Instant, interface: InterfaceId, event: LinkEvent) {
        if let Some(signal) = CrossLayerSignal::of_link(event, self.path_at(interface)) {
            self.tell_transports(now, &signal, |_| true);
        }
    }

    fn tell_of_completion(&mut self, now: Instant, interface: InterfaceId) {
        if let Some(path) = self.path_at(interface) {
            let elsewhere = self.peers_of_old_places(now);
            let connected = CrossLayerSignal::Connected(path);
            self.tell_transports(now, &connected, |peer| !elsewhere.contains(&peer));
        }
    }

    /// Signals the departure of a binding update: later packets to that correspondent arrive after it. An update that a
    /// handover waits for concerns all connections.
    fn tell_of_update(&mut self, now: Instant, to: IpAddr) {
        if let Some(path) = self.path_in_use()
            && self.peers_of_old_places(now).contains(&to)
        {
            for signal in [
                CrossLayerSignal::UpdateSent,
                CrossLayerSignal::Connected(path),
            ] {
                self.tell_transports(now, &signal, |peer| peer == to);
            }
        }
        if self.attachment().is_some_and(Attachment::is_handing_over) {
            self.tell_transports(now, &CrossLayerSignal::UpdateSent, |_| true);
        }
    }

    /// Returns the peers of connections that still send to an address that this mobile has left.
    fn peers_of_old_places(&self, now: Instant) -> BTreeSet<IpAddr> {
        let Some(layers) = &self.layers else {
            return BTreeSet::new();
        };
        let peers = self.peers();
        peers
            .filter(|&peer| layers.are_sought_elsewhere(now, peer))
            .collect()
    }

    /// Makes the binding updates of a handover report the parameters of its new link.
    fn report_path(&mut self, now: Instant, interface: InterfaceId) {
        let reports = self
            .attachment
            .as_ref()
            .is_some_and(|own| own.reports_paths && own.machine.is_handing_over());
        if let Some(path) = self.path_at(interface).filter(|_| reports) {
            self.signal(now, Signal::NewPath(interface, path));
        }
    }
}

#[cfg(test)]
mod tests;
