//! Frames of TDMA links.

use super::*;
use crate::link::config::Access;

/// Two aircraft on a frame of five slots of 10 ms, of which 9 ms carry 1125 B at 1 Mbit/s.
const RIGHT: &str = r#"
name = "tdma"
duration = "10 s"

[links.a]
between = ["ground", "one"]
kind = "tdma"
rate = "1 Mbit/s"
frame = { slots = 5, slot = "10 ms", guard = "1 ms", down_slots = [2, 0], up_slots = [1] }

[links.b]
between = ["ground", "two"]
kind = "tdma"
rate = "1 Mbit/s"
frame = { shares = "a", down_slots = [3], up_slots = [4] }

[[changes]]
at = "1 s"
link = "a"
rate = "2 Mbit/s"
"#;

#[test]
fn links_share_a_frame_and_take_packets_of_a_slot() {
    let scenario = parsed(RIGHT);
    let own: Vec<[Vec<u32>; 2]> = scenario
        .links
        .iter()
        .map(|link| {
            assert_eq!(link.config.mtu, 1125);
            [&link.config.down, &link.config.up].map(|direction| match &direction.access {
                Access::Slots(slots) => {
                    assert_eq!(slots.frame.slot, Duration::from_millis(10));
                    assert_eq!(slots.frame.guard, Duration::from_millis(1));
                    slots.own.clone()
                }
                other => panic!("{other:?}"),
            })
        })
        .collect();
    assert_eq!(own, [[vec![0, 2], vec![1]], [vec![3], vec![4]]]);
    // By default a slot carries a packet of 1500 B, and longer slots do not make longer packets.
    for (slot, mtu) in [("2.4 ms", 1500), ("5 ms", 1500), ("1 ms", 625)] {
        let link = format!(
            "[links.a]\nbetween = [\"x\", \"y\"]\nkind = \"tdma\"\nframe.slot = \"{slot}\""
        );
        let text = format!("name = \"t\"\nduration = \"1 s\"\n{link}");
        assert_eq!(parsed(&text).links[0].config.mtu, mtu);
    }
}

#[test]
fn mistakes_in_frames_are_told() {
    let mistakes = [
        (
            "shares = \"a\"",
            "shares = \"c\"",
            "links.b.frame.shares: unknown link with a frame of its own \"c\" (valid: a)",
        ),
        (
            "shares = \"a\"",
            "shares = \"a\", slots = 5",
            "links.b.frame.slots: belongs to the frame; give it at link \"a\"",
        ),
        (
            "down_slots = [3]",
            "down_slots = [2]",
            "links.b.frame.down_slots: has slot 2, which is also in down_slots of link \"a\"",
        ),
        (
            "down_slots = [2, 0]",
            "down_slots = [2, 2]",
            "links.a.frame.down_slots: has slot 2, which is also in down_slots of link \"a\"",
        ),
        (
            "up_slots = [4]",
            "up_slots = [5]",
            "links.b.frame.up_slots: has slot 5; expected slots of the frame, 0 to 4",
        ),
        (
            "up_slots = [4]",
            "up_slots = []",
            "links.b.frame.up_slots: is empty; expected at least one slot, 0 to 4",
        ),
        (
            "guard = \"1 ms\"",
            "guard = \"10 ms\"",
            "links.a.frame.guard: is not shorter than a slot, 0.01 s; expected less",
        ),
        (
            "guard = \"1 ms\"",
            "guard = \"9.5 ms\"",
            "links.a: has slots that carry packets of 62 B; expected at least 68 B: choose a longer slot, a shorter guard or a higher rate",
        ),
        (
            "kind = \"tdma\"",
            "kind = \"tdma\"\nmtu = \"1126 B\"",
            "links.a.mtu: is 1126 B, but a slot carries packets of up to 1125 B; expected at most these, or frame.fragmentation = true",
        ),
        (
            "rate = \"2 Mbit/s\"",
            "rate = \"900 kbit/s\"",
            "changes[0].mtu: is 1125 B, but a slot carries packets of up to 1012 B",
        ),
        (
            "kind = \"tdma\"\nrate = \"1 Mbit/s\"\nframe = { shares",
            "kind = \"wired\"\nframe = { shares",
            "links.b.frame: \"frame\" does not go with kind = \"wired\"; it goes with \"tdma\"",
        ),
    ];
    assert_mistakes_are_named(RIGHT, &mistakes);
    let cut = RIGHT.replace("up_slots = [1]", "up_slots = [1], fragmentation = true");
    assert_eq!(parsed(&cut).links[0].config.mtu, 1500);
}
