//! Monitoring of a network namespace: an initial list, and then each change (rtnetlink(7)).

use crate::netlink::{Answer, parts, request};
use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Size of the receive buffer, more than the kernel puts into one message: 32 KiB of a list (NLMSG_GOODSIZE).
const LONGEST_MESSAGE: usize = 65_536;

/// A change of a monitored object.
pub trait Change: Sized {
    /// Identity of the object.
    type Key: Ord + Copy;
    /// The kernel's multicast groups for such objects (linux/rtnetlink.h).
    const GROUPS: &'static [u32];

    /// Returns the message that requests a list.
    fn list() -> RouteNetlinkMessage;

    /// Reads a notification, or an entry of a list; `None` for other messages.
    fn read(message: RouteNetlinkMessage) -> Option<Self>;

    /// Returns the change that reports an object's removal.
    fn gone(key: Self::Key) -> Self;

    /// Returns the object's key, and true if the object exists after the change.
    fn subject(&self) -> (Self::Key, bool);
}

/// A monitor of one namespace's objects. It first reports all existing ones.
#[derive(Debug)]
pub struct Monitor<C: Change> {
    socket: Socket,
    known: BTreeSet<C::Key>,
    /// Objects of the list being read.
    listed: Option<BTreeSet<C::Key>>,
    /// True if changes were missed after the list was begun.
    stale: bool,
    missed: u64,
    changes: VecDeque<C>,
    buffer: Vec<u8>,
}

impl<C: Change> Monitor<C> {
    /// Begins to monitor the calling thread's network namespace.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn open() -> io::Result<Monitor<C>> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        for &group in C::GROUPS {
            socket.add_membership(group)?;
        }
        let mut monitor = Monitor {
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

    /// Returns the next change; `None` if there is none yet.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn poll(&mut self) -> io::Result<Option<C>> {
        loop {
            if let Some(change) = self.changes.pop_front() {
                return Ok(Some(change));
            }
            let flags = MsgFlags::MSG_DONTWAIT;
            match recv(self.socket.as_raw_fd(), &mut self.buffer, flags) {
                Ok(length) => {
                    let buffer = core::mem::take(&mut self.buffer);
                    let taken = self.take_message(&buffer[..length]);
                    self.buffer = buffer;
                    taken?;
                }
                // Only a socket with room for the list requests it.
                Err(Errno::EAGAIN) if self.stale && self.listed.is_none() => self.ask()?,
                Err(Errno::EAGAIN) => return Ok(None),
                Err(Errno::EINTR) => {}
                // The kernel had no room to report changes: list all objects again.
                Err(Errno::ENOBUFS) => {
                    self.missed += 1;
                    self.stale = true;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Returns the number of times that the kernel had no room to report changes; each time all objects were listed
    /// again.
    pub const fn missed(&self) -> u64 {
        self.missed
    }

    fn ask(&mut self) -> io::Result<()> {
        let bytes = request(C::list(), NLM_F_REQUEST | NLM_F_DUMP, 0);
        self.socket.send(&bytes, 0)?;
        self.listed = Some(BTreeSet::new());
        self.stale = false;
        Ok(())
    }

    /// Takes in a message of the kernel, as read by [`poll`](Self::poll): it may yield changes.
    ///
    /// # Errors
    /// An unreadable message, or one that reports an error.
    pub fn take_message(&mut self, message: &[u8]) -> io::Result<()> {
        parts(message).try_for_each(|part| self.take_part(part?.1))
    }

    fn take_part(&mut self, answer: Answer) -> io::Result<()> {
        match answer {
            Answer::Message(message) => {
                let Some(change) = C::read(message) else {
                    return Ok(());
                };
                match change.subject() {
                    (key, true) => {
                        self.known.insert(key);
                        if let Some(listed) = &mut self.listed {
                            listed.insert(key);
                        }
                        self.changes.push_back(change);
                    }
                    (key, false) => self.forget(key),
                }
            }
            Answer::Failed(error) => return Err(error),
            Answer::Done => {
                let listed = self.listed.take().unwrap_or_default();
                let gone: Vec<C::Key> = self.known.difference(&listed).copied().collect();
                gone.into_iter().for_each(|key| self.forget(key));
            }
        }
        Ok(())
    }

    fn forget(&mut self, key: C::Key) {
        if let Some(listed) = &mut self.listed {
            listed.remove(&key);
        }
        if self.known.remove(&key) {
            self.changes.push_back(C::gone(key));
        }
    }
}

impl<C: Change> AsFd for Monitor<C> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
