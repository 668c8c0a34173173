//! A QUIC connection as a socket of its application.

use crate::stop_watch::StopWatch;
use baton_proto::host::{Pattern, Socket, SocketCounters, SocketEvent, SocketState, Timed};
use baton_proto::packet::FlowId;
use baton_proto::time::{Duration, Instant};
use core::net::{IpAddr, SocketAddr};
use quinn_proto::{
    ApplicationClose, Connection, ConnectionError, ConnectionHandle, Dir, Event, ReadError,
    StreamEvent, StreamId, TransportErrorCode, VarInt,
};
use std::collections::VecDeque;

/// Most bytes of a pattern generated at once.
const PIECE: u64 = 16 * 1024;
/// Error code of an application that needs no more data.
const DONE: VarInt = VarInt::from_u32(0);

/// A connection. Each end writes to a unidirectional stream of its own (RFC 9000 section 2.1).
pub struct QuicConnection {
    pub(crate) connection: Connection,
    pub(crate) handle: ConnectionHandle,
    /// Local port, which is constant.
    pub(crate) port: u16,
    /// Local address.
    pub(crate) local: IpAddr,
    pub(crate) flow: Option<FlowId>,
    /// True once the connection and its state in the library are gone.
    pub(crate) is_drained: bool,
    watch: StopWatch,
    is_client: bool,
    outgoing: Option<StreamId>,
    incoming: Option<StreamId>,
    /// True once the application has closed its direction.
    is_closing: bool,
    /// True once the peer has acknowledged all data.
    is_delivered: bool,
    /// True once the peer's stream was read to its end.
    has_read_all: bool,
    /// Last known address of the peer.
    remote: SocketAddr,
    migrations: u64,
    events: VecDeque<SocketEvent>,
}

/// Counters of a connection that are specific to QUIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuicStatistics {
    /// Packets declared lost (RFC 9002 section 6).
    pub lost_packets: u64,
    /// Reductions of the congestion window.
    pub congestion_events: u64,
    /// Changes of an end's address: at a client its own, at a server the peer's.
    pub migrations: u64,
    /// Largest UDP payload on the path found so far, in bytes.
    pub path_mtu: u16,
}

impl QuicConnection {
    pub(crate) fn new(
        connection: Connection,
        handle: ConnectionHandle,
        (local, port): (IpAddr, u16),
        flow: Option<FlowId>,
        watch: StopWatch,
    ) -> QuicConnection {
        QuicConnection {
            is_client: connection.side().is_client(),
            remote: connection.remote_address(),
            connection,
            handle,
            port,
            local,
            flow,
            is_drained: false,
            watch,
            outgoing: None,
            incoming: None,
            is_closing: false,
            is_delivered: false,
            has_read_all: false,
            migrations: 0,
            events: VecDeque::new(),
        }
    }

    /// Returns the counters specific to QUIC.
    pub fn statistics(&self) -> QuicStatistics {
        let path = self.connection.stats().path;
        QuicStatistics {
            lost_packets: path.lost_packets,
            congestion_events: path.congestion_events,
            migrations: self.migrations,
            path_mtu: path.current_mtu,
        }
    }

    /// Returns the peer's address.
    pub fn peer(&self) -> SocketAddr {
        self.connection.remote_address()
    }

    /// Moves a client to another address of its host (RFC 9000 section 9.2); congestion control and the path MTU begin
    /// anew (section 9.4). A server does not move: the protocol allows this only for clients.
    pub(crate) fn move_to(&mut self, now: std::time::Instant, address: IpAddr) {
        if self.is_client && address != self.local {
            self.local = address;
            self.migrations += 1;
            self.connection.local_address_changed();
            self.connection.path_changed(now);
        }
    }

    /// Notes a move of the peer.
    pub(crate) fn note_peer(&mut self) {
        let remote = self.connection.remote_address();
        if !self.is_client && remote != self.remote {
            self.migrations += 1;
        }
        self.remote = remote;
    }

    /// Closes the connection once this end is closed, all its data is acknowledged, and all the peer's data is read.
    pub(crate) fn close_if_done(&mut self, now: std::time::Instant) {
        let has_sent_all = self.outgoing.is_none() || self.is_delivered;
        let is_done = self.is_closing && has_sent_all && self.has_read_all;
        if is_done && !self.connection.is_closed() {
            self.connection.close(now, DONE, bytes::Bytes::new());
            self.events.push_back(SocketEvent::Closed);
        }
    }

    /// Returns the next event.
    pub(crate) fn poll_event(&mut self) -> Option<SocketEvent> {
        while self.events.is_empty() {
            let event = self.connection.poll()?;
            self.take(event);
        }
        self.events.pop_front()
    }

    fn take(&mut self, event: Event) {
        let event = match event {
            Event::Connected => SocketEvent::Connected,
            Event::ConnectionLost { reason } => end(&reason),
            Event::Stream(StreamEvent::Opened { .. } | StreamEvent::Readable { .. }) => {
                SocketEvent::Readable
            }
            Event::Stream(StreamEvent::Writable { .. } | StreamEvent::Available { .. }) => {
                SocketEvent::Writable
            }
            Event::Stream(StreamEvent::Finished { .. }) => {
                self.is_delivered = true;
                return;
            }
            Event::Stream(StreamEvent::Stopped { .. }) => SocketEvent::Reset,
            Event::HandshakeDataReady | Event::DatagramReceived | Event::DatagramsUnblocked => {
                return;
            }
        };
        self.events.push_back(event);
    }
}

impl Timed for Box<QuicConnection> {
    fn poll_timeout(&mut self) -> Option<Instant> {
        let deadline = self.connection.poll_timeout()?;
        Some(self.watch.inside(deadline))
    }
}

/// Returns the event for the end of a connection.
fn end(reason: &ConnectionError) -> SocketEvent {
    match reason {
        ConnectionError::ApplicationClosed(ApplicationClose { error_code, .. })
            if *error_code == DONE =>
        {
            SocketEvent::Closed
        }
        ConnectionError::LocallyClosed => SocketEvent::Closed,
        ConnectionError::TimedOut => SocketEvent::TimedOut,
        ConnectionError::ConnectionClosed(close)
            if close.error_code == TransportErrorCode::CONNECTION_REFUSED =>
        {
            SocketEvent::Refused
        }
        _ => SocketEvent::Reset,
    }
}

impl Socket for QuicConnection {
    fn write(&mut self, pattern: Pattern) -> u64 {
        if self.outgoing.is_none() {
            self.outgoing = self.connection.streams().open(Dir::Uni);
        }
        let Some(stream) = self.outgoing else {
            return 0;
        };
        let mut written = 0;
        let mut bytes = Vec::new();
        while written < pattern.length {
            let piece = Pattern {
                offset: pattern.offset + written,
                length: (pattern.length - written).min(PIECE),
                ..pattern
            };
            bytes.clear();
            piece.payload().copy_into(&mut bytes);
            let taken = self.connection.send_stream(stream).write(&bytes);
            let taken = taken.unwrap_or(0) as u64;
            written += taken;
            if taken < piece.length {
                break;
            }
        }
        written
    }

    fn read(&mut self, _: Instant) -> u64 {
        if self.incoming.is_none() {
            self.incoming = self.connection.streams().accept(Dir::Uni);
        }
        let Some(stream) = self.incoming.filter(|_| !self.has_read_all) else {
            return 0;
        };
        let mut stream = self.connection.recv_stream(stream);
        let Ok(mut chunks) = stream.read(true) else {
            return 0;
        };
        let mut bytes = 0;
        let end = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => bytes += chunk.bytes.len() as u64,
                Ok(None) => break Some(SocketEvent::PeerClosed),
                Err(ReadError::Blocked) => break None,
                Err(ReadError::Reset(_)) => break Some(SocketEvent::Reset),
            }
        };
        // The caller polls for packets in any case.
        let _ = chunks.finalize();
        self.has_read_all = end.is_some();
        self.events.extend(end);
        bytes
    }

    fn close(&mut self) {
        if self.is_closing {
            return;
        }
        self.is_closing = true;
        if let Some(stream) = self.outgoing {
            // An error means that the stream has ended for another reason.
            let _ = self.connection.send_stream(stream).finish();
        }
    }

    fn state(&self) -> SocketState {
        let metrics = self.connection.congestion_state().metrics();
        let rtt = Duration::from_nanos(self.connection.rtt().as_nanos() as u64);
        SocketState {
            congestion_window: Some(metrics.congestion_window),
            slow_start_threshold: metrics.ssthresh.filter(|&bytes| bytes < u64::MAX),
            smoothed_rtt: Some(rtt),
            ..SocketState::default()
        }
    }

    fn counters(&self) -> SocketCounters {
        let stats = self.connection.stats();
        SocketCounters {
            packets_sent: stats.udp_tx.datagrams,
            retransmitted: stats.path.lost_packets,
            timeouts: None,
            fast_retransmits: Some(stats.path.congestion_events),
            ..SocketCounters::default()
        }
    }
}

impl core::fmt::Debug for QuicConnection {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("QuicConnection")
            .field("local", &SocketAddr::new(self.local, self.port))
            .field("remote", &self.remote)
            .field("is_client", &self.is_client)
            .finish_non_exhaustive()
    }
}
