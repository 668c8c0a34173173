//! Transfer of split connections to another gateway with their mobile: detached here, and attached there.

use super::PathAgents;
use super::split::Relay;
use crate::crosslayer::CrossLayerSignal;
use crate::host::SocketId;
use crate::host::layer::Around;
use crate::packet::FlowId;
use crate::tcp::{Connection, Endpoint, State};
use crate::time::{Duration, Instant};
use crate::wire::split_context::{SplitContext, TcpContext};
use core::net::{IpAddr, SocketAddr};

impl PathAgents {
    /// Returns true if connections of a mobile follow it from gateway to gateway.
    pub(super) fn moves_with(&self, mobile: &IpAddr) -> bool {
        let flows = self.mobiles.get(mobile).map(|mobile| &mobile.flows);
        let mut flows = flows.into_iter().flat_map(|flows| flows.values());
        flows.any(|flow| flow.service.transfers_context())
    }

    /// Returns the halves of a mobile's connections that follow it: towards the mobile, and towards the correspondent.
    fn moving(&self, mobile: &IpAddr) -> Vec<[SocketId; 2]> {
        let moves = |relay: &Relay| {
            let flow = self.flow(&relay.served);
            relay.served.mobile == *mobile
                && flow.is_some_and(|flow| flow.service.transfers_context())
        };
        let halves = self.relays.iter();
        halves
            .filter(|&(&socket, relay)| socket < relay.other && moves(relay))
            .map(|(&socket, relay)| [socket, relay.other])
            .collect()
    }

    /// Detaches the split connections that follow a mobile from this gateway; the others stay.
    pub(super) fn detach_contexts(&mut self, now: Instant, mobile: IpAddr) -> Vec<SplitContext> {
        let mut contexts = Vec::new();
        for halves in self.moving(&mobile) {
            self.pass_events(halves);
            let Some(context) = self.split_context(now, mobile, halves) else {
                continue;
            };
            for socket in halves {
                self.settle(socket);
                self.relays.remove(&socket);
                self.sockets.detach(socket);
                self.sockets.abandon(socket);
            }
            contexts.push(context);
        }
        contexts
    }

    /// Relays all pending events of two halves.
    fn pass_events(&mut self, halves: [SocketId; 2]) {
        let mut next = || {
            halves.iter().find_map(|&socket| {
                let connection = self.sockets.connection_mut(socket)?;
                Some((socket, connection.poll_event()?))
            })
        };
        let mut events = Vec::new();
        while let Some(event) = next() {
            events.push(event);
        }
        for (socket, event) in events {
            self.relay(socket, event);
        }
    }

    /// Returns the context of two halves; `None` if both are closed, or if one has a reset to send or was opened by
    /// T/TCP.
    fn split_context(
        &self,
        now: Instant,
        mobile: IpAddr,
        halves: [SocketId; 2],
    ) -> Option<SplitContext> {
        let [one, other] = halves.map(|socket| self.sockets.connection(socket));
        let (mut towards_mobile, mut towards_correspondent) = (one?, other?);
        if towards_mobile.remote().address != mobile {
            core::mem::swap(&mut towards_mobile, &mut towards_correspondent);
        }
        let is_over = |connection: &Connection| connection.state() == State::Closed;
        if is_over(towards_mobile) && is_over(towards_correspondent) {
            return None;
        }
        Some(SplitContext {
            mobile: socket_address(towards_mobile.remote()),
            correspondent: socket_address(towards_correspondent.remote()),
            flow: self.sockets.flow(halves[0]).map(|flow| flow.0),
            towards_mobile: towards_mobile.context(now)?,
            towards_correspondent: towards_correspondent.context(now)?,
        })
    }

    /// Continues a connection that another gateway detached `away` ago; returns true if this gateway serves it.
    pub(super) fn attach_context(
        &mut self,
        now: Instant,
        away: Duration,
        around: &Around<'_>,
        context: &SplitContext,
    ) -> bool {
        let [mobile, correspondent] = [context.mobile, context.correspondent].map(endpoint);
        let Some(served) = self.served(mobile, correspondent) else {
            return false;
        };
        let halves = [
            (mobile, correspondent, &context.towards_mobile),
            (correspondent, mobile, &context.towards_correspondent),
        ];
        let is_open = |&(remote, local, _): &_| self.sockets.is_open(&(local, remote));
        if served.mobile != mobile.address || halves.iter().any(is_open) {
            return false;
        }
        let mut seat = |(remote, local, half): (Endpoint, Endpoint, &TcpContext)| {
            let ground = self.ground(&served, remote.address, around)?;
            let (profile, mtu) = (&ground.profile, ground.mtu);
            let connection = Connection::resume((now, away), (local, remote), profile, mtu, half);
            let flow = context.flow.map(FlowId);
            Some(self.sockets.attach(connection, flow))
        };
        // A service without splitting has neither.
        let (Some(to_mobile), Some(to_correspondent)) = (seat(halves[0]), seat(halves[1])) else {
            return false;
        };
        let relay = |socket, other| Relay {
            other,
            served,
            half_open: false,
            peer_closed: self.has_peer_closed(socket),
        };
        let relays = [
            (to_mobile, relay(to_mobile, to_correspondent)),
            (to_correspondent, relay(to_correspondent, to_mobile)),
        ];
        self.seat_halves(relays);
        self.carry(to_mobile, to_correspondent);
        self.carry(to_correspondent, to_mobile);
        if let Some(path) = self.path_to(&served.mobile, around) {
            let connected = CrossLayerSignal::Connected(path);
            self.sockets.signal_to(now, to_mobile, &connected);
        }
        true
    }

    /// Returns true if a half's peer has sent its FIN. A half that was reset does not move.
    fn has_peer_closed(&self, socket: SocketId) -> bool {
        let connection = self.sockets.connection(socket);
        connection.is_some_and(|connection| {
            matches!(
                connection.state(),
                State::CloseWait
                    | State::LastAck
                    | State::Closing
                    | State::TimeWait
                    | State::Closed
            )
        })
    }
}

fn socket_address(end: Endpoint) -> SocketAddr {
    SocketAddr::new(end.address, end.port)
}

fn endpoint(end: SocketAddr) -> Endpoint {
    Endpoint {
        address: end.ip(),
        port: end.port(),
    }
}
