use super::super::QueueLimit;
use super::*;
use crate::packets::PacketId;
use crate::rng::Seed;

fn queues(settings: FqCodel) -> Box<dyn Discipline> {
    let site = Site {
        draws: Seed(1).keyed("queue"),
        typical_time: Duration::ZERO,
    };
    settings.build(&site)
}

/// Packets of flows, offered at time zero.
struct Bench {
    queue: Box<dyn Discipline>,
    ids: Vec<PacketId>,
    /// Flow of each packet.
    flows: Vec<u32>,
    limit: QueueLimit,
}

impl Bench {
    fn new(limit: QueueLimit) -> Bench {
        Bench {
            queue: queues(FqCodel::default()),
            ids: crate::link::tests::packet_ids(2000),
            flows: Vec::new(),
            limit,
        }
    }

    /// Offers a packet; returns the flows of those dropped for it.
    fn offer(&mut self, now: Instant, flow: u32, length: u32) -> Vec<u32> {
        let number = self.flows.len();
        self.flows.push(flow);
        let (packets, bytes) = self.queue.waiting();
        let mut dropped = Vec::new();
        let arrival = Arrival {
            now,
            item: Item {
                packet: self.ids[number],
                length,
                number: number as u64,
                offered_at: now,
            },
            class: Class {
                precedence: 0,
                flow_hash: flow,
            },
            limit: self.limit,
            has_room: self.limit.has_room(packets, bytes, length),
        };
        assert_eq!(self.queue.enqueue(&arrival, &mut dropped), Ok(()));
        dropped.iter().map(|one| self.flow_of(one.packet)).collect()
    }

    fn flow_of(&self, packet: PacketId) -> u32 {
        let place = self.ids.iter().position(|&id| id == packet).unwrap();
        self.flows[place]
    }

    /// Serves so many packets at once; returns the flow of each.
    fn serve(&mut self, now: Instant, count: usize) -> Vec<u32> {
        let mut dropped = Vec::new();
        let served: Vec<Item> = (0..count)
            .map_while(|_| self.queue.dequeue(now, &mut dropped))
            .collect();
        assert_eq!(dropped, []);
        served
            .iter()
            .map(|item| self.flow_of(item.packet))
            .collect()
    }
}

#[test]
fn flows_share_by_bytes_whatever_the_size_of_their_packets() {
    let mut bench = Bench::new(QueueLimit::Packets(2000));
    for _ in 0..100 {
        bench.offer(Instant::ZERO, 1, 1500);
    }
    for _ in 0..1500 {
        bench.offer(Instant::ZERO, 2, 100);
    }
    let served = bench.serve(Instant::ZERO, 1600 / 2);
    let sent = |flow| served.iter().filter(|&&of| of == flow).count() as i64;
    // Each lags behind the other by at most a quantum and a packet.
    let difference = (sent(1) * 1500 - sent(2) * 100).abs();
    assert!(difference <= 1514 + 1500, "{difference} B");
}

#[test]
fn a_new_flow_goes_before_those_that_wait_once() {
    let mut bench = Bench::new(QueueLimit::Packets(2000));
    for _ in 0..20 {
        bench.offer(Instant::ZERO, 1, 1500);
        bench.offer(Instant::ZERO, 2, 1500);
    }
    // Both are new first; a packet of 1500 B leaves 14 B of a quantum, so that each sends two before it waits for its
    // turn.
    assert_eq!(bench.serve(Instant::ZERO, 4), [1, 1, 2, 2]);
    bench.offer(Instant::ZERO, 3, 60);
    assert_eq!(bench.serve(Instant::ZERO, 1), [3], "sparse and new");
    // Its queue is found empty and goes behind the old ones: a packet that arrives then does not make it new again.
    assert_eq!(bench.serve(Instant::ZERO, 1), [1]);
    bench.offer(Instant::ZERO, 3, 60);
    assert_eq!(bench.serve(Instant::ZERO, 3), [2, 3, 1]);
}

#[test]
fn an_overflow_drops_half_of_the_longest_queue_from_its_head() {
    let mut bench = Bench::new(QueueLimit::Packets(100));
    for _ in 0..90 {
        bench.offer(Instant::ZERO, 1, 1500);
    }
    for _ in 0..10 {
        assert!(bench.offer(Instant::ZERO, 2, 1500).is_empty());
    }
    let dropped = bench.offer(Instant::ZERO, 2, 1500);
    assert_eq!(dropped, vec![1; 45]);
    assert_eq!(bench.queue.waiting(), (56, 56 * 1500));
    // At most 64 packets of a long queue.
    let mut long = Bench::new(QueueLimit::Packets(200));
    for _ in 0..200 {
        long.offer(Instant::ZERO, 1, 100);
    }
    assert_eq!(long.offer(Instant::ZERO, 2, 100).len(), 64);
}

#[test]
fn each_queue_has_codel_of_its_own() {
    let mut bench = Bench::new(QueueLimit::Packets(2000));
    for _ in 0..400 {
        bench.offer(Instant::ZERO, 1, 1500);
    }
    let mut dropped = Vec::new();
    for step in 0..300 {
        let now = Instant::from_millis(step);
        if step % 10 == 0 {
            bench.offer(now, 2, 100);
        }
        bench.queue.dequeue(now, &mut dropped);
    }
    let flows: Vec<u32> = dropped
        .iter()
        .map(|one| bench.flow_of(one.packet))
        .collect();
    // RFC 8289: above the target from 5 ms on, the first drop at 105 ms; then after 100 and 71 ms.
    assert_eq!(flows, vec![1; 3]);
    assert!(dropped.iter().all(|one| one.why == Refusal::Chosen));
}

#[test]
fn packets_that_are_taken_out_come_back_in_the_order_of_service() {
    let mut bench = Bench::new(QueueLimit::Packets(2000));
    for flow in [1, 1, 1, 2, 2, 2, 3] {
        bench.offer(Instant::ZERO, flow, 1500);
    }
    let first = bench.queue.dequeue(Instant::ZERO, &mut Vec::new()).unwrap();
    bench.queue.put_back(first);
    let taken = bench.queue.unload();
    assert_eq!(bench.queue.waiting(), (0, 0));
    let order =
        |waiting: &[Waiting]| -> Vec<u64> { waiting.iter().map(|one| one.item.number).collect() };
    assert_eq!(order(&taken), [0, 1, 3, 4, 6, 2, 5]);
    bench.queue.restore(taken);
    let mut again = order(&bench.queue.unload());
    assert_eq!(again.first(), Some(&0), "it came back from service");
    again.sort_unstable();
    assert_eq!(again, [0, 1, 2, 3, 4, 5, 6]);
}
