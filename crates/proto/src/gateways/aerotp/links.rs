//! The links to the other gateway: the state and the rate of each, and the time at which it is free. All connections
//! share them, so each link has one pace, and its silence is known at once to all.

use crate::aerotp::{LossMeter, Measurement, PathId, RateControl};
use crate::interface::{InterfaceId, LinkEvent, LinkParameters};
use crate::rate::DataRate;
use crate::time::{Duration, Instant};
use crate::wire::aerotp::ServiceClass;

/// Shortest time over which the rate of arrivals is measured.
const MEASURED_OVER: Duration = Duration::from_millis(50);

/// Most links, as many as the paths of a connection.
pub(super) const MOST_LINKS: usize = 8;

/// One link.
#[derive(Debug)]
pub(super) struct Link {
    interface: InterfaceId,
    is_up: bool,
    /// True if the medium finds the link's rate, and reports it whenever it changes.
    finds_rate: bool,
    /// Largest packet, in bytes, if it was reported.
    mtu: Option<u32>,
    /// True from Link_Going_Down to Link_Up or the rollback.
    is_leaving: bool,
    /// Set while no packet over the link is answered, although those over others are.
    silent_since: Option<Instant>,
    rate: RateControl,
    /// Time at which the next packet with data may leave.
    free_at: Instant,
    /// Class of the packet that left last.
    latest: ServiceClass,
    /// Time until which no queue is wanted on the link, for the sake of packets that go ahead.
    short_until: Instant,
    /// Packets that left after this time are not known to have arrived; none if all are.
    unanswered_since: Option<Instant>,
    /// Time of the latest packet that is to be answered.
    asked_at: Instant,
    /// Bytes that have arrived since `measured_at`.
    arrived: u64,
    measured_at: Instant,
    arrival_rate: DataRate,
}

/// All links of a gateway, in the order of its connections' paths.
#[derive(Debug)]
pub(super) struct Links {
    all: Vec<Link>,
    /// Loss over all of them, since a connection's blocks are spread over all.
    loss: LossMeter,
    /// Longest delay of an answer at the other gateway.
    answers_within: Duration,
}

impl Link {
    fn new(interface: InterfaceId, rate: DataRate) -> Link {
        Link {
            interface,
            is_up: true,
            finds_rate: false,
            mtu: None,
            is_leaving: false,
            silent_since: None,
            rate: RateControl::new(rate),
            free_at: Instant::ZERO,
            latest: ServiceClass::default(),
            short_until: Instant::ZERO,
            unanswered_since: None,
            asked_at: Instant::ZERO,
            arrived: 0,
            measured_at: Instant::ZERO,
            arrival_rate: DataRate::ZERO,
        }
    }

    pub(super) fn interface(&self) -> InterfaceId {
        self.interface
    }

    pub(super) fn rate(&self) -> DataRate {
        self.rate.rate()
    }

    /// Returns the largest packet, in bytes.
    pub(super) fn mtu(&self) -> u32 {
        self.mtu.unwrap_or(u32::MAX)
    }

    pub(super) fn is_up(&self) -> bool {
        self.is_up
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    pub(super) fn is_silent(&self) -> bool {
        self.silent_since.is_some()
    }

    /// Returns the time from which a packet of a class may leave. One of a higher class than the latest leaves at once: it
    /// waits for that one on the link itself, so that a late timer does not delay it, and the next one waits for both.
    pub(super) fn free_at(&self, class: ServiceClass) -> Instant {
        match class > self.latest {
            true => Instant::ZERO,
            false => self.free_at,
        }
    }

    /// Returns the time that a connection's first packet takes over the free link, if its medium has reported the round
    /// trip.
    pub(super) fn first_packet_takes(&self, reported: Option<LinkParameters>) -> Option<Duration> {
        /// Bits of such a packet, without data.
        const OPENING: u64 = 100 * 8;
        let round_trip = reported?.round_trip;
        let sending = self.rate().transmission_time(OPENING)?;
        (round_trip > Duration::ZERO)
            .then(|| Duration::from_nanos(round_trip.as_nanos() / 2) + sending)
    }

    fn is_good(&self) -> bool {
        self.carries() && !self.is_leaving && !self.is_silent()
    }

    /// Returns true if the link takes packets: it is up, and its medium has room.
    fn carries(&self) -> bool {
        self.is_up && self.rate() > DataRate::ZERO
    }

    /// Takes in the medium's rate. A standstill ends at once.
    fn set_rate(&mut self, rate: DataRate) {
        if self.rate() == DataRate::ZERO {
            self.free_at = Instant::ZERO;
        }
        match self.finds_rate {
            true => self.rate.follow(rate),
            false => self.rate.set_limit(rate),
        }
    }

    /// Takes in an event of the link itself.
    pub(super) fn handle(&mut self, event: LinkEvent, parameters: Option<LinkParameters>) {
        self.mtu = parameters.map(|parameters| parameters.mtu).or(self.mtu);
        match event {
            LinkEvent::Up => {
                self.is_up = true;
                self.is_leaving = false;
                self.silent_since = None;
                self.unanswered_since = None;
                self.free_at = Instant::ZERO;
                if let Some(parameters) = parameters {
                    self.set_rate(parameters.outgoing);
                }
            }
            LinkEvent::Down => self.is_up = false,
            LinkEvent::GoingDown | LinkEvent::CellGoingDown => self.is_leaving = true,
            LinkEvent::Rollback => self.is_leaving = false,
            LinkEvent::Parameters(parameters) if parameters.outgoing != self.rate.limit() => {
                self.set_rate(parameters.outgoing);
            }
            _ => {}
        }
    }

    /// Takes in that the queue at the link's entrance fills, and is served at this rate.
    pub(super) fn backpressure(&mut self, now: Instant, served: DataRate) {
        /// Percentage of the rate that is used: the rest drains the queue.
        const USED: u64 = 95;
        let rate = served.bits_per_second() / 100 * USED;
        self.rate
            .backpressure(now, DataRate::from_bits_per_second(rate));
    }

    /// Notes that a packet of `bytes`, IP header included, leaves at `now`. A late caller catches up by a packet or two
    /// at most: they wait in the link's queue. While packets of a higher class go ahead, it gives up the time instead.
    fn take(&mut self, now: Instant, class: ServiceClass, bytes: u32) {
        /// A longer pause is not made up for.
        const BURST: Duration = Duration::from_millis(2);
        /// Nor this one beside a higher class (chosen: later than the timers of an idle machine are).
        const SHORT_BURST: Duration = Duration::from_micros(500);
        /// Time after a packet that went ahead in which another is expected (chosen).
        const EXPECTED_AGAIN: Duration = Duration::from_secs(1);
        if class > self.latest {
            self.short_until = now + EXPECTED_AGAIN;
        }
        self.latest = class;
        let burst = if now < self.short_until {
            SHORT_BURST
        } else {
            BURST
        };
        /// Interval of checks at a rate of zero.
        const STANDSTILL: Duration = Duration::from_secs(1);
        self.rate.grow(now);
        let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(burst.as_nanos()));
        let time = self.rate.rate().transmission_time(u64::from(bytes) * 8);
        self.free_at = self.free_at.max(earliest) + time.unwrap_or(STANDSTILL);
    }

    /// Returns the rate at which data arrives at the other gateway, with these bytes.
    fn arrival_rate(&mut self, now: Instant, arrived: u64) -> DataRate {
        self.arrived += arrived;
        let elapsed = now.saturating_since(self.measured_at);
        if elapsed >= MEASURED_OVER {
            let bits = u128::from(self.arrived) * 8 * 1_000_000_000;
            let rate = bits / u128::from(elapsed.as_nanos().max(1));
            self.arrival_rate = DataRate::from_bits_per_second(rate as u64);
            self.arrived = 0;
            self.measured_at = now;
        }
        self.arrival_rate
    }
}

impl Links {
    /// Creates links that are up, with their rates.
    pub(super) fn new(links: &[(InterfaceId, DataRate)]) -> Links {
        let all = links.iter().take(MOST_LINKS);
        let all = all.map(|&(interface, rate)| Link::new(interface, rate));
        Links {
            all: all.collect(),
            loss: LossMeter::default(),
            answers_within: Duration::ZERO,
        }
    }

    /// Sets the time within which answers of the other gateway are due after a packet's arrival.
    pub(super) fn set_answers_within(&mut self, answers_within: Duration) {
        self.answers_within = answers_within;
    }

    /// Leaves the rates to the media, which find them and report each change.
    pub(super) fn leave_rates_to_media(&mut self) {
        self.all.iter_mut().for_each(|link| link.finds_rate = true);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (PathId, &Link)> {
        (0..).map(PathId).zip(&self.all)
    }

    pub(super) fn by_interface(&mut self, interface: InterfaceId) -> Option<(PathId, &mut Link)> {
        let mut all = (0..).map(PathId).zip(&mut self.all);
        all.find(|(_, link)| link.interface == interface)
    }

    /// Returns the interface to a path's link.
    pub(super) fn interface(&self, path: PathId) -> Option<InterfaceId> {
        let link = self.all.get(usize::from(path.0));
        link.map(|link| link.interface)
    }

    /// Returns the path of packets that arrive by an interface; `None` if it leads to no link.
    pub(super) fn path(&self, interface: InterfaceId) -> Option<PathId> {
        let mut all = self.iter();
        all.find(|(_, link)| link.interface == interface)
            .map(|(path, _)| path)
    }

    /// Returns the share of packets lost over all links, 0 to 1.
    pub(super) fn loss(&self) -> f64 {
        self.loss.rate()
    }

    /// Returns the link that is free first for a class, of those that are good or else up.
    pub(super) fn first_free(&self, class: ServiceClass) -> Option<(PathId, &Link)> {
        let is_any_good = self.all.iter().any(Link::is_good);
        let usable = self.iter().filter(|(_, link)| match is_any_good {
            true => link.is_good(),
            false => link.carries(),
        });
        usable.min_by_key(|(_, link)| (link.free_at(class), link.free_at))
    }

    /// Returns the link for packets whose route leads to another one that is not good; `None` if theirs is, or none is.
    pub(super) fn instead_of(&self, way: PathId) -> Option<(PathId, &Link)> {
        let link = self.all.get(usize::from(way.0));
        match link.is_some_and(Link::is_good) {
            true => None,
            false => self
                .first_free(ServiceClass::default())
                .filter(|(_, link)| link.is_good()),
        }
    }

    /// Returns the most bytes of a conversation's datagrams that may wait for their turn, as at the entrance of any link;
    /// `None` while no link is up. Senders with a congestion control of their own fill whatever buffer they find.
    pub(super) fn longest_queue(&self) -> Option<u64> {
        /// Longest wait at the rate of all links, chosen: a round trip of most ways.
        const LONGEST: Duration = Duration::from_millis(250);
        /// Room for a few packets at any rate, chosen: ten of 1,600 bytes.
        const LEAST: u64 = 16_000;
        let up = self.all.iter().filter(|link| link.is_up);
        let rate = up
            .map(|link| link.rate().bits_per_second())
            .reduce(u64::saturating_add)?;
        let bytes = u128::from(rate) * u128::from(LONGEST.as_nanos()) / 8_000_000_000;
        Some(LEAST.max(bytes as u64))
    }

    /// Ends pauses: a link without data to send does not save up time.
    pub(super) fn end_pause(&mut self, now: Instant) {
        for link in &mut self.all {
            link.free_at = link.free_at.max(now);
        }
    }

    /// Notes that a packet of `bytes`, IP header included, leaves over a path; `asks` for one that is to be answered.
    pub(super) fn take(
        &mut self,
        now: Instant,
        (path, class): (PathId, ServiceClass),
        bytes: u32,
        asks: bool,
    ) {
        let Some(link) = self.all.get_mut(usize::from(path.0)) else {
            return;
        };
        link.take(now, class, bytes);
        if asks {
            link.unanswered_since.get_or_insert(now);
            link.asked_at = now;
        }
    }

    /// Takes in a connection's measurement; `is_full` if data waits for the links. Returns true if it ends the link's
    /// silence.
    pub(super) fn measured(&mut self, now: Instant, measured: Measurement, is_full: bool) -> bool {
        /// Times in headers are in microseconds.
        const STEP: Duration = Duration::from_micros(1);
        self.loss.note(measured.fates);
        let Some(link) = self.all.get_mut(usize::from(measured.path.0)) else {
            return false;
        };
        let arrival_rate = link.arrival_rate(now, measured.arrived);
        // The arrivals of idle senders show nothing of the link, and a medium that finds its rate needs no hint.
        let shows = match is_full && !link.finds_rate {
            true => arrival_rate,
            false => DataRate::ZERO,
        };
        if measured.has_met_congestion {
            link.rate.congested(now, shows);
        }
        link.rate.measured(now, measured.rtt, shows);
        let answered = measured.left + STEP;
        if link.unanswered_since.is_some_and(|since| since <= answered) {
            link.unanswered_since = (link.asked_at > answered).then_some(measured.left);
        }
        let ends = link.silent_since.is_some_and(|since| since <= answered);
        if ends {
            link.silent_since = None;
        }
        ends
    }

    /// Returns the time at which a link falls silent without an answer: one and a half times that of an answer (chosen:
    /// sooner than a round trip more, and later than answers vary).
    fn silent_at(&self, place: usize) -> Option<Instant> {
        let link = &self.all[place];
        let mut others = self.all.iter().enumerate();
        let is_other_good = others.any(|(other, link)| other != place && link.is_good());
        let since = link.unanswered_since?;
        let within = link.rate.answer_within(self.answers_within);
        let waits = Duration::from_nanos(within.as_nanos() / 2 * 3);
        (link.is_up && !link.is_silent() && is_other_good).then(|| since + waits)
    }

    /// Returns the next time at which a link falls silent without an answer.
    pub(super) fn next_silence(&self) -> Option<Instant> {
        (0..self.all.len())
            .filter_map(|place| self.silent_at(place))
            .min()
    }

    /// Returns the next link that falls silent at `now`.
    pub(super) fn poll_silence(&mut self, now: Instant) -> Option<PathId> {
        let due = |&place: &usize| self.silent_at(place).is_some_and(|at| at <= now);
        let place = (0..self.all.len()).find(due)?;
        self.all[place].silent_since = Some(now);
        Some(PathId(place as u8))
    }
}
