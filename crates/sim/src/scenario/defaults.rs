//! Defaults of a scenario, with the names and units of a scenario: for the models' pages.

use crate::link::cells;
use crate::link::config::{Damaged, LinkConfig, QueueLimit};
use crate::link::kinds::RawKind;
use crate::scenario::model::Scenario;
use baton_proto::tcp::profile::{Autotuning, Profile, Recovery, RtoArithmetic, WindowArithmetic};
use baton_proto::time::Duration;
use serde_json::{Value, json};

/// Returns the kinds of links between two nodes.
fn kinds() -> impl Iterator<Item = &'static str> {
    let names = RawKind::kinds().into_iter().map(|kind| kind.name);
    names.filter(|&name| name != cells::KIND)
}

/// Returns the defaults as JSON: `links` (each kind's keys) and `profiles` (each profile's settings), with the names of
/// a scenario's keys and the values as one would write them.
///
/// The values are taken from minimal scenarios, as the resolver completes them.
pub fn json_defaults() -> Value {
    let links = kinds().filter_map(|kind| {
        let config = smallest(kind, "")?;
        Some((kind.to_owned(), link(kind, &config)))
    });
    let mut links = Value::Object(links.collect());
    links[cells::KIND] = smallest_radio("")
        .and_then(|scenario| cells::json_defaults(scenario.radios.first()?))
        .into();
    let profiles = Profile::NAMES.map(|name| (name, Profile::named(name).map(|it| profile(&it))));
    json!({ "links": links, "profiles": object(profiles) })
}

fn object<const N: usize>(entries: [(&str, Option<Value>); N]) -> Value {
    let named = |(name, value): (&str, Option<Value>)| Some((name.to_owned(), value?));
    Value::Object(entries.into_iter().filter_map(named).collect())
}

/// Returns the link of a scenario with one link of a kind, and `keys` in it.
fn smallest(kind: &str, keys: &str) -> Option<LinkConfig> {
    // A recorded link without a recording needs a rate.
    let rate = if kind == "trace" {
        "rate = \"1 Mbit/s\""
    } else {
        ""
    };
    let text = format!(
        "name = \"smallest\"\nduration = \"1 s\"\n[links.l]\nbetween = [\"a\", \"b\"]\nkind = \"{kind}\"\n{rate}\n{keys}\n"
    );
    let loaded = super::parse(&text, "smallest", std::path::Path::new(""), &[]).ok()?;
    Some((*loaded.scenario.links.first()?.config).clone())
}

fn link(kind: &str, config: &LinkConfig) -> Value {
    let direction = &config.down;
    let channel = &direction.channel;
    let mut keys = json!({
        "mtu": size(config.mtu),
        "rate": rate(direction.rate.bits_per_second()),
        "delay": time(direction.delay),
        "jitter": time(direction.jitter),
        "queue": limit(direction.queue.limit),
        "packet_error_rate": channel.packet_error_rate,
        "bit_error_rate": channel.bit_error_rate,
        "burst_loss": channel.burst.is_none().then_some("none"),
        "coding": channel.coding.is_none().then_some("none"),
        "damaged": match channel.damaged {
            Damaged::Dropped => "dropped",
            Damaged::Delivered => "delivered",
        },
        "spares": if channel.spares_headers { "headers" } else { "nothing" },
        "framing.bytes_per_packet": direction.framing.bytes_per_packet,
        "framing.bits_per_byte": direction.framing.bits_per_byte,
    });
    let up = &config.up;
    if up.rate != direction.rate {
        keys["up.rate"] = rate(up.rate.bits_per_second()).into();
        keys["up.queue"] = limit(up.queue.limit).into();
    }
    if kind == "trace" {
        keys["rate"] = Value::Null; // its own or a recording's must be given
    }
    let mut kinds = RawKind::kinds().into_iter();
    if let (Some(kind), Some(keys)) = (kinds.find(|each| each.name == kind), keys.as_object_mut()) {
        keys.retain(|key, _| kind.shares(key.split('.').next().unwrap_or(key)));
    }
    keys
}

/// Returns a scenario with a radio network that has one cell and one mobile, and `keys` in it.
fn smallest_radio(keys: &str) -> Option<Scenario> {
    let place = "position = { latitude = 0, longitude = 0 }";
    let text = format!(
        "name = \"smallest\"\nduration = \"1 s\"\n\
         [links.wire]\nbetween = [\"a\", \"b\"]\nkind = \"wired\"\n\
         [mobiles.m]\ntimetable = [{{ at = \"0 s\", attach = \"l\" }}]\ntrack.{place}\n\
         [links.l]\nkind = \"{}\"\ncells.c = {{ node = \"a\", {place} }}\n{keys}\n",
        cells::KIND
    );
    let loaded = super::parse(&text, "smallest", std::path::Path::new(""), &[]).ok()?;
    Some(loaded.scenario)
}

fn profile(profile: &Profile) -> Value {
    let mut settings = json!({
        "congestion": profile.congestion.name(),
        "recovery": match profile.recovery {
            Recovery::Reno => "reno",
            Recovery::NewReno => "newreno",
            Recovery::Sack => "sack",
            Recovery::Linux20 => "linux-2.0",
            Recovery::Linux => "linux",
        },
        "maximum_segment_size": size(profile.maximum_segment_size.into()),
        "initial_window": profile.initial_window,
        "initial_slow_start_threshold": profile.initial_slow_start_threshold.map_or("off".to_owned(), size),
        "receive_buffer": size(profile.receive_buffer),
        "receive_autotuning": match profile.receive_autotuning {
            Autotuning::Off => json!(false),
            Autotuning::Linux => json!(true),
            Autotuning::RightSizing => json!("right-sizing"),
        },
        "send_buffer": size(profile.send_buffer),
        "send_autotuning": profile.send_autotuning,
        "window_scaling": profile.window_scaling,
        "timestamps": profile.timestamps,
        "sack": profile.sack,
        "snack": profile.snack,
        "rate_limit": profile.rate_limit.map_or("off".to_owned(), |limit| rate(limit.bits_per_second())),
        "delayed_ack": profile.delayed_ack.map_or("off".to_owned(), time),
        "delay_by_gaps": profile.delay_by_gaps,
        "nagle": profile.nagle,
        "limited_transmit": profile.limited_transmit,
        "duplicate_ack_threshold": profile.duplicate_ack_threshold.map_or("off".into(), Value::from),
        "initial_rto": time(profile.initial_rto),
        "minimum_rto": time(profile.minimum_rto),
        "maximum_rto": time(profile.maximum_rto),
        "tick": time(profile.tick),
        "rto_arithmetic": match profile.rto_arithmetic {
            RtoArithmetic::Rfc6298 => "rfc6298",
            RtoArithmetic::Linux20 => "linux-2.0",
            RtoArithmetic::Linux => "linux",
            RtoArithmetic::Inet => "inet",
        },
        "threshold_from_window": profile.threshold_from_window,
        "idle_restart": profile.idle_restart,
        "syn_retries": profile.syn_retries,
        "syn_ack_retries": profile.syn_ack_retries,
        "syn_linear_timeouts": profile.syn_linear_timeouts,
        "data_retries": profile.data_retries,
        "time_wait": time(profile.time_wait),
    });
    if let (Value::Object(settings), Value::Object(linux)) = (&mut settings, of_linux(profile)) {
        settings.extend(linux);
    }
    settings
}

/// Returns the mechanisms of Linux.
fn of_linux(profile: &Profile) -> Value {
    json!({
        "quick_acks": profile.quick_acks,
        "sack_compression": profile.sack_compression.map_or("off".to_owned(), time),
        "duplicate_sack": profile.duplicate_sack,
        "rack": profile.rack,
        "tail_loss_probe": profile.tail_loss_probe,
        "proportional_rate_reduction": profile.proportional_rate_reduction,
        "forward_rto": profile.forward_rto,
        "undo": profile.undo,
        "window_arithmetic": match profile.window_arithmetic {
            WindowArithmetic::Rfc => "rfc",
            WindowArithmetic::Linux20 => "linux-2.0",
            WindowArithmetic::Linux => "linux",
        },
        "hystart": profile.hystart,
        "long_term_rate": profile.long_term_rate,
        "minimum_rtt_window": profile.minimum_rtt_window.map_or("off".to_owned(), time),
        "push_bursts": profile.push_bursts,
        "timer_wheel": profile.timer_wheel,
        "transaction_opening": profile.transaction_opening,
    })
}

fn limit(limit: QueueLimit) -> String {
    match limit {
        QueueLimit::Packets(packets) => format!("{packets} packets"),
        QueueLimit::Bytes(bytes) => whole(bytes, &SIZES),
    }
}

pub(super) const SIZES: [(&str, u64); 4] =
    [("MiB", 1 << 20), ("KiB", 1 << 10), ("kB", 1000), ("B", 1)];
pub(crate) const DECIMAL_SIZES: [(&str, u64); 3] = [("MB", 1_000_000), ("kB", 1000), ("B", 1)];
const TIMES: [(&str, u64); 4] = [
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1000),
    ("ns", 1),
];

pub(crate) fn size(bytes: u32) -> String {
    whole(bytes.into(), &SIZES)
}

pub(super) fn time(time: Duration) -> String {
    whole(time.as_nanos(), &TIMES)
}

/// Returns a time in the largest unit of which it is a whole number.
pub(crate) fn whole(value: u64, units: &[(&str, u64)]) -> String {
    let fits = |(_, factor): &&(&str, u64)| value.is_multiple_of(*factor);
    units.iter().find(fits).map_or_else(
        || value.to_string(),
        |(unit, factor)| format!("{} {unit}", value / factor),
    )
}

/// Returns a rate in the largest unit of which there is at least one.
fn rate(bits_per_second: u64) -> String {
    let units = [("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)];
    let rate = bits_per_second as f64;
    units
        .iter()
        .find(|(_, factor)| rate >= *factor)
        .map_or_else(
            || format!("{rate} bit/s"),
            |(unit, factor)| format!("{} {unit}", rate / factor),
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::queue::Management;
    use crate::scenario::tcp_profile;

    #[test]
    fn a_profile_s_settings_written_out_make_that_profile() {
        for name in Profile::NAMES {
            let Value::Object(settings) = &json_defaults()["profiles"][name] else {
                panic!("{name} has no settings");
            };
            let mut values: toml::Table = settings
                .iter()
                .map(|(key, value)| (key.clone(), toml::Value::try_from(value).unwrap()))
                .collect();
            // With the profile that differs most, so that a missing key cannot go unnoticed.
            let other = if name == "linux-2.0.36" {
                "linux-6"
            } else {
                "linux-2.0.36"
            };
            values.insert("profile".to_owned(), other.into());
            assert_eq!(tcp_profile(values).unwrap(), Profile::named(name).unwrap());
        }
    }

    #[test]
    fn a_link_s_defaults_written_out_change_nothing() {
        for name in kinds() {
            let config = smallest(name, "").unwrap();
            let Value::Object(keys) = link(name, &config) else {
                panic!("{name} has no keys");
            };
            let given = keys.iter().filter(|(_, value)| !value.is_null());
            let mut text: String = given
                .map(|(key, value)| format!("{key} = {value}\n"))
                .collect();
            // As their comments say.
            if name == "wifi" {
                text += "medium_access = true\npreamble = \"long\"\n";
            }
            assert_eq!(smallest(name, &text), Some(config), "{text}");
        }
    }

    #[test]
    fn a_radio_s_defaults_written_out_change_nothing() {
        let scenario = smallest_radio("").unwrap();
        let Some(Value::Object(keys)) = cells::json_defaults(&scenario.radios[0]) else {
            panic!("no keys");
        };
        let given = keys.iter().filter(|(_, value)| !value.is_null());
        let mut text: String = given
            .map(|(key, value)| format!("{key} = {value}\n"))
            .collect();
        // As their comments say.
        text += "modulation = \"qpsk-1/2\"\nerrors = \"fixed\"\n";
        assert_eq!(smallest_radio(&text), Some(scenario), "{text}");
    }

    #[test]
    fn a_queue_s_defaults_written_out_change_nothing() {
        for kind in Management::kinds() {
            let name = kind.name;
            let management = format!("queue.management = \"{name}\"\n");
            let config = smallest("wired", &management).unwrap();
            let Value::Object(keys) = kind.defaults else {
                panic!("{name} has no keys");
            };
            let written: String = keys
                .iter()
                .map(|(key, value)| format!("queue.{key} = {value}\n"))
                .collect();
            assert_eq!(smallest("wired", &(management + &written)), Some(config));
        }
    }
}
