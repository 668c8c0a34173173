//! The home agent (RFC 6275 section 10, RFC 3963 section 6): keeps where each mobile is, takes the packets for it and
//! for the network behind it, and sends them there; between one place and the next by a [`Strategy`].

mod forwarding;
mod registration;

use super::{SharedKey, Towards};
use crate::crosslayer::PeerMoved;
use crate::interface::InterfaceId;
use crate::mobility::address_configuration::DuplicateAddressDetection;
use crate::mobility::binding::BindingSequence;
use crate::mobility::buffering::{BufferCounts, BufferPolicy, Held, PacketBuffer};
use crate::mobility::tunnel::{Refused, Tunnels};
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use crate::wire::mobility_header::{BindingLifetime, BindingStatus};
use crate::wire::prefix::Ipv6Prefix;
use core::net::{IpAddr, Ipv6Addr};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// What the home agent does with packets while a mobile changes its point of attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// It sends them to where the mobile last said that it was.
    Forward,
    /// If the mobile asks for it ahead of the change, it holds them until the next update (study D, proposal 2).
    Buffer(BufferPolicy),
    /// After a change it sends them to the old and to the new place for a while.
    Bicast {
        /// For how long.
        overlap: Duration,
    },
}

/// What is chosen for a home agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeAgentSettings {
    /// Its address: where updates go, and where tunnels begin.
    pub address: Ipv6Addr,
    /// The prefix of the home link.
    pub home_prefix: Ipv6Prefix,
    /// The interface to the home link, by its place in the node.
    pub home_interface: InterfaceId,
    /// The longest lifetime that it grants.
    pub longest_lifetime: BindingLifetime,
    /// How it is known that nobody on the home link has a mobile's home address (RFC 6275 section 10.3.1).
    pub detection: DuplicateAddressDetection,
    /// RetransTimer of that (RFC 4861 section 10: 1 s).
    pub retransmission_time: Duration,
    /// What it does while a mobile moves.
    pub strategy: Strategy,
    /// Largest packet on the ways from it, in bytes, as far as is known.
    pub path_mtu: u32,
    /// Whether TCP's maximum segment size is lowered to what the tunnels take.
    pub clamp_segment_size: bool,
}

/// A mobile that may register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscriber {
    /// Its home address, in the home prefix or in a prefix of its own.
    pub home_address: Ipv6Addr,
    /// The secret that its messages are signed with; without one they are taken to come through IPsec, which is not
    /// modelled.
    pub key: Option<SharedKey>,
    /// The prefixes of the network behind it (the prefix table of RFC 3963 section 6.1.2); `None`: it may not be a
    /// mobile router.
    pub prefixes: Option<Box<[Ipv6Prefix]>>,
}

/// What happened to bindings and packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HomeAgentCounts {
    /// Updates that were refused with a status.
    pub refused_updates: u64,
    /// Messages that mean nothing to a home agent.
    pub unexpected: u64,
    /// Packets out of tunnels from where no mobile with that address is.
    pub strangers: u64,
    /// Packets out of a mobile's tunnel for that same mobile, which would have gone round, or with no hop left.
    pub turned_back: u64,
    /// Copies sent to a second care-of address, or to members of a group after the first.
    pub copies: u64,
    /// Packets that went through buffers.
    pub buffered: BufferCounts,
    /// Packets that did not enter a tunnel.
    pub tunnels: Refused,
}

/// What has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomeAgentEvent {
    /// An update came and was answered.
    Updated {
        /// Of this mobile.
        home_address: Ipv6Addr,
        /// It says that it is here.
        care_of: Ipv6Addr,
        /// The answer.
        status: BindingStatus,
        /// Whether packets are held from now on.
        buffering: bool,
    },
    /// A binding's lifetime has ended.
    Expired {
        /// Of this mobile.
        home_address: Ipv6Addr,
    },
}

/// Where a mobile is.
#[derive(Clone, Debug)]
struct Binding {
    care_of: Ipv6Addr,
    /// The place before.
    former: Option<Former>,
    expires: Instant,
    /// The entry of this binding in the agent's deadlines.
    deadline: Instant,
    sequence: BindingSequence,
    lifetime: BindingLifetime,
    stage: Stage,
    mobile_router: bool,
    prefixes: Box<[Ipv6Prefix]>,
}

/// The place where a mobile was before.
#[derive(Clone, Copy, Debug)]
struct Former {
    /// The care-of address there; the home address if it was at home.
    care_of: Ipv6Addr,
    /// Until then packets are sent there, too.
    copied_until: Instant,
    /// Until then what the mobile has sent from there is taken.
    taken_until: Instant,
}

#[derive(Clone, Debug)]
enum Stage {
    /// It is being asked whether somebody has the home address; the answer to the mobile waits.
    Detecting {
        left: u8,
        at: Instant,
    },
    Bound,
    /// As bound, with packets held or being released.
    Buffering(Box<PacketBuffer>),
    /// Deregistered: kept for a moment so that an older update, late on its way, does not bring the binding back.
    Gone,
}

/// How long a deregistered binding's sequence number is remembered, and what a mobile sent from where it was before is
/// taken: MAX_DELETE_BCE_TIMEOUT (RFC 6275 section 12), which is also no shorter than a packet stays in a network.
const MEMORY_OF_DELETED: Duration = Duration::from_secs(10);

/// The agent.
#[derive(Clone, Debug)]
pub struct HomeAgent {
    settings: HomeAgentSettings,
    subscribers: BTreeMap<Ipv6Addr, Subscriber>,
    /// Routers that get copies, of the mobiles that have such.
    groups: BTreeMap<Ipv6Addr, Arc<[Ipv6Addr]>>,
    /// By home address, as a number: every packet is looked up several times, and addresses compare group by group.
    bindings: BTreeMap<u128, Binding>,
    /// The last number of each subscriber that signs and whose binding is gone: a signed update that was overheard brings
    /// it back at no time. (RFC 6275 section 9.5.1 takes any number then, since IPsec refuses what it has seen; RFC 4285
    /// section 6 leaves it to an agent that remembers.)
    last_sequences: BTreeMap<Ipv6Addr, BindingSequence>,
    /// Of registered mobile routers: first address of a prefix, its length, and whose it is. They do not overlap.
    prefixes: BTreeMap<Ipv6Addr, (Ipv6Prefix, Ipv6Addr)>,
    deadlines: BTreeSet<(Instant, Ipv6Addr)>,
    tunnels: Tunnels,
    counts: HomeAgentCounts,
    outbox: VecDeque<(Towards, Packet)>,
    events: VecDeque<HomeAgentEvent>,
    /// Addresses of mobiles, and networks behind them, whose bindings hold from now on.
    bound: VecDeque<Ipv6Prefix>,
    /// Packets that buffers have taken in or dropped.
    held: VecDeque<Held>,
    /// Mobiles that have moved, by their home addresses.
    moved: VecDeque<(Ipv6Addr, PeerMoved)>,
}

impl HomeAgent {
    /// A home agent without mobiles.
    pub fn new(settings: HomeAgentSettings) -> HomeAgent {
        let tunnels = Tunnels::new(settings.path_mtu, settings.clamp_segment_size);
        HomeAgent {
            settings,
            subscribers: BTreeMap::new(),
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

    /// What was chosen.
    pub const fn settings(&self) -> &HomeAgentSettings {
        &self.settings
    }

    /// Lets a mobile register; one with the same home address is replaced.
    pub fn subscribe(&mut self, subscriber: Subscriber) {
        self.subscribers.insert(subscriber.home_address, subscriber);
    }

    /// Lets each of these routers have a copy of every packet for a mobile while that is away, instead of its care-of
    /// address: the one where the mobile is hands them out. The [`Strategy`] then sends to no second place.
    pub fn form_group(&mut self, home_address: Ipv6Addr, members: &[Ipv6Addr]) {
        self.groups.insert(home_address, members.into());
    }

    /// What has happened so far.
    pub fn counts(&self) -> HomeAgentCounts {
        let mut buffered = self.counts.buffered;
        for binding in self.bindings.values() {
            if let Stage::Buffering(buffer) = &binding.stage {
                buffered.add(buffer.counts());
            }
        }
        HomeAgentCounts {
            buffered,
            tunnels: self.tunnels.refused(),
            ..self.counts
        }
    }

    /// The care-of address that a home address is bound to.
    pub fn care_of(&self, home: Ipv6Addr) -> Option<Ipv6Addr> {
        let binding = self.bindings.get(&home.to_bits())?;
        binding.is_bound().then_some(binding.care_of)
    }

    /// The number of mobiles that are away.
    pub fn registered(&self) -> usize {
        self.bindings.values().filter(|one| one.is_bound()).count()
    }

    /// Whether packets for this address are to be handed to [`handle_packet`](Self::handle_packet): it is this
    /// agent's, or that of a mobile that is away, or behind one.
    pub fn intercepts(&self, destination: IpAddr) -> bool {
        match destination {
            IpAddr::V6(address) => {
                address == self.settings.address || self.mobile_of(address).is_some()
            }
            IpAddr::V4(_) => false,
        }
    }

    /// The mobile that is away and has this address, or the network that the address is in.
    fn mobile_of(&self, address: Ipv6Addr) -> Option<Ipv6Addr> {
        let binding = self.bindings.get(&address.to_bits());
        if binding.is_some_and(Binding::is_bound) {
            return Some(address);
        }
        let (_, &(prefix, home)) = self.prefixes.range(..=address).next_back()?;
        prefix.contains(address).then_some(home)
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.first().map(|&(at, _)| at)
    }

    /// Does what is due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(&(at, home)) = self.deadlines.first()
            && at <= now
        {
            self.deadlines.pop_first();
            self.step(now, home);
        }
    }

    /// The next packet to send. One for the network does not come back here by [`intercepts`](Self::intercepts):
    /// what would has been through it.
    pub fn poll_transmit(&mut self) -> Option<(Towards, Packet)> {
        self.outbox.pop_front()
    }

    /// What has happened.
    pub fn poll_event(&mut self) -> Option<HomeAgentEvent> {
        self.events.pop_front()
    }

    /// The address of a mobile, or a network behind one, whose binding was taken.
    pub fn poll_bound(&mut self) -> Option<Ipv6Prefix> {
        self.bound.pop_front()
    }

    /// A packet that a buffer has taken in or dropped.
    pub fn poll_held(&mut self) -> Option<Held> {
        self.held.pop_front()
    }

    /// A mobile, by its home address, that has moved and what its update reports.
    pub fn poll_moved(&mut self) -> Option<(Ipv6Addr, PeerMoved)> {
        self.moved.pop_front()
    }

    /// Does what is due for one mobile.
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
            Stage::Detecting { left, at } if *at <= now => {
                if *left > 0 {
                    *left -= 1;
                    *at = now + self.settings.retransmission_time;
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

    /// Enters when something is due for a mobile.
    fn schedule(&mut self, home: Ipv6Addr) {
        let Some(binding) = self.bindings.get_mut(&home.to_bits()) else {
            return;
        };
        let stage = match &mut binding.stage {
            Stage::Detecting { at, .. } => Some(*at),
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

    /// Removes a binding with all that belongs to it. What is held for the mobile is dropped as too old.
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

    /// Whether a mobile's messages are signed.
    fn signs(&self, home: Ipv6Addr) -> bool {
        let subscriber = self.subscribers.get(&home);
        subscriber.is_some_and(|subscriber| subscriber.key.is_some())
    }

    fn remove_prefixes(&mut self, home: Ipv6Addr, prefixes: &[Ipv6Prefix]) {
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
    /// Whether packets for the mobile are taken.
    const fn is_bound(&self) -> bool {
        matches!(self.stage, Stage::Bound | Stage::Buffering(_))
    }
}
