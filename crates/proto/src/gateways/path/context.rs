//! What one gateway hands to another when a mobile goes there: split connections as they stand, with the bytes that they
//! hold. How it gets there, and how long that takes, is the business of whoever carries it.

use super::split::Relay;
use super::{PathAgents, Served};
use crate::host::SocketId;
use crate::host::sockets::Seated;
use crate::time::Instant;
use core::net::IpAddr;

/// Bytes that tell of a half beside those that it holds: ends, sequence numbers, windows, options, timers and what was
/// measured. Chosen.
const STATE_LENGTH: u64 = 128;

/// A split connection on its way from gateway to gateway.
#[derive(Debug)]
pub struct SplitContext {
    served: Served,
    halves: [Half; 2],
}

#[derive(Debug)]
struct Half {
    seated: Seated,
    relay: Relay,
}

impl SplitContext {
    /// Bytes of it in a message: its state, and what one half has received and the other has not had acknowledged.
    pub fn wire_length(&self) -> u64 {
        let held = |half: &Half| STATE_LENGTH + half.seated.connection.held();
        self.halves.iter().map(held).sum()
    }
}

impl PathAgents {
    /// Halves of a mobile's connections that move with it, each the first of its two.
    fn moving(&self, mobile: IpAddr) -> Vec<(SocketId, Relay)> {
        let moves = |relay: &Relay| {
            relay.served.mobile == mobile
                && self
                    .split(&relay.served)
                    .is_some_and(|split| split.transfers_context())
        };
        let halves = self.relays.iter();
        halves
            .filter(|&(&socket, relay)| socket < relay.other && moves(relay))
            .map(|(&socket, &relay)| (socket, relay))
            .collect()
    }
}

impl PathAgents {
    /// Takes the split connections of a mobile out of this gateway, as far as they are to go where it goes; the others stay.
    pub fn take_contexts(&mut self, now: Instant, mobile: IpAddr) -> Vec<SplitContext> {
        let mut contexts = Vec::new();
        for (socket, relay) in self.moving(mobile) {
            let mut half = |socket| {
                self.settle(socket);
                let relay = self.relays.remove(&socket)?;
                let seated = self.sockets.take_out(now, socket)?;
                Some(Half { seated, relay })
            };
            if let (Some(one), Some(other)) = (half(socket), half(relay.other)) {
                contexts.push(SplitContext {
                    served: relay.served,
                    halves: [one, other],
                });
            }
        }
        contexts
    }

    /// Goes on with a connection that another gateway has begun.
    pub fn put_context(&mut self, context: SplitContext) {
        let relays = [&context.halves[0], &context.halves[1]].map(|half| half.relay);
        let sockets = context.halves.map(|half| self.sockets.put_in(half.seated));
        for ((socket, other), relay) in [(sockets[0], sockets[1]), (sockets[1], sockets[0])]
            .into_iter()
            .zip(relays)
        {
            let relay = Relay {
                other,
                served: context.served,
                ..relay
            };
            self.relays.insert(socket, relay);
        }
    }
}
