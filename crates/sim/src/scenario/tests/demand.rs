//! Return links on demand.

use super::*;
use crate::link::config::Access;
use crate::link::demand::{CarrierConfig, Grid, Rbdc, TerminalConfig};

/// Two terminals on a carrier of 1.472 Mbit/s: 50 slots of 184 B in 50 ms.
const RIGHT: &str = r#"
name = "demand"
duration = "10 min"

[links.a]
between = ["hub", "one"]
kind = "geo"
up = { rate = "1472 kbit/s" }
demand = { cra = "64 kbit/s", rbdc = "300 kbit/s", rbdc_timeout = 3 }

[links.b]
between = ["hub", "two"]
kind = "geo"
delay = "315 ms"
demand = { shares = "a", fca = true, vbdc = false }

[[changes]]
at = "1 s"
link = "a"
down = { rate = "2 Mbit/s" }
"#;

#[test]
fn a_carrier_has_its_terminals() {
    let scenario = parsed(RIGHT);
    let expected = CarrierConfig {
        grid: Grid {
            superframe: Duration::from_millis(50),
            slots: 50,
            slot_bytes: 184,
        },
        // 630 ms of the farther terminal, in whole superframes.
        control_loop: 13,
        terminals: vec![
            TerminalConfig {
                link: LinkIndex(0),
                cra: DataRate::from_bits_per_second(64_000),
                rbdc: Some(Rbdc {
                    maximum: 10,
                    timeout: 3,
                }),
                vbdc: true,
                fca: false,
            },
            TerminalConfig {
                link: LinkIndex(1),
                cra: DataRate::ZERO,
                rbdc: None,
                vbdc: false,
                fca: true,
            },
        ],
    };
    assert_eq!(scenario.carriers, [expected]);
    for link in &scenario.links {
        assert_eq!(link.config.up.rate.bits_per_second(), 1_472_000);
        assert_eq!(link.config.up.access, Access::OnDemand);
        assert_eq!(link.config.down.access, Access::Always);
    }
}

#[test]
fn mistakes_are_told() {
    let mistakes = [
        (
            "shares = \"a\"",
            "shares = \"c\"",
            "links.b.demand.shares: unknown link with a carrier of its own \"c\"",
        ),
        (
            "shares = \"a\"",
            "shares = \"b\"",
            "links.b.demand.shares: unknown link with a carrier of its own \"b\" (valid: a)",
        ),
        (
            "shares = \"a\"",
            "shares = \"a\", slot = \"48 B\"",
            "links.b.demand.slot: belongs to the carrier; give it at link \"a\"",
        ),
        (
            "delay = \"315 ms\"",
            "up = { rate = \"1 Mbit/s\" }",
            "links.b.demand.shares: cannot have an up.rate of its own; the carrier's is that of link \"a\"",
        ),
        (
            "delay = \"315 ms\"",
            "delay = \"1000 s\"",
            "links.b.demand.superframe: is so short that a request and its answer take 40000 superframes; expected at most 10000",
        ),
        (
            "fca = true, vbdc = false",
            "vbdc = false",
            "links.b.demand: gives the terminal no capacity; expected cra, rbdc, vbdc = true or fca = true",
        ),
        (
            "rbdc = \"300 kbit/s\"",
            "rbdc = \"20 kbit/s\"",
            "links.a.demand.rbdc: is 0 slots a superframe; expected 1 to 50, the carrier's",
        ),
        (
            "rbdc = \"300 kbit/s\", ",
            "",
            "links.a.demand.rbdc_timeout: goes with \"rbdc\", the highest rate for which the terminal may ask",
        ),
        (
            "rbdc_timeout = 3",
            "rbdc_timeout = 16",
            "links.a.demand.rbdc_timeout",
        ),
        (
            "fca = true, vbdc = false",
            "cra = \"1410 kbit/s\"",
            "links.b.demand.cra: makes 1474000 bit/s of constant rates on a carrier whose slots are 1472000 bit/s",
        ),
        (
            "cra = \"64 kbit/s\"",
            "slot = \"10 kB\"",
            "links.a.demand: makes 0 slots of 10000 B in a superframe of 0.05 s at 1472000 bit/s; expected 1 to 1000000",
        ),
        (
            "cra = \"64 kbit/s\"",
            "superframe = \"1 ns\"",
            "links.a.demand.superframe: would make 600000000000 superframes; choose a longer one",
        ),
        (
            "down = { rate = \"2 Mbit/s\" }",
            "rate = \"2 Mbit/s\"",
            "changes[0]: changes the rate of a carrier with capacity on demand, which is fixed",
        ),
        (
            "demand = { shares",
            "dama = { shares",
            "links.b.dama: unknown key \"dama\"; here it is \"demand\"",
        ),
        (
            "kind = \"geo\"\ndelay",
            "kind = \"dvb-rcs\"\ndelay",
            "unknown kind \"dvb-rcs\": here it is \"geo\" with the table \"demand\"",
        ),
    ];
    assert_mistakes_are_named(RIGHT, &mistakes);
}
