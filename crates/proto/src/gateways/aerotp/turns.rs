//! Turns at the links: the higher service class goes first, and in a class all take turns by bytes, in deficit round
//! robin (M. Shreedhar and G. Varghese, 1996). A packet's length is known only when it is made, so a turn that takes
//! too much leaves a debt for the next one.

use super::Pair;
use crate::packet::Packet;
use crate::wire::aerotp::ServiceClass;
use std::collections::VecDeque;

/// Number of service classes.
const CLASSES: usize = 8;
/// Bytes of a turn: a full packet of most links.
const QUANTUM: i64 = 1500;
/// Most bytes of datagrams that wait in a class, chosen: 100 ms at 5 Mbit/s.
const MOST_WAITING: u32 = 64 << 10;

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// A connection's: its ends, and its number.
    Connection(Pair, u64),
    /// That of the datagrams without connections.
    Datagrams,
}

/// A turn to come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub whose: Whose,
    pub class: ServiceClass,
    /// Bytes that it may still send; a debt if negative.
    credit: i64,
}

/// All turns to come, and the datagrams without connections.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// By class.
    queues: [VecDeque<Turn>; CLASSES],
    datagrams: [Datagrams; CLASSES],
}

/// Datagrams of a class that wait for a link.
#[derive(Debug, Default)]
struct Datagrams {
    packets: VecDeque<Packet>,
    bytes: u32,
}

impl Turns {
    /// Returns true if nobody waits.
    pub(super) fn is_empty(&self) -> bool {
        self.queues.iter().all(VecDeque::is_empty)
    }

    /// Returns the class of the next turn.
    pub(super) fn highest(&self) -> Option<ServiceClass> {
        let place = self.queues.iter().rposition(|queue| !queue.is_empty())?;
        ServiceClass::new(place as u8)
    }

    /// Adds a turn behind all others of its class.
    pub(super) fn add(&mut self, whose: Whose, class: ServiceClass) {
        self.queues[place(class)].push_back(Turn {
            whose,
            class,
            credit: QUANTUM,
        });
    }

    /// Takes out the next turn.
    pub(super) fn next(&mut self) -> Option<Turn> {
        let queue = self.queues.iter_mut().rfind(|queue| !queue.is_empty())?;
        while let Some(mut turn) = queue.pop_front() {
            if turn.credit > 0 {
                return Some(turn);
            }
            turn.credit += QUANTUM;
            queue.push_back(turn);
        }
        None
    }

    /// Puts back a turn that has sent so many bytes and has more to send.
    pub(super) fn put_back(&mut self, mut turn: Turn, bytes: u32) {
        turn.credit -= i64::from(bytes);
        let queue = &mut self.queues[place(turn.class)];
        match turn.credit > 0 {
            true => queue.push_front(turn),
            false => {
                turn.credit += QUANTUM;
                queue.push_back(turn);
            }
        }
    }

    /// Takes in a datagram without a connection; returns false if there is no room for it.
    pub(super) fn add_datagram(&mut self, class: ServiceClass, packet: Packet) -> bool {
        let waiting = &mut self.datagrams[place(class)];
        let bytes = waiting.bytes.saturating_add(packet.wire_length());
        if bytes > MOST_WAITING {
            return false;
        }
        waiting.bytes = bytes;
        waiting.packets.push_back(packet);
        if waiting.packets.len() == 1 {
            self.add(Whose::Datagrams, class);
        }
        true
    }

    /// Takes out the next datagram of a class.
    pub(super) fn take_datagram(&mut self, class: ServiceClass) -> Option<Packet> {
        let waiting = &mut self.datagrams[place(class)];
        let packet = waiting.packets.pop_front()?;
        waiting.bytes -= packet.wire_length();
        Some(packet)
    }

    /// Returns true if datagrams of a class wait.
    pub(super) fn has_datagrams(&self, class: ServiceClass) -> bool {
        !self.datagrams[place(class)].packets.is_empty()
    }
}

fn place(class: ServiceClass) -> usize {
    usize::from(class.number()) % CLASSES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{BitErrors, Body, Identity, IpHeader, Payload};
    use crate::wire::udp::UdpHeader;

    fn whose(port: u16) -> Whose {
        let end = super::super::end([10, 0, 0, 1].into(), port);
        Whose::Connection((end, end), u64::from(port))
    }

    /// The shares of deficit round robin differ by less than a quantum and a packet, whatever the packets' sizes.
    #[test]
    fn turns_of_a_class_send_the_same_bytes() {
        let sizes = [1500, 300, 77, 9000];
        let mut turns = Turns::default();
        (0..4).for_each(|port| turns.add(whose(port), ServiceClass::default()));
        let mut sent = [0_i64; 4];
        for _ in 0..10_000 {
            let turn = turns.next().unwrap();
            let number = (0..4).position(|port| turn.whose == whose(port)).unwrap();
            sent[number] += i64::from(sizes[number]);
            turns.put_back(turn, sizes[number]);
        }
        let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
        assert!(most - least <= QUANTUM + 9000, "{sent:?}");
    }

    #[test]
    fn the_highest_class_goes_first_while_it_waits() {
        let mut turns = Turns::default();
        for class in [3, 7, 0] {
            turns.add(whose(class), ServiceClass::new(class as u8).unwrap());
        }
        let next = turns.next().unwrap();
        assert_eq!(next.whose, whose(7));
        turns.put_back(next, 1500);
        let order: Vec<Whose> =
            core::iter::from_fn(|| turns.next().map(|turn| turn.whose)).collect();
        assert_eq!(order, [7, 3, 0].map(whose));
        assert!(turns.is_empty());
    }

    /// 64 KiB of datagrams wait, and each of them leaves.
    #[test]
    fn datagrams_wait_in_a_bounded_queue() {
        let packet = || {
            let header = UdpHeader {
                source_port: 1,
                destination_port: 2,
            };
            let payload = Payload::Pattern {
                stream: 1,
                offset: 0,
                length: 1000 - 28,
            };
            Packet {
                ip: IpHeader {
                    source: [10, 0, 0, 1].into(),
                    destination: [10, 0, 0, 2].into(),
                    hop_limit: 64,
                    traffic_class: 0,
                    identification: 0,
                    dont_fragment: true,
                },
                body: Body::Udp(header, payload),
                flow: None,
                retransmission: false,
                bit_errors: BitErrors::NONE,
                identity: Identity::NONE,
            }
        };
        let class = ServiceClass::default();
        let mut turns = Turns::default();
        let taken = (0..100)
            .filter(|_| turns.add_datagram(class, packet()))
            .count();
        assert_eq!(taken, 65);
        assert_eq!(turns.next().unwrap().whose, Whose::Datagrams);
        assert!(turns.next().is_none());
        let left = core::iter::from_fn(|| turns.take_datagram(class)).count();
        assert_eq!(left, 65);
        assert!(turns.add_datagram(class, packet()));
    }
}
