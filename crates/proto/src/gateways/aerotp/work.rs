//! Progress of a connection across the link: each event triggers all work that is then possible.

use super::opening::{Half, agreed_on};
use super::{AerotpGateway, Near, Pair, Splice};
use crate::aerotp;
use crate::host::SocketId;
use crate::host::layer::{Around, Step};
use crate::packet::{Body, Payload};
use crate::tcp::{self, Connection, State};
use crate::time::{Duration, Instant};
use crate::wire::aerotp::Mode;

/// Idle time after which a datagram connection ends (RFC 4787, REQ-5).
const UDP_IDLE: Duration = Duration::from_secs(120);

/// Notes an event of the half here.
pub(super) fn note(splice: &mut Splice, event: tcp::Event) {
    match event {
        tcp::Event::Connected => splice.near_spoke = true,
        tcp::Event::PeerClosed => splice.near_finished = true,
        tcp::Event::Refused | tcp::Event::Reset | tcp::Event::TimedOut => {
            splice.near_failed = true;
        }
        tcp::Event::Readable | tcp::Event::Writable | tcp::Event::Closed => {}
    }
}

impl AerotpGateway {
    /// Works on connections with new events, and on the events caused by this work.
    pub(super) fn work_splices(&mut self, now: Instant, around: &mut Around<'_>) {
        while let Some(ends) = self.next_splice() {
            let Some(mut splice) = self.take_out(&ends) else {
                continue;
            };
            let stays = self.work_splice(now, around, &mut splice);
            if let (false, Near::Tcp(socket)) = (stays, &splice.near) {
                self.leave_half(*socket);
            }
            if !stays {
                self.record_end(&splice);
            }
            self.queue(now, &mut splice);
            self.put_back(splice, stays);
        }
    }

    /// Sends the segments of the halves.
    pub(super) fn send_segments(&mut self, now: Instant, around: &mut Around<'_>) {
        while let Some(packet) = self.sockets.poll_transmit(now, &mut around.origin) {
            self.outbox.push_back(Step::Originate(packet));
        }
        while self.sockets.poll_changed().is_some() {}
    }

    /// Drops a half whose connection is closed. A half that is not closing would wait for an application that does not
    /// exist.
    pub(super) fn leave_half(&mut self, socket: SocketId) {
        let Some(tcp) = self.sockets.connection_mut(socket) else {
            return;
        };
        if !is_closing(tcp.state()) {
            tcp.abort();
        }
        self.sockets.abandon(socket);
    }

    /// Returns the next connection with a new event. The halves are polled first, which also lets them send.
    fn next_splice(&mut self) -> Option<Pair> {
        while let Some((socket, event)) = self.sockets.poll_event() {
            let Some(&ends) = self.by_socket.get(&socket) else {
                continue;
            };
            self.touched.insert(ends);
            if let Some(splice) = self.splices.get_mut(&ends) {
                note(splice, event);
            }
        }
        self.touched.pop_first()
    }

    /// Does all work that is possible for a connection. Returns true if the connection continues.
    fn work_splice(&mut self, now: Instant, around: &mut Around<'_>, splice: &mut Splice) -> bool {
        while let Some(event) = splice.aerotp.poll_event() {
            match event {
                aerotp::Event::Finished => splice.far_finished = true,
                aerotp::Event::Delivered => splice.end_delivered = true,
                aerotp::Event::Reset | aerotp::Event::TimedOut => {
                    let is_refused = event == aerotp::Event::Reset;
                    self.far_failed(around, splice, is_refused);
                }
                _ => {}
            }
        }
        self.answer_waiting(now, around, splice);
        let goes_on = match splice.near {
            Near::Waiting(_) => splice.aerotp.state() != aerotp::State::Closed,
            Near::Tcp(socket) if splice.journaled.is_some() => {
                self.carry_journaled(now, splice, socket)
            }
            Near::Tcp(socket) => self.carry_stream(now, splice, socket),
            Near::Returning(_) => self.carry_returning(now, around, splice),
            Near::Udp => self.carry_datagrams(now, around, splice),
        };
        if splice.near_failed && splice.is_held {
            self.refuse(now, around, splice);
            return false;
        }
        self.send_at_once(now, around, splice);
        goes_on
    }

    /// Ends the half here after the other gateway has reset the connection or timed out. A waiting SYN is refused only
    /// after a refusal.
    fn far_failed(&mut self, around: &mut Around<'_>, splice: &Splice, is_refused: bool) {
        let ends = splice.ends;
        match &splice.near {
            Near::Waiting(syn) if is_refused => {
                if let Some(reset) = tcp::reset_reply(syn, 0) {
                    let body = Body::Tcp(reset, Payload::EMPTY);
                    let packet =
                        around
                            .origin
                            .packet((ends.1.address, ends.0.address), body, splice.flow);
                    self.outbox.push_back(Step::Originate(packet));
                }
            }
            // The other gateway forgets a connection soon after it has all.
            Near::Tcp(_) => {
                let journaled = splice.journaled.as_ref();
                if !journaled.is_some_and(|it| it.owes_nothing(&splice.aerotp)) {
                    self.abort_near(splice);
                }
            }
            Near::Waiting(_) | Near::Returning(_) | Near::Udp => {}
        }
    }

    /// Refuses the other gateway's connection after the far end has refused it or timed out.
    fn refuse(&mut self, now: Instant, around: &mut Around<'_>, splice: &mut Splice) {
        let ends = splice.ends;
        let opened_by = splice.opened_by.take();
        let reset = opened_by.and_then(|opened| aerotp::reset_reply(&opened.header, now));
        if let Some(reset) = reset {
            let body = Body::Aerotp(Box::new(reset));
            let packet = around
                .origin
                .packet((ends.0.address, ends.1.address), body, splice.flow);
            self.send_first(now, packet);
        }
    }

    /// Answers the waiting SYN after the far end's answer, with the options agreed by the far end.
    fn answer_waiting(&mut self, now: Instant, around: &Around<'_>, splice: &mut Splice) {
        let (Near::Waiting(syn), Some(offer)) = (&splice.near, splice.aerotp.peer_offer()) else {
            return;
        };
        let syn = **syn;
        let profile = splice.rule.profile.clone();
        let half = Half {
            ends: splice.ends,
            flow: splice.flow,
            profile,
            agreed: Some(offer),
        };
        let socket = self.accept_half(now, around, half, &syn);
        splice.near = Near::Tcp(socket);
        self.by_socket.insert(socket, splice.ends);
    }

    /// Moves bytes in both directions as far as there is room, and passes on the ends of both streams, and
    /// confirmations.
    fn carry_stream(&mut self, now: Instant, splice: &mut Splice, socket: SocketId) -> bool {
        let Some(tcp) = self.sockets.connection_mut(socket) else {
            return false;
        };
        if splice.is_held && !matches!(tcp.state(), State::SynSent | State::Closed) {
            splice.aerotp.set_offer(agreed_on(tcp));
            splice.is_held = false;
            splice.opened_by = None;
        }
        loop {
            let own = splice.aerotp.room().min(tcp.readable());
            let Some(piece) = tcp.take(self.custody.room(splice, own)) else {
                break;
            };
            splice.aerotp.write(&piece);
        }
        let aerotp = &mut splice.aerotp;
        if splice.near_finished && tcp.readable() == 0 {
            aerotp.close();
        }
        tcp.put_all(|room| Some(aerotp.read(now, room)?.payload));
        let mut owes_nothing = true;
        if aerotp.configuration().mode == Mode::Reliable {
            aerotp.confirm(now, tcp.bytes_acknowledged());
            let all = aerotp.held() == 0 && aerotp.confirmed() == aerotp.acknowledged();
            let with_end = splice.end_delivered && all;
            tcp.release_acknowledgments(aerotp.confirmed(), with_end);
            owes_nothing = with_end || !splice.near_finished;
        }
        // A half that is closed on both sides sends no more ACKs.
        if splice.far_finished && aerotp.readable() == 0 && owes_nothing {
            tcp.close();
        }
        if splice.near_failed && !splice.is_held {
            aerotp.abort();
        }
        let is_over = aerotp.state() == aerotp::State::Closed;
        !is_over || has_left(tcp)
    }

    /// Forwards datagrams, and ends the connection after a long idle time.
    fn carry_datagrams(
        &mut self,
        now: Instant,
        around: &mut Around<'_>,
        splice: &mut Splice,
    ) -> bool {
        let ends = splice.ends;
        while let Some(record) = splice.aerotp.read(now, u64::MAX) {
            splice.last_datagram = now;
            splice.far_spoke = true;
            self.send_datagram(around, (ends.1, ends.0), record.payload, splice.flow);
        }
        if splice.last_datagram + UDP_IDLE <= now || splice.far_finished {
            splice.near_finished = true;
            splice.aerotp.close();
        }
        splice.aerotp.state() != aerotp::State::Closed
    }
}

/// Returns true if a connection is closed, or closed by its application.
fn is_closing(state: State) -> bool {
    match state {
        State::SynSent | State::SynReceived | State::Established | State::CloseWait => false,
        State::FinWait1
        | State::FinWait2
        | State::Closing
        | State::LastAck
        | State::TimeWait
        | State::Closed => true,
    }
}

/// Returns true if a half still has data to send to its end.
fn has_left(tcp: &Connection) -> bool {
    tcp.bytes_in_flight() > 0 && !matches!(tcp.state(), State::Closed | State::TimeWait)
}

impl AerotpGateway {
    /// Stores a connection again after work on it, or ends it.
    pub(super) fn put_back(&mut self, mut splice: Box<Splice>, stays: bool) {
        let ends = splice.ends;
        let woken = self.custody.count(&mut splice, stays);
        self.touched.extend(woken);
        if splice.half_open && !(stays && splice.is_half_open(self.links_authenticate)) {
            splice.half_open = false;
            self.half_open.remove(&splice.number);
        }
        if stays {
            let custody = self.custody_deadline(&splice);
            splice.deadline = splice.next_deadline().into_iter().chain(custody).min();
            self.deadlines.extend(splice.deadline.map(|at| (at, ends)));
            self.splices.insert(ends, splice);
        } else {
            self.repairs.add(&splice.aerotp);
            if let Near::Tcp(socket) = splice.near {
                self.by_socket.remove(&socket);
            }
        }
    }
}

impl Splice {
    /// Returns the time of the next work without an event.
    fn next_deadline(&self) -> Option<Instant> {
        let idle = match self.near {
            Near::Udp if !self.near_finished => Some(self.last_datagram + UDP_IDLE),
            Near::Returning(returning) => Some(returning.ask_at),
            _ => None,
        };
        let aerotp = self.aerotp.poll_timeout().filter(|_| !self.is_held);
        aerotp.into_iter().chain(idle).min()
    }
}
