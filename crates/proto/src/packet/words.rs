//! Names of mobility signalling messages, for a record: the standard's name, and values that distinguish messages of a
//! kind.

use super::{Body, IpHeader, Packet, Payload};
use crate::wire::icmp::IcmpMessage;
use crate::wire::{Words, datagram_words};

/// Words of a signal, for a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wording {
    /// Name, as in the standard.
    pub name: &'static str,
    /// Main values, separated by commas; may be empty.
    pub details: String,
    /// True if the message is inside a tunnel.
    pub tunnelled: bool,
}

impl Wording {
    /// Creates a signal outside tunnels.
    pub const fn new(name: &'static str, details: String) -> Wording {
        Wording {
            name,
            details,
            tunnelled: false,
        }
    }
}

impl Packet {
    /// Describes the signalling message in the packet, tunnelled or not; `None` for other packets, including echoes,
    /// ICMP errors and packets that are not typed.
    pub fn signal(&self) -> Option<Wording> {
        if let Some(inner) = self.body.inner() {
            let tunnelled = true;
            return inner.signal().map(|signal| Wording {
                tunnelled,
                ..signal
            });
        }
        let (name, details) = of_body(self.upper_body(), &self.upper_ip(), &self.ip)?;
        Some(Wording::new(name, details))
    }

    /// Returns true if the packet carries a signalling message, tunnelled or not.
    pub fn is_signalling(&self) -> bool {
        let mut packet = self;
        loop {
            match packet.upper_body() {
                Body::Tunnel(inner) | Body::Minimal(inner) | Body::Generic(inner) => packet = inner,
                Body::Mobility(_) => return true,
                Body::Icmp(message) => {
                    return !matches!(
                        message,
                        IcmpMessage::EchoRequest(_)
                            | IcmpMessage::EchoReply(_)
                            | IcmpMessage::Error { .. }
                    );
                }
                Body::Udp(header, Payload::Bytes(bytes)) => {
                    return datagram_words(header, bytes).is_some();
                }
                _ => return false,
            }
        }
    }
}

/// Describes a message; `outer` is the header with care-of addresses, `ip` the one with home addresses.
fn of_body(body: &Body, ip: &IpHeader, outer: &IpHeader) -> Option<Words> {
    match body {
        Body::Icmp(message) => message.words(ip.source),
        Body::Mobility(message) => Some(message.words(outer.source)),
        Body::Udp(header, Payload::Bytes(bytes)) => datagram_words(header, bytes),
        _ => None,
    }
}
