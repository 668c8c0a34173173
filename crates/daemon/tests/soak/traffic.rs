//! A client and a server: transfers in both directions, and datagrams.

use super::gateway::{CONTROL, Events, Outgoing};
use super::numbers::Numbers;
use baton_daemon::engine::Engine;
use baton_proto::host::{Host, HostEvent, SocketEvent, SocketId};
use baton_proto::interface::{InterfaceId, LinkEvent};
use baton_proto::packet::{Body, Packet, Payload, pattern_byte};
use baton_proto::tcp::Endpoint;
use baton_proto::tcp::profile::Profile;
use baton_proto::time::{Duration, Instant};
use core::net::Ipv4Addr;
use std::collections::BTreeSet;

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 7, 0, 2);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
const PORT: u16 = 5001;
const DATAGRAMS: u16 = 5002;
/// Number of the pattern of all bytes.
const STREAM: u32 = 7;
/// Transfers at the same time.
const MOST: usize = 5;
/// Datagrams that may overtake one that is sent again: those of a minute.
const OVERTAKEN: u64 = 600;

/// A host with applications.
pub struct Machine {
    engine: Engine,
    events: Events,
}

impl Machine {
    fn new(address: Ipv4Addr, secret: u8) -> Machine {
        let mut host = Host::new(address.into(), [secret; 16]);
        let out = host.add_interface(1500);
        host.routes_mut().set_default(Some(out));
        let mut machine = Machine {
            engine: Engine::new(host),
            events: Events::default(),
        };
        let event = (out, LinkEvent::Up);
        let (events, outgoing) = (&mut machine.events, &mut Outgoing::default());
        machine
            .engine
            .handle_event(Instant::ZERO, event, events, outgoing);
        machine
    }

    fn host(&mut self) -> &mut Host {
        self.engine.host_mut()
    }

    pub fn take(&mut self, now: Instant, packet: Packet) -> Vec<Packet> {
        let mut outgoing = Outgoing::default();
        let arrived = (InterfaceId(0), packet);
        self.engine
            .handle_packet(now, arrived, &mut self.events, &mut outgoing);
        packets(outgoing)
    }

    /// Does what is due, and sends what its applications have written.
    pub fn turn(&mut self, now: Instant) -> Vec<Packet> {
        let mut outgoing = Outgoing::default();
        self.engine.advance(now, &mut self.events, &mut outgoing);
        self.engine.drain(now, &mut self.events, &mut outgoing);
        packets(outgoing)
    }

    pub fn poll_timeout(&mut self) -> Option<Instant> {
        self.engine.poll_timeout()
    }
}

fn packets(outgoing: Outgoing) -> Vec<Packet> {
    outgoing.0.into_iter().map(|(_, packet)| packet).collect()
}

/// One end of a transfer: it sends its bytes, and reads the other end's.
#[derive(Debug)]
struct End {
    socket: SocketId,
    sent: u64,
    read: u64,
    is_finished: bool,
}

/// A transfer: the client's bytes, and then the server's.
#[derive(Debug)]
struct Transfer {
    client: End,
    server: Option<End>,
    bytes: [u64; 2],
}

/// Both machines and all that goes on between them.
pub struct Traffic {
    pub client: Machine,
    pub server: Machine,
    transfers: Vec<Transfer>,
    done: u64,
    reset: u64,
    datagrams: u64,
    arrived: BTreeSet<u64>,
    pub control_delays: Vec<Duration>,
    /// At each restart of a gateway, the latest datagram that had arrived, and the number sent.
    restarts: Vec<(u64, u64)>,
}

impl End {
    fn new(socket: SocketId) -> End {
        End {
            socket,
            sent: 0,
            read: 0,
            is_finished: false,
        }
    }

    /// Writes up to so many bytes in all, then closes.
    fn write(&mut self, host: &mut Host, bytes: u64) {
        if self.sent == bytes {
            return;
        }
        if let Some(connection) = host.connection_mut(self.socket) {
            self.sent += connection.write_pattern(STREAM, bytes - self.sent);
            if self.sent == bytes {
                connection.close();
            }
        }
    }

    /// Reads all that there is, and compares each byte.
    fn read(&mut self, host: &mut Host) {
        let mut buffer = [0; 16 << 10];
        while let Some(connection) = host.connection_mut(self.socket) {
            let count = connection.read(&mut buffer);
            if count == 0 {
                return;
            }
            for byte in &buffer[..count] {
                assert_eq!(*byte, pattern_byte(STREAM, self.read), "{}", self.read);
                self.read += 1;
            }
        }
    }
}

impl Traffic {
    pub fn new() -> Traffic {
        let [mut client, mut server] =
            [(CLIENT, 50), (SERVER, 51)].map(|(address, secret)| Machine::new(address, secret));
        server.host().tcp_listen(PORT, Profile::linux_6(), 64, None);
        server.host().udp_bind(DATAGRAMS);
        server.host().udp_bind(CONTROL);
        client.host().udp_bind(DATAGRAMS);
        Traffic {
            client,
            server,
            transfers: Vec::new(),
            done: 0,
            reset: 0,
            datagrams: 0,
            arrived: BTreeSet::new(),
            control_delays: Vec::new(),
            restarts: Vec::new(),
        }
    }

    /// Begins a transfer or sends a datagram, now and then.
    pub fn begin(&mut self, now: Instant, numbers: &mut Numbers) {
        if numbers.happens(100) && self.transfers.len() < MOST {
            let bytes = [(); 2].map(|()| {
                let most = 64 << numbers.below(14);
                1 + numbers.below(most)
            });
            self.transfer(now, bytes);
        }
        if numbers.happens(200) {
            let mut bytes = self.datagrams.to_be_bytes().to_vec();
            bytes.resize(8 + numbers.below(1000) as usize, 0);
            self.datagrams += 1;
            let to = Endpoint {
                address: SERVER.into(),
                port: DATAGRAMS,
            };
            let payload = Payload::Bytes(bytes.into());
            self.client.host().udp_send(DATAGRAMS, to, payload, None);
        }
    }

    fn transfer(&mut self, now: Instant, bytes: [u64; 2]) {
        let remote = Endpoint {
            address: SERVER.into(),
            port: PORT,
        };
        let host = self.client.host();
        let socket = host.tcp_connect(now, remote, &Profile::linux_6(), None);
        self.transfers.push(Transfer {
            client: End::new(socket),
            server: None,
            bytes,
        });
    }

    /// Begins a transfer of so many bytes to the server, or from it, and one byte in the other direction.
    pub fn bulk(&mut self, now: Instant, is_upload: bool, bytes: u64) {
        let bytes = if is_upload { [bytes, 1] } else { [1, bytes] };
        self.transfer(now, bytes);
    }

    /// Returns the bytes that have come in the direction of the transfer under way that has come further.
    pub fn carried(&self) -> Option<u64> {
        let transfer = self.transfers.first()?;
        let uploaded = transfer.server.as_ref().map_or(0, |server| server.read);
        Some(uploaded.max(transfer.client.read))
    }

    /// Sends a datagram of the control stream, an IP packet of 1000 bytes.
    pub fn send_control(&mut self, now: Instant) {
        let mut bytes = now.as_nanos().to_be_bytes().to_vec();
        bytes.resize(1000 - 28, 0);
        let to = Endpoint {
            address: SERVER.into(),
            port: CONTROL,
        };
        let payload = Payload::Bytes(bytes.into());
        self.client.host().udp_send(DATAGRAMS, to, payload, None);
    }

    /// Takes the delay of a packet, if it is of the control stream.
    pub fn note_control(&mut self, now: Instant, packet: &Packet) {
        if let Body::Udp(header, Payload::Bytes(bytes)) = &packet.body
            && header.destination_port == CONTROL
        {
            let sent = u64::from_be_bytes(bytes[..8].try_into().unwrap());
            self.control_delays
                .push(now.saturating_since(Instant::from_nanos(sent)));
        }
    }

    /// Lets the applications do their work.
    pub fn work(&mut self) {
        self.take_events();
        for transfer in &mut self.transfers {
            let [there, back] = transfer.bytes;
            transfer.client.write(self.client.host(), there);
            transfer.client.read(self.client.host());
            if let Some(server) = &mut transfer.server {
                server.read(self.server.host());
                if server.is_finished && server.read == there {
                    server.write(self.server.host(), back);
                }
            }
        }
        let before = self.transfers.len();
        self.transfers.retain(|transfer| {
            let client = &transfer.client;
            !(client.is_finished && client.read == transfer.bytes[1])
        });
        self.done += (before - self.transfers.len()) as u64;
    }

    fn take_events(&mut self) {
        for event in core::mem::take(&mut self.server.events.0) {
            match event {
                HostEvent::Accepted { socket, .. } => self.accept(socket),
                HostEvent::Socket { socket, event } => {
                    let mut ends = self
                        .transfers
                        .iter_mut()
                        .filter_map(|it| it.server.as_mut());
                    let end = ends.find(|end| end.socket == socket);
                    note(end, event, "the server's");
                }
                HostEvent::Datagram { port, payload, .. } if port == DATAGRAMS => {
                    let Payload::Bytes(bytes) = payload else {
                        panic!("a datagram that was not encoded");
                    };
                    let number = u64::from_be_bytes(bytes[..8].try_into().unwrap());
                    assert!(self.arrived.insert(number), "datagram {number} came twice");
                }
                _ => {}
            }
        }
        for event in core::mem::take(&mut self.client.events.0) {
            if let HostEvent::Socket { socket, event } = event {
                let mut ends = self.transfers.iter_mut().map(|it| &mut it.client);
                let end = ends.find(|end| end.socket == socket);
                note(end, event, "the client's");
            }
        }
    }

    fn accept(&mut self, socket: SocketId) {
        let Some(connection) = self.server.host().connection(socket) else {
            return;
        };
        let port = connection.remote().port;
        let client = self.client.host();
        let of_port = self.transfers.iter_mut().find(|transfer| {
            let connection = client.connection(transfer.client.socket);
            connection.is_some_and(|connection| connection.local().port == port)
        });
        // One that a restart has reset may still have been under way.
        match of_port {
            Some(transfer) => transfer.server = Some(End::new(socket)),
            None => self.server.host().connection_mut(socket).unwrap().abort(),
        }
    }

    /// Gives up all transfers: a gateway has lost its state.
    pub fn give_up(&mut self) {
        let latest = self.arrived.last().copied().unwrap_or(0);
        self.restarts.push((latest, self.datagrams));
        for transfer in core::mem::take(&mut self.transfers) {
            self.reset += 1;
            let ends = [
                (Some(transfer.client), &mut self.client),
                (transfer.server, &mut self.server),
            ];
            for (end, machine) in ends {
                let connection = end.and_then(|end| machine.host().connection_mut(end.socket));
                connection.into_iter().for_each(|it| it.abort());
            }
        }
    }

    /// Checks that all has come to its end. So many datagrams were refused, because a link was overloaded.
    pub fn finish(&mut self, refused: u64) {
        self.work();
        assert!(self.transfers.is_empty(), "{:?}", self.transfers);
        let (done, reset) = (self.done, self.reset);
        let (datagrams, arrived) = (self.datagrams, self.arrived.len());
        println!(
            "{done} transfers, {reset} reset by restarts; {arrived} of {datagrams} datagrams, {refused} refused"
        );
        assert!(done > 10 && arrived as u64 > datagrams / 2);
        let lost = (0..datagrams).filter(|number| !self.arrived.contains(number));
        let strays: Vec<_> = lost.filter(|number| !self.is_of_restart(*number)).collect();
        let restarts = &self.restarts;
        assert!(
            strays.len() as u64 <= refused,
            "{strays:?}; restarts: {restarts:?}"
        );
    }

    /// Returns true if a restart explains a datagram's loss: it was under way then, or it was sent before the other
    /// gateway had noticed.
    fn is_of_restart(&self, number: u64) -> bool {
        self.restarts.iter().any(|&(latest, sent)| {
            let noticed = self.arrived.range(sent..).next();
            latest <= number + OVERTAKEN && noticed.is_none_or(|&noticed| number < noticed)
        })
    }
}

/// Takes in an event of an end of a transfer; without a restart none is reset.
fn note(end: Option<&mut End>, event: SocketEvent, whose: &str) {
    let Some(end) = end else { return };
    match event {
        SocketEvent::PeerClosed => end.is_finished = true,
        SocketEvent::Refused | SocketEvent::Reset | SocketEvent::TimedOut => {
            panic!("{whose} end of a transfer: {event:?}, {end:?}");
        }
        _ => {}
    }
}
