//! Opening: from the first SYN to an established connection (RFC 9293 section 3.10.7.3), also by T/TCP.

use super::challenge::ChallengeLimit;
use super::ends::Ends;
use super::handshake::Handshake;
use super::profile::Profile;
use super::receiving::Receiving;
use super::sender::Sender;
use super::timer::Timer;
use super::transaction::{Acceptance, Learnt, Opening, Transaction};
use super::{Common, Connection, Endpoint, Event, State, options, reset_reply, sequence_length};
use crate::packet::Payload;
use crate::time::Instant;
use crate::wire::icmp::IcmpError;
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::{LONGEST_OPTIONS, TcpFlags, TcpHeader, TcpOptions};

impl Connection {
    /// Opens a connection actively; [`poll_transmit`](Self::poll_transmit) returns the SYN. `initial_sequence` comes
    /// from [`super::isn::initial_sequence_number`]; `path_mtu` is in bytes.
    pub fn connect(
        now: Instant,
        local: Endpoint,
        remote: Endpoint,
        profile: &Profile,
        initial_sequence: SequenceNumber,
        path_mtu: u32,
    ) -> Connection {
        let mut connection = Connection {
            state: State::SynSent,
            sender: Sender::new(profile, now, initial_sequence),
            receiving: Receiving::new(profile),
            common: Common::new(profile, now, initial_sequence.0),
            handshake: Handshake::new(now),
            ends: Ends::new(local, remote, path_mtu),
            reset_due: None,
            challenges: ChallengeLimit::new(now),
        };
        connection.start_congestion_control();
        connection
    }

    /// Answers a SYN accepted by a [`super::listener::Listener`]; [`poll_transmit`](Self::poll_transmit) returns the
    /// SYN-ACK.
    #[allow(clippy::too_many_arguments)] // `connect` and the SYN; a struct of them would be built only here.
    pub fn accept(
        now: Instant,
        local: Endpoint,
        remote: Endpoint,
        profile: &Profile,
        initial_sequence: SequenceNumber,
        path_mtu: u32,
        syn: &TcpHeader,
    ) -> Connection {
        let mut connection =
            Connection::connect(now, local, remote, profile, initial_sequence, path_mtu);
        connection.state = State::SynReceived;
        connection.receiving.accepted = true;
        connection.take_syn(now, syn);
        connection
    }

    /// Opens with T/TCP. Call this before anything is sent.
    pub fn open_transaction(&mut self, now: Instant, opening: Opening) {
        let transaction = Transaction::opening(now, opening);
        self.handshake.use_transaction(transaction);
    }

    /// Accepts with T/TCP the SYN of this connection, with its data. Call this before anything is sent.
    pub fn accept_transaction(
        &mut self,
        now: Instant,
        acceptance: Acceptance,
        syn: &TcpHeader,
        payload: Payload,
    ) {
        let transaction = Transaction::acceptance(now, acceptance, (payload, syn.flags));
        self.handshake.use_transaction(transaction);
        self.choose_segment_size();
        if !self.handshake.is_half_synchronized() {
            return;
        }
        // The peer treats the window of a SYN-ACK as offered.
        let space = &mut self.sender.flow.space;
        self.receiving.data.advertise(space.segment_size(), 0);
        space.begin();
        let others = self.common.timestamps_length() + self.handshake.count_length();
        space.share_first_segment(LONGEST_OPTIONS - others);
        self.stand(now);
        self.handshake.demand_syn();
        self.take_held(now);
    }

    /// Takes the facts to remember about the peer, once.
    pub fn take_learnt(&mut self) -> Option<Learnt> {
        self.handshake.take_learnt()
    }

    /// Returns true if this connection was opened or accepted with T/TCP.
    pub fn is_transaction(&self) -> bool {
        self.handshake.is_transaction()
    }

    /// Returns "Eff.snd.MSS" (RFC 9293 section 3.7.1, RFC 6691).
    pub(super) fn sendable_segment_size(&self) -> u32 {
        let options = self.common.timestamps_length() + self.handshake.count_length();
        self.ends.sendable_segment_size(&self.common, options)
    }

    /// Sets the segment size for the present path MTU and options.
    pub(super) fn choose_segment_size(&mut self) {
        let size = self.sendable_segment_size();
        self.sender.flow.space.set_segment_size(size);
    }

    /// Starts congestion control with the segment size for the present path MTU and options.
    fn start_congestion_control(&mut self) {
        self.choose_segment_size();
        let segments = self.handshake.first_window(&self.common);
        let flow = &mut self.sender.flow;
        flow.start_congestion_control(&self.common.profile, segments);
    }

    /// Returns true if an error ends the attempt to open: "protocol" and "port unreachable" by RFC 1122 section
    /// 4.2.3.9. In Linux also an unreachable host, by which an end that has answered a SYN gives up, too (`tcp_v4_err`,
    /// `tcp_req_err`).
    pub(super) fn gives_up_opening(&self, error: IcmpError) -> bool {
        let hard = matches!(
            error,
            IcmpError::PortUnreachable | IcmpError::ProtocolUnreachable
        );
        let soft = matches!(error, IcmpError::Unreachable | IcmpError::TimeExceeded);
        match self.state {
            State::SynSent => hard || soft && self.common.recovers_as_linux(),
            State::SynReceived => soft && self.common.recovers_as_linux(),
            _ => false,
        }
    }

    /// Returns a segment's header without its SYN, already taken in.
    pub(super) fn without_syn(&self, header: &TcpHeader) -> TcpHeader {
        let shifts = self.common.negotiated.window_shifts;
        TcpHeader {
            flags: header.flags.without(TcpFlags::SYN),
            sequence: header.sequence + 1,
            // This window is not scaled (RFC 7323 section 2.2), but later code expects a scaled one.
            window: header.window >> shifts.map_or(0, |(_, theirs)| theirs),
            ..*header
        }
    }

    pub(super) fn is_syn_again(&self, header: &TcpHeader) -> bool {
        header.flags.contains(TcpFlags::SYN)
            && !header.flags.contains(TcpFlags::RST)
            && header.sequence == self.receiving.initial()
    }

    /// Takes in a segment in SYN-SENT (RFC 9293 section 3.10.7.3).
    #[cold]
    pub(super) fn on_segment_in_syn_sent(
        &mut self,
        now: Instant,
        header: &TcpHeader,
        payload: Payload,
    ) {
        let flag = |bit| header.flags.contains(bit);
        let acknowledged = flag(TcpFlags::ACK);
        let space = &self.sender.flow.space;
        let position = space.position(header.acknowledgment);
        let most = 1 + i64::from(self.handshake.data_with_first_syn());
        let ours = space.next() == 1 && (1..=most).contains(&position);
        if acknowledged && !ours {
            self.reset_due = reset_reply(header, payload.length()).map(Box::new);
            return;
        }
        if flag(TcpFlags::RST) {
            if acknowledged {
                self.end(Event::Refused);
            }
            return;
        }
        if !flag(TcpFlags::SYN) || acknowledged && !self.handshake.take_echo(header) {
            return;
        }
        self.take_syn(now, header);
        if acknowledged {
            self.on_established(now, header);
            self.receiving.acks.demand();
            if self.common.quick_acks().is_some() {
                self.receiving.acks.hurry_handshake();
            }
            self.take_beside_syn(now, header, payload);
        } else {
            self.state = State::SynReceived;
            self.handshake.demand_syn();
        }
    }

    /// Takes in the peer's initial sequence number and options.
    fn take_syn(&mut self, now: Instant, syn: &TcpHeader) {
        let common = &mut self.common;
        let own = self.ends.own_segment_size(common);
        let remote = self.ends.remote().address;
        common.negotiated = options::negotiate(&common.profile, own, remote, syn);
        let shift = common.negotiated.window_shifts.map(|(ours, _)| ours);
        self.receiving.take_syn(syn.sequence, shift);
        if let Some(timestamps) = syn.options.timestamps {
            common.clock.set_recent(timestamps.value, now);
        }
        // The window of a SYN is never scaled (RFC 7323 section 2.2).
        let window = u64::from(syn.window);
        self.sender.flow.space.take_first_window(window);
        self.choose_segment_size();
    }

    /// Takes in the ACK of the SYN.
    pub(super) fn on_established(&mut self, now: Instant, header: &TcpHeader) {
        self.sender.flow.space.begin();
        self.handshake.end();
        self.common.timers.stop(Timer::Retransmission);
        self.sample_handshake(now, header);
        self.stand(now);
        if !header.flags.contains(TcpFlags::SYN) {
            let window = self.unscaled(header.window);
            self.sender.flow.space.set_window(window);
        }
    }

    /// Establishes the connection.
    fn stand(&mut self, now: Instant) {
        self.state = State::Established;
        self.common.events.report(Event::Connected);
        self.start_congestion_control();
        self.start_halves(now);
    }

    /// Starts both halves with the results of the handshake.
    pub(super) fn start_halves(&mut self, now: Instant) {
        self.receiving.start(&self.common, now);
        self.sender.start(&mut self.common, now);
    }

    fn sample_handshake(&mut self, now: Instant, header: &TcpHeader) {
        let rtt = &mut self.sender.flow.rtt;
        self.handshake.sample(&mut self.common, rtt, now, header);
    }

    /// Takes in the ACK of the SYN in a half-synchronized connection.
    pub(super) fn end_half_synchronized(&mut self, now: Instant, header: &TcpHeader) {
        if !self.handshake.end_half_synchronized() {
            return;
        }
        let space = &mut self.sender.flow.space;
        space.share_first_segment(0);
        if space.sent.is_empty() {
            self.common.timers.stop(Timer::Retransmission);
            self.sample_handshake(now, header);
        }
    }

    /// Takes in the rest of a SYN-ACK, its other flags and its data, if T/TCP allows it.
    fn take_beside_syn(&mut self, now: Instant, header: &TcpHeader, payload: Payload) {
        let position = self.sender.flow.space.position(header.acknowledgment);
        let speaks = self.resume_after_syn(now, position);
        let header = self.without_syn(header);
        let length = sequence_length(&header, payload.length());
        if position == 1 && (length == 0 || !speaks) {
            return;
        }
        if self.take_acknowledgment(now, &header, 1, length) && speaks {
            self.take_data(now, &header, 1, payload);
        }
    }

    /// Establishes the connection after a SYN-ACK: data sent with the SYN counts as sent, and is retransmitted at once
    /// to a peer that has probably dropped it. Returns true if the peer speaks T/TCP.
    fn resume_after_syn(&mut self, now: Instant, acknowledged: i64) -> bool {
        let speaks = self.handshake.learn_answer(&self.common);
        let length = self.handshake.data_with_first_syn();
        if length > 0 {
            let sent_at = self.handshake.sent_at();
            self.sender
                .take_as_sent(&mut self.common, now, length, sent_at);
            self.after_new_data(now);
            if self.handshake.was_repeated() {
                self.sender.flow.space.sent.distrust_timing_of_first();
            }
            if !speaks && acknowledged == 1 {
                self.sender.resend_outstanding(&self.common);
            }
        }
        speaks
    }

    /// Takes in the data held back, since the peer's SYN was not old.
    pub(super) fn take_held(&mut self, now: Instant) {
        let Some((payload, flags)) = self.handshake.take_held() else {
            return;
        };
        if payload.length() == 0 && !flags.contains(TcpFlags::FIN) {
            return;
        }
        let header = TcpHeader {
            source_port: self.ends.remote().port,
            destination_port: self.ends.local().port,
            sequence: self.receiving.sequence(1),
            acknowledgment: SequenceNumber(0),
            flags: flags.without(TcpFlags::SYN),
            window: 0,
            options: TcpOptions::default(),
        };
        self.take_data(now, &header, 1, payload);
    }
}
