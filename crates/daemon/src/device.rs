//! Kernel devices as media.

mod joining;

use crate::capture::{Direction, Tap};
use crate::config::{InterfaceConfig, Kind, Mtu};
use crate::medium::{Medium, MediumEvent, Received};
use crate::operation::status::Status;
use crate::port::Port;
use crate::tunnel::{outer, pieces};
use baton_linux::links::LinkChange;
use baton_linux::netlink::{InterfaceIndex, RouteSocket};
use baton_linux::offload::LONGEST_FRAME;
use baton_linux::packet_socket::PacketSocket;
use baton_linux::tun::Tun;
use baton_proto::packet::Packet;
use baton_proto::time::Instant;
use joining::JoiningTun;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// Minimum MTU of IPv6 (RFC 8200 section 5), in bytes.
const LEAST_MTU: u32 = 1280;

/// The node's end of a device.
#[derive(Debug)]
enum Way {
    /// The node is behind the device: it receives the packets that the kernel sends by it.
    Tun(Tun),
    /// The same, but a packet of a TCP connection or UDP flow may stand for several.
    OffloadTun(Box<JoiningTun>),
    /// The node is beside the kernel: both receive the device's packets.
    Packet(PacketSocket),
}

/// A kernel device.
#[derive(Debug)]
pub struct Device {
    index: InterfaceIndex,
    mtu: u32,
    way: Way,
    buffer: Box<[u8]>,
    outgoing: Vec<u8>,
    tap: Tap,
    /// Name of its interface.
    name: Arc<str>,
    events: VecDeque<MediumEvent>,
}

/// A device that could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("interface {name}: {what} {device}: {source}{advice}")]
pub struct DeviceError {
    name: String,
    what: &'static str,
    device: String,
    source: io::Error,
    advice: &'static str,
}

impl Device {
    /// Creates a TUN device to the kernel, with the same name in the node, and switches it on. Its packets fit into a
    /// tunnel whose longest packet has `longest` bytes.
    ///
    /// # Errors
    /// As for [`open`](Self::open), as text.
    pub fn open_tunnel(name: &str, longest: u32, kernel: &mut RouteSocket) -> Result<Port, String> {
        let inside = longest.saturating_sub(outer::HEADER as u32).max(LEAST_MTU);
        let config = InterfaceConfig {
            kind: Kind::Tun,
            device: None,
            mtu: Some(Mtu(inside)),
        };
        let make = |name: &str| JoiningTun::create(name).map(|tun| Way::OffloadTun(Box::new(tun)));
        Device::open_as((name, &config), kernel, make).map_err(|error| error.to_string())
    }

    /// Opens the device of an interface in the calling thread's network namespace. Creates a TUN device, and switches
    /// it on.
    ///
    /// # Errors
    /// The operation that failed, the kernel's message, and advice.
    pub fn open(
        (name, config): (&str, &InterfaceConfig),
        kernel: &mut RouteSocket,
    ) -> Result<Port, DeviceError> {
        let make = |name: &str| Tun::create(name).map(Way::Tun);
        Device::open_as((name, config), kernel, make)
    }

    fn open_as(
        (name, config): (&str, &InterfaceConfig),
        kernel: &mut RouteSocket,
        make_tun: impl FnOnce(&str) -> io::Result<Way>,
    ) -> Result<Port, DeviceError> {
        let device_name = config.device(name);
        let failed = |what, source: io::Error| DeviceError {
            name: name.to_owned(),
            what,
            device: device_name.to_owned(),
            advice: advice(config.kind, &source),
            source,
        };
        let device = match config.kind {
            Kind::Tun => {
                let tun = make_tun(device_name);
                Some(tun.map_err(|error| failed("TUN device", error))?)
            }
            Kind::Packet => None,
        };
        let found = |error| failed("device", error);
        let link = kernel.link(device_name).map_err(found)?;
        let (device, mtu) = match device {
            Some(tun) => {
                let mtu = config.mtu();
                kernel.set_mtu(link.index, mtu).map_err(found)?;
                kernel.set_up(link.index, true).map_err(found)?;
                (tun, mtu)
            }
            None if link.has_link_address => {
                let refused = "packets on it need link-layer addresses, as on Ethernet; expected a device without, \
                               such as TUN, PPP or WireGuard";
                return Err(found(io::Error::new(io::ErrorKind::Unsupported, refused)));
            }
            None => {
                let socket = PacketSocket::open(link.index);
                let socket = socket.map_err(|error| failed("packet socket on", error))?;
                (Way::Packet(socket), link.mtu)
            }
        };
        let device = Device {
            index: link.index,
            mtu,
            way: device,
            buffer: vec![0; LONGEST_FRAME].into(),
            outgoing: Vec::new(),
            tap: Tap::default(),
            name: name.into(),
            events: VecDeque::new(),
        };
        Ok(Port::new(name, mtu, Box::new(device)))
    }
}

impl Medium for Device {
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        vec![match &self.way {
            Way::Tun(tun) => tun.as_fd(),
            Way::OffloadTun(tun) => tun.as_fd(),
            Way::Packet(socket) => socket.as_fd(),
        }]
    }

    fn receive(&mut self, _now: Instant) -> io::Result<Option<Received>> {
        let buffer = &mut self.buffer;
        let received = match &mut self.way {
            Way::Tun(tun) => tun.receive(buffer)?,
            Way::OffloadTun(tun) => {
                let Some(packets) = tun.receive(buffer)? else {
                    return Ok(None);
                };
                let whole = packets.whole();
                self.tap.packet(&self.name, Direction::Outbound, whole.0);
                return Ok(Some(pieces::read(whole)));
            }
            Way::Packet(socket) => socket.receive(buffer)?,
        };
        Ok(received.map(|length| Packet::verbatim(&buffer[..length])))
    }

    fn send(&mut self, _now: Instant, packet: &Packet) -> bool {
        self.outgoing.clear();
        packet.encode(&mut self.outgoing);
        let mut show = |sent: &[u8]| self.tap.packet(&self.name, Direction::Inbound, sent);
        let sent = match (&mut self.way, pieces::segmentation(packet)) {
            (Way::OffloadTun(tun), segmentation) => {
                tun.send((&self.outgoing, segmentation), &mut show);
                return true;
            }
            (Way::Tun(tun), None) => tun.send(&self.outgoing),
            (Way::Packet(socket), None) => socket.send(&self.outgoing),
            // Only a device with offloads, and the paths beside it, deliver such packets.
            (_, Some(_)) => Ok(false),
        };
        let is_sent = sent.unwrap_or(false);
        if is_sent {
            show(&self.outgoing);
        }
        is_sent
    }

    fn flush(&mut self, _now: Instant) {
        if let Way::OffloadTun(tun) = &mut self.way {
            tun.flush(&mut |sent| self.tap.packet(&self.name, Direction::Inbound, sent));
        }
    }

    fn report(&mut self, _now: Instant, status: &mut Status) {
        if let Way::OffloadTun(tun) = &self.way {
            status.lose("not taken by a device", tun.lost());
        }
    }

    fn handle_link(&mut self, _now: Instant, change: &LinkChange) {
        match change {
            LinkChange::Is(link) if link.index == self.index => {
                if link.mtu != self.mtu {
                    self.mtu = link.mtu;
                    self.events.push_back(MediumEvent::Mtu(link.mtu));
                }
                self.events.push_back(match link.is_up {
                    true => MediumEvent::Up,
                    false => MediumEvent::Down,
                });
            }
            LinkChange::Gone(index) if *index == self.index => {
                self.events.push_back(MediumEvent::Down);
            }
            _ => {}
        }
    }

    fn poll_event(&mut self) -> Option<MediumEvent> {
        self.events.pop_front()
    }

    fn set_tap(&mut self, _name: &str, tap: &Tap) {
        self.tap = tap.clone();
    }

    /// Counts from the creation of a TUN device, or from the last call for a packet socket.
    fn dropped_unread(&self, kernel: &mut RouteSocket) -> io::Result<u64> {
        match &self.way {
            Way::Tun(_) => Ok(kernel.counters(self.index)?.dropped_outgoing),
            // A frame with invalid segmentation is unreadable, too.
            Way::OffloadTun(tun) => {
                Ok(kernel.counters(self.index)?.dropped_outgoing + tun.malformed())
            }
            Way::Packet(socket) => socket.take_dropped(),
        }
    }
}

/// ENODEV (asm-generic/errno-base.h), for which `io::ErrorKind` has no name.
const NO_SUCH_DEVICE: i32 = 19;

/// Returns advice against an error, if there is any.
fn advice(kind: Kind, error: &io::Error) -> &'static str {
    match (kind, error.kind()) {
        (Kind::Tun, io::ErrorKind::NotFound) => {
            "; there is no TUN driver: load it with `modprobe tun`"
        }
        (Kind::Tun, io::ErrorKind::PermissionDenied) => "; it needs CAP_NET_ADMIN",
        (Kind::Tun, io::ErrorKind::ResourceBusy) => {
            "; another program has created it: stop that program, or name another device with the key `device`"
        }
        (Kind::Packet, io::ErrorKind::PermissionDenied) => "; it needs CAP_NET_RAW",
        (Kind::Packet, _) if error.raw_os_error() == Some(NO_SUCH_DEVICE) => {
            "; create it before the node starts, or name another with the key `device`"
        }
        _ => "",
    }
}
