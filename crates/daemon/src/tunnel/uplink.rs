//! An uplink of a mobile router: one path to its home agent, as a link whose only router is the home agent.

use super::addresses::CareOfPrefix;
use super::arrivals::Arrivals;
use super::datagrams::{MOST_READ, Outgoing, Sockets};
use super::held::{Held, MOST_UNDER_WAY, Stranded, UnderWay};
use super::outer::{self, Outer};
use super::pieces::Cutter;
use super::watch::{Change, Watch};
use super::words;
use crate::capture::{Direction, Tap, View};
use crate::medium::{Medium, MediumEvent, News, Received};
use crate::operation::status::{PathStatus, Status};
use baton_linux::addresses::AddressChange;
use baton_linux::links::LinkChange;
use baton_linux::netlink::RouteSocket;
use baton_linux::udp::ReceiveBuffer;
use baton_path::{ELIDED, Event, Initiator, NotSent};
use baton_proto::mobility::discovery;
use baton_proto::packet::{Body, Packet};
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::icmp::IcmpMessage;
use baton_proto::wire::neighbor_discovery::{
    ALL_NODES, HOP_LIMIT, NeighborDiscovery, PrefixInformation, RouterAdvertisement,
};
use baton_proto::wire::prefix::Ipv6Prefix;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;

/// The router's link-local address on a path.
const ROUTER: Ipv6Addr = Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, 1);
/// Advertised lifetime of a path's router and prefix, in seconds, and the time to the next advertisement (chosen: a
/// fifth).
const LIFETIME_S: u16 = 9000;
pub(super) const ADVERTISEMENT_INTERVAL: Duration = Duration::from_secs(1800);

/// Ends of a path inside the tunnel: the router's interface identifier, and the home agent's address.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// The lower half of the router's home address and of its care-of addresses.
    pub interface_identifier: u64,
    /// The home agent's address.
    pub home_agent: Ipv6Addr,
}

/// An uplink.
pub struct Uplink {
    watch: Watch,
    path: Initiator,
    number: u8,
    remote: SocketAddr,
    ends: Ends,
    /// The tunnel from this end, once the home agent has assigned a care-of address.
    outer: Option<Outer>,
    sockets: Sockets,
    buffer: ReceiveBuffer,
    outgoing: Outgoing,
    cutter: Cutter,
    incoming: Arrivals,
    /// Packets inside the tunnel that wait for the discovery of the path's MTU: a sender that is told a smaller one
    /// keeps it for ten minutes (RFC 8201 section 4).
    waiting: Held,
    next_advertisement: Option<Instant>,
    events: VecDeque<MediumEvent>,
    under_way: UnderWay,
    stranded: Stranded,
    /// Kept packets that could not be sent again.
    lost_in_replay: u64,
    /// Packets that are not for this end.
    misdirected: u64,
    /// Congestion-marked packets whose ends do not support ECN.
    congested: u64,
}

impl Uplink {
    /// Creates the uplink by a device, which need not exist yet. All uplinks of a router share `stranded`.
    pub fn new(
        device: &str,
        (path, number): (Initiator, u8),
        remote: SocketAddr,
        (ends, stranded): (Ends, Stranded),
    ) -> Uplink {
        Uplink {
            watch: Watch::new(device, remote.is_ipv4()),
            path,
            number,
            remote,
            ends,
            outer: None,
            sockets: Sockets::default(),
            buffer: ReceiveBuffer::default(),
            outgoing: Outgoing::default(),
            cutter: Cutter::default(),
            incoming: Arrivals::default(),
            waiting: Held::default(),
            next_advertisement: None,
            events: VecDeque::new(),
            under_way: UnderWay::default(),
            stranded,
            lost_in_replay: 0,
            misdirected: 0,
            congested: 0,
        }
    }

    /// Updates the path after a change of its device or of the device's addresses.
    fn follow_device(&mut self, now: Instant) {
        self.sockets.view.forget_sources();
        if !self.watch.can_send() {
            // The kernel would send by this device from another device's address, and the home agent would answer to
            // that.
            self.sockets.close();
            self.path.uplink_down(now);
        } else if self.sockets.is_empty() && !self.open_socket() {
            return;
        } else {
            self.path.uplink_up(now);
        }
        self.take_events(now);
    }

    /// Opens the socket at the device; returns false, and reports it, on failure.
    fn open_socket(&mut self) -> bool {
        let any: IpAddr = match self.remote {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        // The kernel chooses the source of each datagram, so that a removed address is never used again.
        let local = SocketAddr::new(any, 0);
        let opened = self.sockets.open(&[local], Some(self.watch.device()));
        if let Err(error) = &opened {
            let news = News::of(format!("cannot be used: {error}"));
            self.events.push_back(MediumEvent::News(news));
        }
        opened.is_ok()
    }

    /// Takes the path's events.
    fn take_events(&mut self, now: Instant) {
        while let Some(event) = self.path.poll_event() {
            match event {
                // A datagram that arrived before the device went down does not prove that the path is up.
                Event::Up if !self.watch.can_send() => self.path.uplink_down(now),
                Event::Up => {
                    self.take_assignment();
                    self.events.push_back(MediumEvent::Up);
                    self.advertise(now);
                }
                Event::Down => {
                    let waiting = core::mem::take(&mut self.waiting);
                    let under_way = self.under_way.take();
                    self.lost_in_replay += self.stranded.put(under_way.chain(waiting));
                    self.events.push_back(MediumEvent::Down);
                }
                Event::Receipted { up_to } => self.under_way.receipted(up_to),
                Event::Restarted => self.take_restart(),
                // The node itself reports the effects of the others.
                _ => {
                    match event {
                        Event::PacketMtu(_) => self.send_waiting(now),
                        Event::Suspect => self.sockets.view.event("is suspect"),
                        _ => {}
                    }
                    let news = words::of(&event).map(News::of);
                    self.events.extend(news.map(MediumEvent::News));
                }
            }
        }
    }

    /// Takes in a restart of the home agent: packets in flight wait until the node has registered again.
    fn take_restart(&mut self) {
        let under_way = self.under_way.take();
        self.lost_in_replay += self.stranded.put(under_way);
        let news = words::of(&Event::Restarted).map(News::of);
        self.events.extend(news.map(MediumEvent::News));
        self.events.push_back(MediumEvent::Restarted);
    }

    /// Sends the packets that have waited for the path's MTU.
    fn send_waiting(&mut self, now: Instant) {
        while let Some(packet) = self.waiting.pop() {
            // The sender of the next packet that is too long gets an error.
            self.send_again(now, &packet);
        }
    }

    /// Sends a kept packet again.
    fn send_again(&mut self, now: Instant, packet: &[u8]) {
        let class = outer::traffic_class(packet);
        let sent = self.seal(now, (ELIDED, packet), class);
        self.lost_in_replay += u64::from(sent.is_err());
    }

    /// Reads the assigned care-of prefix.
    fn take_assignment(&mut self) {
        let prefix = CareOfPrefix::read(self.path.assigned());
        let identifier = self.ends.interface_identifier;
        let source = prefix.and_then(|prefix| prefix.care_of(self.number, identifier));
        self.outer = source.map(|source| Outer {
            source,
            destination: self.ends.home_agent,
        });
    }

    /// Advertises the prefix to the node, like a router on the link.
    fn advertise(&mut self, now: Instant) {
        let prefix = CareOfPrefix::read(self.path.assigned());
        let Some(prefix) = prefix.and_then(|prefix| prefix.network(self.number)) else {
            return;
        };
        self.incoming.push(Ok(advertisement(prefix)));
        self.next_advertisement = Some(now + ADVERTISEMENT_INTERVAL);
    }

    /// Passes a packet to the path. Copies of tunnelled packets are kept until they have arrived.
    fn seal(
        &mut self,
        now: Instant,
        (kind, content): (u8, &[u8]),
        class: u8,
    ) -> Result<(), NotSent> {
        let path = &mut self.path;
        let number = self.outgoing.add(&mut self.sockets, class, |out| {
            let sent = path.send(now, kind, content, out)?;
            Ok((sent.to, sent.counter))
        });
        match (number, kind) {
            (Err(NotSent::MtuUnknown), ELIDED) => {
                self.lost_in_replay += self.waiting.push(content.into(), MOST_UNDER_WAY);
            }
            (number, ELIDED) => self.under_way.push(number?, content, MOST_UNDER_WAY),
            (number, _) => drop(number?),
        }
        Ok(())
    }

    /// Sends the packets that were in flight on an uplink that has died.
    fn replay(&mut self, now: Instant) {
        let mut stranded = self.stranded.take();
        if !stranded.is_empty() {
            let held = stranded.len();
            let words = format!("replays {held} packets that were under way on a dead uplink");
            self.sockets.view.event(&words);
        }
        while let Some(packet) = stranded.pop() {
            self.send_again(now, &packet);
        }
    }

    /// Reads datagrams that arrived together; returns false if none waits.
    fn take_datagrams(&mut self, now: Instant) -> io::Result<bool> {
        let mut read = 0;
        while read < MOST_READ
            && let Some(datagrams) = self.take_batch(now)?
        {
            read += datagrams;
        }
        self.incoming.flush();
        self.take_events(now);
        Ok(read > 0)
    }

    /// Reads the datagrams of one call; returns their number, or `None` if none waits.
    fn take_batch(&mut self, now: Instant) -> io::Result<Option<usize>> {
        let Some(mut batch) = self.sockets.receive(0, &mut self.buffer)? else {
            return Ok(None);
        };
        let (sender, carried) = (batch.sender, batch.traffic_class);
        let mut read = 0;
        for datagram in batch.datagrams() {
            read += 1;
            // A rejected datagram has changed nothing, and the path has counted it.
            let Ok(Some(content)) = self.path.handle_datagram(now, sender, datagram) else {
                continue;
            };
            let Some(back) = self.outer.map(Outer::back) else {
                self.misdirected += 1;
                continue;
            };
            if content.kind == ELIDED {
                let taken = self.incoming.take(back, carried, content.packet);
                self.congested += u64::from(!taken);
                continue;
            }
            match Packet::verbatim(content.packet) {
                Ok(packet) if packet.ip.destination != back.destination => self.misdirected += 1,
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
}

/// Returns the advertisement of a link's prefix.
pub fn advertisement(prefix: Ipv6Prefix) -> Packet {
    let advertisement = RouterAdvertisement {
        hop_limit: 64,
        router_lifetime_s: LIFETIME_S,
        prefixes: vec![PrefixInformation {
            prefix,
            on_link: false,
            autonomous: true,
            router_address: None,
            valid_lifetime_s: LIFETIME_S.into(),
            preferred_lifetime_s: LIFETIME_S.into(),
        }],
        ..RouterAdvertisement::default()
    };
    let message = NeighborDiscovery::RouterAdvertisement(advertisement);
    discovery(ROUTER, ALL_NODES, message)
}

/// Returns true for a packet to all nodes of a link or of Neighbor Discovery: a path has only its two ends, which know
/// each other.
pub(super) fn stays_on_link(packet: &Packet) -> bool {
    let is_message = matches!(packet.body, Body::Icmp(IcmpMessage::NeighborDiscovery(_)));
    packet.ip.destination.is_multicast() || is_message && packet.ip.hop_limit == HOP_LIMIT
}

impl Medium for Uplink {
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
        if stays_on_link(packet) {
            return true;
        }
        let Some(outer) = self.outer else {
            return false;
        };
        let (kind, content) = outer.carried(packet);
        if kind != ELIDED {
            self.sockets.view.signal(Direction::Outbound, packet);
        }
        let class = packet.ip.traffic_class;
        let mut cutter = core::mem::take(&mut self.cutter);
        let sent = cutter.cut(content, |bytes| self.seal(now, (kind, bytes), class));
        self.cutter = cutter;
        match sent {
            // The home agent learns of the move before any other packet on this path.
            Ok(()) => self.replay(now),
            Err(NotSent::TooLong(most)) => {
                let error = outer::too_long(packet, most);
                error
                    .into_iter()
                    .for_each(|error| self.incoming.push(Ok(error)));
            }
            Err(_) => {}
        }
        sent.is_ok()
    }

    fn handle_link(&mut self, now: Instant, change: &LinkChange) {
        match self.watch.handle_link(change) {
            Some(Change::Device) => self.sockets.close(),
            Some(Change::State) => {}
            None => return,
        }
        self.follow_device(now);
    }

    fn handle_address(&mut self, now: Instant, change: &AddressChange) {
        if self.watch.handle_address(change) {
            self.follow_device(now);
            self.path.uplink_moved(now);
        }
    }

    fn poll_event(&mut self) -> Option<MediumEvent> {
        self.events.pop_front()
    }

    fn flush(&mut self, now: Instant) {
        // Without a device the path's datagrams are lost, and sent again later.
        let path = &mut self.path;
        self.outgoing
            .flush(&mut self.sockets, |out| path.poll_transmit(now, out));
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if !self.incoming.is_empty() {
            return Some(Instant::ZERO);
        }
        let due = self.path.poll_timeout().into_iter();
        due.chain(self.next_advertisement).min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.path.handle_timeout(now);
        if self.next_advertisement.is_some_and(|due| due <= now) {
            self.advertise(now);
        }
        self.take_events(now);
    }

    fn report(&mut self, now: Instant, status: &mut Status) {
        let name = (self.watch.device().to_owned(), self.path.is_up());
        let (remote, mtu) = (self.remote, self.path.packet_mtu());
        let measured = self.path.measured(now);
        status
            .uplinks
            .push(PathStatus::new(name, remote, mtu).with(measured));
        status.reject(self.path.counters());
        status.lose("lost with an uplink", self.lost_in_replay);
        status.lose("not for this end of a path", self.misdirected);
        status.lose("dropped by a congested router", self.congested);
        status.lose("not taken by a socket", self.outgoing.lost());
    }

    fn set_tap(&mut self, name: &str, tap: &Tap) {
        self.sockets.view = View::new(tap, name, Some(self.watch.device()));
    }

    fn dropped_unread(&self, _kernel: &mut RouteSocket) -> io::Result<u64> {
        self.sockets.dropped_unread()
    }
}

impl core::fmt::Debug for Uplink {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Uplink")
            .field("device", &self.watch.device())
            .field("remote", &self.remote)
            .finish_non_exhaustive()
    }
}
