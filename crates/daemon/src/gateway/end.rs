//! An end of a link's path: it calls the other gateway, or it is called.

use crate::tunnel;
use baton_path::{
    Content, Counters, DatagramKey, Event, Initiator, Listener, Measured, NotSent, Pace, PathKey,
    Rejected, Sent,
};
use baton_proto::rate::DataRate;
use baton_proto::time::Instant;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// This machine's end of a path.
pub enum End {
    /// It calls the other gateway.
    Calling(Box<Initiator>, SocketAddr),
    /// It is called at an address. There is one path, once the other gateway has called.
    Listening(Box<Listener>, SocketAddr, Option<PathKey>),
}

impl End {
    /// Creates the end that calls the other gateway at this address.
    pub fn calling(path: Initiator, remote: SocketAddr) -> End {
        End::Calling(Box::new(path), remote)
    }

    /// Creates the end that is called at this address.
    pub fn listening(listener: Listener, local: SocketAddr) -> End {
        End::Listening(Box::new(listener), local, None)
    }

    /// Returns the address of its socket: the kernel chooses the source of a caller's datagrams.
    pub(super) fn local(&self) -> SocketAddr {
        let any: IpAddr = match self {
            End::Listening(_, local, _) => return *local,
            End::Calling(_, SocketAddr::V4(_)) => Ipv4Addr::UNSPECIFIED.into(),
            End::Calling(_, SocketAddr::V6(_)) => Ipv6Addr::UNSPECIFIED.into(),
        };
        SocketAddr::new(any, 0)
    }

    pub(super) fn send(
        &mut self,
        now: Instant,
        (kind, packet): (u8, &[u8]),
        out: &mut Vec<u8>,
    ) -> Result<Sent, NotSent> {
        match self {
            End::Calling(path, _) => path.send(now, kind, packet, out),
            End::Listening(listener, _, key) => {
                let key = key.ok_or(NotSent::NoSession)?;
                listener.send(now, key, kind, packet, out)
            }
        }
    }

    pub(super) fn handle_datagram<'a>(
        &mut self,
        now: Instant,
        from: SocketAddr,
        datagram: &'a mut [u8],
    ) -> Result<Option<Content<'a>>, Rejected> {
        match self {
            End::Calling(path, _) => path.handle_datagram(now, from, datagram),
            End::Listening(listener, ..) => {
                let taken = listener.handle_datagram(now, from, datagram)?;
                Ok(taken.map(|(_, content)| content))
            }
        }
    }

    pub(super) fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<SocketAddr> {
        match self {
            End::Calling(path, _) => path.poll_transmit(now, out),
            End::Listening(listener, ..) => listener.poll_transmit(now, out),
        }
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        match self {
            End::Calling(path, _) => path.poll_event(),
            End::Listening(listener, _, key) => {
                let (path, event) = listener.poll_event()?;
                if event == Event::Up {
                    *key = Some(path);
                }
                Some(event)
            }
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        match self {
            End::Calling(path, _) => path.poll_timeout(),
            End::Listening(listener, ..) => listener.poll_timeout(),
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        match self {
            End::Calling(path, _) => path.handle_timeout(now),
            End::Listening(listener, ..) => listener.handle_timeout(now),
        }
    }

    /// Takes in that its device can send, or cannot.
    pub(super) fn follow_device(&mut self, now: Instant, can_send: bool) {
        // The end that is called learns of the path by its datagrams.
        let End::Calling(path, _) = self else { return };
        match can_send {
            true => path.uplink_up(now),
            false => path.uplink_down(now),
        }
    }

    /// Takes in that the source of its datagrams has changed.
    pub(super) fn source_moved(&mut self, now: Instant) {
        if let End::Calling(path, _) = self {
            path.uplink_moved(now);
        }
    }

    /// Returns the longest packet that the path carries, in bytes; `None` before the other gateway has called.
    pub(super) fn packet_mtu(&self) -> Option<u16> {
        match self {
            End::Calling(path, _) => Some(path.packet_mtu()),
            End::Listening(listener, _, key) => Some(listener.path((*key)?)?.packet_mtu),
        }
    }

    /// Returns the far end of the path and true if it is up, and its measurements.
    pub(super) fn measured(&mut self, now: Instant) -> Option<(SocketAddr, bool, Measured)> {
        match self {
            End::Calling(path, remote) => {
                let is_up = path.is_up();
                Some((*remote, is_up, path.measured(now)))
            }
            End::Listening(listener, _, key) => {
                let info = listener.path((*key)?)?;
                let measured = listener.measured(now, (*key)?)?;
                Some((info.remote, info.is_up, measured))
            }
        }
    }

    pub(super) fn pace(&self, now: Instant) -> Option<Pace> {
        match self {
            End::Calling(path, _) => path.pace(now),
            End::Listening(listener, _, key) => listener.pace(now, (*key)?),
        }
    }

    /// Sets the rate by an operator's word; without one it is found.
    pub(super) fn set_rate(&mut self, now: Instant, rate: Option<DataRate>) {
        match self {
            End::Calling(path, _) => path.set_rate(now, rate),
            End::Listening(listener, _, key) => {
                if let Some(key) = *key {
                    listener.set_rate(now, key, rate);
                }
            }
        }
    }

    /// Returns true if the path carries packets.
    pub(super) fn is_up(&self) -> bool {
        match self {
            End::Calling(path, _) => path.is_up(),
            End::Listening(listener, _, key) => {
                let info = key.and_then(|key| listener.path(key));
                info.is_some_and(|info| info.is_up)
            }
        }
    }

    /// Tells the other gateway that the link is expected to go down at a time, or (`None`) to stay up.
    pub(super) fn expect_loss(&mut self, now: Instant, at: Option<Instant>) {
        match self {
            End::Calling(path, _) => path.expect_loss(now, at),
            End::Listening(listener, _, key) => {
                if let Some(key) = *key {
                    listener.expect_loss(now, key, at);
                }
            }
        }
    }

    /// Returns the length of all that the path adds to a packet, in bytes.
    pub(super) fn headers(&self) -> u32 {
        tunnel::headers(self.local().is_ipv4())
    }

    pub(super) fn log_keys(&mut self) {
        match self {
            End::Calling(path, _) => path.log_keys(),
            End::Listening(listener, ..) => listener.log_keys(),
        }
    }

    pub(super) fn poll_key(&mut self) -> Option<DatagramKey> {
        match self {
            End::Calling(path, _) => path.poll_key(),
            End::Listening(listener, ..) => listener.poll_key(),
        }
    }

    pub(super) fn counters(&self) -> &Counters {
        match self {
            End::Calling(path, _) => path.counters(),
            End::Listening(listener, ..) => listener.counters(),
        }
    }
}
