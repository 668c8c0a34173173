//! A point of service of IEEE 802.21 between forged and damaged messages, queues that fill, and links that come and go.

use crate::bytes::Bytes;
use baton_proto::interface::{InterfaceId, LinkEvent, TransmitStatus};
use baton_proto::mobility::handover_service::{Offload, PointOfService};
use baton_proto::packet::{BitErrors, Body, Identity, IpHeader, Packet, Payload};
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::mih::{self, LinkIdentifier, Mih, MihfId};
use baton_proto::wire::udp::UdpHeader;
use core::net::{IpAddr, Ipv6Addr};

const OWN: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
const OTHER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2);
const MOBILE: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 3);
const PORTS: UdpHeader = UdpHeader {
    source_port: mih::PORT,
    destination_port: mih::PORT,
};

/// Creates a point of service with a mobile on WiFi, which it moves to a cell of another one, and with a wire of its own.
fn subject() -> PointOfService {
    let own = MihfId::new(b"gw");
    let wifi = LinkIdentifier::new(LinkIdentifier::IEEE_802_11, b"wifi");
    let cell = LinkIdentifier::new(LinkIdentifier::OTHER_WIRELESS, b"cell");
    let mut service = PointOfService::new(own.clone(), OWN);
    service.add_link(wifi.clone(), (own, OWN));
    service.add_link(cell.clone(), (MihfId::new(b"pos"), OTHER));
    service.add_access_link(InterfaceId(0), wifi.clone());
    service.add_own_link(InterfaceId(1), LinkIdentifier::new(15, b"wire"));
    service.enrol(MihfId::new(b"mn"));
    let rule = Offload {
        mobile: MihfId::new(b"mn"),
        from: wifi,
        to: cell,
        after: Duration::from_secs(2),
        powers_down: true,
    };
    service.add_offload(InterfaceId(0), rule);
    service
}

/// Tests a point of service. What it sends can be read, and a timer that has been handled lies ahead.
pub fn check(data: &[u8]) {
    let mut input = Bytes::new(data);
    let mut service = subject();
    let mut now = Instant::ZERO;
    while !input.is_empty() {
        match input.u8() % 4 {
            0 => {
                let length = usize::from(input.u8());
                let packet = message(input.take(length));
                service.handle_packet(now, packet);
            }
            1 => {
                let rate = DataRate::from_bits_per_second(1_000_000);
                let pressure = input.bool().then_some(rate);
                service.handle_status(now, InterfaceId(0), TransmitStatus::Queued { pressure });
            }
            2 => {
                let event = input.one_of(&[LinkEvent::Up, LinkEvent::Down, LinkEvent::GoingDown]);
                service.handle_link(now, InterfaceId(1), event);
            }
            _ => {
                now += Duration::from_millis(input.u16().into());
                service.handle_timeout(now);
                let next = service.poll_timeout();
                assert!(next.is_none_or(|next| next > now), "a timer is left behind");
            }
        }
        while let Some(packet) = service.poll_transmit() {
            let Body::Udp(_, Payload::Bytes(bytes)) = packet.body else {
                panic!("not of this protocol");
            };
            Mih::decode(&bytes).expect("a message");
        }
    }
}

fn message(bytes: &[u8]) -> Packet {
    let [source, destination] = [MOBILE, OWN].map(IpAddr::V6);
    Packet {
        ip: IpHeader {
            source,
            destination,
            hop_limit: 64,
            traffic_class: 0,
            identification: 0,
            dont_fragment: true,
        },
        flow: None,
        retransmission: false,
        bit_errors: BitErrors::NONE,
        identity: Identity::NONE,
        body: Body::Udp(PORTS, Payload::Bytes(bytes.into())),
    }
}
