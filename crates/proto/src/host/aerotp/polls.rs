//! Polls of AeroTP connections: deadlines, events, packets to send.

use super::{AerotpId, AerotpSockets};
use crate::aerotp;
use crate::host::Outgoing;
use crate::packet::Body;
use crate::time::Instant;
use core::cmp::Reverse;

impl AerotpSockets {
    pub(super) fn next_timeout(&mut self) -> Option<Instant> {
        while let Some(&Reverse((at, id))) = self.deadlines.peek() {
            let Some(socket) = self.sockets.get_mut(&id) else {
                self.deadlines.pop();
                continue;
            };
            if socket.queued_deadline != Some(at) {
                self.deadlines.pop();
                continue;
            }
            match socket.connection.poll_timeout() {
                Some(deadline) if deadline <= at => return Some(at),
                // The deadline has moved later since: queue it anew.
                _ => {
                    self.deadlines.pop();
                    socket.queued_deadline = None;
                    self.queue_deadline(id, at);
                }
            }
        }
        None
    }

    pub(super) fn do_due(&mut self, now: Instant) {
        while self.next_timeout().is_some_and(|at| at <= now) {
            let Some(Reverse((_, id))) = self.deadlines.pop() else {
                return;
            };
            if let Some(socket) = self.sockets.get_mut(&id) {
                socket.queued_deadline = None;
                socket.connection.handle_timeout(now);
            }
            self.touch(id);
        }
    }

    pub(super) fn next_event(&mut self) -> Option<(AerotpId, aerotp::Event)> {
        if let Some(id) = self.dropped.pop_front() {
            return Some((id, aerotp::Event::Closed));
        }
        while let Some(&id) = self.touched.front() {
            if let Some(socket) = self.sockets.get_mut(&id) {
                if let Some(event) = socket.connection.poll_event() {
                    return Some((id, event));
                }
                socket.touched = false;
                if !socket.ready {
                    socket.ready = true;
                    self.ready.push_back(id);
                }
            }
            self.touched.pop_front();
        }
        None
    }

    pub(super) fn next_packet(&mut self, now: Instant) -> Option<Outgoing> {
        while let Some(&id) = self.ready.front() {
            if let Some(socket) = self.sockets.get_mut(&id) {
                if let Some(sent) = socket.connection.poll_transmit(now) {
                    return Some(Outgoing {
                        addresses: sent.addresses,
                        body: Body::Aerotp(Box::new(sent.packet)),
                        flow: socket.flow,
                        retransmission: sent.retransmission,
                    });
                }
                socket.ready = false;
                self.changed.push_back(id);
                // Nothing is kept of a connection that ended half open.
                if socket.half_open.is_some() && socket.is_over() {
                    self.forget(id);
                } else {
                    self.queue_deadline(id, now);
                }
            }
            self.ready.pop_front();
        }
        None
    }

    /// Ensures that the heap holds an entry at the connection's deadline or before; if that has passed, as a probe's may while its link
    /// is down, no earlier than `now`.
    fn queue_deadline(&mut self, id: AerotpId, now: Instant) {
        let Some(socket) = self.sockets.get_mut(&id) else {
            return;
        };
        let Some(deadline) = socket.connection.poll_timeout() else {
            return;
        };
        let deadline = deadline.max(now);
        if socket
            .queued_deadline
            .is_none_or(|queued| deadline < queued)
        {
            socket.queued_deadline = Some(deadline);
            self.deadlines.push(Reverse((deadline, id)));
        }
    }
}
