//! A listening port with a bounded backlog.

use super::reset_reply;
use crate::wire::tcp::{TcpFlags, TcpHeader};

/// LISTEN: decides which segments open a connection, and counts half-open connections.
#[derive(Clone, Debug)]
pub struct Listener {
    backlog: u32,
    half_open: u32,
    refused: u64,
}

/// Treatment of a segment at a listening port that belongs to no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Build a [`super::Connection::accept`] from it, and call [`Listener::half_open_ended`] once that connection is
    /// established or closed.
    Accept,
    /// Drop it silently.
    Drop,
    /// Answer with this reset.
    Reset(TcpHeader),
}

impl Listener {
    /// Listens with room for `backlog` half-open connections.
    pub fn new(backlog: u32) -> Listener {
        Listener {
            backlog,
            half_open: 0,
            refused: 0,
        }
    }

    /// Decides about a segment (RFC 9293 section 3.10.7.2). A SYN beyond the backlog is dropped without an answer, so
    /// that its sender retries.
    pub fn admit(&mut self, header: &TcpHeader, payload_length: u32) -> Admission {
        let flag = |bit| header.flags.contains(bit);
        if flag(TcpFlags::RST) {
            Admission::Drop
        } else if flag(TcpFlags::ACK) {
            reset_reply(header, payload_length).map_or(Admission::Drop, Admission::Reset)
        } else if !flag(TcpFlags::SYN) {
            Admission::Drop
        } else if self.half_open >= self.backlog {
            self.refused += 1;
            Admission::Drop
        } else {
            self.half_open += 1;
            Admission::Accept
        }
    }

    /// Takes in that an admitted connection is no longer half open.
    pub fn half_open_ended(&mut self) {
        self.half_open = self.half_open.saturating_sub(1);
    }

    /// Returns the number of connections still in their handshake.
    pub fn half_open(&self) -> u32 {
        self.half_open
    }

    /// Returns the number of SYNs dropped because the backlog was full.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}
