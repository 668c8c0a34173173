//! A base station's part in explicit bad state notification: a failed transmission over its link is reported to the
//! segment's sender.

use super::layer::{Layer, Rank, Step};
use crate::interface::{InterfaceId, StatusInterests, TransmitStatus};
use crate::packet::{Body, Packet};
use crate::time::Instant;
use crate::wire::icmp::{IcmpError, QuotedPacket};
use core::net::IpAddr;
use std::collections::{BTreeSet, VecDeque};

/// The TCP connections between two hosts at one listening port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conversation {
    /// Address of the listening host.
    pub listener: IpAddr,
    /// The listening port.
    pub port: u16,
    /// Address of the other host.
    pub opener: IpAddr,
}

/// The layer that notifies senders of TCP segments of each failed attempt at one of this node's links. It does not
/// inspect segments in tunnels or behind extension headers.
#[derive(Debug, Default)]
pub struct BadStateNotifier {
    conversations: BTreeSet<Conversation>,
    messages: VecDeque<QuotedPacket>,
}

impl BadStateNotifier {
    /// Adds connections whose senders are notified.
    pub fn serve(&mut self, conversation: Conversation) {
        self.conversations.insert(conversation);
    }

    fn serves(&self, packet: &Packet) -> bool {
        let Body::Tcp(header, payload) = &packet.body else {
            return false;
        };
        let (source, destination) = (packet.ip.source, packet.ip.destination);
        let [to_listener, from_listener] = [
            (destination, header.destination_port, source),
            (source, header.source_port, destination),
        ]
        .map(|(listener, port, opener)| Conversation {
            listener,
            port,
            opener,
        });
        let known = &self.conversations;
        payload.length() > 0 && (known.contains(&to_listener) || known.contains(&from_listener))
    }
}

impl Layer for BadStateNotifier {
    fn rank(&self) -> Rank {
        Rank::BadState
    }

    fn status_interests(&self) -> StatusInterests {
        StatusInterests {
            failed_attempts: true,
            ..StatusInterests::default()
        }
    }

    fn handle_transmit_status(
        &mut self,
        _now: Instant,
        _interface: InterfaceId,
        packet: &Packet,
        status: TransmitStatus,
    ) -> bool {
        if status == TransmitStatus::AttemptFailed && self.serves(packet) {
            self.messages.extend(packet.quote());
        }
        !self.messages.is_empty()
    }

    fn poll_step(&mut self) -> Option<Step> {
        let quoted = self.messages.pop_front()?;
        Some(Step::Tell(IcmpError::BadState, quoted))
    }
}

#[cfg(test)]
mod tests;
