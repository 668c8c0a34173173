//! A link of a pair of gateways, as a medium of its node: one path, called from one end.
//!
//! The kind of a packet on the path tells the gateway's own AeroTP from packets that cross as they are, so that no
//! machine behind a gateway can speak in its name.

use super::coding::{self, LinkCode};
use super::end::End;
use super::keylog::KeyLog;
use crate::capture::{Tap, View};
use crate::config::Rate;
use crate::gateway::signals::{LinkSignal, Losses, Source, ToldRate};
use crate::medium::{Medium, MediumEvent, News, Received};
use crate::operation::status::{PathStatus, RateStatus, Status};
use crate::tunnel::datagrams::{MOST_READ, Outgoing, Sockets};
use crate::tunnel::outer;
use crate::tunnel::pieces::Cutter;
use crate::tunnel::watch::{Change, Watch};
use crate::tunnel::words;
use baton_linux::addresses::AddressChange;
use baton_linux::links::LinkChange;
use baton_linux::netlink::RouteSocket;
use baton_linux::udp::ReceiveBuffer;
use baton_path::{ELIDED, Event, NotSent, PACKET};
use baton_proto::gateways::aerotp::headers::Headers;
use baton_proto::interface::LinkParameters;
use baton_proto::packet::{Body, Packet};
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};
use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;

/// Kinds of packets on the path: the gateways' AeroTP, and all others.
const AEROTP: u8 = ELIDED;
const AS_IT_IS: u8 = PACKET;

/// A link.
pub struct Link {
    name: String,
    end: End,
    /// The device by which alone it sends, if it is bound to one.
    watch: Option<Watch>,
    /// Its rate by the word of an operator or a modem.
    rate: ToldRate,
    /// Losses that are expected.
    losses: Losses,
    /// True while a modem says that it carries nothing.
    is_away: bool,
    /// Its code, if it delivers damaged packets.
    code: Option<LinkCode>,
    /// The rate that the path was given: that told, without the part that the code takes.
    given: Option<DataRate>,
    /// The rate of packets inside the path, as last reported to the node.
    reported: DataRate,
    /// Numbers of AeroTP's IP headers.
    headers: Headers,
    sockets: Sockets,
    buffer: ReceiveBuffer,
    outgoing: Outgoing,
    cutter: Cutter,
    incoming: VecDeque<Received>,
    events: VecDeque<MediumEvent>,
    /// Packets longer than the path carries, sent before its end was known.
    too_long: u64,
    /// Congestion-marked packets whose ends do not support ECN.
    congested: u64,
    /// The file for the keys of its sessions.
    key_log: Option<KeyLog>,
}

impl Link {
    /// Creates a link by a device, which need not exist yet, or by the kernel's routes. Without a rate it is found.
    pub fn new(
        (name, device): (&str, Option<&str>),
        end: End,
        rate: Option<Rate>,
        code: Option<LinkCode>,
    ) -> Link {
        let is_ipv4 = end.local().is_ipv4();
        let mut link = Link {
            name: name.to_owned(),
            end,
            watch: device.map(|device| Watch::new(device, is_ipv4)),
            rate: ToldRate::of(rate.map(|Rate(rate)| rate)),
            losses: Losses::default(),
            is_away: false,
            code,
            given: None,
            reported: DataRate::ZERO,
            headers: Headers::default(),
            sockets: Sockets::default(),
            buffer: ReceiveBuffer::default(),
            outgoing: Outgoing::default(),
            cutter: Cutter::default(),
            incoming: VecDeque::new(),
            events: VecDeque::new(),
            too_long: 0,
            congested: 0,
            key_log: None,
        };
        if link.watch.is_none() {
            link.open_socket();
        }
        link
    }

    /// Begins to log the keys of its sessions.
    pub fn log_keys(&mut self, log: KeyLog) {
        self.end.log_keys();
        self.key_log = Some(log);
    }

    fn write_keys(&mut self) {
        while let Some(key) = self.end.poll_key() {
            let written = self.key_log.as_ref().map(|log| log.add(&key));
            if let Some(Err(error)) = written {
                let news = News::of(format!("its key cannot be logged: {error}"));
                self.events.push_back(MediumEvent::News(news));
            }
        }
    }

    /// Opens the socket; returns false, and reports it, on failure.
    fn open_socket(&mut self) -> bool {
        let device = self.watch.as_ref().map(Watch::device);
        let mut opened = self.sockets.open(&[self.end.local()], device);
        if self.code.is_some() && opened.is_ok() {
            opened = self.sockets.leave_out_checksums();
        }
        if let Err(error) = &opened {
            let news = News::of(format!("cannot be used: {error}"));
            self.events.push_back(MediumEvent::News(news));
        }
        opened.is_ok()
    }

    fn can_send(&self) -> bool {
        !self.is_away && self.watch.as_ref().is_none_or(Watch::can_send)
    }

    /// Updates the path after a change of its device, of the device's addresses, or of a modem's word.
    fn follow_device(&mut self, now: Instant) {
        self.sockets.view.forget_sources();
        let (could_send, can_send) = (!self.sockets.is_empty(), self.can_send());
        if !can_send {
            self.sockets.close();
        } else if !could_send && !self.open_socket() {
            return;
        }
        self.end.follow_device(now, can_send);
        self.take_events(now);
        if let End::Listening(..) = self.end
            && self.end.is_up()
        {
            match can_send {
                true if could_send => {}
                true => self.come_up(now),
                false => self.events.push_back(MediumEvent::Down),
            }
        }
    }

    /// Tells the node that the path is up, and the path of what it may not know.
    fn come_up(&mut self, now: Instant) {
        self.rate.give();
        self.given = None;
        self.give_rate(now);
        self.losses.come_back(now);
        self.end.expect_loss(now, self.losses.own());
        self.tell_parameters(now);
        self.events.push_back(MediumEvent::Up);
        if let Some(at) = self.losses.soonest() {
            self.events.push_back(MediumEvent::LossExpected(Some(at)));
        }
    }

    /// Takes in a source's expectation of a loss, and tells the node and the other gateway.
    fn expect_loss(&mut self, now: Instant, source: Source, at: Option<Instant>) {
        if self.losses.expect(source, at) {
            let soonest = self.losses.soonest();
            self.events.push_back(MediumEvent::LossExpected(soonest));
        }
        self.end.expect_loss(now, self.losses.own());
    }

    fn take_events(&mut self, now: Instant) {
        self.write_keys();
        while let Some(event) = self.end.poll_event() {
            match event {
                // A datagram that arrived before the device went down does not prove that the path is up.
                Event::Up if !self.can_send() => {
                    self.end.follow_device(now, false);
                    continue;
                }
                Event::Up => self.come_up(now),
                Event::LossExpected(at) => self.expect_loss(now, Source::Peer, at),
                Event::Down => self.events.push_back(MediumEvent::Down),
                Event::PacketMtu(_) => self.tell_parameters(now),
                Event::Restarted => {
                    self.headers.forget();
                    self.events.push_back(MediumEvent::Restarted);
                }
                Event::Suspect => self.sockets.view.event("is suspect"),
                _ => {}
            }
            // The node reports the first two itself.
            if !matches!(event, Event::Up | Event::Down) {
                let news = words::of(&event).map(News::of);
                self.events.extend(news.map(MediumEvent::News));
            }
        }
    }

    /// Tells the node of the link's parameters.
    fn tell_parameters(&mut self, now: Instant) {
        let Some(mtu) = self.end.packet_mtu() else {
            return;
        };
        let measured = self.end.measured(now);
        let round_trip = measured.and_then(|(_, _, measured)| measured.round_trip);
        self.reported = self.rate_inside(now);
        self.events
            .push_back(MediumEvent::Parameters(LinkParameters {
                outgoing: self.reported,
                incoming: self.reported,
                round_trip: round_trip.unwrap_or(Duration::ZERO),
                outgoing_queue: None,
                incoming_queue: None,
                mtu: mtu.into(),
            }));
    }

    /// Returns the rate of full packets inside the path, with the IP headers that numbers replace; zero while as much is
    /// in flight as the link holds.
    fn rate_inside(&self, now: Instant) -> DataRate {
        let (Some(pace), Some(mtu)) = (self.end.pace(now), self.end.packet_mtu()) else {
            return DataRate::ZERO;
        };
        if pace.departure == Instant::NEVER {
            return DataRate::ZERO;
        }
        let (mtu, headers) = (u64::from(mtu), u64::from(self.end.headers()));
        let on_link = mtu + headers - u64::from(self.headers.saved());
        let bits = u128::from(pace.rate.bits_per_second()) * u128::from(mtu);
        DataRate::from_bits_per_second((bits / u128::from(on_link)) as u64)
    }

    /// Returns the bytes of a full datagram before coding, and those of the headers in front of it.
    fn full_datagram(&self) -> (u32, u32) {
        let headers = if self.end.local().is_ipv4() { 28 } else { 48 };
        let mtu = self.end.packet_mtu().map_or(0, u32::from);
        (mtu + self.end.headers() - headers, headers)
    }

    /// Gives the path the rate told, without the part that the code takes of a full packet at present.
    fn give_rate(&mut self, now: Instant) {
        let full = self.full_datagram();
        let code = self.code.as_ref();
        let before = |rate| code.map_or(rate, |code| code.rate_before(rate, full));
        let given = self.rate.given().map(before);
        if given != self.given {
            self.given = given;
            self.end.set_rate(now, given);
        }
    }

    /// Gives the path a rate told that has changed; tells the node of a change of the rate by more than a hundredth, and
    /// an operator of a rate told that does not hold.
    fn follow_rate(&mut self, now: Instant) {
        let pace = self.end.pace(now).filter(|_| self.end.is_up());
        let full = self.full_datagram();
        let code = self.code.as_ref();
        let on_link = |rate| code.map_or(rate, |code| code.rate_after(rate, full));
        let used = pace.map(|pace| on_link(pace.rate));
        if self.rate.is_waiting() {
            let measured = self.end.measured(now);
            let round_trip = measured.and_then(|(_, _, measured)| measured.round_trip);
            self.rate.poll(now, (used, round_trip.unwrap_or_default()));
        }
        self.give_rate(now);
        if self.rate.use_rate(now, used)
            && let (Some(used), Some(told)) = (used, self.rate.told())
        {
            let [used, told] = [used, told].map(|rate| rate.bits_per_second());
            let news = News::of(format!("carries {used} bit/s, not the {told} bit/s told"));
            self.events.push_back(MediumEvent::News(news));
        }
        let rate = self.rate_inside(now).bits_per_second();
        let reported = self.reported.bits_per_second();
        if rate.abs_diff(reported) > reported / 100 {
            self.tell_parameters(now);
        }
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
            let (datagram, arrival) = match &mut self.code {
                None => (datagram, None),
                Some(code) => match code.decode(datagram) {
                    Some((datagram, arrival)) => (datagram, Some(arrival)),
                    None => continue,
                },
            };
            let taken = self.end.handle_datagram(now, sender, datagram);
            if let (Some(code), Some(arrival)) = (&mut self.code, arrival) {
                code.note(arrival, taken.as_ref().err().copied());
            }
            // A rejected datagram has changed nothing, and the path has counted it.
            let Ok(Some(content)) = taken else {
                continue;
            };
            if content.kind == AEROTP {
                let packet = self.headers.read(now, content.packet);
                self.incoming.extend(packet.transpose());
            } else if outer::take_mark(carried, content.packet) {
                self.incoming.push_back(Packet::verbatim(content.packet));
            } else {
                self.congested += 1;
            }
        }
        Ok(Some(read))
    }
}

impl Medium for Link {
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.sockets.descriptors()
    }

    fn receive(&mut self, now: Instant) -> io::Result<Option<Received>> {
        loop {
            if let Some(received) = self.incoming.pop_front() {
                return Ok(Some(received));
            }
            let mut read = 0;
            while read < MOST_READ
                && let Some(datagrams) = self.take_batch(now)?
            {
                read += datagrams;
            }
            self.take_events(now);
            if read == 0 {
                return Ok(None);
            }
            self.follow_rate(now);
        }
    }

    fn send(&mut self, now: Instant, packet: &Packet) -> bool {
        let class = packet.ip.traffic_class;
        let (end, sockets, outgoing) = (&mut self.end, &mut self.sockets, &mut self.outgoing);
        let code = &mut self.code;
        let mut add = |class, kind, bytes: &[u8]| {
            outgoing.add(sockets, class, |out| {
                let seal = |out: &mut Vec<u8>| end.send(now, (kind, bytes), out);
                let sent = coding::write(code.as_mut(), false, out, seal)?;
                Ok((sent.to, ()))
            })
        };
        let sent = match packet.body {
            // A path finds its rate by losses, so routers that are congested are to drop its datagrams, not to mark them.
            Body::Aerotp(_) => add(class & !outer::ECN, AEROTP, self.headers.write(now, packet)),
            _ => self.cutter.cut(packet, |bytes| add(class, AS_IT_IS, bytes)),
        };
        if let Err(NotSent::TooLong(_) | NotSent::MtuUnknown) = sent {
            self.too_long += 1;
        }
        sent.is_ok()
    }

    fn handle_link(&mut self, now: Instant, change: &LinkChange) {
        match self.watch.as_mut().and_then(|it| it.handle_link(change)) {
            Some(Change::Device) => self.sockets.close(),
            Some(Change::State) => {}
            None => return,
        }
        self.follow_device(now);
    }

    fn handle_address(&mut self, now: Instant, change: &AddressChange) {
        let watch = self.watch.as_mut();
        if watch.is_some_and(|watch| watch.handle_address(change)) {
            self.follow_device(now);
            self.end.source_moved(now);
        }
    }

    fn take_signal(&mut self, now: Instant, signal: LinkSignal) -> bool {
        match signal {
            LinkSignal::Rate(rate) => {
                self.rate.tell(rate);
                self.follow_rate(now);
            }
            LinkSignal::Loss(source, at) => self.expect_loss(now, source, at),
            LinkSignal::Away(is_away) => {
                if core::mem::replace(&mut self.is_away, is_away) != is_away {
                    self.follow_device(now);
                }
            }
        }
        true
    }

    fn poll_event(&mut self) -> Option<MediumEvent> {
        self.events.pop_front()
    }

    fn flush(&mut self, now: Instant) {
        self.follow_rate(now);
        let (end, code) = (&mut self.end, &mut self.code);
        while let Some(content) = self.headers.poll() {
            // One that is lost is sent again.
            let _ = self.outgoing.add(&mut self.sockets, 0, |out| {
                let seal = |out: &mut Vec<u8>| end.send(now, (AEROTP, &content), out);
                let sent = coding::write(code.as_mut(), false, out, seal)?;
                Ok::<_, NotSent>((sent.to, ()))
            });
        }
        self.outgoing.flush(&mut self.sockets, |out| {
            let seal = |out: &mut Vec<u8>| end.poll_transmit(now, out).ok_or(());
            coding::write(code.as_mut(), true, out, seal).ok()
        });
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self.incoming.is_empty() && self.events.is_empty() {
            true => self.end.poll_timeout(),
            false => Some(Instant::ZERO),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.end.handle_timeout(now);
        self.take_events(now);
        self.follow_rate(now);
    }

    fn report(&mut self, now: Instant, status: &mut Status) {
        let mtu = self.end.packet_mtu().unwrap_or(0);
        if let Some((remote, is_up, measured)) = self.end.measured(now) {
            let path = PathStatus::new((self.name.clone(), is_up), remote, mtu);
            let rate = self.end.pace(now).map(|pace| RateStatus {
                used_bit_per_s: pace.rate.bits_per_second(),
                told_bit_per_s: self.rate.told().map(|told| told.bits_per_second()),
                overruled: self.rate.overruled(),
            });
            let path = path.with(measured);
            status.uplinks.push(PathStatus { rate, ..path });
        }
        if self.losses.soonest().is_some() && !status.leaving.contains(&self.name) {
            status.leaving.push(self.name.clone());
        }
        if self.is_away {
            status.away.push(self.name.clone());
        }
        status.reject(self.end.counters());
        if let Some(code) = &self.code {
            code.report(&self.name, status);
        }
        status.lose("longer than a link carries", self.too_long);
        status.lose("dropped by a congested router", self.congested);
        status.lose("not taken by a socket", self.outgoing.lost());
    }

    fn set_tap(&mut self, name: &str, tap: &Tap) {
        let device = self.watch.as_ref().map(Watch::device);
        self.sockets.view = View::new(tap, name, device);
    }

    fn dropped_unread(&self, _kernel: &mut RouteSocket) -> io::Result<u64> {
        self.sockets.dropped_unread()
    }
}

impl core::fmt::Debug for Link {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Link")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
