//! Two stacks and a scenario's links between them: our TCP in a [`Host`] of this process, the kernel's in a network
//! namespace. One thread drives all of it, so that a case is a script and waits for nothing but for what it names.

mod forwarding;

use crate::kernel::{self, KernelEnd};
use crate::seen::{Carried, Sent};
use baton_linux::offload::LONGEST_FRAME;
use baton_live::clock::RealClock;
use baton_live::namespace::RealHost;
use baton_proto::host::{Host, SocketEvent, SocketId};
use baton_proto::interface::InterfaceId;
use baton_proto::packet::{BitErrors, Body, Identity, IpHeader, Packet};
use baton_proto::tcp::profile::Profile;
use baton_proto::tcp::{Connection, Endpoint};
use baton_proto::time::Instant;
use baton_sim::run::{Run, RunOptions};
use baton_sim::scenario;
use baton_sim::scenario::model::NodeIndex;
use baton_sim::world::ports::PortId;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::path::Path;

/// Port of whoever listens.
pub const PORT: u16 = 5001;
/// A case that takes longer hangs.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);
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
    pub events: Vec<SocketEvent>,
    pub kernel: KernelEnd,
    /// By the [`Side`] that sends.
    pub sent: [Sent; 2],
    pub carried: [Carried; 2],
    /// A frame of the kernel, and a packet.
    frame: Vec<u8>,
    buffer: Vec<u8>,
}

/// Differences of a bench from the plainest.
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
            frame: vec![0; LONGEST_FRAME],
            buffer: vec![0; LONGEST_PACKET],
        }
    }

    /// A connection between the two, opened by `opener`.
    pub fn connected(setting: &Setting<'_>, profile: &Profile, opener: Side) -> Bench {
        let mut bench = Bench::new(setting);
        bench.open(profile, opener);
        bench.until("connected at both ends", |bench| {
            bench.kernel.is_open() && bench.events.contains(&SocketEvent::Connected)
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

    /// Hands `to` a packet as if the other side had sent it; neither the links nor that side know of it.
    pub fn forge(&mut self, to: Side, body: Body) {
        let packet = Packet {
            ip: IpHeader {
                source: self.addresses[to.other() as usize],
                destination: self.addresses[to as usize],
                hop_limit: 64,
                traffic_class: 0,
                identification: 0,
                dont_fragment: true,
            },
            body,
            flow: None,
            retransmission: false,
            bit_errors: BitErrors::NONE,
            identity: Identity::NONE,
        };
        match to {
            Side::Ours => self
                .ours
                .handle_packet(self.clock.now(), InterfaceId(0), packet),
            Side::Kernel => {
                let mut bytes = Vec::new();
                packet.encode(&mut bytes);
                let interface = self.interfaces.iter().flatten().next().unwrap();
                assert!(
                    self.real.interfaces[*interface]
                        .tun
                        .send(&bytes, None)
                        .unwrap()
                );
            }
        }
    }
}
