//! Split connections (I-TCP, Bakre and Badrinath 1995): a gateway ends a connection in the name of the far end and opens one
//! in the name of the near end, and carries bytes from one to the other.
//!
//! Either end sees only the other's address and port. A SYN is answered at once, as at I-TCP's mobility support
//! router, and the other half opened at the same time; if that fails, the first is reset. Data received by one half for which
//! the other's send buffer has no room stays in the first one's receive buffer, and keeps its window small.

use super::{PathAgents, Served, Service};
use crate::crosslayer::{CrossLayerSignal, PathParameters};
use crate::host::layer::{Around, Ended};
use crate::host::sockets::Opening;
use crate::host::table::Pair;
use crate::host::{RouteTable, SocketId};
use crate::packet::{Body, FlowId, Packet};
use crate::remedies::Kind;
use crate::tcp::listener::{Admission, Listener};
use crate::tcp::profile::Profile;
use crate::tcp::{Connection, Event};
use crate::time::Instant;
use crate::wire::icmp::IcmpMessage;
use crate::wire::tcp::TcpHeader;
use core::net::IpAddr;

/// Maximum number of half-open connections of one rule: the backlog of a flow's listener.
const BACKLOG: u32 = 16;

/// Settings and listener of split connections.
#[derive(Clone, Debug)]
pub struct Split {
    /// Profile of the half towards the mobile.
    towards_mobile: Profile,
    /// Profile of the half towards the correspondent.
    towards_correspondent: Profile,
    /// Remedies of the half towards the mobile.
    steering: Vec<Kind>,
    listener: Listener,
}

impl Split {
    /// Creates a service with these profiles, towards the mobile and towards the correspondent; the remedies in
    /// `steering` ([`Kind::steering`]) steer each half towards the mobile.
    pub fn new(
        towards_mobile: Profile,
        towards_correspondent: Profile,
        steering: Vec<Kind>,
    ) -> Split {
        Split {
            towards_mobile,
            towards_correspondent,
            steering,
            listener: Listener::new(BACKLOG),
        }
    }
}

impl Split {
    /// Returns true if connections follow their mobile to another gateway.
    pub(super) fn transfers_context(&self) -> bool {
        self.steering.iter().any(|kind| kind.transfers_context())
    }

    /// Returns the profile of a half towards a mobile whose access link has these parameters.
    fn towards_mobile(&self, path: Option<PathParameters>) -> Profile {
        let mut profile = self.towards_mobile.clone();
        if self.steering.iter().any(|kind| kind.knows_path())
            && let Some(path) = path
        {
            let threshold = &mut profile.initial_slow_start_threshold;
            threshold.get_or_insert(path.pipe(false));
        }
        profile
    }
}

/// Profile and MTU with which a half begins at this gateway.
pub(super) struct Ground {
    pub profile: Profile,
    /// Path MTU in bytes.
    pub mtu: u32,
}

/// One half of a split connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relay {
    pub other: SocketId,
    pub served: Served,
    /// True while the rule counts it as half open.
    pub half_open: bool,
    /// True once its peer has closed and all data has arrived.
    pub peer_closed: bool,
}

impl PathAgents {
    pub(super) fn split(&self, served: &Served) -> Option<&Split> {
        match &self.flow(served)?.service {
            Service::Split(split) => Some(split),
            _ => None,
        }
    }

    fn split_mut(&mut self, served: &Served) -> Option<&mut Split> {
        match &mut self.flow_mut(served)?.service {
            Service::Split(split) => Some(split),
            _ => None,
        }
    }

    /// Notes that a half is no longer half open.
    pub(super) fn settle(&mut self, socket: SocketId) {
        if let Some(relay) = self.relays.get_mut(&socket)
            && core::mem::take(&mut relay.half_open)
        {
            let served = relay.served;
            if let Some(split) = self.split_mut(&served) {
                split.listener.half_open_ended();
            }
        }
    }

    /// Finds the half of a split connection to which a packet belongs, or which it may open.
    pub(super) fn find_split(
        &self,
        packet: &Packet,
        routes: &RouteTable,
    ) -> Option<(Served, Pair)> {
        let (served, pair) = self.find(packet)?;
        self.split(&served)?;
        self.takes(packet, &served, &pair, routes)
            .then_some((served, pair))
    }

    /// Takes in a packet for a half of a split connection, or a SYN that opens one.
    pub(super) fn take_for_split(
        &mut self,
        now: Instant,
        around: &Around<'_>,
        (served, pair): (Served, Pair),
        packet: Packet,
    ) -> Ended {
        let packet = packet.into_transport();
        match packet.body {
            Body::Tcp(header, payload) if self.sockets.is_open(&pair) => {
                let mtu = || around.mtu_towards(pair.1.address);
                self.sockets.deliver(now, pair, &header, payload, mtu);
            }
            Body::Tcp(header, payload) => {
                let split = self.split_mut(&served);
                let admitted = split.map(|split| split.listener.admit(&header, payload.length()));
                if admitted != Some(Admission::Accept) {
                    return Ended::Refused;
                }
                self.open_split(now, around, served, (pair, packet.flow), &header);
            }
            Body::Icmp(IcmpMessage::Error { kind, quoted }) => {
                self.sockets.handle_icmp(now, kind, &quoted);
            }
            _ => return Ended::Refused,
        }
        Ended::Taken
    }

    /// Answers a SYN from one end, and sends another to the other end.
    fn open_split(
        &mut self,
        now: Instant,
        around: &Around<'_>,
        served: Served,
        (near_pair, flow): (Pair, Option<FlowId>),
        syn: &TcpHeader,
    ) {
        let far_pair = (near_pair.1, near_pair.0);
        let ground = |pair: &Pair| self.ground(&served, pair.1.address, around);
        let (Some(near_ground), Some(far_ground)) = (ground(&near_pair), ground(&far_pair)) else {
            return;
        };
        let opening = |pair, mtu| Opening { pair, mtu, flow };
        let near = opening(near_pair, near_ground.mtu);
        let near = self.sockets.accept(now, near, &near_ground.profile, syn);
        let far = opening(far_pair, far_ground.mtu);
        let far = self.sockets.open(now, far, &far_ground.profile);
        let half = |other, half_open| Relay {
            other,
            served,
            half_open,
            peer_closed: false,
        };
        let to_mobile = match near_pair.1.address == served.mobile {
            true => near,
            false => far,
        };
        self.seat_halves([(near, half(far, true)), (far, half(near, false))]);
        if let Some(begun) = self.path_to(&served.mobile, around) {
            let signal = CrossLayerSignal::Begun(begun);
            self.sockets.signal_to(now, to_mobile, &signal);
        }
    }

    /// Chooses the profile and the MTU of a half towards an address.
    pub(super) fn ground(
        &self,
        served: &Served,
        remote: IpAddr,
        around: &Around<'_>,
    ) -> Option<Ground> {
        let split = self.split(served)?;
        Some(Ground {
            profile: match remote == served.mobile {
                true => split.towards_mobile(self.path_to(&served.mobile, around)),
                false => split.towards_correspondent.clone(),
            },
            mtu: around
                .mtu_towards(remote)
                .saturating_sub(self.overhead(&remote)),
        })
    }

    /// Makes two sockets the halves of a connection, and steers the one towards the mobile.
    pub(super) fn seat_halves(&mut self, halves: [(SocketId, Relay); 2]) {
        for (socket, relay) in halves {
            self.relays.insert(socket, relay);
            let remote = self.sockets.connection(socket).map(Connection::remote);
            if remote.is_none_or(|remote| remote.address != relay.served.mobile) {
                continue;
            }
            let kinds = self.split(&relay.served).map(|split| &split.steering);
            let kinds = kinds.into_iter().flatten();
            let parts: Vec<_> = kinds.filter_map(|kind| kind.steering()).collect();
            for part in parts {
                self.sockets.add_remedy(socket, part);
            }
        }
    }

    /// Relays the events of halves, and notes those of connections with other gateways.
    pub(super) fn relay_events(&mut self) {
        while let Some((socket, event)) = self.sockets.poll_event() {
            match self.relays.contains_key(&socket) {
                true => self.relay(socket, event),
                false => self.note_exchange(socket, event),
            }
        }
    }

    /// Relays an event of a half of a split connection.
    pub(super) fn relay(&mut self, socket: SocketId, event: Event) {
        let Some(relay) = self.relays.get_mut(&socket) else {
            return;
        };
        relay.peer_closed |= event == Event::PeerClosed;
        let other = relay.other;
        self.settle(socket);
        match event {
            Event::Connected | Event::Readable | Event::PeerClosed => self.carry(socket, other),
            Event::Writable => self.carry(other, socket),
            Event::Closed => {}
            Event::Refused | Event::Reset | Event::TimedOut => {
                if let Some(connection) = self.sockets.connection_mut(other) {
                    connection.abort();
                }
            }
        }
    }

    /// Moves bytes from one half to the other, as far as there is room, and passes on the end of the stream.
    pub(super) fn carry(&mut self, from: SocketId, to: SocketId) {
        let relay = self.relays.get(&from);
        let peer_closed = relay.is_some_and(|relay| relay.peer_closed);
        if let Some((source, sink)) = self.sockets.two_mut(from, to) {
            sink.take_from(source);
            if peer_closed && source.readable() == 0 {
                sink.close();
            }
        }
    }
}
