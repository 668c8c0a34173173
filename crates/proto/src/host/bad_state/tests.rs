//! A base station whose link fails, and the messages that it sends.

use super::*;
use crate::host::Host;
use crate::packet::{BitErrors, Identity, IpHeader, Payload};
use crate::wire::icmp::IcmpMessage;
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::{TcpFlags, TcpHeader, TcpOptions};

const SERVER: u8 = 1;
const PHONE: u8 = 3;
const PORT: u16 = 5001;
const RADIO: InterfaceId = InterfaceId(1);

fn address(last: u8) -> IpAddr {
    [10, 0, 0, last].into()
}

fn base_station() -> Host {
    let mut host = Host::new(address(2), [2; 16]);
    let network = host.add_interface(1500);
    let radio = host.add_interface(1500);
    host.routes_mut().set_default(Some(network));
    host.routes_mut().set(address(PHONE), radio);
    let mut notifier = BadStateNotifier::default();
    notifier.serve(Conversation {
        listener: address(PHONE),
        port: PORT,
        opener: address(SERVER),
    });
    host.add_layer(notifier);
    host
}

fn segment([from, to]: [(u8, u16); 2], length: u32) -> Packet {
    let header = TcpHeader {
        source_port: from.1,
        destination_port: to.1,
        sequence: SequenceNumber(77),
        acknowledgment: SequenceNumber(0),
        flags: TcpFlags::ACK,
        window: 1000,
        options: TcpOptions::default(),
    };
    let payload = Payload::Pattern {
        stream: 1,
        offset: 0,
        length,
    };
    Packet {
        ip: IpHeader {
            source: address(from.0),
            destination: address(to.0),
            hop_limit: 64,
            traffic_class: 0,
            identification: 1,
            dont_fragment: true,
        },
        body: Body::Tcp(header, payload),
        flow: None,
        retransmission: false,
        bit_errors: BitErrors::NONE,
        identity: Identity::NONE,
    }
}

/// Returns the interfaces and receivers of the notices after a status of a packet, and the sequence numbers that they quote.
fn notices(
    host: &mut Host,
    packet: &Packet,
    status: TransmitStatus,
) -> Vec<(InterfaceId, IpAddr, u32)> {
    let now = Instant::ZERO;
    let polls = host.handle_transmit_status(now, RADIO, packet, status);
    let sent = core::iter::from_fn(|| host.poll_transmit(now));
    let notices = sent.map(|(interface, packet)| match packet.body {
        Body::Icmp(IcmpMessage::Error {
            kind: IcmpError::BadState,
            quoted,
        }) => (interface, packet.ip.destination, quoted.sequence),
        body => panic!("{body:?}"),
    });
    let notices: Vec<_> = notices.collect();
    assert_eq!(polls, !notices.is_empty());
    notices
}

#[test]
fn each_failed_attempt_is_told_to_the_sender_whichever_end_it_is() {
    let mut host = base_station();
    let (server, phone) = ((SERVER, 50_000), (PHONE, PORT));
    for (ends, interface) in [([server, phone], InterfaceId(0)), ([phone, server], RADIO)] {
        let failed = segment(ends, 100);
        let expected = [(interface, address(ends[0].0), 77)];
        for _ in 0..2 {
            let found = notices(&mut host, &failed, TransmitStatus::AttemptFailed);
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn acknowledgments_other_connections_and_other_news_are_told_to_nobody() {
    let mut host = base_station();
    let (server, phone) = ((SERVER, 50_000), (PHONE, PORT));
    let quiet = [
        segment([server, phone], 0),
        segment([(4, 50_000), phone], 100),
        segment([server, (PHONE, PORT + 1)], 100),
        // The listener is the phone, at that port.
        segment([(SERVER, PORT), (PHONE, 50_000)], 100),
    ];
    for packet in &quiet {
        let found = notices(&mut host, packet, TransmitStatus::AttemptFailed);
        assert_eq!(found, [], "{packet:?}");
    }
    let data = segment([server, phone], 100);
    let queued = TransmitStatus::Queued { pressure: None };
    for status in [queued, TransmitStatus::Dropped] {
        assert_eq!(notices(&mut host, &data, status), []);
    }
    let interests = host.status_interests();
    assert!(interests.failed_attempts && !interests.queued && !interests.drops);
}
