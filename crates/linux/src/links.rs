//! A watch over the interfaces of a network namespace: which there are, and which are up (rtnetlink(7), RTM_NEWLINK and
//! RTM_DELLINK).

use crate::netlink::{Answer, InterfaceIndex, Link, parts, request};
use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST};
use netlink_packet_route::link::LinkMessage;
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// RTNLGRP_LINK (linux/rtnetlink.h).
const LINK_GROUP: u32 = 1;
/// More than the kernel puts into one message of a socket: 32 KiB of a list (NLMSG_GOODSIZE).
const LONGEST_MESSAGE: usize = 65_536;

/// A change of the interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkChange {
    /// An interface is as described; perhaps it was so before.
    Is(Link),
    /// An interface is gone: removed, or moved to another namespace.
    Gone(InterfaceIndex),
}

/// A watch over the interfaces of one namespace. It first tells of all that there are.
#[derive(Debug)]
pub struct LinkMonitor {
    socket: Socket,
    known: BTreeSet<InterfaceIndex>,
    /// The interfaces of the list that is being read.
    listed: Option<BTreeSet<InterfaceIndex>>,
    /// True if changes were missed after the list was begun.
    stale: bool,
    missed: u64,
    changes: VecDeque<LinkChange>,
    buffer: Vec<u8>,
}

impl LinkMonitor {
    /// Begins to watch the calling thread's network namespace.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn open() -> io::Result<LinkMonitor> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        socket.add_membership(LINK_GROUP)?;
        let mut monitor = LinkMonitor {
            socket,
            known: BTreeSet::new(),
            listed: None,
            stale: false,
            missed: 0,
            changes: VecDeque::new(),
            buffer: vec![0; LONGEST_MESSAGE],
        };
        monitor.ask()?;
        Ok(monitor)
    }

    /// Returns the next change; `None` if there is none as yet.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn poll(&mut self) -> io::Result<Option<LinkChange>> {
        loop {
            if let Some(change) = self.changes.pop_front() {
                return Ok(Some(change));
            }
            let flags = MsgFlags::MSG_DONTWAIT;
            match recv(self.socket.as_raw_fd(), &mut self.buffer, flags) {
                Ok(length) => self.take_message(length)?,
                // Only a socket with room for it takes the list.
                Err(Errno::EAGAIN) if self.stale && self.listed.is_none() => self.ask()?,
                Err(Errno::EAGAIN) => return Ok(None),
                Err(Errno::EINTR) => {}
                // The kernel had no room to tell of changes: all interfaces are to be listed anew.
                Err(Errno::ENOBUFS) => {
                    self.missed += 1;
                    self.stale = true;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Returns how often the kernel had no room to tell of changes; each time all interfaces were listed anew.
    pub const fn missed(&self) -> u64 {
        self.missed
    }

    fn ask(&mut self) -> io::Result<()> {
        let message = RouteNetlinkMessage::GetLink(LinkMessage::default());
        let bytes = request(message, NLM_F_REQUEST | NLM_F_DUMP, 0);
        self.socket.send(&bytes, 0)?;
        self.listed = Some(BTreeSet::new());
        self.stale = false;
        Ok(())
    }

    fn take_message(&mut self, length: usize) -> io::Result<()> {
        let buffer = core::mem::take(&mut self.buffer);
        let taken = parts(&buffer[..length]).try_for_each(|part| self.take_part(part?.1));
        self.buffer = buffer;
        taken
    }

    fn take_part(&mut self, answer: Answer) -> io::Result<()> {
        match answer {
            // Bridges tell of their ports by the same messages, in a family of their own.
            Answer::Message(RouteNetlinkMessage::NewLink(message))
                if message.header.interface_family == AddressFamily::Unspec =>
            {
                let Some(link) = Link::of(&message) else {
                    return Ok(());
                };
                self.known.insert(link.index);
                if let Some(listed) = &mut self.listed {
                    listed.insert(link.index);
                }
                self.changes.push_back(LinkChange::Is(link));
            }
            Answer::Message(RouteNetlinkMessage::DelLink(message))
                if message.header.interface_family == AddressFamily::Unspec =>
            {
                self.forget(message.header.index);
            }
            Answer::Message(_) => {}
            Answer::Failed(error) => return Err(error),
            Answer::Done => {
                let listed = self.listed.take().unwrap_or_default();
                let gone: Vec<InterfaceIndex> = self.known.difference(&listed).copied().collect();
                gone.into_iter().for_each(|index| self.forget(index));
            }
        }
        Ok(())
    }

    fn forget(&mut self, index: InterfaceIndex) {
        self.known.remove(&index);
        if let Some(listed) = &mut self.listed {
            listed.remove(&index);
        }
        self.changes.push_back(LinkChange::Gone(index));
    }
}

impl AsFd for LinkMonitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
