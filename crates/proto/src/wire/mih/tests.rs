use super::service::MOST_LISTED;
use super::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<u8> = hexadecimal
        .chars()
        .filter_map(|one| one.to_digit(16))
        .map(|digit| digit as u8)
        .collect();
    digits.chunks(2).map(|two| two[0] << 4 | two[1]).collect()
}

fn message(body: Body) -> Mih {
    Mih::new(0x123, [b"mn", b"gw"].map(|name| MihfId::new(name)), body)
}

fn wifi() -> LinkIdentifier {
    LinkIdentifier::new(LinkIdentifier::IEEE_802_11, b"wifi")
}

fn request(step: Step, mobile: Option<MihfId>) -> Mih {
    message(Body::Handover(Handover {
        mobile,
        step,
        current: None,
        content: Content::Request(wifi()),
    }))
}

/// Checks a message laid out by hand: 4 bits of version, 4 of flags, 7 of fragment number and 1 reserved; 4 bits of
/// service (3, commands), 2 of operation (1, request), 10 of action (10, MN_HO_Complete); 4 reserved bits and 12 of
/// transaction; the length.
#[test]
fn a_message_as_the_standard_lays_it_out() {
    let complete = bytes(
        "10 00 34 0a 01 23 00 21  01 03 02 6d 6e  02 03 02 67 77  0d 08 12 05 04 63 65 6c 6c 00 \
         0e 08 13 05 04 77 69 66 69 00  28 01 00",
    );
    let message = message(Body::Handover(Handover {
        mobile: None,
        step: Step::Complete,
        current: Some(cell()),
        content: Content::Request(wifi()),
    }));
    assert_eq!(message.encode(), complete);
    assert_eq!(Mih::decode(&complete), Ok(message));
}

fn cell() -> LinkIdentifier {
    LinkIdentifier::new(LinkIdentifier::OTHER_WIRELESS, b"cell")
}

/// Checks each handover command and its response against the standard's list of its TLVs, in its order, as ODTONE has it
/// (for N2N_HO_Query_Resources with the mobile, which the standard leaves out). All lists have one link, and no class of
/// service.
#[test]
fn handover_commands_have_the_standard_s_tlvs() {
    let mobile = || Some(MihfId::new(b"mn"));
    let name = "34 04 02 6d 6e";
    let wifi_in = |kind: &str| format!("{kind} 08 13 05 04 77 69 66 69 00");
    let cell_in = |kind: &str| format!("{kind} 08 12 05 04 63 65 6c 6c 00");
    let candidates = "1f 09 01 13 05 04 77 69 66 69 00";
    let preferred = "20 13 01 13 05 04 77 69 66 69 00  00 00 00 00 00 00  00 00 00 00";
    let target = "04 01 13  37 07 01 05 04 77 69 66 69";
    let name = name.replace("34 04", "34 03");
    let no_quality = "21 06 00 00 00 00 00 00";
    for (identifier, step, mobile, current, request, response) in [
        (
            5,
            Step::Query,
            None,
            true,
            format!("{} {candidates} {no_quality}", cell_in("0d")),
            format!("03 01 00 {} {preferred}", cell_in("0d")),
        ),
        (
            6,
            Step::Query,
            mobile(),
            false,
            format!("{name} {no_quality}  19 08 01 13 05 04 77 69 66 69"),
            format!("03 01 00 {name}  29 01 01 {preferred}"),
        ),
        (
            7,
            Step::Commit,
            None,
            false,
            target.to_owned(),
            format!("03 01 00 {target}"),
        ),
        (
            9,
            Step::Commit,
            mobile(),
            false,
            format!(
                "{name}  3b 07 13 05 04 77 69 66 69  3c 06 05 04 77 69 66 69  3f 08 00 00 00 00 00 00 00 00"
            ),
            format!(
                "03 01 00 {name} {}  39 07 00 00 00 00 00 00 00",
                wifi_in("0d")
            ),
        ),
        (
            10,
            Step::Complete,
            None,
            true,
            format!("{} {}  28 01 00", cell_in("0d"), wifi_in("0e")),
            format!("03 01 00 {} {}", cell_in("0d"), wifi_in("0e")),
        ),
        (
            11,
            Step::Complete,
            mobile(),
            true,
            format!("{name} {} {}  28 01 00", cell_in("0d"), wifi_in("0e")),
            format!(
                "03 01 00 {name} {} {}  2a 01 00",
                cell_in("0d"),
                wifi_in("0e")
            ),
        ),
    ] {
        let asked = message(Body::Handover(Handover {
            mobile,
            step,
            current: current.then(cell),
            content: Content::Request(wifi()),
        }));
        let answer = asked.response(Status::Success).expect("a command");
        check((0x3400 | identifier, &request), &asked);
        check((0x3800 | identifier, &response), &answer);
        assert!(asked.is_answered_by(&answer));
    }
}

/// Checks the commands of the network in the same way, and a handover that is declined.
#[test]
fn commands_of_the_network_have_the_standard_s_tlvs() {
    let candidates = "1f 09 01 13 05 04 77 69 66 69 00";
    let query = Order::request(OrderStep::Query, wifi());
    let mut consent = query.response(Status::Success);
    consent.current = Some(cell());
    let commit = Order::request(OrderStep::Commit, wifi());
    let preferred = "20 13 01 13 05 04 77 69 66 69 00  00 00 00 00 00 00  00 00 00 00";
    for (identifier, order, tlvs) in [
        (0x3404, query.clone(), format!("{candidates}  35 01 00")),
        // Permitted (0).
        (
            0x3804,
            consent,
            format!("03 01 00  0d 08 12 05 04 63 65 6c 6c 00  22 01 00  {preferred}"),
        ),
        // Declined (1).
        (
            0x3804,
            query.response(Status::Rejected),
            "03 01 02  22 01 01".to_owned(),
        ),
        // A list of one target; no resources; at once.
        (
            0x3408,
            commit.clone(),
            "04 01 13  38 08 01 01 05 04 77 69 66 69  39 07 00 00 00 00 00 00 00  15 02 00 00"
                .to_owned(),
        ),
        (
            0x3808,
            commit.response(Status::Success),
            "03 01 00  04 01 13  37 07 01 05 04 77 69 66 69".to_owned(),
        ),
    ] {
        check((identifier, &tlvs), &message(Body::Order(order)));
    }
    // Declined with success, as in the standard's tables: read as rejected.
    let mut declined = message(Body::Order(query.response(Status::Rejected))).encode();
    let status = declined.len() - 4;
    declined[status] = 0;
    assert_eq!(
        Mih::decode(&declined).map(|read| read.body),
        Ok(Body::Order(query.response(Status::Rejected)))
    );
}

/// Checks that a message has these bytes after its ends.
fn check((identifier, tlvs): (u16, &str), message: &Mih) {
    let ends = [&message.source, &message.destination].map(MihfId::name);
    let [source, destination] = ends;
    let head = [
        &[1, 1 + source.len() as u8, source.len() as u8],
        source,
        &[2, 1 + destination.len() as u8, destination.len() as u8],
        destination,
    ]
    .concat();
    let tlvs = [head, bytes(tlvs)].concat();
    let length = tlvs.len() as u16;
    let [high, low] = identifier.to_be_bytes();
    let header = [
        0x10,
        0,
        high,
        low,
        0x01,
        0x23,
        (length >> 8) as u8,
        length as u8,
    ];
    let expected = [&header[..], &tlvs].concat();
    assert_eq!(message.encode(), expected, "{}", message.name());
    assert_eq!(Mih::decode(&expected).as_ref(), Ok(message));
}

/// Checks messages of the other services laid out by hand, from service, operation and action on, without the two ends.
#[test]
fn services_as_the_standard_lays_them_out() {
    let threshold = Threshold {
        rate: 1000,
        crossing: Crossing::Below,
    };
    let event = |change| {
        Body::Event(Event {
            link: wifi(),
            change,
        })
    };
    let link = "0d 08 13 05 04 77 69 66 69 00";
    for (identifier, body, tlvs) in [
        (0x1401, Body::Request(Request::Discover), String::new()),
        // The list has one link. The code asks for a new registration.
        (
            0x1402,
            Body::Request(Request::Register(vec![wifi()])),
            "19 08 01 13 05 04 77 69 66 69  0b 01 00".to_owned(),
        ),
        (
            0x1802,
            Body::Response(Response::Granted(Answer::Registered)),
            "03 01 00  0c 04 00 00 00 00".to_owned(),
        ),
        (0x1403, Body::Request(Request::Deregister), String::new()),
        (
            0x1803,
            Body::Response(Response::Granted(Answer::Deregistered)),
            "03 01 00".to_owned(),
        ),
        (
            0x1405,
            Body::Request(Request::Unsubscribe(wifi(), Events::DOWN)),
            format!("{link}  05 04 20 00 00 00"),
        ),
        (
            0x1805,
            Body::Response(Response::Granted(Answer::Unsubscribed(
                wifi(),
                Events::DOWN,
            ))),
            format!("03 01 00  {link}  05 04 20 00 00 00"),
        ),
        // States: the operation mode, bit 0 of 16; one parameter, the data rate; no description.
        (
            0x3401,
            Body::Request(Request::GetParameters(vec![wifi()])),
            "19 08 01 13 05 04 77 69 66 69  1b 07 80 00 01 00 00 00 00".to_owned(),
        ),
        // One state, the mode (0), powered down (2); one parameter, a value of two bytes.
        (
            0x3801,
            Body::Response(Response::Granted(Answer::Parameters(vec![LinkStatus {
                link: wifi(),
                mode: Some(OperationMode::PoweredDown),
                rate: Some(11_000),
            }]))),
            "03 01 00  1c 12 01 13 05 04 77 69 66 69  01 00 02  01 00 00 00 2a f8  00".to_owned(),
        ),
        // No point of attachment before; LINK_POWER_UP (4); the attribute LINK_SCAN, bit 0 of 8; at once.
        (
            0x3403,
            Body::Request(Request::Act(vec![LinkAction {
                link: wifi(),
                kind: ActionKind::PowerUp,
                scans: true,
            }])),
            "26 0d 01 13 05 04 77 69 66 69  00 04 80 00 00".to_owned(),
        ),
        // Success; a list of one found: address, network, and 70 per cent.
        (
            0x3803,
            Body::Response(Response::Granted(Answer::Acted(vec![ActionResult {
                link: wifi(),
                outcome: ActionOutcome::Success,
                scan: Some(vec![DetectedLink::new(b"ap", b"net", 70)]),
            }]))),
            "03 01 00  27 15 01 13 05 04 77 69 66 69  00 01 01  05 02 61 70  03 6e 65 74  01 46"
                .to_owned(),
        ),
        (
            0x4C02,
            Body::Push(vec![]),
            "30 07 01 01 10 00 03 00 00".to_owned(),
        ),
        // Bits 1 and 2, from the left: Link_Up and Link_Down.
        (
            0x1404,
            Body::Request(Request::Subscribe(
                wifi(),
                Events(Events::UP.0 | Events::DOWN.0),
            )),
            format!("{link}  05 04 60 00 00 00"),
        ),
        // One parameter, the data rate; no interval; a normal threshold; one threshold: 1000 kbit/s, below.
        (
            0x3402,
            Body::Request(Request::ConfigureThresholds(wifi(), vec![threshold])),
            format!("{link}  1d 09 01 00 00 00 00 01 03 e8 01"),
        ),
        (
            0x3802,
            Body::Response(Response::Granted(Answer::Configured(
                wifi(),
                vec![threshold],
            ))),
            format!("03 01 00  {link}  1e 07 01 00 00 03 e8 01 01"),
        ),
        (
            0x4801,
            Body::Response(Response::Refused(
                Service::Information,
                Status::Unauthorized,
            )),
            "03 01 03".to_owned(),
        ),
        (0x2C02, event(LinkChange::Up), link.to_owned()),
        (0x2C03, event(LinkChange::Down), format!("{link}  14 01 01")),
        // One report: the data rate, a value of two bytes, 999 kbit/s, and a threshold.
        (
            0x2C05,
            event(LinkChange::Rate {
                rate: 999,
                threshold,
            }),
            format!("{link}  17 0a 01 00 00 00 03 e7 01 03 e8 01"),
        ),
        (
            0x2C06,
            event(LinkChange::GoingDown),
            format!("{link}  15 02 00 00  16 01 01"),
        ),
    ] {
        check((identifier, &tlvs), &message(body));
    }
}

/// A query in SPARQL, for a schema's address or for a schema is read, so that it can be refused; one without a query is not.
#[test]
fn queries_of_an_rdf_database_are_known() {
    let binary = message(Body::Request(Request::GetInformation(Query::Binary))).encode();
    // After the two ends: the query, then the longest response.
    let read = |kind: u8| {
        let mut changed = binary.clone();
        changed[18] = kind;
        Mih::decode(&changed).map(|read| read.body)
    };
    let rdf = Body::Request(Request::GetInformation(Query::Rdf));
    for kind in [44, 45, 46] {
        assert_eq!(read(kind), Ok(rdf.clone()));
    }
    let missing = read(100).expect_err("no query").to_string();
    assert_eq!(missing, "MIH: field missing TLV holds 43");
}

/// Checks an information response laid out by hand: a list of one, with one element, the list of networks.
#[test]
fn information_as_the_standard_lays_it_out() {
    let router = "2001:db8::1".parse().expect("an address");
    let mut network = Network::new(wifi(), b"op", 11_000, router);
    network.channel = Some([2_401_000, 2_423_000]);
    let point = "10 00 02 00 06 05 04 77 69 66 69  10 00 02 02 08 00 24 a2 e8 00 24 f8 d8 \
                 10 00 02 05 13 00 02 10 20 01 0d b8 00 00 00 00 00 00 00 00 00 00 00 01";
    let network_type = "10 00 00 00 04 01 13 00 00";
    let operator = "10 00 00 01 04 02 6f 70 02";
    let rate = "10 00 01 06 04 00 00 2a f8";
    let network_bytes = format!("{network_type} {operator} {rate} 10 00 03 02 30 {point}");
    let list = format!("10 00 03 01 50 {network_bytes}");
    let body = Body::Response(Response::Granted(Answer::Information(vec![network])));
    let encoded = message(body.clone()).encode();
    let expected = bytes(&format!("03 01 00  30 5c 01 01 10 00 03 00 55 {list}"));
    assert_eq!(encoded[18..], expected);
    assert_eq!(Mih::decode(&encoded).map(|read| read.body), Ok(body));
}

/// An acknowledgement has the message's identifier and transaction, and the flag; a response may have the flag too.
#[test]
fn acknowledgements_are_told_from_responses() {
    let event = Mih {
        wants_acknowledgement: true,
        ..message(Body::Event(Event {
            link: wifi(),
            change: LinkChange::Up,
        }))
    };
    assert_eq!(event.encode()[0], 0x18);
    let expected = bytes("14 00 2c 02 01 23 00 0a  01 03 02 67 77  02 03 02 6d 6e");
    assert_eq!(event.acknowledgement().encode(), expected);
    assert_eq!(Mih::decode(&expected), Ok(event.acknowledgement()));
    let response = request(Step::Complete, None)
        .response(Status::Success)
        .expect("a command");
    let mut flagged = response.encode();
    flagged[0] |= 0x04;
    assert_eq!(Mih::decode(&flagged), Ok(response));
}

/// A response has no more networks than fit one packet.
#[test]
fn a_long_list_of_networks_is_cut() {
    let network = |number: u16| {
        let link = LinkIdentifier::new(19, &number.to_be_bytes());
        Network::new(link, b"operator", 1, core::net::Ipv6Addr::UNSPECIFIED)
    };
    let all: Vec<Network> = (0..100).map(network).collect();
    let body = Body::Response(Response::Granted(Answer::Information(all.clone())));
    let encoded = message(body).encode();
    assert!(encoded.len() <= 1280 - 48, "{} B", encoded.len());
    let read = Mih::decode(&encoded).expect("a message").body;
    let Body::Response(Response::Granted(Answer::Information(some))) = read else {
        panic!("{read:?}");
    };
    assert!(some.len() > 10);
    assert_eq!(some, all[..some.len()]);
}

/// Checks the action numbers of the standard's command service.
#[test]
fn each_message_has_its_number() {
    let mobile = Some(MihfId::new(b"mn"));
    for (step, between, action) in [
        (Step::Query, false, 5),
        (Step::Query, true, 6),
        (Step::Commit, false, 7),
        (Step::Commit, true, 9),
        (Step::Complete, false, 10),
        (Step::Complete, true, 11),
    ] {
        let request = request(step, mobile.clone().filter(|_| between));
        assert_eq!(u16_at(&request.encode(), 2), 0x3400 | action);
        let response = request.response(Status::Rejected).expect("a command");
        assert_eq!(u16_at(&response.encode(), 2), 0x3800 | action);
        assert_eq!(response.source, request.destination);
    }
}

#[test]
fn what_is_not_spoken_is_refused() {
    let right = request(Step::Commit, None).encode();
    let changed = |at: usize, to: u8| {
        let mut bytes = right.clone();
        bytes[at] = to;
        Mih::decode(&bytes).expect_err("wrong").to_string()
    };
    assert_eq!(changed(0, 0x20), "MIH: field version holds 2");
    // Unauthenticated information, more fragments, and a later fragment.
    assert_eq!(changed(0, 0x12), "MIH: field flags holds 512");
    assert_eq!(changed(0, 0x11), "MIH: field flags holds 256");
    assert_eq!(changed(1, 0x02), "MIH: field flags holds 2");
    assert_eq!(changed(2, 0x24), "MIH: field operation holds 1");
    assert_eq!(changed(2, 0x54), "MIH: field service holds 5");
    assert_eq!(changed(2, 0x3C), "MIH: field operation holds 3");
    assert_eq!(changed(3, 12), "MIH: field action holds 12");
    // Without its source TLV.
    assert_eq!(changed(8, 100), "MIH: field missing TLV holds 1");
    assert!(changed(7, 200).contains("are needed"));
}

/// Checks lengths by clause 8.4.2: up to 128 in one byte; a longer one follows the number of its bytes, less 128.
#[test]
fn long_tlvs_are_skipped() {
    let message = request(Step::Complete, None);
    for (length, coded) in [
        (128, vec![128]),
        (129, vec![129, 1]),
        (200, vec![129, 72]),
        (1000, vec![130, 3, 104]),
    ] {
        let mut whole = message.encode();
        whole.push(100);
        whole.extend(coded);
        whole.resize(whole.len() + length, 7);
        let payload = (whole.len() - 8) as u16;
        whole[6..8].copy_from_slice(&payload.to_be_bytes());
        assert_eq!(Mih::decode(&whole), Ok(message.clone()), "{length}");
    }
}

fn names() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..=LONGEST_NAME)
}

fn links() -> impl Strategy<Value = LinkIdentifier> {
    (any::<u8>(), names()).prop_map(|(kind, name)| LinkIdentifier::new(kind, &name))
}

fn handovers() -> impl Strategy<Value = Body> {
    let steps = prop::sample::select(vec![Step::Query, Step::Commit, Step::Complete]);
    let mobile = prop::option::of(names().prop_map(|name| MihfId::new(&name)));
    let parts = (
        mobile,
        steps,
        links(),
        prop::option::of(links()),
        prop::option::of(statuses()),
    );
    parts.prop_map(|(mobile, step, link, current, status)| {
        let mut handover = Handover {
            mobile,
            step,
            current: None,
            content: Content::Request(link),
        };
        if handover.has_current() {
            handover.current = current;
        }
        Body::Handover(match status {
            Some(status) => handover.response(status),
            None => handover,
        })
    })
}

fn orders() -> impl Strategy<Value = Body> {
    let steps = prop::sample::select(OrderStep::ALL.to_vec());
    let parts = (
        steps,
        links(),
        prop::option::of(links()),
        prop::option::of(statuses()),
    );
    parts.prop_map(|(step, link, current, status)| {
        let request = Order::request(step, link);
        Body::Order(match status {
            Some(status) => Order {
                current: current.filter(|_| step == OrderStep::Query),
                ..request.response(status)
            },
            None => request,
        })
    })
}

fn statuses() -> impl Strategy<Value = Status> {
    prop::sample::select(Status::ALL.to_vec())
}

fn thresholds() -> impl Strategy<Value = Threshold> {
    (any::<u16>(), any::<bool>()).prop_map(|(rate, above)| Threshold {
        rate,
        crossing: if above {
            Crossing::Above
        } else {
            Crossing::Below
        },
    })
}

fn events() -> impl Strategy<Value = Body> {
    let change = (any::<u16>(), thresholds())
        .prop_map(|(rate, threshold)| LinkChange::Rate { rate, threshold });
    let change = prop_oneof![
        Just(LinkChange::Up),
        Just(LinkChange::Down),
        Just(LinkChange::GoingDown),
        change,
    ];
    (links(), change).prop_map(|(link, change)| Body::Event(Event { link, change }))
}

fn networks() -> impl Strategy<Value = Vec<Network>> {
    let one = (
        links(),
        names(),
        any::<u32>(),
        any::<Option<[u32; 2]>>(),
        any::<u128>(),
    );
    let one = one.prop_map(|(link, operator, rate, channel, router)| {
        let mut network = Network::new(link, &operator, rate, router.into());
        network.channel = channel;
        network
    });
    // The longest ones fit a response.
    prop::collection::vec(one, 0..5)
}

type Commands = (Vec<LinkStatus>, Vec<LinkAction>, Vec<ActionResult>);

/// Creates lists of the parameters, actions and results of links.
fn commands() -> impl Strategy<Value = Commands> {
    let modes = vec![
        OperationMode::Normal,
        OperationMode::PowerSaving,
        OperationMode::PoweredDown,
    ];
    let modes = prop::option::of(prop::sample::select(modes));
    let status = (links(), modes, any::<Option<u16>>()).prop_map(|(link, mode, rate)| LinkStatus {
        link,
        mode,
        rate,
    });
    let kinds = vec![ActionKind::None, ActionKind::LowPower, ActionKind::PowerUp];
    let action = (links(), prop::sample::select(kinds), any::<bool>())
        .prop_map(|(link, kind, scans)| LinkAction { link, kind, scans });
    let outcomes = vec![ActionOutcome::Failure, ActionOutcome::Incapable];
    let found = (names(), names(), any::<u8>())
        .prop_map(|(address, network, strength)| DetectedLink::new(&address, &network, strength));
    let scan = prop::option::of(prop::collection::vec(found, 0..4));
    let result =
        (links(), prop::sample::select(outcomes), scan).prop_map(|(link, outcome, scan)| {
            ActionResult {
                link,
                outcome,
                scan,
            }
        });
    let some = || 0..=MOST_LISTED;
    (
        prop::collection::vec(status, some()),
        prop::collection::vec(action, some()),
        prop::collection::vec(result, some()),
    )
}

fn services() -> impl Strategy<Value = Body> {
    let listed = prop::collection::vec(links(), 0..=MOST_LISTED);
    let set = prop::collection::vec(thresholds(), 0..=MOST_LISTED);
    let parts = (
        links(),
        any::<u32>().prop_map(Events),
        listed,
        set,
        networks(),
        commands(),
    );
    let all = parts.prop_flat_map(|(link, events, links, set, networks, commands)| {
        let (statuses, actions, results) = commands;
        let requests = [
            Request::Discover,
            Request::Register(links.clone()),
            Request::Deregister,
            Request::Subscribe(link.clone(), events),
            Request::Unsubscribe(link.clone(), events),
            Request::GetParameters(links.clone()),
            Request::ConfigureThresholds(link.clone(), set.clone()),
            Request::Act(actions),
            Request::GetInformation(Query::Binary),
            Request::GetInformation(Query::Rdf),
        ];
        let answers = [
            Answer::Capabilities(Capabilities { links, events }),
            Answer::Registered,
            Answer::Deregistered,
            Answer::Subscribed(link.clone(), events),
            Answer::Unsubscribed(link.clone(), events),
            Answer::Parameters(statuses),
            Answer::Acted(results),
            Answer::Configured(link, set),
            Answer::Information(networks),
        ];
        let granted = answers.map(|answer| Body::Response(Response::Granted(answer)));
        let all = requests.map(Body::Request).into_iter().chain(granted);
        prop::sample::select(all.collect::<Vec<_>>())
    });
    let refusal = (prop::sample::select(Service::ALL.to_vec()), statuses());
    let refusal = refusal.prop_filter("a refusal", |(_, status)| *status != Status::Success);
    let refusals =
        refusal.prop_map(|(service, status)| Body::Response(Response::Refused(service, status)));
    prop_oneof![4 => all, 1 => refusals]
}

fn messages() -> impl Strategy<Value = Mih> {
    let bodies = prop_oneof![
        handovers(),
        orders(),
        networks().prop_map(Body::Push),
        events(),
        services(),
        any::<u16>().prop_map(|identifier| Body::Acknowledgement(MessageId(identifier))),
    ];
    let parts = (0..0x1000_u16, any::<bool>(), names(), names(), bodies);
    parts.prop_map(
        |(transaction, wants_acknowledgement, source, destination, body)| {
            let ends = [MihfId::new(&source), MihfId::new(&destination)];
            Mih {
                wants_acknowledgement,
                ..Mih::new(transaction, ends, body)
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_written_is_read(message in messages()) {
        prop_assert_eq!(Mih::decode(&message.encode()), Ok(message));
    }

    /// Checks messages truncated or changed in one place: each is refused, or encodes as it was decoded.
    #[test]
    fn nothing_panics_and_what_is_read_is_written_again(
        message in messages(),
        (at, to) in (any::<prop::sample::Index>(), any::<u8>()),
        end in any::<prop::sample::Index>(),
        junk in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let mut changed = message.encode();
        let at = at.index(changed.len());
        changed[at] = to;
        for bytes in [&changed[..], &changed[..end.index(changed.len())], &junk] {
            if let Ok(read) = Mih::decode(bytes) {
                prop_assert_eq!(Mih::decode(&read.encode()), Ok(read));
            }
        }
    }
}
