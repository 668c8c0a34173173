//! Client, two gateways and server, two links between the gateways, and the faults of these.

use super::channel::Channel;
use super::gateway::{Gateway, LINKS, Leaves, ToldRates};
use super::numbers::Numbers;
use super::traffic::Traffic;
use baton_proto::packet::Packet;
use baton_proto::time::{Duration, Instant};
use std::collections::BTreeMap;

/// Delay between a gateway and the machines behind it.
const BEHIND: Duration = Duration::from_millis(1);
/// Interval of the applications' work.
const TICK: Duration = Duration::from_millis(20);
/// The same for a program that only uploads or downloads, so that no buffer of its TCP runs empty.
const BULK_TICK: Duration = Duration::from_millis(2);
/// Longest time of a bulk transfer.
const LONGEST_BULK: Duration = Duration::from_secs(120);
/// Interval of the control stream's datagrams: 1 Mbit/s.
const CONTROL_INTERVAL: Duration = Duration::from_millis(8);
/// Turns at one moment, more than it can ever need.
const MOST_TURNS: u32 = 100_000;

/// Arrivals at a place. Gateways are the near one (0) and the far one (1), and so are the machines behind them.
enum Arrival {
    AtGateway(usize, usize, Vec<u8>),
    FromBehind(usize, Packet),
    AtMachine(usize, Packet),
}

/// All of it.
pub struct World {
    now: Instant,
    gateways: [Gateway; 2],
    traffic: Traffic,
    /// By link, and by the gateway that sends.
    channels: [[Channel; 2]; LINKS],
    under_way: BTreeMap<(Instant, u64), Arrival>,
    number: u64,
    numbers: Numbers,
    incarnation: u8,
    told: ToldRates,
    faults: u64,
    /// Datagrams refused by gateways that have restarted since.
    refused: u64,
}

impl World {
    /// Creates a world with these channels in both directions of each link, and the rates that the gateways are told.
    pub fn new(numbers: Numbers, channels: [Channel; LINKS], told: ToldRates) -> World {
        let now = Instant::from_secs(1);
        World {
            now,
            gateways: [true, false].map(|is_near| Gateway::start(now, is_near, 1, told)),
            traffic: Traffic::new(),
            channels: channels.map(|channel| [channel.clone(), channel]),
            under_way: BTreeMap::new(),
            number: 0,
            numbers,
            incarnation: 1,
            told,
            faults: 0,
            refused: 0,
        }
    }

    /// Runs for so many seconds with new transfers and faults.
    pub fn run(&mut self, seconds: u64) {
        let end = self.now + Duration::from_secs(seconds);
        let mut next_fault = self.now + Duration::from_secs(2);
        while self.now < end {
            let (now, numbers) = (self.now, &mut self.numbers);
            self.traffic.begin(now, numbers);
            if now >= next_fault {
                next_fault = now + Duration::from_millis(200 + numbers.below(3000));
                self.fault();
            }
            self.run_until(now + TICK);
        }
    }

    /// Uploads so many bytes (true) or downloads them, while links go down and up at these times; returns how many had come
    /// by when.
    pub fn transfer(
        &mut self,
        (is_upload, bytes): (bool, u64),
        changes: &[(Duration, usize, bool)],
    ) -> Vec<(Duration, u64)> {
        let begun = self.now;
        self.traffic.bulk(begun, is_upload, bytes);
        let mut changes = changes.iter().peekable();
        let mut course = Vec::new();
        loop {
            let since = self.now.saturating_since(begun);
            assert!(since < LONGEST_BULK, "{:?}", course.last());
            while let Some(&(_, link, is_up)) = changes.next_if(|(at, ..)| *at <= since) {
                let directions = self.channels[link].iter_mut();
                directions.for_each(|channel| channel.is_up = is_up);
            }
            self.run_until(self.now + BULK_TICK);
            let come = self.traffic.carried().unwrap_or(bytes);
            course.push((self.now.saturating_since(begun), come));
            if come == bytes {
                return course;
            }
        }
    }

    /// Sends a control stream for so long beside an upload, from a second after its start; returns the delays of its
    /// datagrams.
    pub fn control(&mut self, duration: Duration) -> Vec<Duration> {
        self.traffic.bulk(self.now, true, u64::MAX);
        let mut next = self.now + Duration::from_secs(1);
        let end = next + duration;
        while self.now < end {
            if self.now >= next {
                next += CONTROL_INTERVAL;
                self.traffic.send_control(self.now);
                self.turn();
            }
            self.run_until(self.now + BULK_TICK);
        }
        core::mem::take(&mut self.traffic.control_delays)
    }

    /// Runs for so many seconds without anything new.
    pub fn run_quietly(&mut self, seconds: u64) {
        for _ in 0..seconds * 1_000_000_000 / TICK.as_nanos() {
            self.run_until(self.now + TICK);
        }
    }

    fn fault(&mut self) {
        self.faults += 1;
        if self.numbers.happens(20) {
            return self.restart();
        }
        let is_any_up = |channels: &[Channel; 2]| channels.iter().all(|channel| channel.is_up);
        if !self.channels.iter().any(is_any_up) {
            let link = self.numbers.below(LINKS as u64) as usize;
            self.channels[link]
                .iter_mut()
                .for_each(|it| it.is_up = true);
            return;
        }
        let link = self.numbers.below(LINKS as u64) as usize;
        let direction = self.numbers.below(2) as usize;
        self.channels[link][direction].disturb(&mut self.numbers);
    }

    /// Starts one of the gateways anew, without its state.
    fn restart(&mut self) {
        self.incarnation += 1;
        let place = self.numbers.below(2) as usize;
        self.refused += self.gateways[place].refused();
        self.gateways[place] = Gateway::start(self.now, place == 0, self.incarnation, self.told);
        self.traffic.give_up();
    }

    /// Ends all faults.
    pub fn heal(&mut self) {
        let all = self.channels.iter_mut().flatten();
        all.for_each(|channel| *channel = Channel::sound());
    }

    fn run_until(&mut self, end: Instant) {
        let (mut turns, mut before) = (0, self.now);
        loop {
            let arrival = self.under_way.keys().next().map(|(at, _)| *at);
            let [near, far] = &mut self.gateways;
            let due = [
                arrival,
                near.poll_timeout(),
                far.poll_timeout(),
                self.traffic.client.poll_timeout(),
                self.traffic.server.poll_timeout(),
            ];
            let next = due.into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            turns = if self.now == before { turns + 1 } else { 0 };
            before = self.now;
            assert!(
                turns < MOST_TURNS,
                "deadlines do not move on from {}",
                self.now
            );
            self.turn();
        }
        self.now = end;
        self.traffic.work();
        self.turn();
    }

    fn turn(&mut self) {
        let now = self.now;
        while let Some(entry) = self.under_way.first_entry() {
            if entry.key().0 > now {
                break;
            }
            match entry.remove() {
                Arrival::AtGateway(place, link, datagram) => {
                    let leaves = self.gateways[place].take_datagram(now, link, datagram);
                    self.leave(place, leaves);
                }
                Arrival::FromBehind(place, packet) => {
                    let leaves = self.gateways[place].take_packet(now, packet);
                    self.leave(place, leaves);
                }
                Arrival::AtMachine(0, packet) => {
                    let packets = self.traffic.client.take(now, packet);
                    self.send_from(0, packets);
                }
                Arrival::AtMachine(_, packet) => {
                    self.traffic.note_control(now, &packet);
                    let packets = self.traffic.server.take(now, packet);
                    self.send_from(1, packets);
                }
            }
        }
        for place in [0, 1] {
            let leaves = self.gateways[place].turn(now);
            self.leave(place, leaves);
        }
        let packets = self.traffic.client.turn(now);
        self.send_from(0, packets);
        let packets = self.traffic.server.turn(now);
        self.send_from(1, packets);
    }

    fn add(&mut self, at: Instant, arrival: Arrival) {
        self.number += 1;
        self.under_way.insert((at, self.number), arrival);
    }

    fn send_from(&mut self, machine: usize, packets: Vec<Packet>) {
        for packet in packets {
            self.add(self.now + BEHIND, Arrival::FromBehind(machine, packet));
        }
    }

    fn leave(&mut self, gateway: usize, leaves: Vec<Leaves>) {
        let now = self.now;
        for leaf in leaves {
            match leaf {
                Leaves::Packet(packet) => {
                    self.add(now + BEHIND, Arrival::AtMachine(gateway, packet));
                }
                Leaves::Datagram(link, datagram) => {
                    let channel = &mut self.channels[link][gateway];
                    for (at, datagram) in channel.carry(now, datagram, &mut self.numbers) {
                        self.add(at, Arrival::AtGateway(1 - gateway, link, datagram));
                    }
                }
            }
        }
    }

    /// Checks that all is over; returns the memory of each gateway.
    pub fn finish(mut self) -> [i64; 2] {
        let refused = self.gateways.each_mut().map(Gateway::refused);
        self.traffic.finish(self.refused + refused[0] + refused[1]);
        println!("{} faults, {} restarts", self.faults, self.incarnation - 1);
        for gateway in &mut self.gateways {
            let left = gateway.connections();
            assert_eq!(gateway.state(), (0, 0, 0), "{left:#?}");
        }
        self.gateways.map(Gateway::end)
    }
}
