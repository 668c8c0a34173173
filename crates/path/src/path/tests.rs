//! An authentic peer with arbitrary messages.

use super::*;
use crate::message::RECEIPT;
use crate::noise::Split;
use crate::session::Agreed;
use proptest::prelude::*;

fn remote() -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], 1000))
}

fn session(now: Instant, seal: u8) -> Session {
    let split = Split {
        from_initiator: [seal; 32],
        from_responder: [seal ^ 1; 32],
    };
    let agreed = Agreed {
        local_index: 5,
        remote_index: 5,
        own: Start::default(),
        peer: Start::default(),
    };
    if seal == 0 {
        Session::of_initiator(now, split, agreed)
    } else {
        let split = Split {
            from_initiator: split.from_responder,
            from_responder: split.from_initiator,
        };
        Session::of_responder(now, split, agreed)
    }
}

/// One message of the peer: counter, content, and the time until it arrives.
fn message() -> impl Strategy<Value = (u64, Vec<u8>, u64)> {
    let counter = prop_oneof![
        0_u64..200,
        any::<u64>(),
        (0_u64..20).prop_map(|low| low | 1 << 63)
    ];
    let kind = prop_oneof![9 => 0_u8..8, 1 => any::<u8>()];
    let rest = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        prop::collection::vec(any::<u8>(), 23),
        prop::collection::vec(any::<u8>(), 27),
        prop::collection::vec(any::<u8>(), 31)
    ];
    let content = (kind, rest).prop_map(|(kind, rest)| [vec![kind], rest].concat());
    let wait = prop_oneof![0_u64..50_000_000, 0_u64..10_000_000_000];
    (counter, content, wait)
}

proptest! {
    #[test]
    fn an_authentic_peer_may_say_anything(
        messages in prop::collection::vec(message(), 1..60), is_initiator in any::<bool>(),
        finds_rate in any::<bool>(),
    ) {
        let mut now = Instant::from_secs(1);
        let mut path = Path::new(now, remote(), is_initiator, 7, 1500);
        if finds_rate {
            path.find_rate(now);
        }
        path.adopt(now, session(now, 0));
        let peer = session(now, 1);
        let mut taken = std::collections::BTreeSet::new();
        for (counter, content, wait) in messages {
            now += Duration::from_nanos(wait);
            let mut rounds = 0;
            while path.deadline().is_some_and(|deadline| deadline <= now) {
                path.handle_timeout(now);
                while path.poll_transmit(now, &mut Vec::new()).is_some() {}
                rounds += 1;
                prop_assert!(rounds < 1_000, "deadlines do not move on");
            }
            let mut datagram = Vec::new();
            peer.write_header(counter, &mut datagram);
            datagram.extend_from_slice(&content);
            peer.seal(counter, 0, &mut datagram).unwrap();
            let again = &mut datagram.clone();
            if path.receive(now, remote(), &mut datagram).is_ok() {
                prop_assert!(taken.insert(counter), "{} was taken twice", counter);
            }
            prop_assert!(path.receive(now, remote(), again).is_err());
            prop_assert!(path.reported() <= path.counter, "a report of what was never sent");
            prop_assert!(path.packet_mtu() <= 1436);
            path.measured(now);
            path.events.clear();
        }
    }
}

/// Checks that a report of more than was sent is no reason to drop packets stored until their receipt.
#[test]
fn a_report_of_datagrams_that_were_never_sent_says_no_more_than_all() {
    let now = Instant::from_secs(1);
    let mut path = Path::new(now, remote(), false, 7, 1500);
    path.adopt(now, session(now, 0));
    let sent = path.send(now, 0, b"packet", &mut Vec::new()).unwrap();
    let peer = session(now, 1);
    let mut datagram = Vec::new();
    peer.write_header(0, &mut datagram);
    crate::message::write_header(RECEIPT, now, &mut datagram);
    let report = crate::message::Report {
        next: u64::MAX,
        ..Default::default()
    };
    report.write(&mut datagram);
    peer.seal(0, 0, &mut datagram).unwrap();
    path.receive(now, remote(), &mut datagram).unwrap();
    assert_eq!(path.reported(), sent.counter + 1);
}
