//! Two stacks and a scenario's links between them: our TCP in a [`Host`] of this process, the kernel's in a network
//! namespace. One thread drives all of it, so that a case is a script and waits for nothing but for what it names.

use crate::kernel::{self, KernelEnd};
use baton_live::clock::RealClock;
use baton_live::namespace::{HostSpec, InterfaceSpec, RealHost};
use baton_live::plan::Sysctl;
use baton_live::readiness::wait_readable;
use baton_proto::host::{Host, HostEvent, SocketId, Verdict};
use baton_proto::packet::{Body, IpHeader, Packet, Payload};
use baton_proto::tcp::profile::Profile;
use baton_proto::tcp::{Connection, Endpoint, Event};
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::sequence::SequenceNumber;
use baton_proto::wire::tcp::{TcpFlags, TcpHeader};
use baton_sim::run::{Run, RunOptions};
use baton_sim::scenario;
use baton_sim::scenario::model::NodeIndex;
use baton_sim::world::ports::{InterfaceEvent, PortId};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::path::Path;

/// Port of whoever listens.
pub const PORT: u16 = 5001;
/// A case that takes longer hangs.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);
/// Longest sleep: the kernel may take in what it was handed a little later, of which no descriptor here tells.
const LONGEST_REST: Duration = Duration::from_millis(5);
const LONGEST_PACKET: usize = 65_536;

/// One of the two stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Ours,
    Kernel,
}

impl Side {
    pub const BOTH: [Side; 2] = [Side::Ours, Side::Kernel];

    pub fn other(self) -> Side {
        Side::BOTH[1 - self as usize]
    }
}

/// What was seen of the segments that one side sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    pub syn: Option<TcpHeader>,
    pub last: Option<TcpHeader>,
    pub segments: u64,
    /// After the last byte, SYN or FIN that was sent.
    pub next: Option<SequenceNumber>,
    /// Segments without data one before that: what asks whether a shut window has opened.
    pub bare_probes: u64,
    /// Identification of the last segment with data that has arrived. Both stacks count them up.
    arrived: Option<u16>,
    /// Segments with data that came behind one that was sent later.
    pub overtaken: u64,
}

impl Sent {
    fn note_sent(&mut self, header: &TcpHeader, length: u32) {
        self.segments += 1;
        self.last = Some(*header);
        if header.flags.contains(TcpFlags::SYN) {
            self.syn = Some(*header);
        }
        if header.flags.contains(TcpFlags::RST) {
            return;
        }
        let phantom = header.flags.contains(TcpFlags::SYN) || header.flags.contains(TcpFlags::FIN);
        let end = header.sequence + (length + u32::from(phantom));
        match self.next {
            Some(next) if end.distance_from(next) <= 0 => {
                let is_probe = length == 0 && !phantom && next.distance_from(end) == 1;
                self.bare_probes += u64::from(is_probe);
            }
            _ => self.next = Some(end),
        }
    }

    fn note_arrived(&mut self, identification: u16) {
        match self.arrived {
            Some(arrived) if (identification.wrapping_sub(arrived) as i16) < 0 => {
                self.overtaken += 1;
            }
            _ => self.arrived = Some(identification),
        }
    }
}

/// What was carried one way: bytes of a pattern that the reader compares.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carried {
    pub written: u64,
    pub read: u64,
}

/// Both stacks at their places.
pub struct Bench {
    run: Run,
    clock: RealClock,
    real: RealHost,
    /// By port of the world the kernel's interface; nothing for ours.
    interfaces: Vec<Option<usize>>,
    our_node: NodeIndex,
    our_port: PortId,
    pub ours: Host,
    /// By [`Side`].
    pub addresses: [IpAddr; 2],
    pub socket: Option<SocketId>,
    pub events: Vec<Event>,
    pub kernel: KernelEnd,
    /// By the [`Side`] that sends.
    pub sent: [Sent; 2],
    pub carried: [Carried; 2],
    buffer: Vec<u8>,
}

/// How a bench differs from the plainest.
#[derive(Clone, Copy, Debug, Default)]
pub struct Setting<'a> {
    /// Links, mobiles and changes between the nodes "ours" and "kernel".
    pub links: &'a str,
    /// Settings of the kernel's TCP: name and value.
    pub sysctls: &'a [(&'a str, &'a str)],
    /// The kernel's receive buffer, as `SO_RCVBUF` takes it.
    pub receive_buffer: Option<usize>,
    pub ipv6: bool,
}

/// A link that changes nothing but time.
pub const PLAIN: &str = r#"
    [links.path]
    between = ["ours", "kernel"]
    kind = "wired"
    rate = "20 Mbit/s"
    delay = "5 ms"
    queue = "200 packets"
"#;

impl Bench {
    pub fn new(setting: &Setting<'_>) -> Bench {
        let text = format!(
            "name = \"interop\"\nduration = \"3600 s\"\n{}\n[live]\nhosts = [\"ours\", \"kernel\"]\n\
             [record]\nseries = false\npackets = false\n",
            setting.links
        );
        let loaded = scenario::parse(&text, "interop.toml", Path::new(""), &[]);
        let loaded = loaded.unwrap_or_else(|error| panic!("{error}"));
        let node = |name| {
            let mut nodes = loaded.scenario.nodes.iter();
            NodeIndex(nodes.position(|node| node == name).unwrap())
        };
        let nodes = [node("ours"), node("kernel")];
        let options = RunOptions {
            live: true,
            ..RunOptions::default()
        };
        let run = Run::new(loaded, &options).unwrap();
        let (real, interfaces) = kernel::build(&run, nodes[1], setting.sysctls);
        let addresses = nodes.map(|node| run.world().address(node, setting.ipv6));
        let mut ours = Host::new(addresses[0], [7; 16]);
        let port = interfaces.iter().position(Option::is_none).unwrap();
        let interface = ours.add_interface(run.world().ports()[port].mtu);
        ours.routes_mut().set_default(Some(interface));
        Bench {
            run,
            clock: RealClock::start(),
            real,
            interfaces,
            our_node: nodes[0],
            our_port: PortId(port),
            ours,
            addresses,
            socket: None,
            events: Vec::new(),
            kernel: KernelEnd::new(setting.receive_buffer),
            sent: Default::default(),
            carried: Default::default(),
            buffer: vec![0; LONGEST_PACKET],
        }
    }

    /// A connection between the two, opened by `opener`.
    pub fn connected(setting: &Setting<'_>, profile: &Profile, opener: Side) -> Bench {
        let mut bench = Bench::new(setting);
        bench.open(profile, opener);
        bench.until("connected at both ends", |bench| {
            bench.kernel.is_open() && bench.events.contains(&Event::Connected)
        });
        bench
    }

    /// Has `opener` open a connection to the other side, which listens.
    pub fn open(&mut self, profile: &Profile, opener: Side) {
        let [ours, kernel] = self.addresses;
        match opener {
            Side::Ours => {
                self.kernel
                    .listen(self.real.namespace.as_fd(), SocketAddr::new(kernel, PORT));
                self.connect(profile);
            }
            Side::Kernel => {
                self.ours.tcp_listen(PORT, profile.clone(), 16, None);
                self.kernel
                    .connect(self.real.namespace.as_fd(), SocketAddr::new(ours, PORT));
            }
        }
    }

    /// Opens a connection to the kernel, whoever may listen there.
    pub fn connect(&mut self, profile: &Profile) {
        let remote = Endpoint {
            address: self.addresses[1],
            port: PORT,
        };
        let now = self.clock.now();
        self.socket = Some(self.ours.tcp_connect(now, remote, profile, None));
    }

    /// Has both open the same connection.
    pub fn open_at_once(&mut self, profile: &Profile) {
        let [ours, kernel] = self.addresses;
        self.connect(profile);
        let port = self.connection().local().port;
        let namespace = self.real.namespace.as_fd();
        self.kernel.connect_from(
            namespace,
            SocketAddr::new(kernel, PORT),
            SocketAddr::new(ours, port),
        );
    }

    /// The kernel's end without anyone who listens at ours.
    pub fn connect_to_nobody(&mut self) {
        let nobody = SocketAddr::new(self.addresses[0], PORT);
        self.kernel.connect(self.real.namespace.as_fd(), nobody);
    }

    pub fn now(&self) -> Instant {
        self.run.world().now()
    }

    /// Packets that links have dropped.
    pub fn dropped(&self) -> u64 {
        self.run.world().drops().values().sum()
    }

    pub fn connection(&mut self) -> &mut Connection {
        self.ours.connection_mut(self.socket.unwrap()).unwrap()
    }

    /// Goes on until `reached`, which may act on either side meanwhile.
    pub fn until(&mut self, what: &str, mut reached: impl FnMut(&mut Bench) -> bool) {
        let begun = std::time::Instant::now();
        loop {
            let busy = self.turn();
            if reached(self) {
                self.turn();
                return;
            }
            if begun.elapsed() > PATIENCE {
                let state = self.socket.map(|_| format!("{:?}", self.connection()));
                panic!(
                    "not {what} after {PATIENCE:?}: {:?} {:?}, events {:?}, the kernel's error {:?}, {state:?}",
                    self.carried, self.sent, self.events, self.kernel.error
                );
            }
            if !busy {
                self.rest();
            }
        }
    }

    /// Does all that is due; returns whether there was anything.
    fn turn(&mut self) -> bool {
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

    fn rest(&mut self) {
        let now = self.clock.now();
        let due = [self.run.next_time(), self.ours.poll_timeout()];
        let due = due.into_iter().flatten().min();
        let left = due.map_or(LONGEST_REST, |due| due.saturating_since(now));
        let interfaces = self.real.interfaces.iter();
        let devices: Vec<_> = interfaces
            .map(|interface| interface.tun.as_fd())
            .collect();
        let most = left.min(LONGEST_REST).as_nanos();
        wait_readable(&devices, std::time::Duration::from_nanos(most));
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
                assert!(tun.send(&self.buffer).unwrap());
            }
            None => {
                if self.ours.route(&mut packet) == Verdict::Local {
                    self.ours.handle_packet(self.clock.now(), packet);
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
            self.buffer.resize(LONGEST_PACKET, 0);
            while let Some(length) = self.real.interfaces[interface]
                .tun
                .receive(&mut self.buffer)
                .unwrap()
            {
                busy = true;
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
                    HostEvent::Tcp { event, .. } => self.events.push(event),
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

    /// Hands `to` a segment as if the other side had sent it; neither the links nor that side know of it.
    pub fn forge(&mut self, to: Side, header: TcpHeader, payload: Payload) {
        let packet = Packet {
            ip: IpHeader {
                source: self.addresses[to.other() as usize],
                destination: self.addresses[to as usize],
                hop_limit: 64,
                traffic_class: 0,
                identification: 0,
                dont_fragment: true,
            },
            body: Body::Tcp(header, payload),
            flow: None,
            retransmission: false,
            bit_errors: Vec::new(),
        };
        match to {
            Side::Ours => self.ours.handle_packet(self.clock.now(), packet),
            Side::Kernel => {
                let mut bytes = Vec::new();
                packet.encode(&mut bytes);
                let interface = self.interfaces.iter().flatten().next().unwrap();
                assert!(self.real.interfaces[*interface].tun.send(&bytes).unwrap());
            }
        }
    }
}

/// A host of the kernel's at the world's ports of `node`, and where each port leads.
pub fn place(run: &Run, node: NodeIndex, sysctls: Vec<Sysctl>) -> (RealHost, Vec<Option<usize>>) {
    let mut specs = Vec::new();
    let mut interfaces = Vec::new();
    for port in run.world().ports() {
        interfaces.push((port.node == node).then_some(specs.len()));
        if port.node == node {
            specs.push(InterfaceSpec {
                name: format!("link{}", specs.len()),
                mtu: port.mtu,
                addresses: port.addresses.clone(),
            });
        }
    }
    let count = specs.len();
    let mut real = RealHost::build(HostSpec {
        name: "kernel".to_owned(),
        interfaces: specs,
        sysctls,
        metrics: Vec::new(),
        group: 0,
    })
    .unwrap();
    for interface in (0..count).rev() {
        real.raise(interface).unwrap();
        real.set_default_route(interface).unwrap();
    }
    (real, interfaces)
}
