//! Frames of TDMA links in a scenario: their keys and their resolution.

use super::{Frame, Slots};
use crate::link::config::{Access, DirectionConfig, LinkConfig};
use crate::scenario::document::Path;
use crate::scenario::error::{quoted, seconds, unknown};
use crate::scenario::raw::Named;
use crate::scenario::raw_links::RawLink;
use crate::scenario::resolve::Report;
use crate::scenario::resolve_links::Links;
use crate::scenario::units::{PositiveTime, Time};
use baton_proto::time::Duration;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Fewest bytes that every IPv4 link must carry (RFC 791).
const LEAST_MTU: u64 = 68;

/// Frame of slots, and the link's own slots in it. Slots have numbers from 0.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct RawFrame {
    /// Link with the frame that this link shares; that link has the frame's slots, slot and guard. Default: a frame of
    /// its own.
    pub shares: Option<String>,
    /// Number of slots in a frame. Default 2.
    #[schemars(range(min = 1, max = 10_000))]
    pub slots: Option<u32>,
    /// Length of a slot. Default "2.4 ms".
    pub slot: Option<PositiveTime>,
    /// Time at the end of each slot in which nothing is sent. Default "0 s".
    pub guard: Option<Time>,
    /// Slots in which the first node sends. Default [0].
    pub down_slots: Option<Vec<u32>>,
    /// Slots in which the second node sends. Default [1].
    pub up_slots: Option<Vec<u32>>,
    /// If true, a packet is cut where a slot ends, and goes on in the next one. Default false.
    pub fragmentation: Option<bool>,
}

/// A TDMA link, as written.
struct Given<'a> {
    name: &'a str,
    raw: &'a RawFrame,
    has_mtu: bool,
    place: usize,
}

/// Gives TDMA links their slots, and those without an MTU of their own the largest packet that a slot carries.
pub(crate) fn frames(raw: &Named<RawLink>, links: &mut Links, report: &mut Report<'_>) {
    let top = Path::default().key("links");
    let given: Vec<Given<'_>> = raw.0.iter().filter_map(|one| given(one, links)).collect();
    let owners = given.iter().filter(|own| own.raw.shares.is_none());
    let owners: Vec<&str> = owners.map(|own| own.name).collect();
    let mut frames: BTreeMap<&str, Frame> = BTreeMap::new();
    for own in given.iter().filter(|own| own.raw.shares.is_none()) {
        let path = top.key(own.name).key("frame");
        if let Some(frame) = frame(own.raw, &path, report) {
            frames.insert(own.name, frame);
        }
    }
    // The transmitter of each slot of each frame.
    let mut taken: BTreeMap<(&str, u32), String> = BTreeMap::new();
    for own in &given {
        let (link, path) = (top.key(own.name), top.key(own.name).key("frame"));
        let owner = own.raw.shares.as_deref().unwrap_or(own.name);
        if own.raw.shares.is_some() {
            check_sharing(own.raw, owner, &path, report);
        }
        let Some((&owner, &frame)) = frames.get_key_value(owner) else {
            // A wrong frame of its owner is reported there.
            if !owners.contains(&owner) {
                let message = unknown("link with a frame of its own", owner, &owners);
                report.wrong(&path.key("shares"), message);
            }
            continue;
        };
        let mut access = |key: &str, numbers: &Option<Vec<u32>>, default: u32| {
            let numbers = numbers.clone().unwrap_or_else(|| vec![default]);
            let path = path.key(key);
            for &slot in &numbers {
                let by = format!("{key} of link {}", quoted(own.name));
                if let Some(other) = taken.insert((owner, slot), by) {
                    report.wrong(&path, format!("has slot {slot}, which is also in {other}"));
                }
            }
            own_slots(numbers, frame, &path, report).map(|numbers| {
                Access::Slots(Arc::new(Slots {
                    frame,
                    own: numbers,
                    fragmentation: own.raw.fragmentation.unwrap_or(false),
                }))
            })
        };
        let down = access("down_slots", &own.raw.down_slots, 0);
        let up = access("up_slots", &own.raw.up_slots, 1);
        let (Some(down), Some(up)) = (down, up) else {
            continue;
        };
        let config = &mut *links.specs[own.place].config;
        config.down.access = down;
        config.up.access = up;
        if !own.has_mtu && own.raw.fragmentation != Some(true) {
            config.mtu = config.mtu.min(largest_packet(config));
        }
        check_slots(config, &link, report);
    }
}

fn given<'a>((name, link): &'a (String, RawLink), links: &Links) -> Option<Given<'a>> {
    Some(Given {
        name,
        raw: link.kind.settings().frame()?,
        has_mtu: link.mtu.is_some(),
        place: links.link_places.get(name)?.0,
    })
}

fn frame(raw: &RawFrame, path: &Path, report: &mut Report<'_>) -> Option<Frame> {
    let slot = raw.slot.map_or(Duration::from_micros(2400), |slot| slot.0);
    let guard = raw.guard.map_or(Duration::ZERO, |guard| guard.0);
    if guard >= slot {
        let message = format!(
            "is not shorter than a slot, {}; expected less",
            seconds(slot)
        );
        report.wrong(&path.key("guard"), message);
        return None;
    }
    let slots = raw.slots.unwrap_or(2);
    Some(Frame { slots, slot, guard })
}

/// Reports keys of the frame at a link that shares another one's.
fn check_sharing(raw: &RawFrame, owner: &str, path: &Path, report: &mut Report<'_>) {
    let keys = [
        ("slots", raw.slots.is_some()),
        ("slot", raw.slot.is_some()),
        ("guard", raw.guard.is_some()),
    ];
    for (key, _) in keys.into_iter().filter(|(_, is_given)| *is_given) {
        let message = format!("belongs to the frame; give it at link {}", quoted(owner));
        report.wrong_key(&path.key(key), message);
    }
}

/// Returns a transmitter's slots in ascending order.
fn own_slots(
    mut numbers: Vec<u32>,
    frame: Frame,
    path: &Path,
    report: &mut Report<'_>,
) -> Option<Vec<u32>> {
    let last = frame.slots - 1;
    if numbers.is_empty() {
        let message = format!("is empty; expected at least one slot, 0 to {last}");
        report.wrong(path, message);
        return None;
    }
    if let Some(beyond) = numbers.iter().find(|&&slot| slot > last) {
        let message = format!("has slot {beyond}; expected slots of the frame, 0 to {last}");
        report.wrong(path, message);
        return None;
    }
    numbers.sort_unstable();
    Some(numbers)
}

/// Reports a TDMA link without fragmentation whose slots are too short for its packets.
pub(crate) fn check_slots(config: &LinkConfig, path: &Path, report: &mut Report<'_>) {
    let Access::Slots(slots) = &config.up.access else {
        return;
    };
    if config.adapts_code() && !slots.fragmentation {
        let message = "makes packets longer than a slot when the code gets stronger; expected a fixed parity, or frame.fragmentation = true";
        report.wrong(&path.key("coding"), message.to_owned());
        return;
    }
    let carried = largest_packet(config);
    if u64::from(carried) < LEAST_MTU {
        let message = format!(
            "has slots that carry packets of {carried} B; expected at least {LEAST_MTU} B: choose a longer slot, a shorter guard or a higher rate"
        );
        report.wrong(path, message);
    } else if !slots.fragmentation && config.mtu > carried {
        let message = format!(
            "is {} B, but a slot carries packets of up to {carried} B; expected at most these, or frame.fragmentation = true",
            config.mtu
        );
        report.wrong(&path.key("mtu"), message);
    }
}

/// Returns the length of the largest packet that a slot of either direction carries, in bytes.
fn largest_packet(config: &LinkConfig) -> u32 {
    let of = |direction: &DirectionConfig| match &direction.access {
        Access::Slots(slots) => {
            let bits = direction.rate.bits_in(slots.frame.burst());
            let bytes = bits / u64::from(direction.framing.bits_per_byte);
            let bytes = bytes.saturating_sub(u64::from(direction.framing.bytes_per_packet));
            let coding = direction.channel.coding;
            coding.map_or(bytes, |coding| coding.code.carried(bytes))
        }
        Access::Always | Access::OnDemand => u64::MAX,
    };
    let least = of(&config.down).min(of(&config.up));
    u32::try_from(least).unwrap_or(u32::MAX)
}
