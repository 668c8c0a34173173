//! Forward error correction of links.

use super::*;
use crate::link::coding::{Code, Coding, Loss};
use crate::link::config::LinkConfig;

/// A link with a code of each kind, one whose medium could have none, a TDMA link, and one on demand.
const RIGHT: &str = r#"
name = "coding"
duration = "10 s"

[links.air]
between = ["ground", "one"]
kind = "wired"
down = { coding = { parity = 32 } }
up = { coding = { loss = 1e-3 } }

[links.hall]
between = ["ground", "two"]
kind = "wifi"

[links.slots]
between = ["ground", "three"]
kind = "tdma"
coding = { parity = 32 }

[links.sky]
between = ["ground", "four"]
kind = "geo"
demand = {}

[[changes]]
at = "1 s"
link = "air"
down = { coding = "none" }
"#;

#[test]
fn a_link_has_a_code_in_each_direction() {
    let scenario = parsed(RIGHT);
    let codings =
        |config: &LinkConfig| [&config.down, &config.up].map(|direction| direction.channel.coding);
    let fixed = Coding {
        code: Code::with_parity(32).unwrap(),
        loss: None,
    };
    let adaptive = Coding {
        code: Code::WEAKEST,
        loss: Some(Loss::Of(1e-3)),
    };
    let air = codings(&scenario.links[0].config);
    assert_eq!(air, [Some(fixed), Some(adaptive)]);
    assert_eq!(codings(&scenario.changes[0].config), [None, Some(adaptive)]);
    // A slot of 1500 B: five codewords with 223 B of data, and one of 225 B with 193.
    assert_eq!(scenario.links[2].config.mtu, 5 * 223 + 193);
}

#[test]
fn mistakes_in_codes_are_told() {
    let mistakes = [
        (
            "down = { coding",
            "down = { fec",
            "links.air.down.fec: unknown key \"fec\"; here it is \"coding\"",
        ),
        (
            "parity = 32 } }",
            "parity = 33 } }",
            "links.air.down.coding.parity: is 33; expected an even number from 2 to 128",
        ),
        (
            "parity = 32 } }",
            "parity = 130 } }",
            "links.air.down.coding.parity",
        ),
        (
            "parity = 32 } }",
            "parity = 32, loss = 0.1 } }",
            "links.air.down.coding: has no strength, or several; expected one of parity, loss and by = \"transport\"",
        ),
        (
            "loss = 1e-3",
            "",
            "links.air.up.coding: has no strength, or several; expected one of parity, loss and by = \"transport\"",
        ),
        (
            "loss = 1e-3",
            "loss = 1e-3, by = \"transport\"",
            "links.air.up.coding: has no strength, or several",
        ),
        ("loss = 1e-3", "by = \"network\"", "links.air.up.coding.by"),
        (
            "kind = \"wifi\"",
            "kind = \"wifi\"\ncoding = { parity = 2 }",
            "links.hall.coding: does not go with medium access, whose frames have no such code; expected medium_access = false, or no coding",
        ),
        (
            "coding = { parity = 32 }\n\n",
            "coding = { loss = 0.1 }\n\n",
            "links.slots.coding: makes packets longer than a slot when the code gets stronger; expected a fixed parity, or frame.fragmentation = true",
        ),
        (
            "demand = {}",
            "demand = {}\nup = { coding = { parity = 2 } }",
            "links.sky.up.coding: does not go with capacity on demand, whose slots have a code of their own",
        ),
    ];
    assert_mistakes_are_named(RIGHT, &mistakes);
}
