//! A listening port for Python.

use super::Connection;
use super::segment::segment;
use crate::by_hand::{Clock, checked_mtu, encoded, endpoint, stranger, text};
use crate::errors::guarded;
use baton_proto::packet::{Body, Payload};
use baton_proto::tcp::listener::{self, Admission};
use baton_proto::tcp::profile::Profile;
use baton_proto::tcp::{self, Endpoint};
use baton_proto::wire::sequence::SequenceNumber;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A listening port: makes connections of the SYNs that arrive, as many at once as its backlog permits.
///
/// Packets of a connection that it has made are for that connection's `handle_segment`, not for this one's.
#[pyclass(frozen, module = "baton.tcp")]
pub(crate) struct Listener {
    inner: Mutex<Listening>,
}

struct Listening {
    clock: Clock,
    listener: listener::Listener,
    local: Endpoint,
    profile: Profile,
    initial_sequence: SequenceNumber,
    mtu: u32,
    /// As bytes.
    resets: VecDeque<Vec<u8>>,
}

impl Listener {
    pub(super) fn new(
        local: &str,
        backlog: u32,
        profile: Profile,
        mtu: u32,
        initial_sequence: u32,
    ) -> PyResult<Listener> {
        let inner = Mutex::new(Listening {
            clock: Clock::new(),
            listener: listener::Listener::new(backlog),
            local: endpoint(local)?,
            profile,
            initial_sequence: SequenceNumber(initial_sequence),
            mtu: checked_mtu(mtu)?,
            resets: VecDeque::new(),
        });
        Ok(Listener { inner })
    }

    fn take(&self, seconds: f64, bytes: &[u8]) -> PyResult<Option<Connection>> {
        let (from, to, header, payload) = segment(bytes)?;
        let mut inner = self.listening();
        if to != inner.local {
            let expected = format!("anyone to {}", text(inner.local));
            return Err(stranger(from, to, &expected));
        }
        let now = inner.clock.at(seconds)?;
        match inner.listener.admit(&header, payload.length()) {
            Admission::Accept => {}
            Admission::Drop => return Ok(None),
            Admission::Reset(reset) => {
                let body = Body::Tcp(reset, Payload::EMPTY);
                let reset = encoded(to.address, from.address, 0, body);
                inner.resets.push_back(reset);
                return Ok(None);
            }
        }
        let (profile, initial, mtu) = (&inner.profile, inner.initial_sequence, inner.mtu);
        let connection = tcp::Connection::accept(now, to, from, profile, initial, mtu, &header);
        let mut clock = Clock::new();
        clock.at(seconds)?;
        Ok(Some(Connection::new(clock, connection)))
    }

    fn listening(&self) -> MutexGuard<'_, Listening> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Listener {
    /// Takes in a whole IP packet that belongs to no connection.
    ///
    /// A SYN gives a connection, whose SYN-ACK comes out of its `poll_transmit`; beyond the backlog it is dropped.
    /// To an ACK a reset is due: `poll_transmit`. Raises `PacketError` as `Connection.handle_segment` does.
    fn handle_segment(&self, now: f64, packet: &[u8]) -> PyResult<Option<Connection>> {
        guarded(|| self.take(now, packet))
    }

    /// To be told when a connection that came from here is established or gone: there is room for another.
    fn half_open_ended(&self) {
        self.listening().listener.half_open_ended();
    }

    /// The next reset to send, as a whole IP packet; None if there is none.
    fn poll_transmit<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let reset = self.listening().resets.pop_front()?;
        Some(PyBytes::new(py, &reset))
    }

    /// Address at which it listens.
    #[getter]
    fn local(&self) -> String {
        text(self.listening().local)
    }

    /// Connections that wait for the end of their handshake.
    #[getter]
    fn half_open(&self) -> u32 {
        self.listening().listener.half_open()
    }

    /// SYNs dropped because the backlog was full.
    #[getter]
    fn refused(&self) -> u64 {
        self.listening().listener.refused()
    }

    fn __repr__(&self) -> String {
        format!("<baton.tcp.Listener {}>", self.local())
    }
}
