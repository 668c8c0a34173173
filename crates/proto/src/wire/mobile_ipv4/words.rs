//! Registration messages as text.

use super::super::Words;
use super::{Content, Message, PORT, Purpose};

/// Describes the message in a UDP datagram, if its ports are this protocol's.
pub(in super::super) fn words(ports: [u16; 2], datagram: &[u8]) -> Option<Words> {
    if !ports.contains(&PORT) {
        return None;
    }
    Message::decode(datagram)
        .ok()
        .map(|message| message.words())
}

impl Message {
    fn words(&self) -> Words {
        match self.content {
            Content::Request(request) => {
                let name = match request.purpose {
                    Purpose::Home => "Registration Request",
                    Purpose::Regional => "Regional Registration Request",
                    Purpose::Handoff => "Fast Binding Update",
                };
                let (care_of, lifetime) = (request.care_of_address, request.lifetime);
                (
                    name,
                    format!("care-of address {care_of}, lifetime {lifetime} s"),
                )
            }
            Content::Reply(reply) => {
                let name = match reply.purpose {
                    Purpose::Home => "Registration Reply",
                    Purpose::Regional => "Regional Registration Reply",
                    Purpose::Handoff => "Fast Binding Acknowledgement",
                };
                let (text, code) = (reply.code.text(), reply.code.0);
                (
                    name,
                    format!("{text} (code {code}), lifetime {} s", reply.lifetime),
                )
            }
        }
    }
}
