//! The home agent (RFC 6275 section 10, RFC 3963 section 6): keeps bindings, intercepts the packets for mobiles and
//! their networks, and tunnels them; during a handover by a [`Strategy`]. A mobility anchor point (RFC 5380 section 6.2)
//! does the same for regional care-of addresses, which it binds to on-link care-of addresses.

mod forwarding;
mod registration;

use super::{SharedKey, Towards};
use crate::crosslayer::PeerMoved;
use crate::interface::InterfaceId;
use crate::mobility::address_configuration::DuplicateAddressDetection;
use crate::mobility::binding::BindingSequence;
use crate::mobility::buffering::{BufferCounts, BufferPolicy, Held, PacketBuffer};
use crate::mobility::mobile_ipv6::prefix_assignment::PrefixServer;
use crate::mobility::tunnel::{Refused, Tunnels};
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use crate::wire::mobility_header::{BindingLifetime, BindingStatus, Ipv4HomeAddress};
use crate::wire::prefix::{Ipv6Prefix, Prefix};
use core::net::{IpAddr, Ipv6Addr};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Handling of packets while a mobile changes its point of attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Send to the registered care-of address.
    Forward,
    /// Hold packets from the mobile's request until its next update (study D, proposal 2).
    Buffer(BufferPolicy),
    /// Send to both the old and the new location for a while after a change.
    Bicast {
        /// Duration of sending to both.
        overlap: Duration,
    },
}

/// Settings of a home agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeAgentSettings {
    /// True for a mobility anchor point, which takes local binding updates instead of home registrations.
    pub is_anchor_point: bool,
    /// Address of the agent: destination of updates and entry of tunnels.
    pub address: Ipv6Addr,
    /// Prefix of the home link.
    pub home_prefix: Ipv6Prefix,
    /// Interface to the home link.
    pub home_interface: InterfaceId,
    /// Maximum lifetime to grant.
    pub longest_lifetime: BindingLifetime,
    /// Duplicate address detection for home addresses on the home link (RFC 6275 section 10.3.1).
    pub detection: DuplicateAddressDetection,
    /// RetransTimer of that detection (RFC 4861 section 10: 1 s).
    pub retransmission_time: Duration,
    /// Strategy during handovers.
    pub strategy: Strategy,
    /// Duration of sending to both locations of a mobile that asks for it, under any strategy; `None` to refuse.
    pub bicast_on_request: Option<Duration>,
    /// Prefix of care-of addresses that end like their mobile's home address, as the link proves: tunnelled packets
    /// from there are accepted ahead of the mobile's update, which may be lost.
    pub proven_care_of: Option<Ipv6Prefix>,
    /// Assumed path MTU in bytes.
    pub path_mtu: u32,
    /// True to lower TCP's maximum segment size to the tunnel MTU.
    pub clamp_segment_size: bool,
}

/// A mobile that may register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscriber {
    /// Home address, in the home prefix or in a prefix of its own; at an anchor point the regional care-of address.
    pub home_address: Ipv6Addr,
    /// Security association with the mobile. Without one, messages are taken to be protected by IPsec, which is not
    /// modelled.
    pub key: Option<SharedKey>,
    /// Prefixes of the network behind the mobile (the prefix table of RFC 3963 section 6.1.2), of either IP version;
    /// `None` if it must not be a mobile router.
    pub prefixes: Option<Box<[Prefix]>>,
}

/// Counts of refused messages, and of dropped, copied and buffered packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HomeAgentCounts {
    /// Updates refused with a status.
    pub refused_updates: u64,
    /// Other messages, not for a home agent, and requests for prefixes without proof.
    pub unexpected: u64,
    /// Tunnelled packets from an address where the mobile is not registered.
    pub strangers: u64,
    /// Packets from a mobile's tunnel for the same mobile, which would have looped, or with a used-up hop limit.
    pub turned_back: u64,
    /// Copies sent to a second care-of address, or to members of a group after the first.
    pub copies: u64,
    /// Buffered packets.
    pub buffered: BufferCounts,
    /// Packets that did not enter a tunnel.
    pub tunnels: Refused,
}

/// Event at a home agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomeAgentEvent {
    /// An update was answered.
    Updated {
        /// Home address of the mobile.
        home_address: Ipv6Addr,
        /// Care-of address in the update.
        care_of: Ipv6Addr,
        /// Status of the answer.
        status: BindingStatus,
        /// True if packets are held from now on.
        buffering: bool,
    },
    /// A binding's lifetime has ended.
    Expired {
        /// Home address of the mobile.
        home_address: Ipv6Addr,
    },
}

/// A binding cache entry.
#[derive(Clone, Debug)]
struct Binding {
    care_of: Ipv6Addr,
    /// The previous location.
    former: Option<Former>,
    expires: Instant,
    /// The entry's key in the agent's deadlines.
    deadline: Instant,
    sequence: BindingSequence,
    lifetime: BindingLifetime,
    stage: Stage,
    mobile_router: bool,
    prefixes: Box<[Prefix]>,
}

/// The previous location of a mobile.
#[derive(Clone, Copy, Debug)]
struct Former {
    /// Care-of address there; the home address if the mobile was at home.
    care_of: Ipv6Addr,
    /// End of sending copies there.
    copied_until: Instant,
    /// End of accepting packets from there.
    taken_until: Instant,
}

#[derive(Clone, Debug)]
enum Stage {
    /// Duplicate address detection of the home address; the answer to the mobile waits.
    Detecting(Box<Detection>),
    Bound,
    /// Bound, with packets held or being released.
    Buffering(Box<PacketBuffer>),
    /// Deregistered: kept for a moment so that an older update that arrives late does not restore the binding.
    Gone,
}

/// Duplicate address detection of a home address.
#[derive(Clone, Debug)]
struct Detection {
    /// Number of solicitations left to send.
    left: u8,
    /// Time of the next one, or of the end.
    at: Instant,
    /// IPv4 addresses in the update, for the answer.
    ipv4_home_addresses: Vec<Ipv4HomeAddress>,
}

/// Time for which a deregistered binding's sequence number is kept, and packets from a previous location are accepted:
/// MAX_DELETE_BCE_TIMEOUT (RFC 6275 section 12), also no shorter than a packet stays in a network.
const MEMORY_OF_DELETED: Duration = Duration::from_secs(10);

/// The home agent.
#[derive(Clone, Debug)]
pub struct HomeAgent {
    settings: HomeAgentSettings,
    subscribers: BTreeMap<Ipv6Addr, Subscriber>,
    /// `None` unless it assigns home network prefixes.
    prefix_server: Option<Box<PrefixServer>>,
    /// Routers that get copies, by home address of the mobile.
    groups: BTreeMap<Ipv6Addr, Arc<[Ipv6Addr]>>,
    /// Bindings by home address as a number: every packet needs several lookups, and addresses compare group by group. Boxed,
    /// since a third of a map's places are empty.
    bindings: BTreeMap<u128, Box<Binding>>,
    /// Last sequence number of each subscriber that signs and whose binding is gone, so that an overheard signed update
    /// never restores it. (RFC 6275 section 9.5.1 then accepts any number, since IPsec refuses replays; RFC 4285
    /// section 6 leaves it to an agent that remembers.)
    last_sequences: BTreeMap<Ipv6Addr, BindingSequence>,
    /// Prefixes of registered mobile routers by first address, with the owner's home address. They do not overlap.
    prefixes: BTreeMap<IpAddr, (Prefix, Ipv6Addr)>,
    deadlines: BTreeSet<(Instant, Ipv6Addr)>,
    tunnels: Tunnels,
    counts: HomeAgentCounts,
    outbox: VecDeque<(Towards, Packet)>,
    events: VecDeque<HomeAgentEvent>,
    /// Addresses of mobiles, and prefixes behind them, newly bound.
    bound: VecDeque<Prefix>,
    /// Reports of packets buffered or dropped, not yet polled.
    held: VecDeque<Held>,
    /// Home addresses of mobiles that have moved, with their path reports.
    moved: VecDeque<(Ipv6Addr, PeerMoved)>,
}

impl HomeAgent {
    /// Creates a home agent without mobiles.
    pub fn new(settings: HomeAgentSettings) -> HomeAgent {
        let tunnels = Tunnels::new(settings.path_mtu, settings.clamp_segment_size);
        HomeAgent {
            settings,
            subscribers: BTreeMap::new(),
            prefix_server: None,
            groups: BTreeMap::new(),
            bindings: BTreeMap::new(),
            last_sequences: BTreeMap::new(),
            prefixes: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            tunnels,
            counts: HomeAgentCounts::default(),
            outbox: VecDeque::new(),
            events: VecDeque::new(),
            bound: VecDeque::new(),
            held: VecDeque::new(),
            moved: VecDeque::new(),
        }
    }

    /// Returns the settings.
    pub const fn settings(&self) -> &HomeAgentSettings {
        &self.settings
    }

    /// Adds or replaces a mobile, by its home address.
    pub fn subscribe(&mut self, subscriber: Subscriber) {
        self.subscribers.insert(subscriber.home_address, subscriber);
    }

    /// Makes the agent assign home network prefixes to the mobiles that the server knows. It serves each by its home
    /// address in the prefix, as long as the prefix is on loan, and detects no duplicates of that address.
    pub fn assign_prefixes(&mut self, server: PrefixServer) {
        self.prefix_server = Some(Box::new(server));
    }

    /// Returns the server that assigns prefixes, if there is one.
    pub fn prefix_server_mut(&mut self) -> Option<&mut PrefixServer> {
        self.prefix_server.as_deref_mut()
    }

    /// Removes a mobile: its binding holds to the end of its lifetime, and is not renewed.
    pub fn unsubscribe(&mut self, home_address: Ipv6Addr) {
        self.subscribers.remove(&home_address);
    }

    /// Returns the home addresses of the mobiles that may register.
    pub fn subscribed(&self) -> impl Iterator<Item = Ipv6Addr> {
        self.subscribers.keys().copied()
    }

    /// Frees spare memory: a tree that grows in order is half empty.
    pub fn shrink(&mut self) {
        self.subscribers = core::mem::take(&mut self.subscribers).into_iter().collect();
    }

    /// Makes each of these routers get a copy of every packet for a mobile while it is away, instead of its care-of
    /// address: the router of the mobile's link delivers them. The [`Strategy`] then sends no second copies.
    pub fn form_group(&mut self, home_address: Ipv6Addr, members: &[Ipv6Addr]) {
        self.groups.insert(home_address, members.into());
    }

    /// Returns the counts.
    pub fn counts(&self) -> HomeAgentCounts {
        let mut buffered = self.counts.buffered;
        for binding in self.bindings.values() {
            if let Stage::Buffering(buffer) = &binding.stage {
                buffered.add(buffer.counts());
            }
        }
        let server = self.prefix_server.as_ref();
        let of_server = server.map(|one| one.counts()).unwrap_or_default();
        HomeAgentCounts {
            buffered,
            tunnels: self.tunnels.refused(),
            unexpected: self.counts.unexpected + of_server.unexpected + of_server.unproved,
            ..self.counts
        }
    }

    /// Returns the care-of address bound to a home address.
    pub fn care_of(&self, home: Ipv6Addr) -> Option<Ipv6Addr> {
        let binding = self.bindings.get(&home.to_bits())?;
        binding.is_bound().then_some(binding.care_of)
    }

    /// Returns the number of mobiles that are away.
    pub fn registered(&self) -> usize {
        self.bindings.values().filter(|one| one.is_bound()).count()
    }

    /// Returns true if packets to an address go to [`handle_packet`](Self::handle_packet): this agent's address, a
    /// registered home address, or an address behind a registered router.
    pub fn intercepts(&self, destination: IpAddr) -> bool {
        destination == self.settings.address || self.mobile_of(destination).is_some()
    }

    /// Returns the registered mobile that has this address, or whose network contains it.
    fn mobile_of(&self, address: IpAddr) -> Option<Ipv6Addr> {
        if let IpAddr::V6(home) = address
            && let Some(binding) = self.bindings.get(&home.to_bits())
            && binding.is_bound()
        {
            return Some(home);
        }
        let (_, &(prefix, home)) = self.prefixes.range(..=address).next_back()?;
        prefix.contains(address).then_some(home)
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        let deadline = self.deadlines.first().map(|&(at, _)| at);
        let lease = self
            .prefix_server
            .as_ref()
            .and_then(|one| one.poll_timeout());
        deadline.into_iter().chain(lease).min()
    }

    /// Performs the actions due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(&(at, home)) = self.deadlines.first()
            && at <= now
        {
            self.deadlines.pop_first();
            self.step(now, home);
        }
        while let Some(server) = &mut self.prefix_server
            && let Some(home) = server.poll_ended(now)
        {
            // Another mobile may be lent the prefix.
            self.forget(home);
            self.unsubscribe(home);
        }
    }

    /// Returns the next packet to send. A packet for the network has already been through
    /// [`intercepts`](Self::intercepts), and does not come back here.
    pub fn poll_transmit(&mut self) -> Option<(Towards, Packet)> {
        self.outbox.pop_front()
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<HomeAgentEvent> {
        self.events.pop_front()
    }

    /// Returns the address of a newly bound mobile, or a prefix behind it.
    pub fn poll_bound(&mut self) -> Option<Prefix> {
        self.bound.pop_front()
    }

    /// Returns the next report of a packet buffered or dropped.
    pub fn poll_held(&mut self) -> Option<Held> {
        self.held.pop_front()
    }

    /// Returns the next mobile that has moved, by its home address, and its path report.
    pub fn poll_moved(&mut self) -> Option<(Ipv6Addr, PeerMoved)> {
        self.moved.pop_front()
    }

    /// Performs the actions due for one mobile.
    fn step(&mut self, now: Instant, home: Ipv6Addr) {
        let Some(binding) = self.bindings.get_mut(&home.to_bits()) else {
            return;
        };
        if binding.expires <= now {
            if binding.is_bound() {
                let home_address = home;
                self.events
                    .push_back(HomeAgentEvent::Expired { home_address });
            }
            self.forget(home);
            return;
        }
        match &mut binding.stage {
            Stage::Detecting(detection) if detection.at <= now => {
                if detection.left > 0 {
                    detection.left -= 1;
                    detection.at = now + self.settings.retransmission_time;
                    self.send_probe(home);
                } else {
                    self.finish_detection(now, home, BindingStatus::ACCEPTED);
                }
            }
            Stage::Buffering(_) => self.release(now, home),
            _ => {}
        }
        self.schedule(home);
    }

    /// Updates the deadline of a mobile.
    fn schedule(&mut self, home: Ipv6Addr) {
        let Some(binding) = self.bindings.get_mut(&home.to_bits()) else {
            return;
        };
        let stage = match &mut binding.stage {
            Stage::Detecting(detection) => Some(detection.at),
            Stage::Buffering(buffer) => {
                self.held.extend(buffer.take_told());
                buffer.poll_timeout()
            }
            Stage::Bound | Stage::Gone => None,
        };
        let deadline = stage.map_or(binding.expires, |due| due.min(binding.expires));
        self.deadlines.remove(&(binding.deadline, home));
        binding.deadline = deadline;
        self.deadlines.insert((deadline, home));
    }

    /// Removes a binding. Packets held for the mobile are dropped as too old.
    fn forget(&mut self, home: Ipv6Addr) {
        let Some(binding) = self.bindings.remove(&home.to_bits()) else {
            return;
        };
        if self.signs(home) {
            self.last_sequences.insert(home, binding.sequence);
        }
        self.deadlines.remove(&(binding.deadline, home));
        self.remove_prefixes(home, &binding.prefixes);
        if let Stage::Buffering(mut buffer) = binding.stage {
            buffer.drop_all();
            self.held.extend(buffer.take_told());
            self.counts.buffered.add(buffer.counts());
        }
    }

    /// Returns true if a mobile's messages are authenticated.
    fn signs(&self, home: Ipv6Addr) -> bool {
        let subscriber = self.subscribers.get(&home);
        subscriber.is_some_and(|subscriber| subscriber.key.is_some())
    }

    fn remove_prefixes(&mut self, home: Ipv6Addr, prefixes: &[Prefix]) {
        for prefix in prefixes {
            let first = prefix.address();
            if self
                .prefixes
                .get(&first)
                .is_some_and(|&(_, owner)| owner == home)
            {
                self.prefixes.remove(&first);
            }
        }
    }
}

impl Binding {
    /// Returns true if packets for the mobile are intercepted.
    const fn is_bound(&self) -> bool {
        matches!(self.stage, Stage::Bound | Stage::Buffering(_))
    }
}
