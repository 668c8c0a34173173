//! Packets of every kind, for properties.

use super::*;
use crate::crosslayer::HandoverNotice;
use crate::wire::encapsulation::Encapsulation;
use crate::wire::extension::HomeAddresses;
use crate::wire::icmp::QuotedWithin;
use crate::wire::mobility_header::{
    Authenticator, BindingAcknowledgement, BindingError, BindingErrorStatus, BindingLifetime,
    BindingStatus, BindingUpdate, HandoverAcknowledge, HandoverCode, HandoverInitiate,
    Ipv4AddressAcknowledgement, Ipv4AddressStatus, Ipv4HomeAddress, NatDetection, NonceIndices,
    PacketBuffering, PathReport, RoutabilityTest, Timestamp,
};
use crate::wire::multicast_listener::{
    MulticastAddressRecord, MulticastListenerReport, REPORT_DESTINATION, RecordKind,
};
use crate::wire::neighbor_discovery::{
    ALL_NODES, AnchorPoint, HomeAgentInformation, LinkLayerAddress, NeighborAdvertisement,
    NeighborDiscovery, NeighborSolicitation, PrefixInformation, ProxyAdvertisement, ProxyRouter,
    ProxySolicitation, RouterAdvertisement, RouterSolicitation,
};
use crate::wire::prefix::Ipv6Prefix;
use proptest::collection::vec;
use proptest::option;
use proptest::sample::select;

fn any_ip() -> impl Strategy<Value = IpHeader> {
    (
        any::<bool>(),
        any::<(u128, u128)>(),
        any::<(u8, u8, u16, bool)>(),
    )
        .prop_map(|(v4, (source, destination), rest)| {
            let address = |bits: u128| match v4 {
                true => IpAddr::V4(Ipv4Addr::from(bits as u32)),
                false => IpAddr::V6(Ipv6Addr::from(bits)),
            };
            let (hop_limit, traffic_class, identification, dont_fragment) = rest;
            IpHeader {
                source: address(source),
                destination: address(destination),
                hop_limit,
                traffic_class,
                identification: if v4 { identification } else { 0 },
                dont_fragment: dont_fragment || !v4,
            }
        })
}

fn any_payload() -> impl Strategy<Value = Payload> + Clone {
    vec(any::<u8>(), 0..300).prop_map(|bytes| Payload::from_slice(&bytes))
}

fn any_tcp() -> impl Strategy<Value = TcpHeader> {
    (
        any::<(u16, u16, u32, u32, u8, u16)>(),
        (any::<Option<u16>>(), option::of(0u8..=14)),
        any::<bool>(),
        any::<Option<(u32, u32)>>(),
        (
            vec(any::<(u32, u32)>(), 0..=4),
            any::<Option<(core::num::NonZeroU8, u16)>>(),
            any::<Option<(u8, u32, u32)>>(),
        ),
    )
        .prop_map(
            |(fixed, (size, scale), permitted, timestamps, (blocks, notice, count))| {
                let mut options = TcpOptions {
                    maximum_segment_size: size,
                    window_scale: scale,
                    sack_permitted: permitted,
                    timestamps: timestamps.map(|(value, echo)| Timestamps { value, echo }),
                    sack: SackBlocks::default(),
                    notice: notice.map(|(number, outstanding)| HandoverNotice {
                        number,
                        outstanding,
                    }),
                    snack_permitted: permitted,
                };
                if let Some((kind, own, echo)) = count {
                    let mut more = options;
                    more.sack.set_connection_count(match kind % 3 {
                        0 => ConnectionCount::Count(own),
                        1 => ConnectionCount::New(own),
                        _ => ConnectionCount::Echo { own, echo },
                    });
                    if more.wire_length() > options.wire_length() {
                        options = more;
                    }
                }
                if let (Some(size), Some(scale), true, None) = (size, scale, permitted, count) {
                    let offset = scale.into();
                    let mut more = options;
                    more.sack = SackBlocks::negative(Snack { offset, size });
                    if more.wire_length() > options.wire_length() {
                        options = more;
                    }
                }
                for (first, after_last) in blocks {
                    let mut more = options;
                    more.sack
                        .push(SequenceNumber(first), SequenceNumber(after_last));
                    if more.wire_length() > options.wire_length() {
                        options = more;
                    }
                }
                let (source_port, destination_port, sequence, acknowledgment, flags, window) =
                    fixed;
                TcpHeader {
                    source_port,
                    destination_port,
                    sequence: SequenceNumber(sequence),
                    acknowledgment: SequenceNumber(acknowledgment),
                    flags: TcpFlags(flags),
                    window,
                    options,
                }
            },
        )
}

fn any_icmp() -> impl Strategy<Value = IcmpMessage> {
    let echo =
        (any::<(u16, u16)>(), any_payload()).prop_map(|((identifier, sequence), data)| Echo {
            identifier,
            sequence,
            data,
        });
    let kind = prop_oneof![
        (0..=0xFFFFu32).prop_map(|mtu| IcmpError::PacketTooBig { mtu }),
        Just(IcmpError::Unreachable),
        Just(IcmpError::ProtocolUnreachable),
        Just(IcmpError::PortUnreachable),
        Just(IcmpError::TimeExceeded),
        Just(IcmpError::BadState),
        any::<u32>().prop_map(|rate| IcmpError::Backpressure { rate }),
    ];
    let quoted = (any_ip(), any::<(u16, u16, u32)>(), any::<u8>()).prop_map(
        |(ip, (source_port, destination_port, sequence), protocol)| {
            let ports = protocol == protocol::TCP || protocol == protocol::UDP;
            QuotedPacket {
                source: ip.source,
                destination: ip.destination,
                protocol,
                source_port: if ports { source_port } else { 0 },
                destination_port: if ports { destination_port } else { 0 },
                sequence: if protocol == protocol::TCP {
                    sequence
                } else {
                    0
                },
                within: None,
            }
        },
    );
    prop_oneof![
        echo.clone().prop_map(IcmpMessage::EchoRequest),
        echo.prop_map(IcmpMessage::EchoReply),
        (kind, any_quoted(quoted)).prop_map(|(kind, quoted)| IcmpMessage::Error { kind, quoted }),
    ]
}

fn any_plain() -> impl Strategy<Value = Packet> {
    let ports = any::<(u16, u16)>().prop_map(|(source_port, destination_port)| UdpHeader {
        source_port,
        destination_port,
    });
    let body = prop_oneof![
        (any_tcp(), any_payload()).prop_map(|(header, payload)| Body::Tcp(header, payload)),
        (ports, any_payload()).prop_map(|(header, payload)| Body::Udp(header, payload)),
        any_icmp().prop_map(Body::Icmp),
    ];
    (any_ip(), body).prop_map(|(ip, body)| Packet {
        ip,
        body,
        flow: None,
        retransmission: false,
        bit_errors: BitErrors::NONE,
        identity: Identity::NONE,
    })
}

/// Returns quotations, with headers before the transport.
fn any_quoted(
    plain: impl Strategy<Value = QuotedPacket> + 'static,
) -> impl Strategy<Value = QuotedPacket> {
    let plain = plain.boxed();
    let addresses =
        (option::of(any_v6()), option::of(any_v6())).prop_map(|(source, destination)| {
            HomeAddresses {
                source,
                destination,
            }
        });
    let of_mobile = (plain.clone(), addresses).prop_map(|(mut quoted, addresses)| {
        if quoted.source.is_ipv6() && !addresses.is_empty() {
            quoted.within = Some(Box::new(QuotedWithin::HomeAddresses(addresses)));
        }
        quoted
    });
    let form = select(
        &[
            protocol::MINIMAL_ENCAPSULATION,
            protocol::GENERIC_ENCAPSULATION,
            0,
        ][..],
    );
    let tunnel = (any_ip(), of_mobile.clone(), form).prop_map(|(ip, inner, form)| QuotedPacket {
        source: ip.source,
        destination: ip.destination,
        protocol: match (inner.source.is_ipv4(), form) {
            (false, _) => protocol::IPV6,
            (true, form) if form > 0 && ip.source.is_ipv4() => form,
            (true, _) => protocol::IPV4,
        },
        source_port: 0,
        destination_port: 0,
        sequence: 0,
        within: Some(Box::new(QuotedWithin::Tunnel(inner))),
    });
    prop_oneof![plain, of_mobile, tunnel]
}

fn any_v6() -> impl Strategy<Value = Ipv6Addr> + Clone {
    any::<u128>().prop_map(Ipv6Addr::from_bits)
}

fn any_unicast() -> impl Strategy<Value = Ipv6Addr> + Clone {
    any_v6().prop_filter("unicast", |address| {
        !address.is_multicast() && !address.is_unspecified()
    })
}

fn any_prefix() -> impl Strategy<Value = Ipv6Prefix> {
    (any_v6(), 0..=128u8).prop_filter_map("a length", |(address, length)| {
        Ipv6Prefix::new(address, length)
    })
}

fn any_link_layer() -> impl Strategy<Value = Option<LinkLayerAddress>> + Clone {
    any::<Option<[u8; 6]>>().prop_map(|address| address.map(LinkLayerAddress))
}

fn any_prefix_information() -> impl Strategy<Value = PrefixInformation> {
    (
        any_prefix(),
        any::<(bool, bool)>(),
        option::of(any_v6()),
        any::<(u32, u32)>(),
    )
        .prop_map(
            |(prefix, (on_link, autonomous), router, lifetimes)| PrefixInformation {
                prefix,
                on_link,
                autonomous,
                router_address: router.map(|router| prefix.address_of(router)),
                valid_lifetime_s: lifetimes.0,
                preferred_lifetime_s: lifetimes.1,
            },
        )
}

fn any_anchor_point() -> impl Strategy<Value = AnchorPoint> {
    (0..16u8, 0..16u8, any::<(bool, u32)>(), any_v6()).prop_map(
        |(distance, preference, (forms_addresses, valid_lifetime_s), address)| AnchorPoint {
            distance,
            preference,
            forms_addresses,
            valid_lifetime_s,
            address,
        },
    )
}

fn any_router_advertisement() -> impl Strategy<Value = RouterAdvertisement> {
    (
        any::<(u8, bool, bool, bool, u16, u32, u32)>(),
        any_link_layer(),
        vec(any_prefix_information(), 0..4),
        any::<(Option<u32>, Option<u32>)>(),
        any::<Option<(u16, core::num::NonZeroU16)>>(),
        vec(any_anchor_point(), 0..3),
    )
        .prop_map(
            |(fixed, source, prefixes, (mtu, interval), home_agent, anchor_points)| {
                RouterAdvertisement {
                    anchor_points,
                    hop_limit: fixed.0,
                    managed_addresses: fixed.1,
                    other_configuration: fixed.2,
                    home_agent: fixed.3,
                    router_lifetime_s: fixed.4,
                    reachable_time_ms: fixed.5,
                    retransmission_time_ms: fixed.6,
                    source_link_layer_address: source,
                    mtu,
                    prefixes,
                    advertisement_interval_ms: interval,
                    home_agent_information: home_agent.map(|(preference, lifetime_s)| {
                        HomeAgentInformation {
                            preference,
                            lifetime_s,
                        }
                    }),
                }
            },
        )
}

fn any_discovery() -> impl Strategy<Value = NeighborDiscovery> {
    prop_oneof![
        any_link_layer().prop_map(|source_link_layer_address| {
            NeighborDiscovery::RouterSolicitation(RouterSolicitation {
                source_link_layer_address,
            })
        }),
        any_router_advertisement().prop_map(NeighborDiscovery::RouterAdvertisement),
        (any_unicast(), any_link_layer()).prop_map(|(target, source_link_layer_address)| {
            NeighborDiscovery::NeighborSolicitation(NeighborSolicitation {
                target,
                source_link_layer_address,
            })
        }),
        (any_unicast(), any::<(bool, bool)>(), any_link_layer()).prop_map(
            |(target, (router, overrides), target_link_layer_address)| {
                NeighborDiscovery::NeighborAdvertisement(NeighborAdvertisement {
                    target,
                    router,
                    solicited: false,
                    overrides,
                    target_link_layer_address,
                })
            }
        ),
        any::<(u16, [u8; 6])>().prop_map(|(identifier, access_point)| {
            NeighborDiscovery::ProxySolicitation(ProxySolicitation {
                identifier,
                access_point: LinkLayerAddress(access_point),
            })
        }),
        (
            any::<(u16, [u8; 6])>(),
            option::of((any_unicast(), any_prefix())),
        )
            .prop_map(|((identifier, access_point), router)| {
                NeighborDiscovery::ProxyAdvertisement(ProxyAdvertisement {
                    identifier,
                    access_point: LinkLayerAddress(access_point),
                    router: router.map(|(address, prefix)| ProxyRouter { address, prefix }),
                })
            }),
    ]
}

fn any_report() -> impl Strategy<Value = MulticastListenerReport> {
    let kind = proptest::sample::select(
        &[
            RecordKind::ModeIsInclude,
            RecordKind::ModeIsExclude,
            RecordKind::ChangeToInclude,
            RecordKind::ChangeToExclude,
            RecordKind::AllowNewSources,
            RecordKind::BlockOldSources,
        ][..],
    );
    let record = (kind, any_v6(), vec(any_v6(), 0..4)).prop_map(|(kind, address, sources)| {
        MulticastAddressRecord {
            kind,
            address,
            sources,
        }
    });
    vec(record, 0..4).prop_map(|records| MulticastListenerReport { records })
}

fn any_authenticator() -> impl Strategy<Value = Authenticator> {
    prop_oneof![
        any::<[u8; 12]>().prop_map(Authenticator::BindingAuthorization),
        any::<(u32, [u8; 12])>().prop_map(|(security_parameter_index, data)| {
            Authenticator::MobileHomeAgent {
                security_parameter_index,
                data,
            }
        }),
    ]
}

fn any_buffering() -> impl Strategy<Value = PacketBuffering> {
    prop_oneof![
        Just(PacketBuffering::Forward),
        Just(PacketBuffering::Buffer)
    ]
}

/// Returns home addresses with a prefix length of six bits.
fn any_ipv4_home_address() -> impl Strategy<Value = Ipv4HomeAddress> {
    (any::<u32>(), 0..64u8, any::<bool>()).prop_map(|(address, prefix_length, asks_for_prefix)| {
        Ipv4HomeAddress {
            address: Ipv4Addr::from_bits(address),
            prefix_length,
            asks_for_prefix,
        }
    })
}

fn any_ipv4_acknowledgement() -> impl Strategy<Value = Ipv4AddressAcknowledgement> {
    (any::<u8>(), 0..64u8, any::<u32>()).prop_map(|(status, prefix_length, address)| {
        Ipv4AddressAcknowledgement {
            status: Ipv4AddressStatus(status),
            prefix_length,
            address: Ipv4Addr::from_bits(address),
        }
    })
}

/// Returns updates, boxed: otherwise the strategies for packets would exceed a thread's stack.
fn any_update() -> BoxedStrategy<BindingUpdate> {
    (
        any::<(u16, bool, bool, bool, bool, bool, u16)>(),
        option::of(any_v6()),
        any::<Option<(u16, u16)>>(),
        (
            vec(any_prefix(), 0..=BindingUpdate::MAXIMUM_PREFIXES - 8),
            vec(any_ipv4_home_address(), 0..=8),
        ),
        any::<(Option<u64>, Option<(u32, u32, u16)>)>(),
        any::<([bool; 2], Option<[u8; 4]>, Option<u64>)>(),
        option::of(any_buffering()),
        option::of(any_authenticator()),
    )
        .prop_map(
            |(
                fixed,
                care_of,
                indices,
                (prefixes, ipv4_home_addresses),
                (last_received, report),
                ([forces_udp_encapsulation, anchor_registration], ipv4_care_of, timestamp),
                buffering,
                authenticator,
            )| {
                BindingUpdate {
                    sequence: fixed.0,
                    acknowledge: fixed.1,
                    home_registration: fixed.2,
                    link_local_compatible: fixed.3,
                    key_management_mobility: fixed.4,
                    anchor_registration,
                    mobile_router: fixed.5,
                    forces_udp_encapsulation,
                    lifetime: BindingLifetime { units: fixed.6 },
                    alternate_care_of_address: care_of,
                    nonce_indices: indices.map(|(home, care_of)| NonceIndices { home, care_of }),
                    mobile_network_prefixes: prefixes,
                    ipv4_home_addresses,
                    ipv4_care_of_address: ipv4_care_of.map(Into::into),
                    packet_buffering: buffering,
                    last_received,
                    path_report: report.map(|(sent, rate, queue_packets)| PathReport {
                        sent,
                        rate,
                        queue_packets,
                    }),
                    timestamp: timestamp.map(Timestamp),
                    authenticator,
                }
            },
        )
        .boxed()
}

fn any_acknowledgement() -> impl Strategy<Value = BindingAcknowledgement> {
    (
        any::<(u8, bool, bool, u16, u16)>(),
        any::<Option<u16>>(),
        option::of(any_buffering()),
        vec(
            any_ipv4_acknowledgement(),
            0..=BindingUpdate::MAXIMUM_PREFIXES,
        ),
        any::<(Option<(bool, u32)>, Option<u64>)>(),
        option::of(any_authenticator()),
    )
        .prop_map(
            |(
                fixed,
                advice,
                packet_buffering,
                ipv4_acknowledgements,
                (nat_detection, timestamp),
                authenticator,
            )| {
                BindingAcknowledgement {
                    status: BindingStatus(fixed.0),
                    key_management_mobility: fixed.1,
                    mobile_router: fixed.2,
                    sequence: fixed.3,
                    lifetime: BindingLifetime { units: fixed.4 },
                    refresh_advice: advice.map(|units| BindingLifetime { units }),
                    packet_buffering,
                    ipv4_acknowledgements,
                    nat_detection: nat_detection.map(
                        |(forces_udp_encapsulation, refresh_time_s)| NatDetection {
                            forces_udp_encapsulation,
                            refresh_time_s,
                        },
                    ),
                    timestamp: timestamp.map(Timestamp),
                    authenticator,
                }
            },
        )
}

pub(super) fn any_mobility() -> impl Strategy<Value = MobilityMessage> {
    let test = any::<(u16, [u8; 8], [u8; 8])>().prop_map(|(nonce_index, cookie, keygen_token)| {
        RoutabilityTest {
            nonce_index,
            cookie,
            keygen_token,
        }
    });
    let status = prop_oneof![
        Just(BindingErrorStatus::UnknownBinding),
        Just(BindingErrorStatus::UnrecognizedType),
    ];
    prop_oneof![
        Just(MobilityMessage::BindingRefreshRequest),
        any::<[u8; 8]>().prop_map(|cookie| MobilityMessage::HomeTestInit { cookie }),
        any::<[u8; 8]>().prop_map(|cookie| MobilityMessage::CareOfTestInit { cookie }),
        test.clone().prop_map(MobilityMessage::HomeTest),
        test.prop_map(MobilityMessage::CareOfTest),
        any_update().prop_map(MobilityMessage::BindingUpdate),
        any_acknowledgement().prop_map(MobilityMessage::BindingAcknowledgement),
        any_update().prop_map(MobilityMessage::FastBindingUpdate),
        any_acknowledgement().prop_map(MobilityMessage::FastBindingAcknowledgement),
        (any::<(u16, bool)>(), any_unicast(), any_unicast()).prop_map(
            |((sequence, buffers), previous_care_of_address, new_care_of_address)| {
                MobilityMessage::HandoverInitiate(HandoverInitiate {
                    sequence,
                    buffers,
                    previous_care_of_address,
                    new_care_of_address,
                })
            }
        ),
        any::<(u16, u8)>().prop_map(|(sequence, code)| {
            MobilityMessage::HandoverAcknowledge(HandoverAcknowledge {
                sequence,
                code: HandoverCode(code),
            })
        }),
        (status, option::of(any_unicast())).prop_map(|(status, home_address)| {
            MobilityMessage::BindingError(BindingError {
                status,
                home_address,
            })
        }),
    ]
}

fn packet_of(ip: IpHeader, body: Body) -> Packet {
    Packet {
        ip,
        body,
        flow: None,
        retransmission: false,
        bit_errors: BitErrors::NONE,
        identity: Identity::NONE,
    }
}

/// Packets on a link: discovery and reports.
fn any_of_link() -> impl Strategy<Value = Packet> {
    let link_local = any::<u64>()
        .prop_map(|interface| Ipv6Addr::from_bits(0xFE80 << 112 | u128::from(interface)));
    let body = prop_oneof![
        any_discovery().prop_map(|message| IcmpMessage::NeighborDiscovery(message.into())),
        any_report().prop_map(|report| IcmpMessage::MulticastListenerReport(Box::new(report))),
    ];
    (link_local, body).prop_map(|(source, message)| {
        let destination = match message {
            IcmpMessage::NeighborDiscovery(_) => ALL_NODES,
            _ => REPORT_DESTINATION,
        };
        let ip = IpHeader {
            source: source.into(),
            destination: destination.into(),
            hop_limit: message.required_hop_limit().expect("both have one"),
            traffic_class: 0,
            identification: 0,
            dont_fragment: true,
        };
        packet_of(ip, Body::Icmp(message))
    })
}

/// Packets over IPv6 with Mobility Headers and extension headers, in any combination.
fn any_mobile() -> impl Strategy<Value = Packet> {
    let packet = prop_oneof![
        any_plain(),
        (any_ip(), any_mobility())
            .prop_map(|(ip, message)| packet_of(ip, Body::Mobility(Box::new(message)))),
    ]
    .prop_filter("IPv6", |packet| packet.ip.source.is_ipv6());
    let addresses = (option::of(any_v6()), option::of(any_v6()));
    (packet, addresses).prop_map(|(mut packet, (home_address, routing_home_address))| {
        if home_address.or(routing_home_address).is_some() {
            packet.body = Body::Extended(Box::new(Extended {
                home_address,
                routing_home_address,
                body: packet.body,
            }));
        }
        packet
    })
}

/// Packets with typed headers, in up to three tunnels.
pub(super) fn any_packet() -> impl Strategy<Value = Packet> {
    let bare = prop_oneof![4 => any_plain(), 1 => any_of_link(), 3 => any_mobile()];
    let forms = vec![
        Encapsulation::IpInIp,
        Encapsulation::Minimal,
        Encapsulation::Generic,
    ];
    let tunnel = (any_ip(), select(forms));
    (bare, vec(tunnel, 0..=3))
        .prop_map(|(packet, tunnels)| tunnels.into_iter().fold(packet, within))
}

/// Puts a packet into a tunnel; one over IPv6 always into IP in IP.
fn within(inner: Packet, (outer, form): (IpHeader, Encapsulation)) -> Packet {
    let is_v4 = inner.ip.source.is_ipv4() && outer.source.is_ipv4();
    let form = match form {
        Encapsulation::Minimal if !inner.fits_minimal_encapsulation() => Encapsulation::IpInIp,
        form if is_v4 => form,
        _ => Encapsulation::IpInIp,
    };
    let packet = packet_of(outer, Body::encapsulate(inner, form));
    as_carried(packet)
}

/// Gives the packet in a minimal encapsulation the fields that its outer header shows.
fn as_carried(mut packet: Packet) -> Packet {
    if let Body::Minimal(inner) = packet.body {
        let inner = Packet {
            ip: IpHeader {
                source: inner.ip.source,
                destination: inner.ip.destination,
                ..packet.ip
            },
            ..*inner
        };
        packet.body = Body::Minimal(Box::new(as_carried(inner)));
    }
    packet
}
