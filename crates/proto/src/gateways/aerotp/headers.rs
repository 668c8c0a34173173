//! Numbers in place of the IP headers of AeroTP on a link. The packets of a conversation in one direction have the same
//! header, but for its length, which follows from the datagram, and its identification, which means nothing in packets
//! that routers do not fragment (RFC 6864 section 4).
//!
//! The first four bits of a content that has AeroTP's kind say what follows:
//!
//! | 4 bits | content |
//! |---|---|
//! | 0 | number 12 bits, AeroTP packet: its header has this number |
//! | 1 | number 12 bits, IP header: has this number from now on |
//! | 2 | number 12 bits: its header has arrived |
//! | 3 | number 12 bits: has no header here |
//! | 4, 6 | IP packet |
//!
//! A header has a number once the other gateway has confirmed it, so the loss of any of these delays it and no packet. A
//! packet that meets a number with another header fails AeroTP's header check, which covers the addresses.

use crate::packet::{BitErrors, Body, Identity, IpHeader, Packet};
use crate::time::{Duration, Instant};
use crate::wire::aerotp::AerotpPacket;
use crate::wire::{DecodeError, protocol};
use core::net::IpAddr;
use std::collections::{BTreeMap, VecDeque};

/// Numbers that there are.
const NUMBERS: usize = 1 << 12;
/// Packets of a conversation before its header gets a number (chosen: short ones cost no further datagram).
const FEW: u8 = 8;
/// Time until a number is announced again (chosen).
const REPEAT: Duration = Duration::from_millis(250);
/// Time without packets after which a number can get another header (chosen: far longer than a network holds packets).
const UNUSED: Duration = Duration::from_secs(60);
/// Time between two complaints about numbers without a header (chosen).
const COMPLAINT: Duration = Duration::from_millis(100);
/// Length of a number with its four bits.
const NUMBER: usize = 2;
/// Weight of earlier packets in the mean of saved bytes, and its parts of a byte.
const EARLIER: u32 = 31;
const PARTS: u32 = 256;

/// Content of AeroTP's kind, by its first four bits.
#[derive(Clone, Copy)]
enum Kind {
    Numbered = 0,
    Announced = 1,
    Confirmed = 2,
    Unknown = 3,
}

impl Kind {
    fn with(self, number: usize) -> [u8; NUMBER] {
        ((self as u16) << 12 | number as u16).to_be_bytes()
    }
}

/// Fields of a header that are the same in all packets of a conversation.
type Key = (IpAddr, IpAddr, u8, u8);

/// A header that this end numbers.
#[derive(Debug)]
struct Sent {
    header: IpHeader,
    packets: u8,
    is_confirmed: bool,
    announced: Instant,
    used: Instant,
}

/// The headers of one link, at one end.
#[derive(Debug, Default)]
pub struct Headers {
    sent: Vec<Sent>,
    numbers: BTreeMap<Key, usize>,
    /// The number next looked at for one that is unused.
    oldest: usize,
    received: BTreeMap<usize, IpHeader>,
    complained: Option<Instant>,
    /// Contents to send beside packets.
    waiting: VecDeque<Vec<u8>>,
    /// Mean of the bytes by which packets are shorter, in 256ths.
    saved: u32,
    scratch: Vec<u8>,
}

impl Headers {
    /// Returns the content for a packet with AeroTP.
    pub fn write(&mut self, now: Instant, packet: &Packet) -> &[u8] {
        let number = self.number(now, &packet.ip);
        self.scratch.clear();
        let saved = match (number, &packet.body) {
            (Some(number), Body::Aerotp(aerotp)) => {
                self.scratch.extend(Kind::Numbered.with(number));
                aerotp.encode(&packet.ip, &mut self.scratch);
                packet.ip.wire_length() - NUMBER as u32
            }
            _ => {
                packet.encode(&mut self.scratch);
                0
            }
        };
        self.saved = (self.saved * EARLIER + saved * PARTS) / (EARLIER + 1);
        &self.scratch
    }

    /// Returns the mean of the bytes by which packets with AeroTP are shorter at present.
    pub fn saved(&self) -> u32 {
        (self.saved + PARTS / 2) / PARTS
    }

    /// Returns the number in place of a header, if the other end has confirmed it.
    fn number(&mut self, now: Instant, header: &IpHeader) -> Option<usize> {
        let number = self.place(now, header)?;
        let sent = &mut self.sent[number];
        sent.used = now;
        if sent.is_confirmed {
            return Some(number);
        }
        sent.packets = sent.packets.saturating_add(1);
        if sent.packets >= FEW && now.saturating_since(sent.announced) >= REPEAT {
            sent.announced = now;
            let mut announcement = Kind::Announced.with(number).to_vec();
            sent.header
                .encode(protocol::AEROTP, 0, 0, &mut announcement);
            self.waiting.push_back(announcement);
        }
        None
    }

    /// Returns the number for a header, a new one if it has none; `None` while all are in use.
    fn place(&mut self, now: Instant, header: &IpHeader) -> Option<usize> {
        if !header.dont_fragment {
            return None;
        }
        let key = key(header);
        if let Some(&number) = self.numbers.get(&key) {
            return Some(number);
        }
        let fresh = Sent {
            header: IpHeader {
                identification: 0,
                ..*header
            },
            packets: 0,
            is_confirmed: false,
            announced: Instant::ZERO,
            used: now,
        };
        let number = self.sent.len();
        if number < NUMBERS {
            self.sent.push(fresh);
            self.numbers.insert(key, number);
            return Some(number);
        }
        let number = self.oldest;
        self.oldest = (number + 1) % NUMBERS;
        let before = &mut self.sent[number];
        if now.saturating_since(before.used) < UNUSED {
            return None;
        }
        let before = core::mem::replace(before, fresh);
        self.numbers.remove(&self::key(&before.header));
        self.numbers.insert(key, number);
        Some(number)
    }

    /// Takes a received content; returns its packet, if it has one.
    ///
    /// # Errors
    /// The fault in the packet, or a number without a header.
    pub fn read(&mut self, now: Instant, content: &[u8]) -> Result<Option<Packet>, DecodeError> {
        let Some((word, rest)) = content.split_first_chunk::<NUMBER>() else {
            return Packet::decode(content).map(Some);
        };
        let word = u16::from_be_bytes(*word);
        let number = usize::from(word) % NUMBERS;
        match word >> 12 {
            0 => return self.restore(now, number, rest).map(Some),
            1 => {
                let (header, _) = IpHeader::decode(rest)?;
                self.received.insert(number, header);
                self.waiting
                    .push_back(Kind::Confirmed.with(number).to_vec());
            }
            2 => self.confirm(number, true),
            3 => self.confirm(number, false),
            _ => return Packet::decode(content).map(Some),
        }
        Ok(None)
    }

    fn confirm(&mut self, number: usize, is_confirmed: bool) {
        if let Some(sent) = self.sent.get_mut(number) {
            sent.is_confirmed = is_confirmed;
        }
    }

    fn restore(
        &mut self,
        now: Instant,
        number: usize,
        bytes: &[u8],
    ) -> Result<Packet, DecodeError> {
        let Some(&ip) = self.received.get(&number) else {
            if self
                .complained
                .is_none_or(|at| now.saturating_since(at) >= COMPLAINT)
            {
                self.complained = Some(now);
                self.waiting.push_back(Kind::Unknown.with(number).to_vec());
            }
            return Err(DecodeError::Field {
                header: "AeroTP without its IP header",
                field: "number",
                value: number as u32,
            });
        };
        Ok(Packet {
            ip,
            flow: None,
            retransmission: false,
            identity: Identity::NONE,
            bit_errors: BitErrors::NONE,
            body: Body::Aerotp(Box::new(AerotpPacket::decode(&ip, bytes)?)),
        })
    }

    /// Returns the next content to send beside packets.
    pub fn poll(&mut self) -> Option<Vec<u8>> {
        self.waiting.pop_front()
    }

    /// Takes in that the other end has restarted, and knows no number.
    pub fn forget(&mut self) {
        for sent in &mut self.sent {
            sent.is_confirmed = false;
        }
    }
}

fn key(header: &IpHeader) -> Key {
    (
        header.source,
        header.destination,
        header.traffic_class,
        header.hop_limit,
    )
}

#[cfg(test)]
mod tests;
