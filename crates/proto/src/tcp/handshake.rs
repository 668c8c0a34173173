//! The handshake: this end's SYN, its retransmissions, and T/TCP's opening if it is used.

use super::ends::Ends;
use super::flow::Flow;
use super::profile::RtoArithmetic;
use super::rtt::RttEstimator;
use super::transaction::{Learnt, Transaction};
use super::{Common, Event, State};
use crate::packet::Payload;
use crate::time::{Duration, Instant};
use crate::wire::tcp::{CONNECTION_COUNT_LENGTH, ConnectionCount, TcpFlags, TcpHeader};

/// This end's SYN. It is no longer due once it is sent or acknowledged.
#[derive(Debug)]
pub(super) struct Handshake {
    syn_due: bool,
    /// SYNs sent so far, and the time of the last one.
    transmissions: u32,
    sent_at: Instant,
    /// T/TCP's state, if the connection was opened or accepted with T/TCP.
    transaction: Option<Box<Transaction>>,
}

impl Handshake {
    pub(super) fn new(now: Instant) -> Handshake {
        Handshake {
            syn_due: true,
            transmissions: 0,
            sent_at: now,
            transaction: None,
        }
    }

    /// Resumes a handshake begun by another gateway.
    pub(super) fn resume(syn_due: bool, transmissions: u32, sent_at: Instant) -> Handshake {
        Handshake {
            syn_due,
            transmissions,
            sent_at,
            transaction: None,
        }
    }

    /// Adds T/TCP's connection count to the first SYN.
    pub(super) fn use_transaction(&mut self, transaction: Transaction) {
        self.transaction = Some(Box::new(transaction));
    }

    pub(super) fn is_syn_due(&self) -> bool {
        self.syn_due
    }

    pub(super) fn demand_syn(&mut self) {
        self.syn_due = true;
    }

    /// Takes in the ACK of the SYN.
    pub(super) fn end(&mut self) {
        self.syn_due = false;
    }

    pub(super) fn on_syn_sent(&mut self, now: Instant) {
        self.syn_due = false;
        self.transmissions += 1;
        self.sent_at = now;
    }

    /// Returns the number of SYNs sent so far.
    pub(super) fn transmissions(&self) -> u32 {
        self.transmissions
    }

    /// Returns true if the SYN was sent more than once.
    pub(super) fn was_repeated(&self) -> bool {
        self.transmissions > 1
    }

    /// Returns the time of the last SYN.
    pub(super) fn sent_at(&self) -> Instant {
        self.sent_at
    }

    /// Returns the initial congestion window, in segments. A lost SYN indicates congestion, and reduces it to one
    /// segment (RFC 5681 section 3.1). In Linux this takes two lost SYNs, since its first timeout is shorter than the
    /// RFC's at that time.
    pub(super) fn first_window(&self, common: &Common) -> u32 {
        let shown_by = if common.recovers_as_linux() { 3 } else { 2 };
        if self.transmissions < shown_by {
            common.profile.initial_window.max(1)
        } else {
            1
        }
    }

    /// Takes in the timeout of the SYN. Returns the event that ends the connection after the last attempt.
    pub(super) fn on_timeout(
        &mut self,
        common: &mut Common,
        rtt: &mut RttEstimator,
        state: State,
    ) -> Option<Event> {
        common.statistics.timeouts += 1;
        let profile = &common.profile;
        let (retries, linear) = match state {
            State::SynSent => (profile.syn_retries, profile.syn_linear_timeouts),
            _ => (profile.syn_ack_retries, 0),
        };
        if self.transmissions > retries + linear {
            return Some(Event::TimedOut);
        }
        if self.transmissions > linear {
            rtt.back_off();
        }
        self.syn_due = true;
        None
    }

    /// Takes the RTT sample of the SYN.
    pub(super) fn sample(
        &self,
        common: &mut Common,
        rtt: &mut RttEstimator,
        now: Instant,
        header: &TcpHeader,
    ) {
        let arithmetic = common.profile.rto_arithmetic;
        let echo = header.options.timestamps.map(|stamps| stamps.echo);
        let sample = match echo.filter(|_| common.negotiated.timestamps) {
            _ if matches!(arithmetic, RtoArithmetic::Linux20 | RtoArithmetic::Inet) => None,
            _ if !self.was_repeated() => Some(rtt.measure(self.sent_at, now)),
            Some(echo) if arithmetic == RtoArithmetic::Linux => common.clock.since(now, echo),
            _ => None,
        };
        if self.was_repeated() {
            rtt.handshake_retransmitted();
        }
        if let Some(sample) = sample {
            match arithmetic {
                RtoArithmetic::Linux => rtt.sample_as_linux(sample, 1, 1),
                _ => rtt.sample(sample, common.profile.initial_window),
            }
            common.statistics.rtt_samples += 1;
        }
    }
}

/// T/TCP's part of the handshake.
impl Handshake {
    /// Returns true if the connection was opened or accepted with T/TCP.
    pub(super) fn is_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    /// Returns true if the connection is half-synchronized: established, with this end's SYN not yet acknowledged.
    pub(super) fn is_half_synchronized(&self) -> bool {
        let transaction = self.transaction.as_ref();
        transaction.is_some_and(|transaction| transaction.is_half_synchronized())
    }

    /// Takes in the ACK of the SYN. Returns true if the connection was half-synchronized.
    pub(super) fn end_half_synchronized(&mut self) -> bool {
        let transaction = self.transaction.as_mut();
        let ends = transaction.is_some_and(|transaction| transaction.end_half_synchronized());
        self.syn_due &= !ends;
        ends
    }

    /// Returns the number of bytes that the connection count takes in each segment.
    pub(super) fn count_length(&self) -> u32 {
        match &self.transaction {
            Some(transaction) if transaction.is_agreed() => CONNECTION_COUNT_LENGTH,
            _ => 0,
        }
    }

    /// Returns the connection count for a header of this end.
    pub(super) fn count(&self, flags: TcpFlags) -> Option<ConnectionCount> {
        let transaction = self.transaction.as_ref()?;
        transaction.count(flags, self.transmissions)
    }

    /// Returns the data in the SYN that leaves now, whose options take `options` bytes: as sequence space.
    pub(super) fn data_with_syn(
        &mut self,
        common: &Common,
        flow: &Flow,
        ends: &Ends,
        options: u32,
    ) -> u32 {
        let Some(transaction) = &mut self.transaction else {
            return 0;
        };
        if self.transmissions == 1 {
            let own = common.profile.maximum_segment_size;
            transaction.choose_data_with_syn(&flow.space, ends, own, options);
        }
        transaction.data_with_syn(self.transmissions)
    }

    /// Returns the data in this end's first SYN: as sequence space.
    pub(super) fn data_with_first_syn(&self) -> u32 {
        let transaction = self.transaction.as_ref();
        transaction.map_or(0, |transaction| transaction.data_with_first_syn())
    }

    /// Takes in the connection count echo of a SYN-ACK; returns false if it answers another SYN, and must be dropped.
    pub(super) fn take_echo(&mut self, syn: &TcpHeader) -> bool {
        let transaction = self.transaction.as_mut();
        transaction.is_none_or(|transaction| transaction.take_echo(syn))
    }

    /// Takes in the SYN-ACK. Returns true if the peer speaks T/TCP.
    pub(super) fn learn_answer(&mut self, common: &Common) -> bool {
        let segment_size = common.negotiated.peer_segment_size;
        let transaction = self.transaction.as_mut();
        transaction.is_some_and(|transaction| transaction.learn_answer(segment_size))
    }

    /// Takes in the end of a three-way handshake, which proves that the peer's SYN was not old.
    pub(super) fn trust_peer(&mut self, common: &Common) {
        if let Some(transaction) = &mut self.transaction {
            transaction.trust_peer(common.negotiated.peer_segment_size);
        }
    }

    pub(super) fn take_learnt(&mut self) -> Option<Learnt> {
        self.transaction.as_mut()?.take_learnt()
    }

    /// Takes the data held back, once.
    pub(super) fn take_held(&mut self) -> Option<(Payload, TcpFlags)> {
        self.transaction.as_mut()?.take_held()
    }

    /// Returns false for a segment of another connection between the same ports.
    pub(super) fn is_of_this_connection(&self, header: &TcpHeader) -> bool {
        let transaction = self.transaction.as_ref();
        transaction.is_none_or(|transaction| transaction.is_of_this_connection(header))
    }

    /// Returns the duration of TIME-WAIT.
    pub(super) fn time_wait(&self, common: &Common, timeout: Duration, now: Instant) -> Duration {
        let whole = common.profile.time_wait;
        match &self.transaction {
            Some(transaction) => transaction.time_wait(now, whole, timeout),
            None => whole,
        }
    }
}
