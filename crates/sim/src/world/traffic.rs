//! What applications do: write, pause, ask, answer.

use super::flow::{Delivered, FlowRun, Role};
use crate::rng::Stream;
use crate::scenario::model::{Traffic, Transport};
use baton_proto::host::Host;
use baton_proto::packet::Payload;
use baton_proto::rate::DataRate;
use baton_proto::tcp::{Connection, Endpoint};
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::icmp::Echo;
use std::collections::VecDeque;

/// An application's state.
#[derive(Debug)]
pub struct Application {
    /// Bytes that the source has not written yet; over TCP only.
    unwritten: u64,
    /// Bytes that the source has handed over or is about to.
    emitted: u64,
    /// Whether the source closes once all is written.
    ends: bool,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Bulk,
    Blocks(Blocks),
    Pages(Pages),
    Ping(Ping),
}

/// A source of blocks at a constant rate, with pauses or without.
#[derive(Debug)]
struct Blocks {
    rate: DataRate,
    size: u32,
    limit: Option<u64>,
    next: Instant,
    pauses: Option<Pauses>,
}

#[derive(Debug)]
struct Pauses {
    on: Duration,
    off: Duration,
    until: Instant,
    random: Option<Stream>,
}

/// A client's view of its pages, and the server's of what is asked.
#[derive(Debug)]
struct Pages {
    request: u32,
    page: u64,
    think_time: Duration,
    left: Option<u32>,
    next: Option<Instant>,
    asked: u64,
    received: u64,
}

/// Requests that are on their way.
#[derive(Debug)]
struct Ping {
    interval: Duration,
    size: u32,
    left: Option<u32>,
    next: Instant,
    number: u64,
    pending: VecDeque<(u64, Instant)>,
    received: u64,
    answered: u64,
    sum: Duration,
    latest: Option<Duration>,
}

/// Round-trip times of a ping flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PingSummary {
    /// Requests sent.
    pub sent: u64,
    /// Replies received.
    pub answered: u64,
    /// Mean round-trip time of those.
    pub mean_rtt: Option<Duration>,
}

impl Application {
    /// The application of a scenario's flow; `stream` draws its random times.
    pub fn new(traffic: Traffic, start: Instant, stream: Stream) -> Application {
        let blocks = |rate, size, limit, pauses| {
            Kind::Blocks(Blocks {
                rate,
                size,
                limit,
                next: start,
                pauses,
            })
        };
        let (unwritten, kind) = match traffic {
            Traffic::Bulk { bytes } => (bytes.unwrap_or(u64::MAX), Kind::Bulk),
            Traffic::Constant {
                rate,
                packet_size,
                bytes,
            } => (0, blocks(rate, packet_size, bytes, None)),
            Traffic::OnOff {
                rate,
                packet_size,
                on,
                off,
                random,
            } => {
                let mut pauses = Pauses {
                    on,
                    off,
                    until: start,
                    random: random.then_some(stream),
                };
                pauses.until = start + pauses.draw(on);
                (0, blocks(rate, packet_size, None, Some(pauses)))
            }
            Traffic::Pages {
                request,
                page,
                think_time,
                count,
            } => {
                let next = Some(start);
                let pages = Pages {
                    request,
                    page,
                    think_time,
                    left: count,
                    next,
                    asked: 0,
                    received: 0,
                };
                (0, Kind::Pages(pages))
            }
            Traffic::Ping {
                interval,
                size,
                count,
            } => (0, Kind::Ping(Ping::new(interval, size, count, start))),
        };
        Application {
            unwritten,
            emitted: unwritten,
            ends: matches!(kind, Kind::Bulk),
            kind,
        }
    }

    /// Stops for good.
    pub fn give_up(&mut self) {
        self.unwritten = 0;
        self.ends = true;
    }

    /// Makes datagrams fit a path of `mtu` bytes.
    pub fn shrink_to(&mut self, mtu: u32) {
        if let Kind::Blocks(blocks) = &mut self.kind {
            // 40 bytes of IPv6 header and 8 of UDP header, which is enough for IPv4 too.
            blocks.size = blocks.size.min(mtu.saturating_sub(48)).max(1);
        }
    }

    /// What a ping flow has measured.
    pub fn ping_summary(&self) -> Option<PingSummary> {
        let Kind::Ping(ping) = &self.kind else {
            return None;
        };
        let mean = ping
            .sum
            .as_nanos()
            .checked_div(ping.answered)
            .map(Duration::from_nanos);
        Some(PingSummary {
            sent: ping.number,
            answered: ping.answered,
            mean_rtt: mean,
        })
    }

    /// The round-trip time of the latest answered ping.
    pub fn latest_ping(&self) -> Option<Duration> {
        match &self.kind {
            Kind::Ping(ping) => ping.latest,
            _ => None,
        }
    }
}

impl Pauses {
    fn draw(&mut self, mean: Duration) -> Duration {
        match &mut self.random {
            Some(stream) => Duration::from_secs_f64(stream.exponential(mean.as_secs_f64())),
            None => mean,
        }
    }
}

impl Blocks {
    /// The moment of the block after the one due at `self.next`.
    fn advance(&mut self) {
        let interval = self
            .rate
            .transmission_time(u64::from(self.size) * 8)
            .unwrap_or(Duration::MAX);
        self.next += interval;
        if let Some(pauses) = &mut self.pauses {
            // A random stay of zero length is followed by the next, so a pause may take several turns.
            while self.next >= pauses.until {
                let off = pauses.draw(pauses.off);
                let on = pauses.draw(pauses.on).max(interval);
                self.next = pauses.until + off;
                pauses.until = self.next + on;
            }
        }
    }
}

impl Ping {
    fn new(interval: Duration, size: u32, left: Option<u32>, next: Instant) -> Ping {
        let pending = VecDeque::new();
        let (number, received, answered) = (0, 0, 0);
        Ping {
            interval,
            size,
            left,
            next,
            number,
            pending,
            received,
            answered,
            sum: Duration::ZERO,
            latest: None,
        }
    }

    /// The reply to request `number`, counted modulo 2^16 as ICMP does, has come.
    fn answer(&mut self, now: Instant, number: u64) -> bool {
        let Some(place) = self
            .pending
            .iter()
            .position(|(sent, _)| sent & 0xffff == number & 0xffff)
        else {
            return false;
        };
        let Some((_, at)) = self.pending.remove(place) else {
            return false;
        };
        let rtt = now.saturating_since(at);
        self.latest = Some(rtt);
        self.sum += rtt;
        self.answered += 1;
        true
    }
}

impl FlowRun {
    /// Begins at the flow's start.
    pub(super) fn start_application(&mut self, now: Instant) {
        if matches!(self.application.kind, Kind::Bulk) {
            self.progress.start_waiting(now);
        }
    }

    /// Does what is due at the active end and sets the next deadline.
    pub(super) fn tick(&mut self, now: Instant, host: &mut Host) {
        let stopped = self.spec.stop.is_some_and(|stop| now >= stop);
        let next = if stopped {
            self.stop();
            None
        } else {
            match self.application.kind {
                Kind::Bulk => None,
                Kind::Blocks(_) => self.tick_blocks(now, host),
                Kind::Pages(_) => self.tick_pages(now, host),
                Kind::Ping(_) => self.tick_ping(now, host),
            }
        };
        let active = self.active();
        if let Some(connection) =
            self.sockets[active as usize].and_then(|socket| host.connection_mut(socket))
        {
            self.fill(active, connection);
        }
        let stop = self.spec.stop.filter(|&stop| now < stop);
        self.deadline = [next, stop].into_iter().flatten().min();
    }

    fn stop(&mut self) {
        let application = &mut self.application;
        application.emitted -= application.unwritten;
        application.unwritten = 0;
        application.ends = true;
    }

    fn tick_blocks(&mut self, now: Instant, host: &mut Host) -> Option<Instant> {
        let remote = self.remote(Role::Source);
        let application = &mut self.application;
        let Kind::Blocks(blocks) = &mut application.kind else {
            return None;
        };
        while blocks.next <= now {
            let left = blocks
                .limit
                .map_or(u64::MAX, |limit| limit - application.emitted);
            let size = u64::from(blocks.size).min(left);
            if size == 0 {
                application.ends = true;
                return None;
            }
            self.progress.start_waiting(now);
            if matches!(self.spec.transport, Transport::Udp) {
                let payload = Payload::Pattern {
                    stream: self.id.0,
                    offset: application.emitted,
                    length: size as u32,
                };
                host.udp_send(self.port, remote, payload, Some(self.id));
            } else {
                application.unwritten += size;
            }
            application.emitted += size;
            blocks.advance();
        }
        if blocks
            .limit
            .is_some_and(|limit| application.emitted >= limit)
        {
            application.ends = true;
            return None;
        }
        Some(blocks.next)
    }

    fn tick_pages(&mut self, now: Instant, _host: &mut Host) -> Option<Instant> {
        let Kind::Pages(pages) = &mut self.application.kind else {
            return None;
        };
        if pages.next.is_some_and(|next| next <= now) {
            pages.next = None;
            pages.received = 0;
            self.application.unwritten += u64::from(pages.request);
            self.progress.start_waiting(now);
        }
        pages.next
    }

    fn tick_ping(&mut self, now: Instant, host: &mut Host) -> Option<Instant> {
        let remote = self.remote(Role::Source);
        let application = &mut self.application;
        let Kind::Ping(ping) = &mut application.kind else {
            return None;
        };
        while ping.next <= now {
            if ping.left == Some(0) {
                return None;
            }
            ping.left = ping.left.map(|left| left - 1);
            self.progress.start_waiting(now);
            ping.pending.push_back((ping.number, now));
            match self.spec.transport {
                Transport::Tcp { .. } => application.unwritten += u64::from(ping.size),
                Transport::Udp => {
                    let offset = ping.number * u64::from(ping.size);
                    let payload = Payload::Pattern {
                        stream: self.id.0,
                        offset,
                        length: ping.size,
                    };
                    host.udp_send(self.port, remote, payload, Some(self.id));
                }
                Transport::Icmp => {
                    let sequence = (ping.number & 0xffff) as u16;
                    let echo = Echo {
                        identifier: self.id.0 as u16,
                        sequence,
                        data_length: ping.size,
                    };
                    host.ping(remote.address, echo, Some(self.id));
                }
            }
            ping.number += 1;
            ping.next += ping.interval;
        }
        Some(ping.next)
    }

    /// Writes as much as the connection takes, and closes when that was all.
    pub(super) fn fill(&mut self, role: Role, connection: &mut Connection) {
        let active = role == self.active();
        let application = &mut self.application;
        let asks =
            matches!(application.kind, Kind::Pages(_)) || matches!(application.kind, Kind::Ping(_));
        if !active && !asks {
            return;
        }
        let unwritten = match (&mut application.kind, role) {
            // The answering end of a page or ping flow owes what it was asked for.
            (Kind::Pages(pages), Role::Source) => &mut pages.asked,
            (Kind::Ping(ping), Role::Sink) => &mut ping.received,
            _ => &mut application.unwritten,
        };
        if *unwritten > 0 {
            *unwritten -= connection.write_pattern(self.id.0, *unwritten);
        }
        if *unwritten == 0 && application.ends && active {
            connection.close();
        }
    }

    /// Bytes have come out of a connection.
    pub(super) fn take_bytes(
        &mut self,
        now: Instant,
        role: Role,
        bytes: u64,
        connection: &mut Connection,
    ) -> Option<Delivered> {
        if bytes == 0 {
            return None;
        }
        match (&self.application.kind, role) {
            (Kind::Pages(_), Role::Source) => {
                self.serve(bytes);
                self.fill(role, connection);
                None
            }
            (Kind::Pages(_), Role::Sink) => {
                let delivered = self.take_page(now, bytes);
                self.fill(role, connection);
                Some(delivered)
            }
            (Kind::Ping(_), Role::Sink) => {
                if let Kind::Ping(ping) = &mut self.application.kind {
                    ping.received += bytes;
                }
                self.fill(role, connection);
                None
            }
            (Kind::Ping(_), Role::Source) => self.take_replies(now, bytes),
            (Kind::Bulk | Kind::Blocks(_), _) => Some(self.take_stream(now, bytes)),
        }
    }

    fn take_stream(&mut self, now: Instant, bytes: u64) -> Delivered {
        let total = self.progress.delivered_bytes + bytes;
        let wanted = match self.spec.traffic {
            Traffic::Bulk { bytes } | Traffic::Constant { bytes, .. } => bytes,
            _ => None,
        };
        let delivered = self.delivered(now, bytes, total < self.application.emitted);
        if wanted == Some(total) {
            self.complete(now);
        }
        delivered
    }

    /// The server reads requests and owes a page for each.
    fn serve(&mut self, bytes: u64) {
        if let Kind::Pages(pages) = &mut self.application.kind {
            let request = u64::from(pages.request);
            let before = self.application.emitted / request;
            self.application.emitted += bytes;
            pages.asked += (self.application.emitted / request - before) * pages.page;
        }
    }

    fn take_page(&mut self, now: Instant, bytes: u64) -> Delivered {
        let mut finished = false;
        let mut more = false;
        if let Kind::Pages(pages) = &mut self.application.kind {
            pages.received += bytes;
            more = pages.received < pages.page;
            if !more {
                pages.left = pages.left.map(|left| left - 1);
                finished = pages.left == Some(0);
                pages.next = (!finished).then_some(now + pages.think_time);
                self.deadline = [pages.next, self.deadline].into_iter().flatten().min();
            }
        }
        if finished {
            self.application.ends = true;
            self.complete(now);
        }
        self.delivered(now, bytes, more)
    }

    fn take_replies(&mut self, now: Instant, bytes: u64) -> Option<Delivered> {
        let mut delivered = None;
        let Kind::Ping(ping) = &mut self.application.kind else {
            return None;
        };
        // The source's own count of reply bytes; the sink's counts what it owes, on the other host.
        self.application.emitted += bytes;
        while self.application.emitted >= (ping.answered + 1) * u64::from(ping.size) {
            let number = ping.answered;
            if !ping.answer(now, number) {
                break;
            }
            delivered = Some(u64::from(ping.size) + delivered.unwrap_or(0));
        }
        let more = !ping.pending.is_empty();
        let finished = ping.left == Some(0) && !more;
        if finished {
            self.application.ends = true;
            self.complete(now);
        }
        delivered.map(|bytes| self.delivered(now, bytes, more))
    }

    /// A datagram has come.
    pub(super) fn handle_datagram(
        &mut self,
        now: Instant,
        host: &mut Host,
        role: Role,
        from: Endpoint,
        payload: Payload,
    ) -> Option<Delivered> {
        let bytes = u64::from(payload.length());
        let Payload::Pattern { offset, .. } = payload else {
            return None;
        };
        match (&self.application.kind, role) {
            (Kind::Ping(_), Role::Sink) => {
                host.udp_send(self.port, from, payload, Some(self.id));
                None
            }
            (Kind::Ping(ping), Role::Source) => {
                let number = offset / u64::from(ping.size.max(1));
                self.handle_reply(now, number)
            }
            (Kind::Blocks(_), Role::Sink) => {
                let total = self.progress.delivered_bytes + bytes;
                let delivered =
                    self.delivered(now, bytes, offset + bytes < self.application.emitted);
                if matches!(self.spec.traffic, Traffic::Constant { bytes: Some(wanted), .. } if wanted == total)
                {
                    self.complete(now);
                }
                Some(delivered)
            }
            _ => None,
        }
    }

    /// The reply to a datagram or an echo request has come.
    pub(super) fn handle_reply(&mut self, now: Instant, number: u64) -> Option<Delivered> {
        let Kind::Ping(ping) = &mut self.application.kind else {
            return None;
        };
        if !ping.answer(now, number) {
            return None;
        }
        let (size, more) = (u64::from(ping.size), !ping.pending.is_empty());
        if ping.left == Some(0) && !more {
            self.complete(now);
        }
        Some(self.delivered(now, size, more))
    }
}
