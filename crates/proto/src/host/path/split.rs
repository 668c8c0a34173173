//! Split connections (I-TCP, Bakre and Badrinath 1995): a gateway ends a connection in the name of the far end and opens one
//! in the name of the near end, and carries bytes from one to the other.
//!
//! Neither end sees anything but the other's address and port. A SYN is answered at once, as at I-TCP's mobility support
//! router, and the other half opened at the same time; if that fails, the first is reset. What one half has received and
//! the other's send buffer does not take stays in the first one's receive buffer, and keeps its window small.

use super::{PathAgents, Served, Service};
use crate::crosslayer::{CrossLayerSignal, PathParameters};
use crate::host::sockets::{Opening, Pair, Sockets};
use crate::host::{Host, SocketId, mtu_towards};
use crate::packet::{Body, FlowId, Packet};
use crate::remedies::Kind;
use crate::tcp::listener::{Admission, Listener};
use crate::tcp::profile::Profile;
use crate::tcp::{Endpoint, Event};
use crate::time::Instant;
use crate::wire::tcp::TcpHeader;

/// Half-open connections of one rule, at most; as many as a flow's listener has room for.
const BACKLOG: u32 = 16;

/// How connections are split.
#[derive(Clone, Debug)]
pub struct Split {
    /// The half towards the mobile.
    towards_mobile: Profile,
    /// The half towards the correspondent.
    towards_correspondent: Profile,
    /// What steers the half towards the mobile.
    steering: Vec<Kind>,
    listener: Listener,
}

impl Split {
    /// With these stacks, towards the mobile and towards the correspondent; each connection's half towards the mobile is
    /// steered by what `steering` has for it ([`Kind::steering`]).
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
    /// Whether its connections go where their mobile goes, if that is another gateway.
    pub(super) fn transfers_context(&self) -> bool {
        self.steering.iter().any(|kind| kind.transfers_context())
    }

    /// The stack of a half towards a mobile whose access link carries this.
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

/// One half of a connection that is split.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relay {
    pub other: SocketId,
    pub served: Served,
    /// Whether the rule counts it as half open.
    pub half_open: bool,
    /// Whether its peer sends no more than what has arrived.
    pub peer_closed: bool,
}

impl PathAgents {
    pub(super) fn split(&self, served: &Served) -> Option<&Split> {
        match &self.flow(served)?.service {
            Service::Split(split) => Some(split),
            Service::Snoop => None,
        }
    }

    fn split_mut(&mut self, served: &Served) -> Option<&mut Split> {
        match &mut self.flow_mut(served)?.service {
            Service::Split(split) => Some(split),
            Service::Snoop => None,
        }
    }

    /// A half is no longer half open.
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

    /// Of a packet for a half of a split connection, which it is.
    fn find_split(
        &self,
        packet: &Packet,
        around: (&crate::host::RouteTable, &Sockets),
    ) -> Option<(Served, Pair)> {
        let (served, pair) = self.find(packet)?;
        self.split(&served)?;
        self.takes(packet, &served, &pair, around)
            .then_some((served, pair))
    }
}

impl Host {
    pub(in crate::host) fn path_mut(&mut self) -> Option<&mut PathAgents> {
        self.agents.as_mut()?.path.as_deref_mut()
    }

    /// Whether a packet is for a half of a split connection.
    pub(in crate::host) fn splits(&self, packet: &Packet) -> bool {
        self.find_split(packet).is_some()
    }

    fn find_split(&self, packet: &Packet) -> Option<(Served, Pair)> {
        let path = self.agents.as_ref()?.path.as_ref()?;
        path.find_split(packet, (&self.routes, &self.sockets))
    }

    /// Offers a packet to the split connections; gives it back if it is for none.
    pub(in crate::host) fn offer_to_split(
        &mut self,
        now: Instant,
        packet: Packet,
    ) -> Option<Packet> {
        let Some((served, pair)) = self.find_split(&packet) else {
            return Some(packet);
        };
        let packet = packet.into_transport();
        let is_open = self.sockets.is_open(&pair);
        match &packet.body {
            Body::Tcp(header, payload) if !is_open => {
                let split = self.path_mut().and_then(|path| path.split_mut(&served));
                let admitted = split.map(|split| split.listener.admit(header, payload.length()));
                if admitted == Some(Admission::Accept) {
                    self.accepted = true;
                    self.open_split(now, served, (pair, packet.flow), header);
                }
            }
            _ => self.deliver(now, packet),
        }
        None
    }

    /// Answers a SYN from one end, and sends one of its own to the other.
    fn open_split(
        &mut self,
        now: Instant,
        served: Served,
        (near_pair, flow): (Pair, Option<FlowId>),
        syn: &TcpHeader,
    ) {
        let far_pair = (near_pair.1, near_pair.0);
        let overhead = |remote: Endpoint, path: &PathAgents| path.overhead(&remote.address);
        let (routes, mtus) = (&self.routes, &self.interface_mtus);
        let Some(path) = self
            .agents
            .as_mut()
            .and_then(|agents| agents.path.as_deref_mut())
        else {
            return;
        };
        let mtu = |pair: &Pair, path: &PathAgents| {
            mtu_towards(routes, mtus, pair.1.address).saturating_sub(overhead(pair.1, path))
        };
        let mtus = [&near_pair, &far_pair].map(|pair| mtu(pair, path));
        let begun = path
            .interface_towards(&served.mobile, routes)
            .and_then(|access| self.links.parameters(access))
            .map(PathParameters::at_network);
        let Some(split) = path.split_mut(&served) else {
            return;
        };
        let towards_mobile = split.towards_mobile(begun);
        let profile = |pair: &Pair| match pair.1.address == served.mobile {
            true => &towards_mobile,
            false => &split.towards_correspondent,
        };
        let opening = |pair, mtu| Opening { pair, mtu, flow };
        let (near_profile, far_profile) = (profile(&near_pair), profile(&far_pair));
        let near = opening(near_pair, mtus[0]);
        let near = self.sockets.accept(now, near, near_profile, syn);
        let far = opening(far_pair, mtus[1]);
        let far = self.sockets.open(now, far, far_profile);
        let parts: Vec<_> = split
            .steering
            .iter()
            .filter_map(|kind| kind.steering())
            .collect();
        let half = |other, half_open| Relay {
            other,
            served,
            half_open,
            peer_closed: false,
        };
        path.relays.insert(near, half(far, true));
        path.relays.insert(far, half(near, false));
        let to_mobile = match near_pair.1.address == served.mobile {
            true => near,
            false => far,
        };
        for part in parts {
            self.sockets.add_remedy(to_mobile, part);
        }
        if let Some(begun) = begun {
            let signal = CrossLayerSignal::Begun(begun);
            self.sockets.signal_to(now, to_mobile, &signal);
        }
    }

    /// Carries on what has happened at a half of a split connection; says whether the socket is one.
    pub(in crate::host) fn relay(&mut self, socket: SocketId, event: Event) -> bool {
        let Some(path) = self.path_mut() else {
            return false;
        };
        let Some(relay) = path.relays.get_mut(&socket) else {
            return false;
        };
        relay.peer_closed |= event == Event::PeerClosed;
        let relay = *relay;
        path.settle(socket);
        let other = relay.other;
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
        true
    }

    /// Moves bytes from one half to the other, as far as there is room, and the end of them.
    fn carry(&mut self, from: SocketId, to: SocketId) {
        let peer_closed = self
            .path_mut()
            .and_then(|path| path.relays.get(&from))
            .is_some_and(|relay| relay.peer_closed);
        if let Some((source, sink)) = self.sockets.two_mut(from, to) {
            sink.take_from(source);
            if peer_closed && source.readable() == 0 {
                sink.close();
            }
        }
    }
}
