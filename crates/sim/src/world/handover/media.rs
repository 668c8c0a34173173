//! Commands of a mobile's node to its access links, and the scenario's changes of links.

use super::{Losses, LostBefore};
use crate::link::{DropReason, End, Fate, Outcome};
use crate::packets::PacketId;
use crate::world::World;
use crate::world::wires::PlainWire;
use baton_proto::interface::{LinkCommand, LinkEvent};

impl World {
    /// Carries out a command of a mobile's node.
    pub(super) fn command(&mut self, link: usize, command: LinkCommand) {
        let now = self.now;
        let is_radio = self.net.wires.place(link).is_some();
        let wire = &mut self.net.wires[link];
        match command {
            LinkCommand::Attach => {
                // An aircraft's arrival in a cell is reported by its network.
                let is_news = wire.works && (wire.broken || !is_radio);
                wire.broken = false;
                wire.leaving = None;
                if let Some(plain) = self.net.wires.find_plain(link)
                    && plain.works
                    && !plain.link.is_up()
                {
                    plain.link.set_up(now);
                }
                self.net.rerouting.retain(|&rerouting| rerouting != link);
                if is_news {
                    self.net.tell_network_later(link, LinkEvent::Up);
                }
            }
            LinkCommand::Detach { keep_queue } => {
                wire.broken = true;
                wire.leaving = None;
                if let Some(plain) = self.net.wires.find_plain(link) {
                    plain.link.set_down(now, keep_queue);
                }
                self.net.tell_network_later(link, LinkEvent::Down);
            }
            LinkCommand::HoldAtIp => {
                wire.broken = true;
                wire.leaving = None;
                if let Some(PlainWire { link, .. }) = self.net.wires.find_plain(link) {
                    match link.config().flow_controlled() {
                        true => link.hold_at_ip(now),
                        false => link.set_down(now, false),
                    }
                }
                self.net.tell_network_later(link, LinkEvent::Down);
            }
            LinkCommand::DiscardQueue => {
                if let Some(plain) = self.net.wires.find_plain(link) {
                    plain.link.discard_queue(now);
                }
            }
            LinkCommand::ReportDrained => self.net.begin_leaving(link),
            LinkCommand::TakeFromIp { own } => {
                self.net.rerouting.retain(|&rerouting| rerouting != link);
                if !own {
                    self.net.rerouting.push(link);
                }
                self.reroute(link, own);
            }
            LinkCommand::GoingDown => self.net.tell_network_later(link, LinkEvent::GoingDown),
        }
    }

    /// Sends packets that wait at IP before a link that its mobile has left by the present routes of the nodes at its ends
    /// (study T, section 7.2.3); the mobile's own packets only with `own`.
    fn reroute(&mut self, link: usize, own: bool) {
        let wire = &self.net.wires[link];
        let mobile = wire.mobile().map(|number| self.net.mobiles[number].node.0);
        let moving = wire
            .present_ends()
            .map(|(node, _)| own || Some(node) != mobile);
        for end in [End::A, End::B] {
            if moving[end.index()] {
                self.reroute_end(link, end);
                let (node, _) = self.net.wires.ends(link)[end.index()];
                self.pump(node);
            }
        }
    }

    fn reroute_end(&mut self, link: usize, end: End) {
        let (node, _) = self.net.wires.ends(link)[end.index()];
        // No packet waits at IP before a radio network.
        let Some(plain) = self.net.wires.find_plain(link) else {
            return;
        };
        for id in plain.link.take_from_ip(self.now, end) {
            let travelling = &mut self.net.packets[id];
            let host = &mut self.net.nodes[node].host;
            let interface = host.route_again(self.now, &mut travelling.packet);
            travelling.length = travelling.packet.wire_length();
            match interface {
                Some(interface) => self.offer(node, interface, id),
                None => self.discard_waiting((link, end), id),
            }
        }
    }

    /// Reroutes packets that wait at a home agent's end of links that mobiles have left, after the agent has bound a
    /// mobile, and behind its answer to that mobile.
    #[cold]
    pub(in crate::world) fn reroute_at(&mut self, node: usize) {
        self.transmit(node);
        for link in self.net.rerouting.clone() {
            for end in [End::A, End::B] {
                let (at, _) = self.net.wires.ends(link)[end.index()];
                if at == node {
                    self.reroute_end(link, end);
                }
            }
        }
    }

    /// Discards a waiting packet that has no other route.
    fn discard_waiting(&mut self, (link, from): (usize, End), packet: PacketId) {
        let fate = Fate {
            packet,
            from,
            at: self.now,
            outcome: Outcome::Dropped(DropReason::Discarded),
        };
        self.handle_fate(link, fate);
    }

    /// Changes a link's parameters or state as the scenario says.
    pub(in crate::world) fn apply_change(&mut self, number: usize) {
        let change = self.scenario.changes[number].clone();
        let wire = self.net.wires.plain_mut(change.link.0);
        let is_new = wire.works != change.up || *wire.link.config() != *change.config;
        wire.reports = change.config.reports();
        let mut config = change.config;
        if config.adapts_code() {
            config.keep_codes(wire.link.config());
        }
        wire.link.reconfigure(self.now, config);
        self.add_coder(change.link.0);
        self.net.touch(change.link.0);
        self.announce_mtu(change.link.0);
        if is_new {
            self.report_parameters(change.link.0);
        }
        self.turn(change.link.0, change.up);
        if is_new {
            self.report_state(change.link.0);
        }
    }

    /// Lets a link work or not from now on, and informs its mobile of a change.
    pub(in crate::world) fn turn(&mut self, link: usize, up: bool) {
        let wire = self.net.wires.plain_mut(link);
        let turned = wire.works != up;
        wire.works = up;
        if turned && !up && wire.link.is_up() {
            wire.link.set_down(self.now, false);
        } else if turned && up && !wire.broken {
            wire.link.set_up(self.now);
        }
        let mobile = wire.mobile();
        self.net.touch(link);
        if let (Some(number), true) = (mobile, turned) {
            self.note_turn(number, link, up);
            let node = self.net.mobiles[number].node.0;
            let interface = self.net.interface(node, link);
            if up {
                self.associate(link, node);
            }
            let event = if up { LinkEvent::Up } else { LinkEvent::Down };
            // A link that a mobile is not on is up for the mobile alone, which may then take it. With a mobility protocol a
            // mobile is on links that it does not use.
            let mobile = &self.net.mobiles[number];
            let is_on = mobile.protocol.is_some() && !self.net.wires[link].broken;
            let tells_network = !up || is_on || mobile.attached() == Some(link);
            self.tell_mobile(number, interface, event);
            if tells_network {
                self.tell_network(link, event);
            }
        }
    }

    /// Notes the earlier losses of a mobile's flows, if its link in use goes down.
    pub(in crate::world) fn note_turn(&mut self, number: usize, link: usize, up: bool) {
        if self.net.mobiles[number].attached() == Some(link) {
            let before = (!up).then(|| LostBefore {
                packets: Losses::default(),
                flows: Some(self.losses_of(number)),
            });
            self.net.mobiles[number].lost_before = before.map(Box::new);
        }
    }
}
