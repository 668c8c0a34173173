//! A valid scenario: every name resolved, every value inside its range.

pub use super::ipv4_prefix::Ipv4Prefix;
pub use crate::link::cells::{CellId, StationId};

use super::dtn_gateways::DtnGateways;
use crate::addresses::CellNetworks;
use crate::link::cells::NetworkConfig;
use crate::link::config::{LinkConfig, Shared};
use crate::link::demand::CarrierConfig;
use crate::link::reception::Reception;
use crate::mobility::{Agents, Mobility};
use crate::position::Track;
use crate::position::line::LineRun;
use crate::record::Quantities;
use crate::transport::FlowTransport;
use crate::transport::aerotp::AerotpGateways;
use baton_proto::mobility::attachment::Handover;
use baton_proto::mobility::attachment::decision;
use baton_proto::mobility::attachment::failback::FailbackTimes;
use baton_proto::packet::CodePoint;
use baton_proto::rate::DataRate;
use baton_proto::remedies;
use baton_proto::tcp::profile::Profile;
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::prefix::Ipv6Prefix;
use core::ops::Range;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A node (host or router) by its place in [`Scenario::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(pub usize);

/// A link by its number: its place in [`Scenario::links`], or after these that of an [aircraft's link to a
/// cell](Radio::link).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkIndex(pub usize);

/// A scenario, ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Short name; names the results folder.
    pub name: String,
    /// One line for people; may be empty.
    pub description: String,
    /// Length of the run.
    pub duration: Duration,
    /// Seed of all randomness.
    pub seed: u64,
    /// Names of the nodes, in the order of their first appearance in the links.
    pub nodes: Vec<String>,
    /// Links between two nodes, in the order of the file.
    pub links: Vec<LinkSpec>,
    /// Radio networks, in the order of the file.
    pub radios: Vec<Radio>,
    /// Return carriers of links on demand.
    pub carriers: Vec<CarrierConfig>,
    /// AeroTP gateways, in the order of the file.
    pub aerotp_gateways: Vec<AerotpGateways>,
    /// DTN gateways, in the order of the file.
    pub dtn_gateways: Vec<DtnGateways>,
    /// Changes of links, in order of time; equal times in the order of the file.
    pub changes: Vec<LinkChange>,
    /// Mobiles and their attachments. A node that is not listed uses all its links all the time.
    pub mobiles: Vec<Mobile>,
    /// Agents of mobility protocols that are not on mobiles.
    pub agents: Agents,
    /// Signalling messages to lose.
    pub losses: Vec<SignallingLoss>,
    /// Flows, in the order of the file.
    pub flows: Vec<Flow>,
    /// Parts of the run that are recorded.
    pub record: Record,
    /// Settings of a live run alone.
    pub live: Live,
    /// Expectations of the scenario, as written.
    pub expectations: Vec<String>,
}

impl Scenario {
    /// Returns true if a flow, or a pair of gateways, sends over several links at once.
    pub(crate) fn spreads_over_links(&self) -> bool {
        self.flows.iter().any(|flow| flow.paths.is_some())
            || (self.aerotp_gateways.iter()).any(|pair| pair.links.len() > 1)
    }

    /// Frees the capacity reserved for growth.
    pub(super) fn shrink(&mut self) {
        self.nodes.shrink_to_fit();
        self.links.shrink_to_fit();
        self.mobiles.shrink_to_fit();
        for radio in &mut self.radios {
            radio.aircraft.shrink_to_fit();
        }
    }

    /// Returns true if links depend on the positions of mobiles: radio networks, satellites in sight, access points.
    pub fn has_positions(&self) -> bool {
        !self.radios.is_empty() || self.links.iter().any(|link| link.reception.is_some())
    }

    /// Returns true if gateways hold the data of flows.
    pub(crate) fn has_custody(&self) -> bool {
        !self.aerotp_gateways.is_empty() || !self.dtn_gateways.is_empty()
    }

    /// Returns true if there are signals to record: of mobility protocols, links that follow mobiles, or queues.
    pub fn has_signals(&self) -> bool {
        let reports = |link: &LinkSpec| link.config.regulators.iter().any(|one| one.reports);
        self.has_protocols() || self.has_positions() || self.links.iter().any(reports)
    }

    /// Returns the number of links, those of aircraft to cells included.
    pub fn link_count(&self) -> usize {
        let last = self.radios.last();
        last.map_or(self.links.len(), |radio| radio.links().end)
    }

    /// Returns a link's name; "network.cell.mobile" for an aircraft's link to a cell.
    pub fn link_name(&self, link: LinkIndex) -> Cow<'_, str> {
        if let Some(spec) = self.links.get(link.0) {
            return Cow::Borrowed(&spec.config.name);
        }
        let found = on_radio(&self.radios, link);
        let name = found.map_or_else(String::new, |(radio, station, cell)| {
            let radio = &self.radios[radio];
            let mobile = radio.aircraft[station.0 as usize].node;
            let cell = &radio.config.cells[usize::from(cell.0)].name;
            format!("{}.{cell}.{}", radio.config.name, self.nodes[mobile.0])
        });
        Cow::Owned(name)
    }

    /// Returns the link called `name`.
    pub fn link_named(&self, name: &str) -> Option<LinkIndex> {
        let plain = self.links.iter().position(|spec| spec.config.name == name);
        plain.map(LinkIndex).or_else(|| self.cell_link_named(name))
    }

    /// Returns the link of a mobile to a cell that is called `name`, as "network.cell.mobile".
    fn cell_link_named(&self, name: &str) -> Option<LinkIndex> {
        let (network, rest) = name.split_once('.')?;
        let (cell, mobile) = rest.split_once('.')?;
        let mut radios = self.radios.iter();
        let radio = radios.find(|radio| radio.config.name == network)?;
        let mut cells = radio.config.cells.iter();
        let cell = cells.position(|known| known.name == cell)?;
        let node = self.nodes.iter().position(|node| node == mobile)?;
        Some(radio.link(radio.station(NodeIndex(node))?, CellId(cell as u16)))
    }

    /// Returns the names of all links, by their numbers.
    pub fn link_names(&self) -> impl Iterator<Item = Cow<'_, str>> {
        (0..self.link_count()).map(|link| self.link_name(LinkIndex(link)))
    }

    /// Returns the nodes at a link's ends A and B.
    pub fn link_ends(&self, link: LinkIndex) -> [NodeIndex; 2] {
        ends(&self.links, &self.radios, link)
    }

    /// Returns a link's parameters at the start; those of an aircraft's link to a cell have no name.
    pub fn link_config(&self, link: LinkIndex) -> &Shared<LinkConfig> {
        match on_radio(&self.radios, link) {
            Some((radio, _, cell)) => &self.radios[radio].stations[usize::from(cell.0)].link,
            None => &self.links[link.0].config,
        }
    }

    /// Returns the nodes in networks behind mobile routers.
    pub fn nodes_behind_mobiles(&self) -> BTreeSet<NodeIndex> {
        let at_nodes = LinksAtNodes::new(self.nodes.len(), &self.links);
        let routers = self.mobiles.iter().filter(|mobile| mobile.is_router());
        let behind = routers.flat_map(|mobile| {
            let access = mobile.attachment.access_links(&self.radios);
            nodes_behind((&self.links, &at_nodes), mobile.node, &access)
        });
        behind.collect()
    }

    /// Returns the links whose events a mobile subscribes to: those of its point of service between nodes that do not move.
    pub fn remote_links(&self, mobile: &Mobile) -> Vec<LinkIndex> {
        let source = mobile
            .mobility
            .as_deref()
            .and_then(Mobility::source_of_events);
        let Some(source) = source else {
            return Vec::new();
        };
        let moves = |node: &NodeIndex| self.mobiles.iter().any(|mobile| mobile.node == *node);
        let links = self.links.iter().enumerate();
        let there =
            links.filter(|(_, link)| link.ends.contains(&source) && !link.ends.iter().any(moves));
        there.map(|(number, _)| LinkIndex(number)).collect()
    }

    /// Returns the names of a mobile's [remote links](Self::remote_links).
    pub fn remote_names(&self, mobile: &Mobile) -> Vec<String> {
        let links = self.remote_links(mobile).into_iter();
        links
            .map(|link| self.link_name(link).into_owned())
            .collect()
    }

    /// Returns true if any mobile has a mobility protocol.
    pub fn has_protocols(&self) -> bool {
        !self.agents.is_empty()
    }
}

/// Signalling messages to lose at their sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignallingLoss {
    /// Name of the message in the table of signals.
    pub message: &'static str,
    /// Presence of the packet-buffering option in a message to lose; `None`: either.
    pub buffering: Option<bool>,
    /// Earliest time of sending.
    pub after: Instant,
    /// Number of messages still to lose; `None`: all.
    pub left: Option<u32>,
}

/// A link and its ends.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// Parameters at the start.
    pub config: Shared<LinkConfig>,
    /// The nodes at ends A and B.
    pub ends: [NodeIndex; 2],
    /// Reception, if it depends on the mobile's position.
    pub reception: Option<Box<AlongLine>>,
    /// True if the routers at its ends filter packets from it by their sources.
    pub ingress_filter: bool,
}

/// A link whose state follows from the position of the mobile at one end.
#[derive(Clone, Debug, PartialEq)]
pub struct AlongLine {
    /// Reception along the line.
    pub reception: Reception,
    /// The mobile's run.
    pub run: LineRun,
    /// Delay of the run: uniform over [0, jitter), drawn from the seed.
    pub jitter: Duration,
    /// The mobile.
    pub mobile: NodeIndex,
}

/// A radio network, which itself hands mobiles over between its cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Radio {
    /// Its parameters and cells.
    pub config: NetworkConfig,
    /// The base stations of its cells, in their order.
    pub stations: Vec<BaseStation>,
    /// The mobiles on it.
    pub aircraft: Vec<Aircraft>,
    /// Number of the first of its links: results have each aircraft's links to each cell, aircraft by aircraft. Their
    /// ends A are the cells'.
    pub first_link: LinkIndex,
    /// Number of cells, and of links between two nodes, before its first cell.
    pub first_cell: usize,
    /// IPv4 networks of its cells, in their order.
    pub networks: CellNetworks,
}

/// The base station of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct BaseStation {
    /// Its node.
    pub node: NodeIndex,
    /// The cell as a link that an aircraft has to itself, without a name.
    pub link: Shared<LinkConfig>,
}

/// A mobile on a radio network.
#[derive(Clone, Debug, PartialEq)]
pub struct Aircraft {
    /// The mobile's node.
    pub node: NodeIndex,
    /// Track of the mobile.
    pub track: Arc<Track>,
    /// Delay of the track: uniform over [0, jitter), drawn from the seed.
    pub jitter: Duration,
}

impl Radio {
    /// Returns the link of an aircraft to a cell.
    pub fn link(&self, aircraft: StationId, cell: CellId) -> LinkIndex {
        let before = aircraft.0 as usize * self.config.cells.len();
        LinkIndex(self.first_link.0 + before + usize::from(cell.0))
    }

    /// Returns the numbers of its links.
    pub fn links(&self) -> Range<usize> {
        let first = self.first_link.0;
        first..first + self.aircraft.len() * self.config.cells.len()
    }

    /// Returns the aircraft and the cell that a link joins, if the link belongs to this network.
    pub fn ends(&self, link: LinkIndex) -> Option<(StationId, CellId)> {
        let place = link.0.checked_sub(self.first_link.0)?;
        let cells = self.config.cells.len();
        let aircraft = place / cells;
        (aircraft < self.aircraft.len())
            .then(|| (StationId(aircraft as u32), CellId((place % cells) as u16)))
    }

    /// Returns the aircraft of a mobile's node.
    pub fn station(&self, node: NodeIndex) -> Option<StationId> {
        let mut aircraft = self.aircraft.iter();
        let place = aircraft.position(|aircraft| aircraft.node == node)?;
        Some(StationId(place as u32))
    }
}

/// Returns the network, the aircraft and the cell of a link, if it is an aircraft's link to a cell.
pub fn on_radio(radios: &[Radio], link: LinkIndex) -> Option<(usize, StationId, CellId)> {
    let mut radios = radios.iter().enumerate();
    radios.find_map(|(number, radio)| {
        let (station, cell) = radio.ends(link)?;
        Some((number, station, cell))
    })
}

/// Returns the nodes at a link's ends A and B.
pub fn ends(links: &[LinkSpec], radios: &[Radio], link: LinkIndex) -> [NodeIndex; 2] {
    match on_radio(radios, link) {
        Some((radio, station, cell)) => [
            radios[radio].stations[usize::from(cell.0)].node,
            radios[radio].aircraft[station.0 as usize].node,
        ],
        None => links[link.0].ends,
    }
}

/// A link's parameters or state change.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkChange {
    /// Time of the change.
    pub at: Instant,
    /// Changed link.
    pub link: LinkIndex,
    /// Parameters from then on, including all earlier changes.
    pub config: Shared<LinkConfig>,
    /// True if the link works from then on.
    pub up: bool,
}

/// A node with several access links, of which one is in use at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Mobile {
    /// The node.
    pub node: NodeIndex,
    /// Policy by which it chooses its access link.
    pub attachment: AttachmentPolicy,
    /// Mobility protocol that keeps it reachable; without one routes follow it at once.
    pub mobility: Option<Arc<Mobility>>,
    /// For a mobile router, the prefix of the network behind it: its links outside its attachment lead there.
    pub network_prefix: Option<Ipv6Prefix>,
    /// Written name, if it is one of several, which share it.
    pub class: Option<Arc<str>>,
}

impl Mobile {
    /// Shares what is equal with another one: the mobiles of a fleet differ in little.
    pub(super) fn share_with(&mut self, other: &Mobile) {
        if self.class == other.class {
            self.class.clone_from(&other.class);
        }
        if self.attachment == other.attachment
            && let AttachmentPolicy::Timetable(entries) = &other.attachment
        {
            self.attachment = AttachmentPolicy::Timetable(Arc::clone(entries));
        }
    }

    /// Returns true if it is a mobile router.
    pub fn is_router(&self) -> bool {
        self.network_prefix.is_some()
    }
}

/// Policy by which a mobile chooses its access link.
#[derive(Clone, Debug, PartialEq)]
pub enum AttachmentPolicy {
    /// Timetable, ascending in time, the first entry at zero. Mobiles with the same one share it.
    Timetable(Arc<[TimetableEntry]>),
    /// Most preferred link that is up, with rules for leaving and returning.
    Failback(Box<Failback>),
    /// Decision from outside.
    Decision(Box<Chosen>),
}

impl AttachmentPolicy {
    /// Returns the links of the policy, each once and in order; a radio network by its first link.
    fn named(&self) -> BTreeSet<LinkIndex> {
        match self {
            AttachmentPolicy::Timetable(entries) => {
                entries.iter().filter_map(|entry| entry.link).collect()
            }
            AttachmentPolicy::Failback(failback) => failback.prefer.iter().copied().collect(),
            AttachmentPolicy::Decision(chosen) => chosen.links.iter().copied().collect(),
        }
    }

    /// Returns the access links of the policy, each once and in order, without radio networks.
    pub fn access_links(&self, radios: &[Radio]) -> Vec<LinkIndex> {
        let plain = |link: &LinkIndex| on_radio(radios, *link).is_none();
        self.named().into_iter().filter(plain).collect()
    }

    /// Returns the radio networks of the policy, in order.
    pub fn radios(&self, radios: &[Radio]) -> Vec<usize> {
        let found = |link| on_radio(radios, link).map(|(radio, ..)| radio);
        self.named().into_iter().filter_map(found).collect()
    }
}

/// The links that end at each node, in the order of the scenario.
#[derive(Clone, Debug)]
pub struct LinksAtNodes {
    /// Start of each node's links in the list, and the end of the last node's.
    starts: Vec<usize>,
    links: Vec<LinkIndex>,
}

impl LinksAtNodes {
    /// Sorts the links by the nodes at their ends, for `nodes` nodes.
    pub fn new(nodes: usize, links: &[LinkSpec]) -> LinksAtNodes {
        let ends = || links.iter().enumerate().flat_map(ends_of);
        let mut starts = vec![0; nodes + 1];
        ends().for_each(|(node, _)| starts[node + 1] += 1);
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut sorted = vec![LinkIndex(0); starts[nodes]];
        for (node, link) in ends() {
            sorted[next[node]] = link;
            next[node] += 1;
        }
        LinksAtNodes {
            starts,
            links: sorted,
        }
    }

    /// Returns the links of one node.
    pub fn of(&self, node: NodeIndex) -> &[LinkIndex] {
        &self.links[self.starts[node.0]..self.starts[node.0 + 1]]
    }
}

/// Returns the nodes that a link joins, each once.
fn ends_of((number, link): (usize, &LinkSpec)) -> impl Iterator<Item = (usize, LinkIndex)> {
    let [a, b] = link.ends.map(|end| end.0);
    let second = (a != b).then_some(b);
    let both = core::iter::once(a).chain(second);
    both.map(move |node| (node, LinkIndex(number)))
}

/// Returns the nodes of the network behind a mobile: those that its links reach, without its access links, which must
/// be sorted.
pub fn nodes_behind(
    (links, at_nodes): (&[LinkSpec], &LinksAtNodes),
    mobile: NodeIndex,
    access: &[LinkIndex],
) -> Vec<NodeIndex> {
    let mut seen = BTreeSet::from([mobile]);
    let mut reached = vec![mobile];
    let mut next = 0;
    while let Some(&node) = reached.get(next) {
        next += 1;
        for link in at_nodes.of(node) {
            let [a, b] = links[link.0].ends;
            let far = if a == node { b } else { a };
            if access.binary_search(link).is_err() && seen.insert(far) {
                reached.push(far);
            }
        }
    }
    reached.split_off(1)
}

/// An entry of a timetable, before the draw of its time.
#[derive(Clone, Debug, PartialEq)]
pub struct TimetableEntry {
    /// Beginning of the handover.
    pub at: Instant,
    /// Jitter of that time: uniform over [−jitter, jitter), drawn from the seed.
    pub jitter: Duration,
    /// New access link; `None` detaches. A radio network is named by its first link, whatever the mobile, so that all
    /// mobiles on it share a timetable; the network determines the cell.
    pub link: Option<LinkIndex>,
    /// Way of leaving the old link. The first entry of a timetable has no old link.
    pub handover: Handover,
    /// Time from the old link's announcement that it is going down to the handover, if it is announced.
    pub announced: Option<Duration>,
}

/// Choice among links by preference.
#[derive(Clone, Debug, PartialEq)]
pub struct Failback {
    /// Access links, the best first; radio networks as in [`TimetableEntry::link`].
    pub prefer: Vec<LinkIndex>,
    /// Time limits of leaving and returning.
    pub times: FailbackTimes,
    /// True if the mobile breaks a link that works before it takes another.
    pub breaks_first: bool,
}

/// A decision from outside, and its options.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// Class that decides.
    pub decision: decision::External,
    /// Access links; radio networks as in [`TimetableEntry::link`].
    pub links: Vec<LinkIndex>,
    /// Their names in the scenario, in the same order.
    pub names: Vec<String>,
}

/// A flow of data.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Name in the scenario.
    pub name: String,
    /// Source of the data, or of most of it.
    pub from: NodeIndex,
    /// Destination of the data.
    pub to: NodeIndex,
    /// Start.
    pub start: Instant,
    /// Jitter of the start: uniform over [0, jitter), drawn from the seed.
    pub start_jitter: Duration,
    /// Time at which its source stops, if before the end of the run.
    pub stop: Option<Instant>,
    /// Transport protocol.
    pub transport: Transport,
    /// Code point of its packets, both ways, if given.
    pub code_point: Option<CodePoint>,
    /// Behaviour of the application.
    pub traffic: Traffic,
    /// Service of radio networks for its packets.
    pub radio_service: RadioService,
    /// Remedies for handovers, in the order in which they learn of one.
    pub remedies: Vec<remedies::Scheme>,
    /// Links of its connection, if it uses several at once.
    pub paths: Option<FlowPaths>,
    /// Settings of a gateway's half towards the mobile, if a remedy splits the connection.
    pub gateway: Option<Profile>,
    /// Class of flows with a common summary, if any.
    pub class: Option<String>,
}

/// Service of a radio network for packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadioService {
    /// Priority, 0 to 7; the highest goes first.
    pub priority: u8,
    /// True for retransmission of packets lost on the air.
    pub acknowledged: bool,
}

impl RadioService {
    /// Service for packets without a flow.
    pub const DEFAULT: RadioService = RadioService {
        priority: 0,
        acknowledged: true,
    };
}

/// Transport of a flow.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// TCP: settings of the end at `from` and of the end at `to`. Ends and flows with the same settings share them.
    Tcp {
        /// Settings of the data's source.
        sender: Arc<Profile>,
        /// Settings of the other end.
        receiver: Arc<Profile>,
    },
    /// UDP.
    Udp,
    /// Another transport.
    Other(Arc<dyn FlowTransport>),
    /// ICMP echo; only with [`Traffic::Ping`].
    Icmp,
}

impl Transport {
    /// Makes TCP's transport; settings that are equal to `other`'s are shared with it.
    pub(super) fn tcp(sender: Profile, receiver: Profile, other: Option<&Transport>) -> Transport {
        let shared = |profile: Profile, known: Option<&Arc<Profile>>| match known {
            Some(known) if **known == profile => Arc::clone(known),
            _ => Arc::new(profile),
        };
        let (known_sender, known_receiver) = match other {
            Some(Transport::Tcp { sender, receiver }) => (Some(sender), Some(receiver)),
            _ => (None, None),
        };
        let sender = shared(sender, known_sender);
        let receiver = shared(receiver, known_receiver.or(Some(&sender)));
        Transport::Tcp { sender, receiver }
    }

    /// Returns true if lost data stays lost: no receiver waits for it after the source has stopped.
    pub fn loses(&self) -> bool {
        match self {
            Transport::Tcp { .. } => false,
            Transport::Other(transport) => transport.loses(),
            Transport::Udp | Transport::Icmp => true,
        }
    }

    /// Returns its name in scenarios and results.
    pub fn name(&self) -> &'static str {
        match self {
            Transport::Tcp { .. } => "tcp",
            Transport::Udp => "udp",
            Transport::Other(transport) => transport.name(),
            Transport::Icmp => "icmp",
        }
    }

    /// Returns the transport, if it is none of TCP, UDP and ICMP.
    pub fn other(&self) -> Option<&dyn FlowTransport> {
        match self {
            Transport::Other(transport) => Some(&**transport),
            Transport::Tcp { .. } | Transport::Udp | Transport::Icmp => None,
        }
    }

    /// Returns true if data is written into a connection.
    pub fn connects(&self) -> bool {
        match self {
            Transport::Tcp { .. } => true,
            Transport::Other(transport) => transport.connects(),
            Transport::Udp | Transport::Icmp => false,
        }
    }
}

/// Links that a connection uses at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowPaths {
    /// End of the flow that has them; no mobile, and no router.
    pub host: NodeIndex,
    /// Two or more different ones. The connection begins over the first.
    pub links: Vec<LinkIndex>,
}

/// Behaviour of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// As much data as the transport takes, up to a number of bytes or until the end. TCP and AeroTP only.
    Bulk {
        /// Bytes in all; `None` means until the end.
        bytes: Option<u64>,
    },
    /// Blocks of `packet_size` payload bytes at a constant rate.
    Constant {
        /// Rate of payload.
        rate: DataRate,
        /// Payload bytes in a block, which over UDP is a datagram.
        packet_size: u32,
        /// Bytes in all; `None` means until the end.
        bytes: Option<u64>,
    },
    /// Constant rate with pauses.
    OnOff {
        /// Rate of payload while on.
        rate: DataRate,
        /// Payload bytes in a block.
        packet_size: u32,
        /// Mean on-time.
        on: Duration,
        /// Mean off-time.
        off: Duration,
        /// True if the times are exponentially distributed, false if they are exact.
        random: bool,
    },
    /// Client at `to` and server at `from`, over one connection. TCP and QUIC only.
    Pages {
        /// Bytes of a request.
        request: u32,
        /// Bytes of a page.
        page: u64,
        /// Time from the end of a page to the next request.
        think_time: Duration,
        /// Pages in all; `None` means until the end.
        count: Option<u32>,
    },
    /// Requests, each answered at once with the same size; round-trip times are recorded.
    Ping {
        /// Time from one request to the next.
        interval: Duration,
        /// Payload bytes of a request and of a reply.
        size: u32,
        /// Requests in all; `None` means until the end.
        count: Option<u32>,
    },
}

/// Parts of a run that are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Series (windows, RTT, queues, goodput), by their quantities.
    pub series: Quantities,
    /// A row for every packet on every link.
    pub packets: bool,
    /// Bin of goodput series.
    pub interval: Duration,
    /// Most handovers with a record of their own; later ones are only counted.
    pub handovers: usize,
    /// Most flows in the results, spread evenly over all.
    pub flows: usize,
}

/// Settings of a live run alone; a simulated one ignores them.
#[derive(Clone, Debug, PartialEq)]
pub struct Live {
    /// Nodes that are real hosts, each once and at least one; all others are simulated.
    pub hosts: Vec<NodeIndex>,
    /// Effect of a handover on the addresses that a real mobile's programs see.
    pub address: AddressPolicy,
    /// True if a real mobile's packets leave each access link under an address and ports of that link.
    pub nat: bool,
    /// Interval between samples of the kernel's TCP connections; at least 1 ms.
    pub sample_interval: Duration,
    /// Flows between real hosts in whose place programs speak: gateways serve the connections of these as they would
    /// the flow's. This has no key: a driver with programs moves them here from [`Scenario::flows`].
    pub replaced: Vec<Flow>,
    /// Bound of the 99th percentile of events' lateness, above which the run is marked as untrustworthy.
    pub lateness_bound: Duration,
}

/// Effect of a handover on a real mobile's addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressPolicy {
    /// Kept, as under Mobile IP: only the path changes.
    #[default]
    Kept,
    /// New on each access link: a handover removes the old ones and adds the new ones.
    New,
}
