use super::*;
use crate::scenario;
use baton_proto::packet::{BitErrors, Body, Identity, IpHeader};

/// Returns one link between two nodes.
fn line() -> Scenario {
    let text = r#"
        name = "line"
        duration = "1 s"
        links.one = { between = ["a", "b"], kind = "wired", rate = "1 Mbit/s", delay = "1 ms" }
    "#;
    let loaded = scenario::parse(text, "test.toml", Path::new(""), &[]);
    loaded.unwrap().scenario
}

#[test]
fn relayed_captures_have_the_bytes_of_direct_ones() {
    let scenario = line();
    let (lost, all) = (LostRows::default(), CaptureSettings::default());
    let written = ["direct", "relayed"].map(|way| {
        let name = format!("baton-captures-{way}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let mut captures = match way {
            "direct" => Captures::create(&folder, &scenario, &all).unwrap(),
            _ => Captures::relayed(&folder, &scenario, &all, lost.clone()).unwrap(),
        };
        for number in 0..1_000 {
            let packet = packet(number);
            let at = Instant::from_millis(u64::from(number));
            captures.sent(at, 0, End::A, &packet);
            captures.received(at, 0, End::A, &packet);
        }
        let files = captures.files();
        captures.finish().unwrap();
        let bytes: Vec<Vec<u8>> = files
            .iter()
            .map(|file| std::fs::read(folder.join(file)).unwrap())
            .collect();
        std::fs::remove_dir_all(&folder).unwrap();
        (files, bytes)
    });
    assert_eq!(
        written[0].0,
        ["capture-a-one.pcapng", "capture-b-one.pcapng"]
    );
    assert!(written[0] == written[1]);
    assert!(written[0].1.iter().all(|bytes| bytes.len() > 1_000 * 20));
    assert_eq!(lost.count(), 0);
}

#[test]
fn only_the_interfaces_that_are_named_are_captured() {
    let scenario = line();
    let name = format!("baton-captures-chosen-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let of = |interfaces: &[&str]| CaptureSettings {
        interfaces: interfaces.iter().map(ToString::to_string).collect(),
        snap_length: None,
    };
    let mut captures = Captures::create(&folder, &scenario, &of(&["b-one"])).unwrap();
    captures.sent(Instant::ZERO, 0, End::A, &packet(1));
    captures.received(Instant::ZERO, 0, End::A, &packet(1));
    captures.finish().unwrap();
    let refused = Captures::create(&folder, &scenario, &of(&["a-one", "b-on"]))
        .err()
        .unwrap();
    let there: Vec<_> = std::fs::read_dir(&folder).unwrap().collect();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(there.len(), 1);
    assert_eq!(
        there[0].as_ref().unwrap().file_name(),
        "capture-b-one.pcapng"
    );
    assert_eq!(
        refused.to_string(),
        "captures: unknown interface \"b-on\"; did you mean \"b-one\"? (valid: a-one, b-one)"
    );
}

#[test]
fn an_interface_of_a_fleet_is_found_by_its_name() {
    let cell = |number: usize| {
        format!(
            "[links.radio.cells.c{number}]\nnode = \"ground\"\nposition = {{ latitude = 0, longitude = {number} }}\n"
        )
    };
    let text = format!(
        "name = \"fleet\"\nduration = \"1 s\"\n[links.line]\nbetween = [\"ground\", \"home\"]\nkind = \"wired\"\n\
         [links.radio]\nkind = \"ldacs1\"\n{}{}[mobiles.a]\ncount = 2\ntimetable = [{{ at = \"0 s\", attach = \"radio\" }}]\n\
         track.position = {{ latitude = 0, longitude = 0 }}\n",
        cell(0),
        cell(1)
    );
    let loaded = scenario::parse(&text, "test.toml", Path::new(""), &[]);
    let scenario = loaded.unwrap_or_else(|error| panic!("{error}")).scenario;
    let all: Vec<_> = interfaces(&scenario).collect();
    assert_eq!(all.len(), 2 * (1 + 2 * 2));
    for (link, end, name) in all {
        assert_eq!(
            interface_named(&scenario, &name),
            Some((link, end)),
            "{name}"
        );
    }
    for strange in [
        "ground-lin",
        "line",
        "home-radio.c0.a-1",
        "a-1-radio.c2.a-1",
        "-",
    ] {
        assert_eq!(interface_named(&scenario, strange), None, "{strange}");
    }
}

fn packet(identification: u16) -> Packet {
    Packet {
        ip: IpHeader {
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 2].into(),
            hop_limit: 64,
            traffic_class: 0,
            identification,
            dont_fragment: true,
        },
        body: Body::Opaque {
            protocol: 50,
            fragment: 0,
            bytes: Box::new([7; 20]),
        },
        flow: None,
        retransmission: false,
        bit_errors: BitErrors::NONE,
        identity: Identity::NONE,
    }
}
