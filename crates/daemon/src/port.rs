//! Ports: the devices by which a node speaks.

use crate::config::{InterfaceConfig, Kind};
use baton_linux::netlink::{InterfaceIndex, RouteSocket};
use baton_linux::packet_socket::PacketSocket;
use baton_linux::tun::Tun;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// The end of a device that the node holds.
#[derive(Debug)]
enum Device {
    /// The node is behind the device: what the kernel sends by it comes to the node.
    Tun(Tun),
    /// The node is beside the kernel: what comes by the device comes to both.
    Packet(PacketSocket),
}

/// An interface of the node, and the device behind it.
#[derive(Debug)]
pub struct Port {
    /// The name of the interface in the node's configuration.
    pub name: String,
    /// The device's number.
    pub index: InterfaceIndex,
    /// The device's largest packet, in bytes.
    pub mtu: u32,
    /// True if packets pass; `None` until the kernel has said.
    pub is_up: Option<bool>,
    /// True until reading from the device has failed: it is gone.
    pub is_readable: bool,
    device: Device,
}

/// A device that could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("interface {name}: {what} {device}: {source}{advice}")]
pub struct PortError {
    name: String,
    what: &'static str,
    device: String,
    source: io::Error,
    advice: &'static str,
}

impl Port {
    /// Opens the device of an interface in the calling thread's network namespace. A TUN device is made and switched on.
    ///
    /// # Errors
    /// The thing that could not be done, the words of the kernel, and what helps.
    pub fn open(
        (name, config): (&str, &InterfaceConfig),
        kernel: &mut RouteSocket,
    ) -> Result<Port, PortError> {
        let device_name = config.device(name);
        let failed = |what, source: io::Error| PortError {
            name: name.to_owned(),
            what,
            device: device_name.to_owned(),
            advice: advice(config.kind, &source),
            source,
        };
        let device = match config.kind {
            Kind::Tun => {
                let tun = Tun::create(device_name).map_err(|error| failed("TUN device", error))?;
                Some(Device::Tun(tun))
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
                (Device::Packet(socket), link.mtu)
            }
        };
        Ok(Port {
            name: name.to_owned(),
            index: link.index,
            mtu,
            is_up: None,
            is_readable: true,
            device,
        })
    }

    /// Returns the interface's name, and its device's largest packet in bytes.
    pub fn described(&self) -> (&str, u32) {
        (&self.name, self.mtu)
    }

    /// Reads the next packet that has come, its length in `buffer`; `None` if none waits.
    ///
    /// # Errors
    /// Errors of the kernel: the device is gone.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match &self.device {
            Device::Tun(tun) => tun.receive(buffer),
            Device::Packet(socket) => socket.receive(buffer),
        }
    }

    /// Sends a packet; returns false if the device is down, full or gone.
    pub fn send(&self, packet: &[u8]) -> bool {
        let sent = match &self.device {
            Device::Tun(tun) => tun.send(packet),
            Device::Packet(socket) => socket.send(packet),
        };
        sent.unwrap_or(false)
    }

    /// Returns the number of packets that the kernel could not keep until the node read them, since the device was made or,
    /// of a packet socket, since this was asked last.
    ///
    /// # Errors
    /// Errors of the kernel, such as for a device that is gone.
    pub fn dropped_unread(&self, kernel: &mut RouteSocket) -> io::Result<u64> {
        match &self.device {
            Device::Tun(_) => Ok(kernel.counters(self.index)?.dropped_outgoing),
            Device::Packet(socket) => socket.take_dropped(),
        }
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.device {
            Device::Tun(tun) => tun.as_fd(),
            Device::Packet(socket) => socket.as_fd(),
        }
    }
}

/// ENODEV (asm-generic/errno-base.h), for which `io::ErrorKind` has no name.
const NO_SUCH_DEVICE: i32 = 19;

/// Says what helps against an error, if that is known.
fn advice(kind: Kind, error: &io::Error) -> &'static str {
    match (kind, error.kind()) {
        (Kind::Tun, io::ErrorKind::NotFound) => {
            "; there is no TUN driver: load it with `modprobe tun`"
        }
        (Kind::Tun, io::ErrorKind::PermissionDenied) => "; it needs CAP_NET_ADMIN",
        (Kind::Tun, io::ErrorKind::ResourceBusy) => {
            "; another program has made it: end that, or name another device by the key `device`"
        }
        (Kind::Packet, io::ErrorKind::PermissionDenied) => "; it needs CAP_NET_RAW",
        (Kind::Packet, _) if error.raw_os_error() == Some(NO_SUCH_DEVICE) => {
            "; make it before the node starts, or name another by the key `device`"
        }
        _ => "",
    }
}
