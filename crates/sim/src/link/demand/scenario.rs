//! Capacity on demand in a scenario: its keys and their resolution.

use super::{CarrierConfig, Grid, Rbdc, TerminalConfig};
use crate::link::config::Access;
use crate::scenario::document::Path;
use crate::scenario::error::{quoted, seconds, unknown};
use crate::scenario::model::LinkIndex;
use crate::scenario::raw::Named;
use crate::scenario::raw_links::RawLink;
use crate::scenario::resolve::{MOST_EVENTS, Report};
use crate::scenario::resolve_links::Links;
use crate::scenario::units::{PositiveTime, Rate, Size};
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Most slots in a superframe.
const MOST_SLOTS: u64 = 1_000_000;
/// Most superframes from a request to the one for which it counts.
const MOST_UNDER_WAY: u64 = 10_000;

/// Capacity on demand, as in DVB-RCS. The terminal is at the second node; the rate of `up` is that of its carrier.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawDemand {
    /// Link with the carrier that this terminal shares; that link has the carrier's rate, superframe and slot. Default:
    /// a carrier of its own.
    pub shares: Option<String>,
    /// Length of a superframe: once in each, a terminal asks for capacity and gets some. Default "50 ms".
    pub superframe: Option<PositiveTime>,
    /// Bytes that a slot carries. Default "184 B".
    pub slot: Option<Size>,
    /// Constant rate assignment (CRA): the terminal's in each superframe, without a request. Default "0 bit/s".
    pub cra: Option<Rate>,
    /// Highest rate for which the terminal may ask (rate-based dynamic capacity, RBDC). Default: it may not.
    pub rbdc: Option<Rate>,
    /// Superframes for which a requested rate stands without another request. Default 2.
    #[schemars(range(min = 1, max = 15))]
    pub rbdc_timeout: Option<u32>,
    /// If true, the terminal asks for what it has to send beyond its rates (volume-based dynamic capacity, VBDC).
    /// Default true.
    pub vbdc: Option<bool>,
    /// If true, the terminal shares capacity that nobody has asked for (free capacity assignment, FCA). Default false.
    pub fca: Option<bool>,
}

/// Resolves the carriers of links on demand.
pub(crate) fn carriers(
    raw: &Named<RawLink>,
    links: &mut Links,
    end: Instant,
    report: &mut Report<'_>,
) -> Vec<CarrierConfig> {
    let top = Path::default().key("links");
    let given: Vec<Given<'_>> = raw.0.iter().filter_map(|one| given(one, links)).collect();
    let mut carriers: Vec<CarrierConfig> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for own in given.iter().filter(|own| own.raw.shares.is_none()) {
        let path = top.key(own.name).key("demand");
        let rate = links.specs[own.link.0].config.up.rate;
        if let Some(grid) = grid(own.raw, rate, end, &path, report) {
            places.insert(own.name, carriers.len());
            let (control_loop, terminals) = (1, Vec::new());
            carriers.push(CarrierConfig {
                grid,
                control_loop,
                terminals,
            });
        }
    }
    for own in &given {
        let path = top.key(own.name).key("demand");
        let sharing = own.raw.shares.as_deref();
        let Some(&place) = places.get(sharing.unwrap_or(own.name)) else {
            if let Some(owner) = sharing {
                no_carrier(owner, &given, &path, report);
            }
            continue;
        };
        let carrier = &mut carriers[place];
        if let Some(owner) = sharing {
            let rate = own.link_raw.up.rate.is_some();
            check_sharing(own.raw, rate, owner, &path, report);
        }
        let Some(terminal) = terminal(own, &carrier.grid, &path, report) else {
            continue;
        };
        let up = &links.specs[own.link.0].config.up;
        if up.channel.coding.is_some() {
            let message = "does not go with capacity on demand, whose slots have a code of their own; expected no coding";
            let path = top.key(own.name).key("up").key("coding");
            report.wrong_key(&path, message.to_owned());
        }
        let superframe = carrier.grid.superframe.as_nanos();
        let delay = links.specs[own.link.0].config.round_trip_delay();
        let superframes = delay.as_nanos().div_ceil(superframe);
        if superframes > MOST_UNDER_WAY {
            let message = format!(
                "is so short that a request and its answer take {superframes} superframes; expected at most {MOST_UNDER_WAY}"
            );
            report.wrong(&path.key("superframe"), message);
            continue;
        }
        carrier.control_loop = carrier.control_loop.max(superframes as u32);
        let has_constant_rate = terminal.cra > DataRate::ZERO;
        carrier.terminals.push(terminal);
        if has_constant_rate {
            check_constant_rates(carrier, &path, report);
        }
    }
    for (name, &place) in &places {
        let Some(owner) = links.link_places.get(*name) else {
            continue;
        };
        let rate = links.specs[owner.0].config.up.rate;
        for terminal in &carriers[place].terminals {
            let up = &mut links.specs[terminal.link.0].config.up;
            up.rate = rate;
            up.access = Access::OnDemand;
        }
    }
    carriers
}

/// A link on demand, as written.
struct Given<'a> {
    name: &'a str,
    link_raw: &'a RawLink,
    raw: &'a RawDemand,
    link: LinkIndex,
}

fn given<'a>((name, link): &'a (String, RawLink), links: &Links) -> Option<Given<'a>> {
    Some(Given {
        name,
        link_raw: link,
        raw: link.kind.settings().demand()?,
        link: *links.link_places.get(name)?,
    })
}

/// Resolves the slots of a carrier of this rate.
fn grid(
    raw: &RawDemand,
    rate: DataRate,
    end: Instant,
    path: &Path,
    report: &mut Report<'_>,
) -> Option<Grid> {
    let superframe = raw
        .superframe
        .map_or(Duration::from_millis(50), |length| length.0);
    let superframes = end.as_nanos() / superframe.as_nanos().max(1);
    if superframes > MOST_EVENTS {
        let message = format!("would make {superframes} superframes; choose a longer one");
        report.wrong(&path.key("superframe"), message);
        return None;
    }
    let slot_bytes = raw.slot.map_or(184, |size| size.0);
    let slots = rate.bits_in(superframe) / slot_bytes.saturating_mul(8);
    if !(1..=MOST_SLOTS).contains(&slots) {
        let message = format!(
            "makes {slots} slots of {slot_bytes} B in a superframe of {} at {} bit/s; expected 1 to {MOST_SLOTS}",
            seconds(superframe),
            rate.bits_per_second()
        );
        report.wrong(path, message);
        return None;
    }
    Some(Grid {
        superframe,
        slots: slots as u32,
        slot_bytes: u32::try_from(slot_bytes).ok()?,
    })
}

/// Reports that a link has no carrier to share.
fn no_carrier(owner: &str, given: &[Given<'_>], path: &Path, report: &mut Report<'_>) {
    let owners = given.iter().filter(|own| own.raw.shares.is_none());
    let owners: Vec<&str> = owners.map(|own| own.name).collect();
    // Its carrier is wrong, which is reported.
    if !owners.contains(&owner) {
        let message = unknown("link with a carrier of its own", owner, &owners);
        report.wrong(&path.key("shares"), message);
    }
}

/// Reports keys of the carrier at a terminal that shares another link's.
fn check_sharing(
    raw: &RawDemand,
    has_rate: bool,
    owner: &str,
    path: &Path,
    report: &mut Report<'_>,
) {
    let keys = [
        ("superframe", raw.superframe.is_some()),
        ("slot", raw.slot.is_some()),
    ];
    for (key, _) in keys.into_iter().filter(|(_, is_given)| *is_given) {
        let message = format!("belongs to the carrier; give it at link {}", quoted(owner));
        report.wrong_key(&path.key(key), message);
    }
    if has_rate {
        let message = format!(
            "cannot have an up.rate of its own; the carrier's is that of link {}",
            quoted(owner)
        );
        report.wrong(&path.key("shares"), message);
    }
}

/// Resolves a terminal's capacity categories.
fn terminal(
    own: &Given<'_>,
    grid: &Grid,
    path: &Path,
    report: &mut Report<'_>,
) -> Option<TerminalConfig> {
    let raw = own.raw;
    let cra = raw.cra.map_or(DataRate::ZERO, |rate| rate.0);
    let vbdc = raw.vbdc.unwrap_or(true);
    let fca = raw.fca.unwrap_or(false);
    if raw.rbdc.is_none() && raw.rbdc_timeout.is_some() {
        let message = "goes with \"rbdc\", the highest rate for which the terminal may ask";
        report.wrong_key(&path.key("rbdc_timeout"), message.to_owned());
    }
    let rbdc = match raw.rbdc {
        None => None,
        Some(Rate(rate)) => {
            let maximum = rate.bits_in(grid.superframe) / grid.slot_bits();
            if !(1..=u64::from(grid.slots)).contains(&maximum) {
                let message = format!(
                    "is {maximum} slots a superframe; expected 1 to {}, the carrier's",
                    grid.slots
                );
                report.wrong(&path.key("rbdc"), message);
                return None;
            }
            Some(Rbdc {
                maximum: maximum as u32,
                timeout: raw.rbdc_timeout.unwrap_or(2),
            })
        }
    };
    if cra == DataRate::ZERO && rbdc.is_none() && !vbdc && !fca {
        let message =
            "gives the terminal no capacity; expected cra, rbdc, vbdc = true or fca = true";
        report.wrong(path, message.to_owned());
        return None;
    }
    Some(TerminalConfig {
        link: own.link,
        cra,
        rbdc,
        vbdc,
        fca,
    })
}

/// Reports constant rates beyond the carrier's.
fn check_constant_rates(carrier: &CarrierConfig, path: &Path, report: &mut Report<'_>) {
    let rates = carrier
        .terminals
        .iter()
        .map(|one| u128::from(one.cra.bits_per_second()));
    let rate: u128 = rates.sum();
    let grid = &carrier.grid;
    let capacity = carrier.grid.rate(grid.slots.into()) as u128;
    if rate > capacity {
        let message = format!(
            "makes {rate} bit/s of constant rates on a carrier whose slots are {capacity} bit/s; expected at most these"
        );
        report.wrong(&path.key("cra"), message);
    }
}
