//! Messages of IEEE 802.21 as text.

use super::super::Words;
use super::{Content, LinkIdentifier, Mih, PORT};

/// Describes the message in a UDP datagram, if its ports are this protocol's.
pub(in super::super) fn words(ports: [u16; 2], datagram: &[u8]) -> Option<Words> {
    if !ports.contains(&PORT) {
        return None;
    }
    Mih::decode(datagram).ok().map(|message| message.words())
}

impl Mih {
    fn words(&self) -> Words {
        let of_link =
            |link: &LinkIdentifier| format!("link {}", String::from_utf8_lossy(link.address()));
        let details = match &self.content {
            Content::Request(link) => of_link(link),
            Content::Response { status, link } => match link {
                Some(link) => format!("{}, {}", status.text(), of_link(link)),
                None => status.text().to_owned(),
            },
        };
        (self.name(), details)
    }
}
