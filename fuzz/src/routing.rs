//! Routers of mobile ad hoc networks between forged frames: each datagram has one fate, and time goes on.

use crate::bytes::Bytes;
use baton_proto::routing::aerorp::{Aerorp, AerorpConfig, Keeping};
use baton_proto::routing::aodv::messages::Message;
use baton_proto::routing::aodv::{self, Aodv};
use baton_proto::routing::dsdv::Dsdv;
use baton_proto::routing::{Action, Datagram, Frame, HOP_LIMIT, Router};
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::aeronp::{AeronpHeader, Geolocation, Kind, TranslatedHeader};
use core::net::Ipv4Addr;

/// Most steps of a script; the rest of the input is ignored.
const MOST_STEPS: u32 = 200;
/// Most actions after one call: each of the few datagrams, and some messages.
const MOST_ACTIONS: u32 = 2_000;
/// The router's address; other nodes follow.
const OWN: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// Tries the input as a message of AODV and as a header of AeroNP, and as a script for a router.
pub fn check(data: &[u8]) {
    if let Ok((message, time_to_live)) = Message::decode(data) {
        let again = message.encode(time_to_live);
        assert_eq!(Message::decode(&again), Ok((message, time_to_live)));
    }
    if let Ok((header, payload)) = AeronpHeader::decode(data) {
        let mut again = Vec::new();
        header.encode(&mut again);
        again.extend_from_slice(payload);
        assert_eq!(again, data, "a header has one encoding");
    }
    let mut bytes = Bytes::new(data);
    let router = router(&mut bytes);
    let mut scene = Scene {
        now: Instant::ZERO,
        router,
        sent: Vec::new(),
        created: 0,
        ended: Vec::new(),
    };
    for _ in 0..MOST_STEPS {
        if bytes.is_empty() {
            break;
        }
        scene.step(&mut bytes);
    }
}

fn router(bytes: &mut Bytes<'_>) -> Box<dyn Router<u32>> {
    let keeping = match bytes.u8() % 5 {
        0 => return Box::new(Aodv::new(OWN, Instant::ZERO)),
        1 => return Box::new(Dsdv::new(OWN, 0, Instant::ZERO)),
        2 => Keeping::Ferry,
        3 => Keeping::Buffer,
        _ => Keeping::Drop,
    };
    let config = AerorpConfig {
        address: OWN,
        range_m: 27_800.0,
        keeping,
        beacons: true,
        advertises: true,
        begin: Instant::ZERO,
    };
    Box::new(Aerorp::new(config))
}

/// A router, and the frames with datagrams that it has sent.
struct Scene {
    now: Instant,
    router: Box<dyn Router<u32>>,
    sent: Vec<Frame<u32>>,
    created: u32,
    /// Datagrams that are sent, delivered or dropped, by number.
    ended: Vec<u32>,
}

impl Scene {
    fn step(&mut self, bytes: &mut Bytes<'_>) {
        if self.router.reads_geolocation() {
            self.router.locate(Geolocation::default());
        }
        let node = |number: u8| Ipv4Addr::new(10, 0, 0, number % 6);
        match bytes.u8() % 6 {
            0 => {
                let pause = bytes.one_of(&[1_u64, 100, 1_000, 3_000]);
                self.pass(Duration::from_millis(pause * u64::from(bytes.u8() % 32)));
            }
            1 => {
                let datagram = self.datagram(OWN, node(bytes.u8()));
                self.router.send(self.now, datagram);
            }
            2 => {
                let ends = [node(bytes.u8()), node(bytes.u8())];
                let datagram = self.datagram(ends[0], ends[1]);
                let (from, frame) = (node(bytes.u8()), frame(bytes, Some(datagram)));
                self.router.handle_frame(self.now, from, frame);
            }
            3 => {
                let (from, frame) = (node(bytes.u8()), frame(bytes, None));
                self.router.handle_frame(self.now, from, frame);
            }
            4 => {
                let (from, frame) = (node(bytes.u8()), frame(bytes, None));
                self.router.handle_overheard(self.now, from, &frame.message);
            }
            _ => {
                if let Some(frame) = self.sent.pop() {
                    if let Some(datagram) = &frame.datagram {
                        self.ended.retain(|&number| number != datagram.body);
                    }
                    self.router.handle_failure(self.now, frame);
                }
            }
        }
        self.drain();
    }

    fn datagram(&mut self, source: Ipv4Addr, destination: Ipv4Addr) -> Datagram<u32> {
        self.created += 1;
        Datagram {
            source,
            destination,
            hop_limit: HOP_LIMIT,
            congestion: false,
            corruption: false,
            translated: None,
            body: self.created,
        }
    }

    /// Lets time pass, with all that is due.
    fn pass(&mut self, pause: Duration) {
        let end = self.now + pause;
        let mut same = 0;
        while self.router.next_deadline() <= end {
            let due = self.router.next_deadline().max(self.now);
            same = if due == self.now { same + 1 } else { 0 };
            assert!(same < 100, "deadlines stand still at {due}");
            self.now = due;
            self.router.handle_timeout(due);
            self.drain();
        }
        self.now = end;
    }

    fn drain(&mut self) {
        let mut count = 0;
        while let Some(action) = self.router.poll() {
            count += 1;
            assert!(count < MOST_ACTIONS, "no end of actions");
            let ended = match action {
                Action::Send(frame) => {
                    let number = frame.datagram.as_ref().map(|datagram| datagram.body);
                    self.sent.push(frame);
                    number
                }
                Action::Deliver(datagram) => {
                    assert_eq!(datagram.destination, OWN, "delivered at the wrong node");
                    Some(datagram.body)
                }
                Action::Drop(datagram, _) => Some(datagram.body),
            };
            if let Some(number) = ended {
                assert!(!self.ended.contains(&number), "two fates of a datagram");
                self.ended.push(number);
            }
        }
        let kept = self.created as usize - self.ended.len();
        if !self.router.reads_geolocation() {
            assert!(kept <= aodv::BUFFER_DATAGRAMS, "{kept} datagrams wait");
        }
    }
}

/// Makes a frame whose message is arbitrary, or a header of AeroNP with the right check.
fn frame(bytes: &mut Bytes<'_>, datagram: Option<Datagram<u32>>) -> Frame<u32> {
    let kind = bytes.u8();
    let receiver = (kind & 1 == 1).then_some(OWN);
    let message = match kind & 6 {
        0 => {
            let number = bytes.u8();
            let numbers = [bytes.u32(), bytes.u32(), bytes.u32()];
            let header = AeronpHeader {
                kind: [Kind::Data, Kind::Beacon, Kind::Advertisement][usize::from(kind) / 8 % 3],
                congestion: kind & 0x80 != 0,
                corruption: false,
                priority: 0,
                hop_limit: number,
                source: Ipv4Addr::new(10, 0, 0, number % 6),
                destination: OWN,
                next_hop: OWN,
                geolocation: Some(Geolocation {
                    position_dm: numbers.map(|number| number as i32),
                    velocity_dm_s: numbers.map(|number| number as i16),
                }),
                translated: (kind & 0x40 != 0).then_some(TranslatedHeader {
                    protocol: number,
                    traffic_class: kind,
                    hop_limit: number,
                    source: (number & 1 == 1).then_some(OWN),
                    destination: (number & 2 == 2).then_some(OWN),
                    identification: numbers[0] as u16,
                    dont_fragment: number & 4 == 4,
                }),
            };
            let mut message = Vec::new();
            header.encode(&mut message);
            message.extend_from_slice(bytes.take(usize::from(number % 32)));
            message
        }
        _ => {
            let length = usize::from(bytes.u8() % 64);
            bytes.take(length).to_vec()
        }
    };
    Frame {
        receiver,
        message,
        datagram,
        is_damaged: kind & 0x20 != 0,
    }
}
