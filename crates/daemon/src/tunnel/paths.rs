//! All paths of a home agent, as one link with the routers' care-of addresses, including those of
//! [`plain`](super::plain) routers, whose datagrams arrive at the same ports.
//!
//! A packet for a care-of address goes by the path with that address. While the path is down, tunnelled packets are
//! held, with those that were in flight when it died. They go by the router's next path once the node signals there,
//! which shows that it knows of the move, or by the same path when it is up again.

use super::addresses::CareOfPrefix;
use super::arrivals::Arrivals;
use super::datagrams::{MOST_READ, Outgoing, Sockets};
use super::held::{Held, MOST_UNDER_WAY, UnderWay};
use super::outer::{self, Outer};
use super::pieces::Cutter;
use super::plain::routers::PlainRouters;
use super::words;
use crate::capture::{Direction, Tap, View};
use crate::home_agent::RouterConfig;
use crate::medium::{Medium, MediumEvent, News, Received};
use crate::operation::status::{PathStatus, RouterStatus, Status};
use crate::protection::Protection;
use baton_linux::addresses::AddressChange;
use baton_linux::links::LinkChange;
use baton_linux::netlink::RouteSocket;
use baton_linux::udp::ReceiveBuffer;
use baton_path::{ELIDED, Event, Listener, NotSent, PathKey, PublicKey};
use baton_proto::mobility::dual_stack::is_packet;
use baton_proto::packet::{Body, Packet};
use baton_proto::time::Instant;
use core::net::{Ipv6Addr, SocketAddr};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::BorrowedFd;

/// Maximum size of packets held for a router without a path, in bytes (chosen).
const MOST_HELD: usize = 1 << 20;

/// Initial limit of bytes in flight during a replay (chosen: 100 ms of 5 Mbit/s), and maximum (20 Mbit/s for 80 ms). In
/// between, the limit grows by the bytes that the router reports, as in TCP's slow start (RFC 5681 section 3.1). A
/// burst of all would overflow a queue.
const FIRST_REPLAYED: usize = 64 << 10;
const MOST_REPLAYED: usize = 192 << 10;
/// Minimum size of a packet in that count, in bytes (chosen: some 160 fill a replay, and a host's socket holds 270):
/// queues are limited in packets as often as in bytes.
const LEAST_COUNTED: usize = 1200;

/// A path that is up or was.
#[derive(Debug)]
struct PathState {
    /// Interface identifier of the router.
    router: u64,
    under_way: UnderWay,
    /// Limit of bytes in flight while held packets are sent; `None` without a limit.
    window: Option<usize>,
    /// Packets that wait for the discovery of the path's MTU: a sender that is told a smaller one keeps it for ten
    /// minutes (RFC 8201 section 4).
    waiting: Held,
    is_up: bool,
    /// Far end of the path, for captures.
    remote: Option<SocketAddr>,
}

impl PathState {
    /// Returns the bytes in flight, as counted in a replay.
    fn counted(&self) -> usize {
        let packets = self.under_way.packets();
        self.under_way.bytes().max(packets * LEAST_COUNTED)
    }

    /// Returns true if the limit of bytes in flight is reached.
    fn is_full(&self) -> bool {
        self.window.is_some_and(|window| self.counted() >= window)
    }
}

/// A router that may have paths.
#[derive(Debug, Default)]
struct Router {
    home_address: Option<Ipv6Addr>,
    held: Held,
    /// The path of the node's latest signalling to the router: its binding leads there.
    current: Option<PathKey>,
}

/// Counts of packets lost here.
#[derive(Debug, Default)]
struct PathCounts {
    /// Held packets that were dropped: for newer ones, or because the path did not take them.
    given_up: u64,
    /// Packets from a router with another router's address, or for another node.
    misdirected: u64,
    /// Congestion-marked packets whose ends do not support ECN.
    congested: u64,
}

/// All paths of a home agent.
pub struct Paths {
    listener: Listener,
    home_agent: Ipv6Addr,
    care_of: CareOfPrefix,
    /// Interface identifiers of routers, by public key.
    identifiers: BTreeMap<PublicKey, u64>,
    /// Routers, by interface identifier.
    routers: BTreeMap<u64, Router>,
    paths: BTreeMap<PathKey, PathState>,
    by_address: BTreeMap<Ipv6Addr, PathKey>,
    plain: PlainRouters,
    sockets: Sockets,
    buffer: ReceiveBuffer,
    outgoing: Outgoing,
    cutter: Cutter,
    incoming: Arrivals,
    events: VecDeque<MediumEvent>,
    counts: PathCounts,
}

impl Paths {
    /// Creates the paths of a home agent with this address, which arrive at these sockets, and the tunnels of `plain`
    /// routers.
    pub fn new(
        (listener, plain): (Listener, PlainRouters),
        (home_agent, care_of): (Ipv6Addr, CareOfPrefix),
        sockets: Sockets,
    ) -> Paths {
        Paths {
            listener,
            home_agent,
            care_of,
            identifiers: BTreeMap::new(),
            routers: BTreeMap::new(),
            paths: BTreeMap::new(),
            by_address: BTreeMap::new(),
            plain,
            sockets,
            buffer: ReceiveBuffer::default(),
            outgoing: Outgoing::default(),
            cutter: Cutter::default(),
            incoming: Arrivals::default(),
            events: VecDeque::from([MediumEvent::Up]),
            counts: PathCounts::default(),
        }
    }

    /// Replaces the routers that may have paths. Paths of removed routers end; those of others continue.
    fn replace_routers(&mut self, routers: &[RouterConfig]) -> Result<(), String> {
        let mut wanted = BTreeMap::new();
        for router in routers {
            if let Protection::Encrypted { public_key, .. } = &router.protection {
                let known = (router.preshared()?, router.home_address.0);
                wanted.insert(public_key.0, known);
            }
        }
        self.plain.set(routers);
        let gone: Vec<PublicKey> = self
            .identifiers
            .keys()
            .copied()
            .filter(|key| !wanted.contains_key(key))
            .collect();
        for key in gone {
            self.listener.remove_peer(&key);
            let router = self.identifiers.remove(&key);
            let paths = self.paths.iter();
            let ended = paths.filter(|(_, state)| Some(state.router) == router);
            let ended: Vec<PathKey> = ended.map(|(path, _)| *path).collect();
            ended.into_iter().for_each(|path| self.remove(path));
            self.by_address
                .retain(|_, path| self.paths.contains_key(path));
            self.routers
                .retain(|identifier, _| Some(*identifier) != router);
        }
        for (key, (preshared, home_address)) in wanted {
            let identifier = home_address.to_bits() as u64;
            self.identifiers.insert(key, identifier);
            self.routers.entry(identifier).or_default().home_address = Some(home_address);
            let added = self
                .listener
                .add_peer(key, preshared, &self.care_of.bytes());
            added.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn report_router(
        &mut self,
        now: Instant,
        key: PublicKey,
        identifier: u64,
    ) -> Option<RouterStatus> {
        let router = self.routers.get(&identifier)?;
        let mut status = RouterStatus {
            home_address: router.home_address?,
            bound_to: None,
            paths: Vec::new(),
            held_packets: router.held.len() as u64,
        };
        let current = router.current;
        let paths: Vec<PathKey> = self.listener.paths_of(&key).collect();
        for path in paths {
            let (info, measured) = self
                .listener
                .path(path)
                .zip(self.listener.measured(now, path))?;
            let number = info.path.to_string();
            if current == Some(path) {
                status.bound_to = Some(number.clone());
            }
            let name = (number, info.is_up);
            let path = PathStatus::new(name, info.remote, info.packet_mtu);
            status.paths.push(path.with(measured));
        }
        status.paths.sort_by(|one, other| one.name.cmp(&other.name));
        Some(status)
    }

    fn take_events(&mut self, now: Instant) {
        while let Some((key, event)) = self.listener.poll_event() {
            match event {
                Event::Up => self.take_up(now, key),
                Event::Down => self.take_down(now, key),
                Event::Receipted { up_to } => {
                    if let Some(state) = self.paths.get_mut(&key) {
                        let before = state.counted();
                        state.under_way.receipted(up_to);
                        let arrived = before - state.counted();
                        let wider = |window: usize| (window + arrived).min(MOST_REPLAYED);
                        state.window = state.window.map(wider);
                        self.go_on_with_replay(now, key);
                        self.end_replay(key);
                    }
                }
                Event::PacketMtu(_) => self.send_waiting(now, key),
                Event::Moved { .. } => self.show(key),
                Event::Suspect => {
                    let words = format!("{} is suspect", self.name(key));
                    self.sockets.view.event(&words);
                }
                _ => {}
            }
            if let Some(words) = words::of(&event) {
                let path = Some(self.name(key));
                let news = News { path, words };
                self.events.push_back(MediumEvent::News(news));
            }
        }
    }

    /// Returns a path's name: its router's home address, and its number there.
    fn name(&self, key: PathKey) -> String {
        let info = self.listener.path(key);
        let router = info.and_then(|info| self.identifiers.get(&info.peer).zip(Some(info.path)));
        match router {
            Some((router, path)) => format!("path {path} of the router with …:{router:x}"),
            None => "a path".to_owned(),
        }
    }

    /// Takes in that a path is up: held packets go by it if the router is bound there. Over another path, the router
    /// would not accept tunnelled packets before the acknowledgement of its binding.
    fn take_up(&mut self, now: Instant, key: PathKey) {
        let Some(info) = self.listener.path(key) else {
            return;
        };
        let router = self.identifiers.get(&info.peer).copied();
        let Some((router, care_of)) = router.and_then(|router| {
            let care_of = self.care_of.care_of(info.path, router)?;
            Some((router, care_of))
        }) else {
            return;
        };
        // The key of an earlier path with that number is never used again.
        if let Some(old) = self
            .by_address
            .insert(care_of, key)
            .filter(|old| *old != key)
        {
            self.remove(old);
        }
        let state = self.paths.entry(key).or_insert_with(|| PathState {
            router,
            under_way: UnderWay::default(),
            window: None,
            waiting: Held::default(),
            is_up: true,
            remote: None,
        });
        state.is_up = true;
        self.show(key);
        let current = self.routers.get(&router).and_then(|router| router.current);
        if current == Some(key) {
            self.replay(now, key);
        }
    }

    /// Takes in that a path is down: packets that may be lost are held, or go by the path to which the router has
    /// already moved.
    fn take_down(&mut self, now: Instant, key: PathKey) {
        let Some(state) = self.paths.get_mut(&key) else {
            return;
        };
        state.is_up = false;
        let Some(router) = self.routers.get_mut(&state.router) else {
            return;
        };
        let later = core::mem::take(&mut router.held);
        let waiting = core::mem::take(&mut state.waiting);
        for packet in state.under_way.take().chain(waiting).chain(later) {
            self.counts.given_up += router.held.push(packet, MOST_HELD);
        }
        let is_up = |key: &PathKey| self.paths.get(key).is_some_and(|state| state.is_up);
        if let Some(current) = router.current.filter(is_up) {
            self.replay(now, current);
        }
    }

    /// Records a path's far end for captures.
    fn show(&mut self, key: PathKey) {
        let remote = self.listener.path(key).map(|info| info.remote);
        let name = self.name(key);
        if let Some(state) = self.paths.get_mut(&key) {
            let before = core::mem::replace(&mut state.remote, remote);
            let now = remote.map(|remote| (remote, name.as_str()));
            self.sockets.view.name_path(before, now);
        }
    }

    /// Removes a path that has ended.
    fn remove(&mut self, key: PathKey) {
        if let Some(state) = self.paths.remove(&key) {
            self.sockets.view.name_path(state.remote, None);
        }
    }

    /// Starts to send the packets held for a path's router, whether here or by the node, which releases all of them at
    /// once when a mobile has moved.
    fn replay(&mut self, now: Instant, key: PathKey) {
        let Some(state) = self.paths.get_mut(&key) else {
            return;
        };
        state.window = Some(FIRST_REPLAYED);
        let router = self.routers.get(&state.router);
        let held = router.map_or(0, |router| router.held.len());
        if held > 0 {
            let name = self.name(key);
            let words = format!("{name} replays {held} packets that were held");
            self.sockets.view.event(&words);
        }
        self.go_on_with_replay(now, key);
    }

    /// Ends a replay, if no packet is held when the first ones have arrived.
    fn end_replay(&mut self, key: PathKey) {
        if let Some(state) = self.paths.get_mut(&key)
            && let Some(router) = self.routers.get(&state.router)
            && router.held.is_empty()
        {
            state.window = None;
        }
    }

    /// Sends held packets for a path's router up to the limit of bytes in flight.
    fn go_on_with_replay(&mut self, now: Instant, key: PathKey) {
        while let Some(state) = self.paths.get(&key) {
            if !state.is_up || state.is_full() {
                return;
            }
            let router = self.routers.get_mut(&state.router);
            let router = router.filter(|router| router.current == Some(key));
            let Some(packet) = router.and_then(|router| router.held.pop()) else {
                return;
            };
            let class = outer::traffic_class(&packet);
            let sent = self.seal(now, key, (ELIDED, &packet), class);
            self.counts.given_up += u64::from(sent.is_err());
        }
    }

    /// Sends the packets that have waited for a path's MTU.
    fn send_waiting(&mut self, now: Instant, key: PathKey) {
        let state = self.paths.get_mut(&key);
        let mut waiting =
            state.map_or_else(Held::default, |state| core::mem::take(&mut state.waiting));
        while let Some(packet) = waiting.pop() {
            let sent = self.seal(now, key, (ELIDED, &packet), outer::traffic_class(&packet));
            self.counts.given_up += u64::from(sent.is_err());
        }
    }

    /// Passes a packet to a path that is up. Copies of tunnelled packets are kept until they have arrived.
    fn seal(
        &mut self,
        now: Instant,
        key: PathKey,
        (kind, content): (u8, &[u8]),
        class: u8,
    ) -> Result<(), NotSent> {
        let listener = &mut self.listener;
        let number = self.outgoing.add(&mut self.sockets, class, |out| {
            let sent = listener.send(now, key, kind, content, out)?;
            Ok((sent.to, sent.counter))
        });
        let router = self.paths.get(&key).map(|state| state.router);
        // Copies sent by a path that the router has left are not retransmitted.
        let is_kept = kind == ELIDED && router.is_some_and(|router| self.leads_to(router, key));
        let Some(state) = self.paths.get_mut(&key).filter(|_| is_kept) else {
            return number.map(|_| ());
        };
        match number {
            Err(NotSent::MtuUnknown) => {
                self.counts.given_up += state.waiting.push(content.into(), MOST_HELD);
            }
            number => state.under_way.push(number?, content, MOST_UNDER_WAY),
        }
        Ok(())
    }

    /// Reads datagrams that arrived together; returns false if none waits.
    fn take_datagrams(&mut self, now: Instant) -> io::Result<bool> {
        let mut read = 0;
        for number in 0..self.sockets.descriptors().len() {
            let most = read + MOST_READ;
            while read < most
                && let Some(datagrams) = self.take_batch(now, number)?
            {
                read += datagrams;
            }
        }
        self.incoming.flush();
        self.take_events(now);
        Ok(read > 0)
    }

    /// Reads the datagrams of one call on a socket; returns their number, or `None` if none waits.
    fn take_batch(&mut self, now: Instant, number: usize) -> io::Result<Option<usize>> {
        let Some(mut batch) = self.sockets.receive(number, &mut self.buffer)? else {
            return Ok(None);
        };
        let (sender, carried) = (batch.sender, batch.traffic_class);
        let mut read = 0;
        for datagram in batch.datagrams() {
            read += 1;
            if let (SocketAddr::V4(sender), true) = (sender, is_packet(datagram)) {
                let arrival = (sender, carried);
                let taken = self.plain.take(now, arrival, datagram, &mut self.incoming);
                self.counts.congested += u64::from(!taken);
                continue;
            }
            let Ok(Some((key, content))) = self.listener.handle_datagram(now, sender, datagram)
            else {
                continue;
            };
            let outer = self.listener.path(key).and_then(|info| {
                let router = self.identifiers.get(&info.peer)?;
                Some(Outer {
                    source: self.care_of.care_of(info.path, *router)?,
                    destination: self.home_agent,
                })
            });
            let Some(outer) = outer else {
                self.counts.misdirected += 1;
                continue;
            };
            if content.kind == ELIDED {
                let taken = self.incoming.take(outer, carried, content.packet);
                self.counts.congested += u64::from(!taken);
                continue;
            }
            match Packet::verbatim(content.packet) {
                Ok(packet) if Outer::of(&packet) != Some(outer) => self.counts.misdirected += 1,
                received => {
                    if let Ok(packet) = &received {
                        self.sockets.view.signal(Direction::Inbound, packet);
                    }
                    self.incoming.push(received);
                }
            }
        }
        Ok(Some(read))
    }

    /// Sends a packet to a router without encryption: the part that a path would carry.
    fn send_plain(
        &mut self,
        care_of: Ipv6Addr,
        kind: u8,
        (packet, content): (&Packet, &Packet),
    ) -> bool {
        let class = packet.ip.traffic_class;
        let out = (&mut self.outgoing, &mut self.sockets, &mut self.cutter);
        let sent = self.plain.send(care_of, (kind, content, class), out);
        self.tell_of_length(packet, sent.err());
        sent.is_ok()
    }

    /// Tells the node of a packet that was too long.
    fn tell_of_length(&mut self, packet: &Packet, error: Option<NotSent>) {
        if let Some(NotSent::TooLong(most)) = error
            && let Some(error) = outer::too_long(packet, most)
        {
            self.incoming.push(Ok(error));
        }
    }

    /// Returns true if a packet for a router bound to this path has to wait: behind others, or until some have arrived.
    fn is_replaying(&self, router: u64, key: PathKey) -> bool {
        let is_full = self.paths.get(&key).is_some_and(PathState::is_full);
        let waits = |router: &Router| !router.held.is_empty() || is_full;
        self.leads_to(router, key) && self.routers.get(&router).is_some_and(waits)
    }

    /// Returns true if a router's binding leads to this path.
    fn leads_to(&self, router: u64, key: PathKey) -> bool {
        let router = self.routers.get(&router);
        router.is_some_and(|router| router.current == Some(key))
    }

    /// Holds a packet, or all for which it stands.
    fn hold(&mut self, router: u64, packet: &Packet) -> bool {
        let Some(router) = self.routers.get_mut(&router) else {
            return false;
        };
        let counts = &mut self.counts;
        let held: Result<(), NotSent> = self.cutter.cut(packet, |bytes| {
            counts.given_up += router.held.push(bytes.into(), MOST_HELD);
            Ok(())
        });
        held.is_ok()
    }
}

impl Medium for Paths {
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.sockets.descriptors()
    }

    fn receive(&mut self, now: Instant) -> io::Result<Option<Received>> {
        loop {
            if let Some(received) = self.incoming.pop() {
                return Ok(Some(received));
            }
            if !self.take_datagrams(now)? {
                return Ok(None);
            }
        }
    }

    fn send(&mut self, now: Instant, packet: &Packet) -> bool {
        let Some(Outer { destination, .. }) = Outer::of(packet) else {
            return false;
        };
        let outer = Outer {
            source: self.home_agent,
            destination,
        };
        let (kind, content) = outer.carried(packet);
        if kind != ELIDED {
            self.sockets.view.signal(Direction::Outbound, packet);
        }
        if self.plain.has(destination) {
            return self.send_plain(destination, kind, (packet, content));
        }
        let Some(&key) = self.by_address.get(&destination) else {
            return false;
        };
        let state = self.paths.get(&key);
        let Some((router, is_up)) = state.map(|state| (state.router, state.is_up)) else {
            return false;
        };
        match (is_up, kind) {
            // It queues behind the held packets.
            (true, ELIDED) if self.is_replaying(router, key) => {
                let held = self.hold(router, content);
                self.go_on_with_replay(now, key);
                return held;
            }
            (true, _) => {}
            (false, ELIDED) if self.leads_to(router, key) => return self.hold(router, content),
            // Signalling is retransmitted by itself, and of a bicast packet the other copy has gone to the router's
            // present path.
            (false, _) => return false,
        }
        let is_signalling = matches!(packet.body, Body::Extended(_) | Body::Mobility(_));
        if is_signalling && let Some(router) = self.routers.get_mut(&router) {
            router.current = Some(key);
        }
        let mut cutter = core::mem::take(&mut self.cutter);
        let class = packet.ip.traffic_class;
        let sent = cutter.cut(content, |bytes| self.seal(now, key, (kind, bytes), class));
        self.cutter = cutter;
        // A router accepts tunnelled packets at a new address once it has the acknowledgement of its binding.
        if is_signalling {
            self.replay(now, key);
        }
        self.tell_of_length(packet, sent.err());
        sent.is_ok()
    }

    fn handle_link(&mut self, _now: Instant, _change: &LinkChange) {}

    fn handle_address(&mut self, _now: Instant, _change: &AddressChange) {
        self.sockets.view.forget_sources();
    }

    fn poll_event(&mut self) -> Option<MediumEvent> {
        self.events.pop_front()
    }

    fn flush(&mut self, now: Instant) {
        let (listener, plain) = (&mut self.listener, &mut self.plain);
        self.outgoing.flush(&mut self.sockets, |out| {
            let said = listener.poll_transmit(now, out);
            said.or_else(|| plain.poll_transmit(out))
        });
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self.incoming.is_empty() {
            true => self.listener.poll_timeout(),
            false => Some(Instant::ZERO),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.listener.handle_timeout(now);
        self.take_events(now);
    }

    fn report(&mut self, now: Instant, status: &mut Status) {
        let routers: Vec<(PublicKey, u64)> = self
            .identifiers
            .iter()
            .map(|(key, router)| (*key, *router))
            .collect();
        for (key, router) in routers {
            status.routers.extend(self.report_router(now, key, router));
        }
        self.plain.report(status);
        status.reject(self.listener.counters());
        status.lose("not for this end of a path", self.counts.misdirected);
        status.lose("held too long", self.counts.given_up);
        status.lose("dropped by a congested router", self.counts.congested);
        status.lose("not taken by a socket", self.outgoing.lost());
    }

    fn set_routers(&mut self, routers: &[RouterConfig]) -> Result<bool, String> {
        self.replace_routers(routers).map(|()| true)
    }

    fn set_tap(&mut self, name: &str, tap: &Tap) {
        self.sockets.view = View::new(tap, name, None);
    }

    fn dropped_unread(&self, _kernel: &mut RouteSocket) -> io::Result<u64> {
        self.sockets.dropped_unread()
    }
}

impl core::fmt::Debug for Paths {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Paths")
            .field("home_agent", &self.home_agent)
            .field("routers", &self.routers.len())
            .finish_non_exhaustive()
    }
}
