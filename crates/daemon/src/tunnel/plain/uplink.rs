//! An uplink of a mobile router without encryption, as a link whose only router is the home agent.

use super::{cut, longest_carried};
use crate::capture::{Direction, Tap, View};
use crate::medium::{Medium, MediumEvent, News, Received};
use crate::operation::status::{PathStatus, Status};
use crate::tunnel::addresses::CareOfPrefix;
use crate::tunnel::arrivals::Arrivals;
use crate::tunnel::datagrams::{MOST_READ, Outgoing, Sockets};
use crate::tunnel::outer::{self, Outer};
use crate::tunnel::pieces::Cutter;
use crate::tunnel::uplink::{ADVERTISEMENT_INTERVAL, advertisement, stays_on_link};
use baton_linux::links::LinkChange;
use baton_linux::netlink::{InterfaceIndex, RouteSocket};
use baton_linux::udp::{ReceiveBuffer, source_towards};
use baton_path::{ELIDED, NotSent};
use baton_proto::interface::LinkEvent;
use baton_proto::mobility::dual_stack::{MobileEnd, MobileEndSettings, is_packet};
use baton_proto::packet::Packet;
use baton_proto::time::{Duration, Instant};
use core::convert::Infallible;
use core::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;

/// Interval of checks of the uplink's own address (chosen): after a change the router registers again.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// An uplink without encryption.
pub struct PlainUplink {
    device: String,
    index: Option<InterfaceIndex>,
    /// The MTU of the device, in bytes.
    mtu: u32,
    end: MobileEnd,
    number: u8,
    remote: SocketAddrV4,
    outer: Outer,
    sockets: Sockets,
    buffer: ReceiveBuffer,
    outgoing: Outgoing,
    cutter: Cutter,
    incoming: Arrivals,
    next_advertisement: Option<Instant>,
    next_look: Option<Instant>,
    events: VecDeque<MediumEvent>,
    counts: UplinkCounts,
}

/// Counts of rejected datagrams and packets.
#[derive(Debug, Default)]
struct UplinkCounts {
    /// Datagrams from other senders, or without an IP packet.
    misdirected: u64,
    /// Congestion-marked packets whose ends do not support ECN.
    congested: u64,
}

impl PlainUplink {
    /// Creates the uplink by a device, which need not exist yet, with its number among the router's uplinks.
    pub fn new(
        device: &str,
        number: u8,
        remote: SocketAddrV4,
        settings: MobileEndSettings,
    ) -> PlainUplink {
        let outer = Outer {
            source: settings.care_of,
            destination: settings.home_agent,
        };
        PlainUplink {
            device: device.to_owned(),
            index: None,
            mtu: 0,
            end: MobileEnd::new(settings),
            number,
            remote,
            outer,
            sockets: Sockets::default(),
            buffer: ReceiveBuffer::default(),
            outgoing: Outgoing::default(),
            cutter: Cutter::default(),
            incoming: Arrivals::default(),
            next_advertisement: None,
            next_look: None,
            events: VecDeque::new(),
            counts: UplinkCounts::default(),
        }
    }

    /// Checks the uplink's present address.
    fn look(&mut self, now: Instant) {
        let source = source_towards(self.remote.into(), Some(&self.device));
        let address = match source {
            Ok(IpAddr::V4(address)) => Some(address),
            // Without an address or a route nothing is sent.
            _ => None,
        };
        self.end.set_address(now, address);
        self.next_look = Some(now + LOOK_INTERVAL);
    }

    /// Takes the end's packets and events for the node.
    fn take_news(&mut self, now: Instant) {
        while let Some(event) = self.end.poll_event() {
            if event == LinkEvent::Up {
                self.events.push_back(MediumEvent::Up);
                self.advertise(now);
            } else {
                self.events.push_back(MediumEvent::Down);
            }
        }
        while let Some(packet) = self.end.poll_received() {
            self.incoming.push(Ok(packet));
        }
    }

    /// Advertises the prefix to the node, like a router on the link.
    fn advertise(&mut self, now: Instant) {
        let prefix = CareOfPrefix::default().network(self.number);
        if let Some(prefix) = prefix {
            self.incoming.push(Ok(advertisement(prefix)));
        }
        self.next_advertisement = Some(now + ADVERTISEMENT_INTERVAL);
    }

    /// Opens the socket by a device that has appeared, and checks its address.
    fn take_device(&mut self, now: Instant, index: InterfaceIndex, mtu: u32) {
        self.mtu = mtu;
        if self.index != Some(index) {
            let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
            self.sockets.close();
            if let Err(error) = self.sockets.open(&[any], Some(&self.device)) {
                let news = News::of(format!("cannot be used: {error}"));
                self.events.push_back(MediumEvent::News(news));
            }
            self.index = Some(index);
        }
        self.look(now);
    }

    fn lose_device(&mut self, now: Instant) {
        self.next_look = None;
        self.end.set_address(now, None);
    }

    /// Reads the datagrams of one call; returns their number, or `None` if none waits.
    fn take_batch(&mut self, now: Instant) -> io::Result<Option<usize>> {
        let Some(mut batch) = self.sockets.receive(0, &mut self.buffer)? else {
            return Ok(None);
        };
        let is_home_agents = batch.sender == SocketAddr::V4(self.remote);
        let carried = batch.traffic_class;
        let mut read = 0;
        for datagram in batch.datagrams() {
            read += 1;
            if !is_home_agents || !is_packet(datagram) {
                self.counts.misdirected += 1;
            } else if self.end.handle_datagram(now, datagram) {
                let back = self.outer.back();
                let taken = self.incoming.take(back, carried, datagram);
                self.counts.congested += u64::from(!taken);
            }
        }
        Ok(Some(read))
    }

    /// Sends a tunnelled packet, or all for which it stands.
    fn send_inside(&mut self, now: Instant, packet: &Packet, class: u8) -> Result<(), NotSent> {
        let remote = SocketAddr::V4(self.remote);
        let (outgoing, sockets) = (&mut self.outgoing, &mut self.sockets);
        let most = longest_carried(self.mtu);
        self.end.note_sent(now);
        cut(&mut self.cutter, packet, most, |bytes| {
            add(outgoing, sockets, (remote, class), bytes);
        })
    }
}

/// Adds a datagram to those to send.
pub(super) fn add(
    outgoing: &mut Outgoing,
    sockets: &mut Sockets,
    (to, class): (SocketAddr, u8),
    bytes: &[u8],
) {
    let added = outgoing.add(sockets, class, |out| {
        out.extend_from_slice(bytes);
        Ok::<_, Infallible>((to, ()))
    });
    let Ok(()) = added;
}

impl Medium for PlainUplink {
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.sockets.descriptors()
    }

    fn receive(&mut self, now: Instant) -> io::Result<Option<Received>> {
        loop {
            if let Some(received) = self.incoming.pop() {
                return Ok(Some(received));
            }
            let mut read = 0;
            while read < MOST_READ
                && let Some(datagrams) = self.take_batch(now)?
            {
                read += datagrams;
            }
            self.incoming.flush();
            self.take_news(now);
            if read == 0 {
                return Ok(None);
            }
        }
    }

    fn send(&mut self, now: Instant, packet: &Packet) -> bool {
        if stays_on_link(packet) {
            return true;
        }
        if !self.end.is_up() {
            return false;
        }
        let (kind, content) = self.outer.carried(packet);
        let class = packet.ip.traffic_class;
        if kind != ELIDED {
            let Some(message) = self.end.handle_message(now, packet) else {
                return false;
            };
            self.sockets.view.signal(Direction::Outbound, packet);
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            let to = (SocketAddr::V4(self.remote), class);
            add(&mut self.outgoing, &mut self.sockets, to, &bytes);
            return true;
        }
        let sent = self.send_inside(now, content, class);
        if let Err(NotSent::TooLong(most)) = sent {
            let error = outer::too_long(packet, most);
            error
                .into_iter()
                .for_each(|error| self.incoming.push(Ok(error)));
        }
        sent.is_ok()
    }

    fn handle_link(&mut self, now: Instant, change: &LinkChange) {
        match change {
            LinkChange::Is(link) if link.name == self.device => match link.is_up {
                true => self.take_device(now, link.index, link.mtu),
                false => self.lose_device(now),
            },
            LinkChange::Gone(index) if self.index == Some(*index) => {
                self.index = None;
                self.sockets.close();
                self.lose_device(now);
            }
            _ => return,
        }
        self.take_news(now);
    }

    fn poll_event(&mut self) -> Option<MediumEvent> {
        self.events.pop_front()
    }

    fn flush(&mut self, _now: Instant) {
        let (end, remote) = (&mut self.end, SocketAddr::V4(self.remote));
        self.outgoing.flush(&mut self.sockets, |out| {
            end.poll_transmit()?.encode(out);
            Some(remote)
        });
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if !self.incoming.is_empty() {
            return Some(Instant::ZERO);
        }
        let due = self.end.poll_timeout().into_iter();
        due.chain(self.next_advertisement)
            .chain(self.next_look)
            .min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.next_look.is_some_and(|due| due <= now) {
            self.look(now);
        }
        if self.next_advertisement.is_some_and(|due| due <= now) {
            self.advertise(now);
        }
        self.end.handle_timeout(now);
        self.take_news(now);
    }

    fn report(&mut self, _now: Instant, status: &mut Status) {
        let mtu = u16::try_from(longest_carried(self.mtu)).unwrap_or(u16::MAX);
        let name = (self.device.clone(), self.end.is_up());
        status
            .uplinks
            .push(PathStatus::new(name, self.remote.into(), mtu));
        let counts = self.end.counts();
        status.refuse("Unauthenticated", counts.unauthenticated);
        status.refuse("Unexpected", counts.unexpected);
        status.refuse("Misdirected", self.counts.misdirected);
        status.lose("without a form over IPv4", counts.unsendable);
        status.lose("dropped by a congested router", self.counts.congested);
        status.lose("not taken by a socket", self.outgoing.lost());
    }

    fn set_tap(&mut self, name: &str, tap: &Tap) {
        self.sockets.view = View::new(tap, name, Some(&self.device));
    }

    fn dropped_unread(&self, _kernel: &mut RouteSocket) -> io::Result<u64> {
        self.sockets.dropped_unread()
    }
}

impl core::fmt::Debug for PlainUplink {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PlainUplink")
            .field("device", &self.device)
            .field("remote", &self.remote)
            .finish_non_exhaustive()
    }
}
