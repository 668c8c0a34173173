//! Names of congestion controls.

use baton_proto::tcp::profile::Algorithm;

/// Congestion controls by name.
pub const CONGESTION_NAMES: [&str; 3] = ["reno", "newreno", "cubic"];

/// The congestion control called `name`.
pub fn congestion(name: &str) -> Option<Algorithm> {
    match name {
        "reno" => Some(Algorithm::Reno),
        "newreno" => Some(Algorithm::NewReno),
        "cubic" => Some(Algorithm::Cubic),
        _ => None,
    }
}

/// Takes out of flows the congestion controls that the simulator has not: they are a kernel's.
pub fn leave_out_foreign_controls(scenario: &mut toml::Table) {
    let flows = scenario
        .get_mut("flows")
        .and_then(toml::Value::as_array_mut);
    let flows = flows.into_iter().flatten();
    for flow in flows.filter_map(toml::Value::as_table_mut) {
        leave_out(flow);
        if let Some(tcp) = flow.get_mut("tcp").and_then(toml::Value::as_table_mut) {
            leave_out(tcp);
            for end in ["sender", "receiver"] {
                tcp.get_mut(end)
                    .and_then(toml::Value::as_table_mut)
                    .map(leave_out);
            }
        }
    }
}

fn leave_out(settings: &mut toml::Table) {
    let control = settings.get("congestion").and_then(toml::Value::as_str);
    if control.is_some_and(|control| !CONGESTION_NAMES.contains(&control)) {
        settings.remove("congestion");
    }
}
