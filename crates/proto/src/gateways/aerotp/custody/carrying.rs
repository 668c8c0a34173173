//! A connection with a journal: data goes on when it is durable, in both directions.

use super::super::{AerotpGateway, Pair, Splice};
use super::record::{Beginning, Record, WallTime};
use super::{Custody, Journal};
use crate::aerotp;
use crate::crosslayer::Control;
use crate::gateways::aerotp::opening::agreed_on;
use crate::host::SocketId;
use crate::packet::Payload;
use crate::tcp::{self, State};
use crate::time::{Duration, Instant};
use crate::wire::aerotp::Opening;
use std::collections::VecDeque;

/// Progress of confirmations that is recorded at once, in bytes; less is recorded when nothing is in flight.
const PROGRESS: u64 = 64 << 10;
/// Data that arrived within this time has one age.
const AGE_STEP: Duration = Duration::from_secs(1);

/// State of a connection with a journal.
#[derive(Debug, Default)]
pub(in crate::gateways::aerotp) struct Journaled {
    /// All that does not change, once the half here is established.
    pub(super) beginning: Option<Beginning>,
    /// Steps to be taken when a record is durable, by its number.
    pub(super) waiting: VecDeque<(u64, Then)>,
    /// Bytes of data among them.
    pub(super) waiting_bytes: u64,
    /// True once the beginning is durable.
    pub(super) has_begun: bool,
    pub(super) peer: Option<Opening>,
    /// Bytes taken from the half here.
    pub(super) taken: u64,
    /// Ends of the data that arrived together, and the times.
    pub(super) ages: VecDeque<(u64, WallTime)>,
    /// Bytes confirmed by the far end that are recorded.
    pub(super) confirmed: u64,
    /// Bytes written to the half here; those acknowledged by its peer that are recorded, and that are durable.
    pub(super) put: u64,
    pub(super) delivered: u64,
    pub(super) delivered_durable: u64,
    /// Bytes from the far end that its receiver already has.
    pub(super) skip: u64,
    pub(super) near_end: bool,
    pub(super) near_end_durable: bool,
    pub(super) far_end: Option<u64>,
    pub(super) far_end_durable: bool,
    /// True while the half's window is shut because the disk takes nothing.
    pub(super) is_shut: bool,
}

/// A step to take when its record is durable.
#[derive(Debug)]
pub(super) enum Then {
    Begin,
    Write(Payload),
    NearEnd,
    Delivered(u64),
    FarEnd,
}

impl Journaled {
    /// Returns true once the connection is in the journal.
    pub(in crate::gateways::aerotp) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Returns true if neither gateway owes the other anything.
    pub(in crate::gateways::aerotp) fn owes_nothing(&self, aerotp: &aerotp::Connection) -> bool {
        let has_all = self.far_end.is_some_and(|end| end == self.put);
        self.near_end_durable && self.waiting_bytes == 0 && aerotp.held() == 0 && has_all
    }

    /// Takes the steps whose records are durable.
    pub(super) fn go_on(&mut self, durable: u64, aerotp: &mut aerotp::Connection) {
        let is_durable = |front: &(u64, Then)| front.0 <= durable;
        while self.waiting.front().is_some_and(is_durable)
            && let Some((_, then)) = self.waiting.pop_front()
        {
            match then {
                Then::Begin => self.has_begun = true,
                Then::Write(payload) => {
                    self.waiting_bytes -= u64::from(payload.length());
                    aerotp.write(&payload);
                }
                Then::NearEnd => {
                    self.near_end_durable = true;
                    aerotp.close();
                }
                Then::Delivered(bytes) => self.delivered_durable = bytes,
                Then::FarEnd => self.far_end_durable = true,
            }
        }
    }

    fn note_age(&mut self, at: WallTime) {
        match self.ages.back_mut() {
            Some((end, since)) if at.since(*since) < AGE_STEP => *end = self.taken,
            _ => self.ages.push_back((self.taken, at)),
        }
    }

    /// Records what the far end has confirmed, and the other gateway's opening.
    fn record_progress(
        &mut self,
        journal: &mut Journal,
        number: u64,
        ends: &Pair,
        aerotp: &aerotp::Connection,
    ) {
        if !self.has_begun {
            return;
        }
        if self.peer.is_none() && aerotp.peer_opening().is_some() {
            self.peer = aerotp.peer_opening();
            if let Some(opening) = self.peer {
                journal.add(ends, &Record::Peer(number, opening));
            }
        }
        let confirmed = aerotp.written() - aerotp.held();
        if confirmed >= self.confirmed + PROGRESS
            || confirmed > self.confirmed && aerotp.held() == 0
        {
            self.confirmed = confirmed;
            journal.add(ends, &Record::Confirmed(number, confirmed));
        }
        while self.ages.front().is_some_and(|(end, _)| *end <= confirmed) {
            self.ages.pop_front();
        }
    }

    /// Passes on all records that make this connection.
    pub(super) fn write(&self, splice: &Splice, mut add: impl FnMut(&Record)) {
        let Some(beginning) = self.beginning else {
            return;
        };
        let number = splice.number;
        add(&Record::Begin(number, Box::new(beginning)));
        if let Some(opening) = self.peer {
            add(&Record::Peer(number, opening));
        }
        add(&Record::Confirmed(
            number,
            splice.aerotp.written() - splice.aerotp.held(),
        ));
        add(&Record::Delivered(number, self.delivered));
        self.write_data(splice, &mut add);
        if self.near_end {
            add(&Record::NearEnd(number));
        }
        if let Some(end) = self.far_end {
            add(&Record::FarEnd(number, end));
        }
    }

    /// Passes on the data in custody, in pieces of one age.
    fn write_data(&self, splice: &Splice, add: &mut impl FnMut(&Record)) {
        let mut bytes = Vec::new();
        splice
            .aerotp
            .held_data()
            .iter()
            .for_each(|run| run.copy_into(&mut bytes));
        for (_, then) in &self.waiting {
            if let Then::Write(payload) = then {
                payload.copy_into(&mut bytes);
            }
        }
        let mut start = self.taken - bytes.len() as u64;
        let mut rest = &bytes[..];
        for &(end, at) in &self.ages {
            let count = (end.saturating_sub(start) as usize).min(rest.len());
            if count > 0 {
                let (piece, further) = rest.split_at(count);
                add(&Record::Data(splice.number, start, at, piece.into()));
                (start, rest) = (start + count as u64, further);
            }
        }
    }
}

impl Splice {
    /// Returns the bytes in custody.
    pub(in crate::gateways::aerotp) fn custody(&self) -> u64 {
        let waiting = self.journaled.as_ref();
        self.aerotp.held() + waiting.map_or(0, |journaled| journaled.waiting_bytes)
    }
}

impl AerotpGateway {
    /// Moves bytes in both directions for a connection with a journal. Returns true if it continues.
    pub(in crate::gateways::aerotp) fn carry_journaled(
        &mut self,
        now: Instant,
        splice: &mut Splice,
        socket: SocketId,
    ) -> bool {
        let rule = self.number_of(&splice.rule);
        let Some(tcp) = self.sockets.connection_mut(socket) else {
            return false;
        };
        let Some(mut journaled) = splice.journaled.take() else {
            return false;
        };
        if journaled.beginning.is_none() {
            journaled.beginning = beginning(now, splice, tcp, rule, &self.custody);
            if let (Some(beginning), Some(journal)) =
                (journaled.beginning, &mut self.custody.journal)
            {
                let record = Record::Begin(splice.number, Box::new(beginning));
                let number = journal.add(&splice.ends, &record);
                journaled.waiting.push_back((number, Then::Begin));
            }
        }
        splice.journaled = Some(journaled);
        self.go_on(now, splice);
        let (Some(tcp), Some(journaled)) =
            (self.sockets.connection_mut(socket), &mut splice.journaled)
        else {
            return false;
        };
        if splice.is_held && journaled.has_begun {
            splice.aerotp.set_offer(agreed_on(tcp));
            splice.is_held = false;
            splice.opened_by = None;
        }
        tcp.release_acknowledgments(
            journaled.taken - journaled.waiting_bytes,
            journaled.near_end_durable,
        );
        let is_stuck = self.custody.journal.as_ref().is_some_and(|it| it.is_stuck);
        if journaled.is_shut != is_stuck {
            journaled.is_shut = is_stuck;
            // Without a shut window the peer would take what is not acknowledged for lost, and give up in the end.
            tcp.steer(now, Control::Offer(is_stuck.then_some(0)));
            tcp.steer(now, Control::Acknowledge(1));
        }
        if journaled.beginning.is_some() {
            take_from_half(now, &mut self.custody, splice, tcp);
        }
        give_to_half(now, &mut self.custody, splice, tcp);
        if splice.near_failed && !splice.is_held {
            splice.aerotp.abort();
        }
        splice.aerotp.state() != aerotp::State::Closed
            || tcp.bytes_in_flight() > 0 && !matches!(tcp.state(), State::Closed | State::TimeWait)
    }

    /// Takes the steps whose records are durable, records progress, and ends custody that is too old.
    pub(super) fn go_on(&mut self, now: Instant, splice: &mut Splice) {
        let (Some(journal), Some(journaled)) = (&mut self.custody.journal, &mut splice.journaled)
        else {
            return;
        };
        journaled.go_on(journal.durable, &mut splice.aerotp);
        journaled.record_progress(journal, splice.number, &splice.ends, &splice.aerotp);
        let oldest = journaled.ages.front().map(|(_, at)| *at);
        if oldest.is_some_and(|at| journal.wall_time(now).since(at) >= journal.age) {
            journaled.ages.clear();
            self.custody.counts.expired += 1;
            splice.aerotp.abort();
            self.abort_near(splice);
        }
    }

    /// Returns the time at which the oldest custody of a connection ends.
    pub(in crate::gateways::aerotp) fn custody_deadline(&self, splice: &Splice) -> Option<Instant> {
        let journal = self.custody.journal.as_ref()?;
        let (_, at) = splice.journaled.as_ref()?.ages.front()?;
        let end = at.0 + journal.age.as_nanos().div_ceil(1_000_000);
        Some(Instant::from_millis(end.saturating_sub(journal.zero.0)))
    }

    /// Records the end of a connection.
    pub(in crate::gateways::aerotp) fn record_end(&mut self, splice: &Splice) {
        let is_recorded = splice
            .journaled
            .as_ref()
            .is_some_and(|it| it.beginning.is_some());
        if let Some(journal) = self.custody.journal.as_mut().filter(|_| is_recorded) {
            journal.add(&splice.ends, &Record::Over(splice.number));
        }
    }
}

/// Returns the beginning of a connection whose half is established.
fn beginning(
    now: Instant,
    splice: &Splice,
    tcp: &tcp::Connection,
    rule: u16,
    custody: &Custody,
) -> Option<Beginning> {
    if matches!(
        tcp.state(),
        State::SynSent | State::SynReceived | State::Closed
    ) {
        return None;
    }
    let context = tcp.context(now)?;
    let identity = splice.aerotp.identity();
    let journal = custody.journal.as_ref()?;
    Some(Beginning {
        ends: splice.ends,
        rule,
        start: journal.starts,
        own: Opening {
            initial: identity.initial,
            token: identity.token,
        },
        offer: agreed_on(tcp),
        initial: context.initial_sequence,
        peer_initial: context.peer_initial_sequence,
        negotiated: context.negotiated,
        clock: context.timestamp_clock,
        recent: context.recent_timestamp.0,
        at: journal.wall_time(now),
    })
}

/// Takes data from the half here, and its end, into the journal.
fn take_from_half(
    now: Instant,
    custody: &mut Custody,
    splice: &mut Splice,
    tcp: &mut tcp::Connection,
) {
    loop {
        let waiting = splice.journaled.as_ref().map_or(0, |it| it.waiting_bytes);
        let own = splice
            .aerotp
            .room()
            .saturating_sub(waiting)
            .min(tcp.readable());
        let room = custody.room(splice, own);
        let (Some(piece), Some(journaled), Some(journal)) =
            (tcp.take(room), &mut splice.journaled, &mut custody.journal)
        else {
            break;
        };
        let (mut bytes, at) = (Vec::new(), journal.wall_time(now));
        piece.copy_into(&mut bytes);
        let record = Record::Data(splice.number, journaled.taken, at, bytes.into());
        let number = journal.add(&splice.ends, &record);
        journaled.taken += u64::from(piece.length());
        journaled.waiting_bytes += u64::from(piece.length());
        journaled.waiting.push_back((number, Then::Write(piece)));
        journaled.note_age(at);
    }
    let (Some(journaled), Some(journal)) = (&mut splice.journaled, &mut custody.journal) else {
        return;
    };
    if splice.near_finished && tcp.readable() == 0 && !journaled.near_end {
        journaled.near_end = true;
        let number = journal.add(&splice.ends, &Record::NearEnd(splice.number));
        journaled.waiting.push_back((number, Then::NearEnd));
    }
}

/// Gives data from the other gateway to the half here, and its end; confirms what the half's peer has for certain.
fn give_to_half(
    now: Instant,
    custody: &mut Custody,
    splice: &mut Splice,
    tcp: &mut tcp::Connection,
) {
    let (Some(journaled), Some(journal)) = (&mut splice.journaled, &mut custody.journal) else {
        return;
    };
    let aerotp = &mut splice.aerotp;
    while journaled.skip > 0
        && let Some(known) = aerotp.read(now, journaled.skip)
    {
        journaled.skip -= u64::from(known.payload.length());
    }
    if journaled.skip == 0 {
        let put = &mut journaled.put;
        tcp.put_all(|room| {
            let piece = aerotp.read(now, room)?.payload;
            *put += u64::from(piece.length());
            Some(piece)
        });
    }
    let delivered = tcp.bytes_acknowledged();
    if journaled.has_begun
        && (delivered >= journaled.delivered + PROGRESS
            || delivered > journaled.delivered && delivered == journaled.put)
    {
        journaled.delivered = delivered;
        let number = journal.add(&splice.ends, &Record::Delivered(splice.number, delivered));
        journaled
            .waiting
            .push_back((number, Then::Delivered(delivered)));
    }
    aerotp.confirm(now, journaled.delivered_durable);
    if splice.far_finished
        && aerotp.readable() == 0
        && journaled.skip == 0
        && journaled.far_end.is_none()
    {
        journaled.far_end = Some(journaled.put);
        let number = journal.add(&splice.ends, &Record::FarEnd(splice.number, journaled.put));
        journaled.waiting.push_back((number, Then::FarEnd));
    }
    // A half that is closed on both sides sends no more ACKs.
    let may_close = journaled.near_end_durable || !splice.near_finished;
    if journaled.far_end_durable && journaled.far_end == Some(journaled.put) && may_close {
        tcp.close();
    }
}
