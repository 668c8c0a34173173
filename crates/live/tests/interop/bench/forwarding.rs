//! Packets from one stack into the world, and out of it to the other, each at its time.

use super::{Bench, LONGEST_PACKET, Side};
use baton_linux::readiness::wait_readable;
use baton_proto::host::{HostEvent, Verdict};
use baton_proto::interface::InterfaceId;
use baton_proto::packet::{Body, Packet};
use baton_proto::time::Duration;
use baton_sim::world::ports::{InterfaceEvent, PortId};
use std::os::fd::AsFd;

/// Longest sleep: the kernel may take in what it was handed a little later, of which no descriptor here tells.
const LONGEST_REST: Duration = Duration::from_millis(5);

impl Bench {
    /// Does all that is due; returns whether there was anything.
    pub(super) fn turn(&mut self) -> bool {
        let mut busy = false;
        self.run.advance_to(self.clock.now()).unwrap();
        while let Some(event) = self.run.world_mut().poll_interface_event() {
            self.apply(event);
        }
        while let Some(delivery) = self.run.world_mut().poll_delivery() {
            busy = true;
            self.deliver(delivery.port, delivery.packet);
        }
        busy |= self.take_from_kernel();
        busy |= self.take_from_ours();
        self.kernel.accept();
        busy
    }

    pub(super) fn rest(&mut self) {
        let now = self.clock.now();
        let due = [self.run.next_time(), self.ours.poll_timeout()];
        let due = due.into_iter().flatten().min();
        let left = due.map_or(LONGEST_REST, |due| due.saturating_since(now));
        let interfaces = self.real.interfaces.iter();
        let devices: Vec<_> = interfaces.map(|interface| interface.tun.as_fd()).collect();
        let most = left.min(LONGEST_REST).as_nanos();
        wait_readable(&devices, std::time::Duration::from_nanos(most)).unwrap();
    }

    fn apply(&mut self, event: InterfaceEvent) {
        match event {
            InterfaceEvent::Default { node, port } if node == self.our_node => {
                self.our_port = port;
            }
            InterfaceEvent::Default { port, .. } => {
                let interface = self.interfaces[port.0].unwrap();
                self.real.set_default_route(interface).unwrap();
            }
            InterfaceEvent::Mtu(port, mtu) => {
                if let Some(interface) = self.interfaces[port.0] {
                    self.real.set_mtu(interface, mtu).unwrap();
                }
            }
            InterfaceEvent::Up(_) | InterfaceEvent::Down(_) => unreachable!("addresses are kept"),
        }
    }

    fn deliver(&mut self, port: PortId, mut packet: Packet) {
        let to = match self.interfaces[port.0] {
            Some(_) => Side::Kernel,
            None => Side::Ours,
        };
        if let Ok(Packet {
            ip,
            body: Body::Tcp(_, payload),
            ..
        }) = packet.clone().apply_bit_errors()
            && !payload.is_empty()
        {
            self.sent[to.other() as usize].note_arrived(ip.identification);
        }
        match self.interfaces[port.0] {
            Some(interface) => {
                self.buffer.clear();
                packet.encode_damaged(&mut self.buffer);
                let tun = &self.real.interfaces[interface].tun;
                assert!(tun.send(&self.buffer, None).unwrap());
            }
            None => {
                let length = packet.wire_length();
                let now = self.clock.now();
                if self.ours.route(now, InterfaceId(0), &mut packet, length) == Verdict::Local {
                    self.ours.handle_packet(now, InterfaceId(0), packet);
                }
            }
        }
    }

    fn take_from_kernel(&mut self) -> bool {
        let mut busy = false;
        for (port, interface) in self.interfaces.iter().enumerate() {
            let Some(interface) = *interface else {
                continue;
            };
            let tun = &self.real.interfaces[interface].tun;
            self.buffer.resize(LONGEST_PACKET, 0);
            while let Some(mut packets) = tun.receive(&mut self.frame).unwrap() {
                busy = true;
                while let Some(length) = packets.write_next(&mut self.buffer).unwrap() {
                    let bytes = &self.buffer[..length];
                    if let Ok(Packet {
                        body: Body::Tcp(header, payload),
                        ..
                    }) = Packet::decode(bytes)
                    {
                        self.sent[Side::Kernel as usize].note_sent(&header, payload.length());
                    }
                    self.run.world_mut().inject(PortId(port), bytes);
                }
            }
        }
        busy
    }

    fn take_from_ours(&mut self) -> bool {
        let now = self.clock.now();
        self.ours.handle_timeout(now);
        let mut busy = false;
        loop {
            if let Some(event) = self.ours.poll_event() {
                match event {
                    HostEvent::Accepted { socket, .. } => self.socket = Some(socket),
                    HostEvent::Socket { event, .. } => self.events.push(event),
                    _ => {}
                }
            } else if let Some((_, packet)) = self.ours.poll_transmit(now) {
                if let Body::Tcp(header, payload) = &packet.body {
                    self.sent[Side::Ours as usize].note_sent(header, payload.length());
                }
                self.buffer.clear();
                packet.encode(&mut self.buffer);
                self.run.world_mut().inject(self.our_port, &self.buffer);
            } else {
                break;
            }
            busy = true;
        }
        while self.ours.poll_changed().is_some() {}
        busy
    }
}
