//! After the loss of any one packet, or of any two, TCP connections that gateways carry are opened, used both ways and closed.

use super::*;

const BYTES: u64 = 3_000;

/// The end that closes first; the other follows when it has heard of it. Both have written before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    Client,
    Server,
}

/// A connection from end to end, and the bytes read at each end, the client's first.
struct Talk {
    row: Row,
    client: SocketId,
    written: [bool; 2],
    read: [u64; 2],
}

fn talk(mode: Mode, first: First, lose: &[usize]) -> Talk {
    let mut row = Row::new(mode);
    row.lose = lose.to_vec();
    row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 16, None);
    let client = row.connect(&Profile::linux_6());
    let mut talk = Talk {
        row,
        client,
        written: [false; 2],
        read: [0; 2],
    };
    for step in 1..1_100 {
        // Fine at first, then by seconds.
        talk.row.run(match step {
            ..100 => f64::from(step) / 50.0,
            _ => f64::from(step - 98),
        });
        talk.serve(0, Some(talk.client), first == First::Client);
        talk.serve(1, talk.row.accepted(), first == First::Server);
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
        let is_asked = self.row.saw(node, tcp::Event::PeerClosed);
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

    /// Returns true if no state of it is left at any node.
    fn is_over(&self) -> bool {
        let mut gateways =
            [1, 2].map(|node| self.row.hosts[node].layer::<AerotpGateway>().unwrap());
        let carried = gateways.iter_mut().any(|gateway| gateway.connections() > 0);
        let ended = |node: usize| self.row.saw(node, tcp::Event::Closed) || self.failed(node);
        !carried && ended(0) && (ended(3) || self.row.accepted().is_none())
    }

    fn failed(&self, node: usize) -> bool {
        use tcp::Event::{Refused, Reset, TimedOut};
        [Refused, Reset, TimedOut]
            .into_iter()
            .any(|event| self.row.saw(node, event))
    }

    /// Asserts that a mode with retransmission delivers all data, and that in the others, too, both ends hear of the end.
    fn assert_ends_well(&self, mode: Mode, lost: &[usize], about: &str) {
        let events = &self.row.events;
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
                let talk = talk(mode, closes_first, lost);
                let about = format!("{mode:?}, {closes_first:?} first, without {lost:?}");
                talk.assert_ends_well(mode, lost, &about);
                talk.row.log.len()
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
