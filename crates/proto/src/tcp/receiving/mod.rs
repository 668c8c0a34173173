//! The receiving half: received data, its ACKs, and the offered window.
//!
//! Positions are 64-bit distances from the peer's initial sequence number: 0 is its SYN, 1 its first byte.

mod acks;
mod data;
mod headers;
mod receiver;
mod right_sizing;
mod tuning;

pub(super) use acks::AckSchedule;
pub(super) use receiver::Receiver;

use super::Common;
use super::profile::{Autotuning, Profile};
use super::steering::AckOrders;
use crate::time::Instant;
use crate::wire::sequence::SequenceNumber;
use crate::wire::split_context::TcpContext;
use crate::wire::tcp::TcpHeader;
use right_sizing::RightSizing;
use tuning::ReceiveTuning;

/// Tuning of the receive window.
#[derive(Debug)]
enum Tuning {
    Off,
    Linux(Box<ReceiveTuning>),
    RightSizing(Box<RightSizing>),
}

/// The peer's data and the ACKs for it. ACKs cover only data that has arrived, and only as far as a relaying gateway
/// allows.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Receiving {
    /// The peer's initial sequence number.
    initial: SequenceNumber,
    /// Largest payload received: the size of the peer's full segment.
    largest: u32,
    pub(super) data: Receiver,
    pub(super) acks: AckSchedule,
    /// Limit of the acknowledgment number sent, as a position; see `relaying`.
    told_up_to: u64,
    /// Position of the peer's FIN.
    fin: Option<u64>,
    tuning: Tuning,
    pub(super) orders: AckOrders,
    /// True if the peer opened the connection.
    pub(super) accepted: bool,
    /// An ACK generated before the latest arrival.
    early: Option<Box<TcpHeader>>,
}

impl Receiving {
    pub(super) fn new(profile: &Profile) -> Receiving {
        Receiving {
            initial: SequenceNumber(0),
            largest: 0,
            data: Receiver::new(first_window(profile)),
            acks: AckSchedule::default(),
            told_up_to: u64::MAX,
            fin: None,
            tuning: Tuning::Off,
            orders: AckOrders::default(),
            accepted: false,
            early: None,
        }
    }

    /// Resumes another gateway's receiving half.
    pub(super) fn resume(profile: &Profile, context: &TcpContext) -> Receiving {
        let bounds = bounds(profile, context.receive_buffer);
        Receiving {
            initial: context.peer_initial_sequence,
            largest: context.largest_received,
            data: Receiver::resume(context, bounds),
            acks: AckSchedule::resume(
                context.ack_due,
                context.unanswered,
                context.last_acknowledged,
            ),
            fin: context.peer_fin,
            ..Receiving::new(profile)
        }
    }

    /// Writes the received data to a message for another gateway.
    pub(super) fn write_context(&self, context: &mut TcpContext) {
        context.ack_due = self.acks.is_due() || self.early.is_some();
        context.peer_initial_sequence = self.initial;
        context.peer_fin = self.fin;
        context.unanswered = self.acks.pending_bytes();
        context.last_acknowledged = self.acks.last_sent();
        context.largest_received = self.largest;
        self.data.write_context(context);
    }

    /// Takes in the peer's initial sequence number, and the shift of this end's windows.
    pub(super) fn take_syn(&mut self, initial: SequenceNumber, shift: Option<u8>) {
        self.initial = initial;
        if let Some(shift) = shift {
            self.data.set_window_shift(shift);
        }
        self.acks.begin(self.data.next());
    }

    /// Starts at the end of the handshake.
    pub(super) fn start(&mut self, common: &Common, now: Instant) {
        let profile = &common.profile;
        self.tuning = match profile.receive_autotuning {
            Autotuning::Off => Tuning::Off,
            Autotuning::Linux => {
                Tuning::Linux(Box::new(ReceiveTuning::new(common, &self.data, now)))
            }
            Autotuning::RightSizing => {
                Tuning::RightSizing(Box::new(RightSizing::new(profile.receive_buffer)))
            }
        };
        if common.recovers_as_linux() && common.negotiated.window_shifts.is_none() {
            self.data.round_window();
        }
    }

    /// Resumes tuning with a buffer that has grown to so many bytes at another gateway.
    pub(super) fn resume_tuning(&mut self, buffer: u32) {
        match &mut self.tuning {
            Tuning::Off => {}
            Tuning::Linux(tuning) => tuning.resume(&mut self.data, buffer),
            Tuning::RightSizing(tuning) => tuning.resume(&mut self.data, buffer),
        }
    }

    pub(super) fn initial(&self) -> SequenceNumber {
        self.initial
    }

    /// Returns the sequence number of a position.
    pub(super) fn sequence(&self, position: u64) -> SequenceNumber {
        self.initial + position as u32
    }

    /// Returns the position of a peer's sequence number, near the next expected one.
    pub(super) fn position(&self, sequence: SequenceNumber) -> i64 {
        let next = self.data.next();
        next as i64 + i64::from(sequence.distance_from(self.sequence(next)))
    }

    /// Returns the size of the peer's full segment; before its first one `own`, this end's largest.
    pub(super) fn segment_size(&self, own: u32) -> u32 {
        if self.largest > 0 { self.largest } else { own }
    }

    /// Holds ACKs from now on until they are released.
    pub(super) fn hold_acknowledgments(&mut self) {
        self.told_up_to = 1;
    }

    /// Releases ACKs up to `position`, if they are held.
    pub(super) fn release_acknowledgments(&mut self, position: u64) {
        if self.told_up_to == u64::MAX || position <= self.told_up_to {
            return;
        }
        let before = self.told();
        self.told_up_to = position;
        if self.told() > before {
            self.acks.demand();
        }
    }

    /// Returns true if data in order waits for its ACK's release. Until then a further ACK would be a duplicate, and one with
    /// SACK blocks would show all that waits as lost.
    fn is_held(&self) -> bool {
        self.told_up_to < self.data.next()
    }

    /// Returns the acknowledgment number sent, as a position.
    pub(super) fn told(&self) -> u64 {
        self.data.next().min(self.told_up_to)
    }
}

/// Returns the initial buffer of a connection and the limit of its window, in bytes.
pub(super) fn first_window(profile: &Profile) -> (u32, u32) {
    let (buffer, segment) = (
        profile.receive_buffer,
        u32::from(profile.maximum_segment_size),
    );
    match profile.receive_autotuning {
        Autotuning::Off => (buffer, u32::MAX),
        Autotuning::Linux => tuning::first_window(buffer, segment),
        Autotuning::RightSizing => (right_sizing::first_window(buffer, segment), u32::MAX),
    }
}

/// Returns the buffer and the limit of the window: the grown ones, if they tune themselves.
fn bounds(profile: &Profile, grown: (u32, u32)) -> (u32, u32) {
    let first = first_window(profile);
    if profile.receive_autotuning == Autotuning::Off {
        return first;
    }
    let most = profile.receive_buffer;
    let buffer = grown.0.max(first.0).min(most);
    (buffer, grown.1.max(first.1).min(most))
}
