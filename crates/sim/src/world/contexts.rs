//! Contexts of split connections on their way from gateway to gateway: over a TCP connection between the two, so that they
//! take the time that their bytes take on the links between.
//!
//! That connection carries as many bytes as a context has; what it is itself waits here for the last of them.

use super::World;
use baton_proto::crosslayer::CrossLayerSignal;
use baton_proto::gateways::path::{PathAgents, SplitContext};
use baton_proto::host::{HostEvent, SocketId};
use baton_proto::tcp::profile::Profile;
use baton_proto::tcp::{Endpoint, Event};
use core::net::IpAddr;

/// Port at which gateways take contexts; flows have those above.
const CONTEXT_PORT: u16 = 5000;
/// Pattern that stands for contexts.
const CONTEXT_STREAM: u32 = u32::MAX;

/// Contexts of a mobile on their way.
#[derive(Debug)]
pub(super) struct Transfer {
    /// Which mobile.
    number: usize,
    contexts: Vec<SplitContext>,
    /// The node of the gateway to which they go.
    to: usize,
    /// The sender's end, by which the receiver knows which it is, and its connection there.
    sender: Endpoint,
    receiver: Option<SocketId>,
    /// Bytes that have not arrived.
    left: u64,
}

/// What contexts are carried with.
fn profile() -> Profile {
    Profile {
        send_buffer: 1 << 30,
        ..Profile::rfc()
    }
}

impl World {
    /// Lets a gateway take contexts.
    pub(super) fn listen_for_contexts(&mut self, node: usize) {
        let host = &mut self.nodes[node].host;
        host.tcp_listen(CONTEXT_PORT, profile(), 16, None);
    }

    /// Lets the gateways that a mobile has left send on what is to go with it.
    pub(super) fn send_contexts_after(&mut self, number: usize) {
        let Some(to) = self.gateway_in_use(number) else {
            return;
        };
        let addresses: Vec<IpAddr> = {
            let node = self.mobiles[number].node.0;
            self.nodes[node].host.addresses().collect()
        };
        for from in self.gateway_nodes(number) {
            if from == to || !self.has_path_agents(from) {
                continue;
            }
            let mut contexts = Vec::new();
            for &address in &addresses {
                let host = &mut self.nodes[from].host;
                if let Some(agents) = host.layer_mut::<PathAgents>() {
                    contexts.extend(agents.take_contexts(self.now, address));
                }
            }
            if !contexts.is_empty() {
                self.send_contexts(number, contexts, [from, to]);
            }
        }
    }

    /// The node at the network's end of the link that a mobile uses.
    fn gateway_in_use(&self, number: usize) -> Option<usize> {
        let mobile = &self.mobiles[number];
        let (gateway, _) = self.wires.far_from(mobile.attached?, mobile.node.0);
        Some(gateway)
    }

    fn send_contexts(
        &mut self,
        number: usize,
        contexts: Vec<SplitContext>,
        [from, to]: [usize; 2],
    ) {
        let remote = Endpoint {
            address: self.nodes[to].host.address(),
            port: CONTEXT_PORT,
        };
        let left = contexts.iter().map(SplitContext::wire_length).sum();
        let host = &mut self.nodes[from].host;
        let socket = host.tcp_connect(self.now, remote, &profile(), None);
        let Some(connection) = host.connection_mut(socket) else {
            return;
        };
        connection.write_pattern(CONTEXT_STREAM, left);
        connection.close();
        let sender = connection.local();
        self.transfers.push(Transfer {
            number,
            contexts,
            to,
            sender,
            receiver: None,
            left,
        });
        self.pump(from);
    }

    /// Takes in what has happened to a connection that carries contexts; says whether it was one.
    pub(super) fn carry_context(&mut self, node: usize, event: &HostEvent) -> bool {
        match *event {
            HostEvent::Accepted {
                socket,
                port: CONTEXT_PORT,
            } => {
                let connection = self.nodes[node].host.connection(socket);
                let remote = connection.map(|connection| connection.remote());
                let mut transfers = self.transfers.iter_mut();
                let found = transfers.find(|one| one.to == node && Some(one.sender) == remote);
                if let Some(transfer) = found {
                    transfer.receiver = Some(socket);
                }
                true
            }
            HostEvent::Tcp { socket, event } => {
                let of_transfer = |one: &Transfer| one.to == node && one.receiver == Some(socket);
                let Some(place) = self.transfers.iter().position(of_transfer) else {
                    return false;
                };
                self.receive_context(place, socket, event);
                true
            }
            _ => false,
        }
    }

    fn receive_context(&mut self, place: usize, socket: SocketId, event: Event) {
        let transfer = &mut self.transfers[place];
        let node = transfer.to;
        let Some(connection) = self.nodes[node].host.connection_mut(socket) else {
            return;
        };
        match event {
            Event::Readable => transfer.left -= connection.discard(u64::MAX).min(transfer.left),
            // What it carried is gone: the ends will find that nobody answers.
            Event::Refused | Event::Reset | Event::TimedOut => {
                self.transfers.remove(place);
                return;
            }
            _ => {}
        }
        if transfer.left == 0 {
            connection.close();
            let transfer = self.transfers.remove(place);
            self.go_on_with(transfer);
        }
    }

    /// Contexts have arrived: their connections go on, here or, if the mobile has gone on meanwhile, where it is.
    fn go_on_with(&mut self, transfer: Transfer) {
        let Transfer {
            number,
            contexts,
            to,
            ..
        } = transfer;
        if let Some(agents) = self.nodes[to].host.layer_mut::<PathAgents>() {
            let put = |context| agents.put_context(context);
            contexts.into_iter().for_each(put);
        }
        if self.gateway_in_use(number) != Some(to) {
            return self.send_contexts_after(number);
        }
        if let Some(link) = self.mobiles[number].attached {
            let connected = CrossLayerSignal::Connected(self.path_parameters(number, link));
            self.tell_gateway(number, to, &connected);
        }
    }
}
