//! Records of the journal, and what a connection is after them.

use super::super::Pair;
use crate::gateways::halves::end;
use crate::time::Duration;
use crate::wire::aerotp::{Opening, TcpOffer};
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::Negotiated;
use core::net::{IpAddr, Ipv6Addr};
use std::collections::{BTreeMap, VecDeque};

/// Time by the wall clock, in milliseconds since 1970. It counts the age of custody, and sets TCP's timestamps after a
/// restart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct WallTime(pub u64);

impl WallTime {
    /// Returns the time since an earlier one, or zero.
    pub(super) fn since(self, earlier: WallTime) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// A connection as it began: all that does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Beginning {
    /// Ends of the AeroTP connection, own side first.
    pub ends: Pair,
    /// Number of the rule.
    pub rule: u16,
    /// Number of the gateway's start in which the connection began.
    pub start: u32,
    /// This end's opening.
    pub own: Opening,
    /// Options of the TCP here, for the other gateway.
    pub offer: TcpOffer,
    /// Initial sequence numbers of the half here and of its peer.
    pub initial: SequenceNumber,
    pub peer_initial: SequenceNumber,
    /// Options of the half here.
    pub negotiated: Negotiated,
    /// Reading of the half's timestamp clock, and the peer's latest timestamp, at this time.
    pub clock: u32,
    pub recent: u32,
    pub at: WallTime,
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// The gateway started, by the number of the start.
    Start(u32),
    /// A connection began, by its number.
    Begin(u64, Box<Beginning>),
    /// The other gateway's opening was heard.
    Peer(u64, Opening),
    /// The end here has sent data, from this position on.
    Data(u64, u64, WallTime, Box<[u8]>),
    /// The end here has sent all its data.
    NearEnd(u64),
    /// The far end has confirmed so many bytes.
    Confirmed(u64, u64),
    /// The end here has acknowledged so many bytes.
    Delivered(u64, u64),
    /// The far end has sent so many bytes, and no more.
    FarEnd(u64, u64),
    /// The connection is over.
    Over(u64),
}

/// Data acknowledged to its sender, and the time of its arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub start: u64,
    pub at: WallTime,
    pub bytes: Box<[u8]>,
}

/// A connection after some records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Replayed {
    pub beginning: Beginning,
    pub peer: Option<Opening>,
    /// Bytes that the end here has sent.
    pub taken: u64,
    /// The last of them, from `confirmed` on.
    pub data: VecDeque<Kept>,
    pub confirmed: u64,
    pub delivered: u64,
    pub near_ended: bool,
    pub far_end: Option<u64>,
}

/// All connections after some records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Number of the gateway's latest start; 0 for none.
    pub(super) starts: u32,
    pub(super) connections: BTreeMap<u64, Replayed>,
    /// The latest time in a record.
    pub(super) latest: WallTime,
}

impl Recovered {
    /// Returns the number of connections.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Returns the bytes in custody.
    pub fn bytes(&self) -> u64 {
        let connections = self.connections.values();
        connections.map(|it| it.taken - it.confirmed).sum()
    }

    /// Returns the bytes that ends here have sent, on all connections.
    #[cfg(test)]
    pub(in crate::gateways::aerotp) fn taken(&self) -> u64 {
        self.connections.values().map(|it| it.taken).sum()
    }

    /// Takes in the next record; returns false if it contradicts those before it.
    pub(super) fn take(&mut self, record: Record) -> bool {
        let number = match &record {
            Record::Start(starts) => {
                self.starts = *starts;
                return true;
            }
            Record::Begin(number, beginning) => {
                self.latest = self.latest.max(beginning.at);
                let begun = Replayed::new(**beginning);
                return self.connections.insert(*number, begun).is_none();
            }
            Record::Over(number) => return self.connections.remove(number).is_some(),
            Record::Peer(number, _)
            | Record::Data(number, ..)
            | Record::NearEnd(number)
            | Record::Confirmed(number, _)
            | Record::Delivered(number, _)
            | Record::FarEnd(number, _) => number,
        };
        let Some(connection) = self.connections.get_mut(number) else {
            return false;
        };
        if let Record::Data(_, _, at, _) = &record {
            self.latest = self.latest.max(*at);
        }
        connection.take(record)
    }
}

impl Replayed {
    fn new(beginning: Beginning) -> Replayed {
        Replayed {
            beginning,
            peer: None,
            taken: 0,
            data: VecDeque::new(),
            confirmed: 0,
            delivered: 0,
            near_ended: false,
            far_end: None,
        }
    }

    /// Passes on all records that make this connection.
    pub(super) fn write(&self, number: u64, mut add: impl FnMut(&Record)) {
        add(&Record::Begin(number, Box::new(self.beginning)));
        if let Some(opening) = self.peer {
            add(&Record::Peer(number, opening));
        }
        add(&Record::Confirmed(number, self.confirmed));
        add(&Record::Delivered(number, self.delivered));
        for kept in &self.data {
            let known = self.confirmed.saturating_sub(kept.start);
            let bytes = kept.bytes.get(known as usize..).unwrap_or_default();
            let start = kept.start + known;
            add(&Record::Data(number, start, kept.at, bytes.into()));
        }
        if self.near_ended {
            add(&Record::NearEnd(number));
        }
        if let Some(end) = self.far_end {
            add(&Record::FarEnd(number, end));
        }
    }

    /// Takes in a record of this connection. The first data of a snapshot begins where the far end's confirmation is.
    fn take(&mut self, record: Record) -> bool {
        match record {
            Record::Peer(_, opening) => self.peer = Some(opening),
            Record::Data(_, start, at, bytes) => {
                if start != self.taken || self.near_ended {
                    return false;
                }
                self.taken += bytes.len() as u64;
                self.data.push_back(Kept { start, at, bytes });
            }
            Record::NearEnd(_) => self.near_ended = true,
            Record::Confirmed(_, position) => {
                if position < self.confirmed || position > self.taken && self.taken > self.confirmed
                {
                    return false;
                }
                self.confirmed = position;
                self.taken = self.taken.max(position);
                let is_gone = |kept: &Kept| kept.start + kept.bytes.len() as u64 <= position;
                while self.data.front().is_some_and(is_gone) {
                    self.data.pop_front();
                }
            }
            Record::Delivered(_, position) => {
                if position < self.delivered || self.far_end.is_some_and(|end| position > end) {
                    return false;
                }
                self.delivered = position;
            }
            Record::FarEnd(_, end) => {
                if self.delivered > end {
                    return false;
                }
                self.far_end = Some(end);
            }
            Record::Start(_) | Record::Begin(..) | Record::Over(_) => return false,
        }
        true
    }
}

/// Kinds of records.
mod kind {
    pub const START: u8 = 1;
    pub const BEGIN: u8 = 2;
    pub const PEER: u8 = 3;
    pub const DATA: u8 = 4;
    pub const NEAR_END: u8 = 5;
    pub const CONFIRMED: u8 = 6;
    pub const DELIVERED: u8 = 7;
    pub const FAR_END: u8 = 8;
    pub const OVER: u8 = 9;
}

impl Record {
    /// Appends the record: its kind, the number of its connection, the length of the rest, and the rest.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let (kind, number) = match self {
            Record::Start(_) => (kind::START, &0),
            Record::Begin(number, _) => (kind::BEGIN, number),
            Record::Peer(number, _) => (kind::PEER, number),
            Record::Data(number, ..) => (kind::DATA, number),
            Record::NearEnd(number) => (kind::NEAR_END, number),
            Record::Confirmed(number, _) => (kind::CONFIRMED, number),
            Record::Delivered(number, _) => (kind::DELIVERED, number),
            Record::FarEnd(number, _) => (kind::FAR_END, number),
            Record::Over(number) => (kind::OVER, number),
        };
        out.push(kind);
        out.extend_from_slice(&number.to_be_bytes());
        let place = out.len();
        out.extend_from_slice(&[0; 4]);
        match self {
            Record::Start(starts) => out.extend_from_slice(&starts.to_be_bytes()),
            Record::Begin(_, beginning) => beginning.encode(out),
            Record::Peer(_, opening) => write_opening(opening, out),
            Record::Data(_, start, at, bytes) => {
                out.extend_from_slice(&start.to_be_bytes());
                out.extend_from_slice(&at.0.to_be_bytes());
                out.extend_from_slice(bytes);
            }
            Record::Confirmed(_, position)
            | Record::Delivered(_, position)
            | Record::FarEnd(_, position) => out.extend_from_slice(&position.to_be_bytes()),
            Record::NearEnd(_) | Record::Over(_) => {}
        }
        let length = (out.len() - place - 4) as u32;
        out[place..place + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// Decodes the record at the front of `bytes`, and its length; `None` for anything else.
    pub(super) fn decode(bytes: &[u8]) -> Option<(Record, usize)> {
        let mut rest = Rest(bytes);
        let (kind, number) = (rest.u8()?, rest.u64()?);
        let length = rest.u32()? as usize;
        let mut body = Rest(rest.take(length)?);
        let record = match kind {
            kind::START => Record::Start(body.u32()?),
            // The last number has no next one.
            kind::BEGIN if number < u64::MAX => {
                Record::Begin(number, Box::new(Beginning::read(&mut body)?))
            }
            kind::PEER => Record::Peer(number, body.opening()?),
            kind::DATA => {
                let (start, at) = (body.position()?, body.wall_time()?);
                let bytes = core::mem::take(&mut body.0);
                Record::Data(number, start, at, bytes.into())
            }
            kind::NEAR_END => Record::NearEnd(number),
            kind::CONFIRMED => Record::Confirmed(number, body.position()?),
            kind::DELIVERED => Record::Delivered(number, body.position()?),
            kind::FAR_END => Record::FarEnd(number, body.position()?),
            kind::OVER => Record::Over(number),
            _ => return None,
        };
        body.0
            .is_empty()
            .then_some((record, bytes.len() - rest.0.len()))
    }
}

/// Absence of window scaling.
const NO_SHIFT: u8 = 0xFF;

impl Beginning {
    fn encode(&self, out: &mut Vec<u8>) {
        for end in [self.ends.0, self.ends.1] {
            // IPv4 addresses as in IPv6 (RFC 4291 section 2.5.5.2).
            let address = match end.address {
                IpAddr::V4(address) => address.to_ipv6_mapped(),
                IpAddr::V6(address) => address,
            };
            out.extend_from_slice(&address.octets());
            out.extend_from_slice(&end.port.to_be_bytes());
        }
        out.extend_from_slice(&self.rule.to_be_bytes());
        out.extend_from_slice(&self.start.to_be_bytes());
        write_opening(&self.own, out);
        let offer = &self.offer;
        out.extend_from_slice(&offer.maximum_segment_size.to_be_bytes());
        out.push(offer.window_scale.unwrap_or(NO_SHIFT));
        let agreed = &self.negotiated;
        let bits = [
            offer.sack_permitted,
            offer.timestamps,
            agreed.sack,
            agreed.timestamps,
        ];
        let bits = (0..).zip(bits).map(|(place, bit)| u8::from(bit) << place);
        out.push(bits.sum());
        let (ours, theirs) = agreed.window_shifts.unwrap_or((NO_SHIFT, NO_SHIFT));
        out.extend_from_slice(&[ours, theirs]);
        out.extend_from_slice(&agreed.snack_unit.unwrap_or(0).to_be_bytes());
        out.extend_from_slice(&agreed.peer_segment_size.to_be_bytes());
        for number in [self.initial.0, self.peer_initial.0, self.clock, self.recent] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out.extend_from_slice(&self.at.0.to_be_bytes());
    }

    fn read(rest: &mut Rest<'_>) -> Option<Beginning> {
        let mut one_end = || {
            let address = Ipv6Addr::from(rest.array::<16>()?).to_canonical();
            Some(end(address, rest.u16()?))
        };
        let ends = (one_end()?, one_end()?);
        let (rule, start, own) = (rest.u16()?, rest.u32()?, rest.opening()?);
        let maximum_segment_size = rest.u16()?;
        let shift = rest.u8()?;
        let bits = rest.u8()?;
        let has = |place: u8| bits & 1 << place != 0;
        let window_shifts = match (rest.u8()?, rest.u8()?) {
            (NO_SHIFT, NO_SHIFT) => None,
            shifts @ (0..=14, 0..=14) => Some(shifts),
            _ => return None,
        };
        let offer = TcpOffer {
            maximum_segment_size,
            window_scale: match shift {
                NO_SHIFT => None,
                0..=14 => Some(shift),
                _ => return None,
            },
            sack_permitted: has(0),
            timestamps: has(1),
        };
        let negotiated = Negotiated {
            timestamps: has(3),
            sack: has(2),
            window_shifts,
            snack_unit: Some(rest.u16()?).filter(|&unit| unit > 0),
            peer_segment_size: rest.u16()?,
        };
        Some(Beginning {
            ends,
            rule,
            start,
            own,
            offer,
            negotiated,
            initial: SequenceNumber(rest.u32()?),
            peer_initial: SequenceNumber(rest.u32()?),
            clock: rest.u32()?,
            recent: rest.u32()?,
            at: rest.wall_time()?,
        })
    }
}

fn write_opening(opening: &Opening, out: &mut Vec<u8>) {
    out.extend_from_slice(&opening.initial.0.to_be_bytes());
    out.extend_from_slice(&opening.token.to_be_bytes());
}

/// The rest of a record.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_be_bytes)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// Reads a position in a stream, far from the end of its range.
    fn position(&mut self) -> Option<u64> {
        self.u64().filter(|position| position >> 62 == 0)
    }

    /// Reads a time up to the year 2248: from any of them to another is a [`Duration`].
    fn wall_time(&mut self) -> Option<WallTime> {
        self.u64().filter(|time| time >> 43 == 0).map(WallTime)
    }

    fn opening(&mut self) -> Option<Opening> {
        Some(Opening {
            initial: SequenceNumber(self.u32()?),
            token: self.u32()?,
        })
    }
}
