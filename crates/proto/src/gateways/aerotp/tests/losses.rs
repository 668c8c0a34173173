//! After the loss of any one or two packets, TCP connections through gateways are opened, used in both directions and
//! closed.

use super::*;

const BYTES: u64 = 3_000;

/// The end that closes first; the other follows on the FIN. Both have written before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    Client,
    Server,
}

/// A connection from end to end, and the bytes read at each end, the client's first.
struct Talk {
    row: Net,
    client: SocketId,
    written: [bool; 2],
    read: [u64; 2],
}

fn talk((mut row, client): (Net, SocketId), first: First, lose: &[usize]) -> Talk {
    let lose = lose.to_vec();
    row.decide(
        move |_, entering| match lose.contains(&(entering.number as usize)) {
            true => Passage::Lost,
            false => Passage::Arrives,
        },
    );
    let mut talk = Talk {
        row,
        client,
        written: [false; 2],
        read: [0; 2],
    };
    for step in 1..1_100 {
        // In small steps at first, then by seconds.
        talk.row.run_until(match step {
            ..100 => at(20 * step),
            _ => at(1_000 * (step - 98)),
        });
        talk.serve(0, Some(talk.client), first == First::Client);
        talk.serve(
            1,
            talk.row.accepted(3).first().copied(),
            first == First::Server,
        );
        if talk.is_over() {
            break;
        }
    }
    talk
}

impl Talk {
    /// Lets an end write once, read, and close at once or after the other.
    fn serve(&mut self, end: usize, socket: Option<SocketId>, closes_first: bool) {
        let node = 3 * end;
        let is_asked = self.row.seen(node, SocketEvent::PeerClosed).is_some();
        let host = &mut self.row.hosts[node];
        let Some(connection) = socket.and_then(|socket| host.connection_mut(socket)) else {
            return;
        };
        if !core::mem::replace(&mut self.written[end], true) {
            assert_eq!(connection.write_pattern(7, BYTES), BYTES);
        }
        self.read[end] += connection.discard(u64::MAX);
        if is_asked || closes_first {
            connection.close();
        }
    }

    /// Returns true if no node keeps any state of it.
    fn is_over(&self) -> bool {
        let carried = [1, 2].into_iter().any(|node| self.row.carried(node) > 0);
        let closed = |node: usize| self.row.seen(node, SocketEvent::Closed).is_some();
        let ended = |node: usize| closed(node) || self.failed(node);
        !carried && ended(0) && (ended(3) || self.row.accepted(3).is_empty())
    }

    fn failed(&self, node: usize) -> bool {
        use SocketEvent::{Refused, Reset, TimedOut};
        let mut failures = [Refused, Reset, TimedOut].into_iter();
        failures.any(|event| self.row.seen(node, event).is_some())
    }

    /// Asserts that a mode with retransmission delivers all data, and that in all modes both ends learn of the end.
    fn assert_ends_well(&self, mode: Mode, lost: &[usize], about: &str) {
        let events = &self.row.log;
        assert!(self.is_over(), "{about}: still there, {events:?}");
        if mode.repeats() || lost.is_empty() {
            assert_eq!(self.read, [BYTES; 2], "{about}: {events:?}");
            assert!(!self.failed(0) && !self.failed(3), "{about}: {events:?}");
        }
    }
}

#[test]
fn any_two_lost() {
    let mut runs = 0;
    for mode in Mode::ALL {
        for closes_first in [First::Client, First::Server] {
            let mut ends_well = |lost: &[usize]| {
                runs += 1;
                let talk = talk(connecting(mode), closes_first, lost);
                let about = format!("{mode:?}, {closes_first:?} first, without {lost:?}");
                talk.assert_ends_well(mode, lost, &about);
                talk.row.sent.len()
            };
            for first in 0..ends_well(&[]) {
                for second in first + 1..ends_well(&[first]) {
                    ends_well(&[first, second]);
                }
            }
        }
    }
    assert!(runs > 3_000, "{runs}");
}

#[test]
fn any_one_lost_between_gateways_with_two_links() {
    let mut runs = 0;
    for mode in [Mode::Reliable, Mode::NearReliable] {
        for closes_first in [First::Client, First::Server] {
            let mut ends_well = |lost: &[usize]| {
                runs += 1;
                let begun = begin(links::two_links(rules(mode)));
                let talk = talk(begun, closes_first, lost);
                let about = format!("{mode:?}, {closes_first:?} first, without {lost:?}");
                talk.assert_ends_well(mode, lost, &about);
                talk.row.sent.len()
            };
            for lost in 0..ends_well(&[]) {
                ends_well(&[lost]);
            }
        }
    }
    assert!(runs > 80, "{runs}");
}
