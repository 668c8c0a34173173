//! The end of a run: stops, counts and writes everything.

use super::setup::Stage;
use super::{Emulator, Failure, Stop};
use crate::events::Events;
use crate::forwarding::Forwarding;
use crate::program::{Ending, Program};
use crate::sampler::SamplerReport;
use baton_linux::readiness::wait_readable;
use baton_proto::time::Duration as SimulatedDuration;
use baton_sim::run::LiveSummary;
use baton_sim::scenario::model::{AddressPolicy, Traffic};
use serde_json::{Value, json};
use std::os::fd::AsFd;
use std::time::Duration;

/// Maximum time for programs to end after a request.
const GRACE: Duration = Duration::from_secs(2);
const INTERRUPTED: u8 = 130;
const PROGRAM_FAILED: u8 = 4;

/// Stops everything, writes the results, and returns the exit status.
///
/// # Errors
/// The results cannot be written, or a process that the run needs was killed.
pub fn conclude(
    stage: &Stage,
    mut emulator: Emulator,
    mut forwarding: Forwarding<'_>,
    stop: &Stop,
    events: &mut Events,
) -> Result<u8, Failure> {
    let wall = forwarding.clock.now();
    let outcomes = emulator.traffic.stop();
    let program_ending = emulator.program.take().map(end);
    if *stop == Stop::Program && program_ending.is_some_and(Ending::is_success) {
        let [mobile, _] = stage.roles;
        forwarding.run.world_mut().note_success_at(mobile.0);
    }
    let program = program_ending.map(|ending| program_json(stage, &forwarding, stop, ending));
    let server = emulator.server.take().map(|server| {
        let mut value = ending_json(emulator.server_ending.unwrap_or_else(|| end(server)));
        value["command"] = json!(stage.options.server);
        value
    });
    let (samples, reports) = emulator.samplers.stop();
    for sample in samples {
        forwarding.run.world_mut().note_tcp_info(&sample);
    }
    let flows = outcomes.iter().map(|outcome| {
        let ping_size = match stage.scenario.flows[outcome.number].traffic {
            Traffic::Ping { size, .. } => Some(size),
            _ => None,
        };
        (outcome.number, outcome.seen(ping_size))
    });
    let mut live = live_summary(stage, &mut forwarding, &reports);
    live["by_hand"] = json!(emulator.by_hand);
    live["decisions"] = emulator.decisions.summary(forwarding.run.world().now());
    let summary = LiveSummary {
        ended: *stop == Stop::Program,
        flows: flows.collect(),
        program: Some(program.unwrap_or_default()),
        server: Some(server.unwrap_or_default()),
        live: Some(live),
    };
    let finish = || {
        forwarding
            .run
            .finish_live(Some(wall.as_secs_f64()), summary)
    };
    let results = stage
        .invoker
        .with_files(stage.rights, finish)
        .map_err(Failure::run)?;
    if let Stop::Lost(what) = stop {
        return Err(Failure::run(what));
    }
    let folder = results
        .folder
        .as_ref()
        .map(|folder| folder.display().to_string());
    let told = serde_json::to_value(&results.summary).map_err(Failure::run)?;
    events.done(&told, folder.as_deref(), results.manifest.complete);
    Ok(match (stop, program_ending) {
        (Stop::Interrupted, _) => INTERRUPTED,
        (_, Some(ending)) if *stop == Stop::Duration || !ending.is_success() => PROGRAM_FAILED,
        _ => 0,
    })
}

/// Describes a program's traffic and its end.
fn program_json(stage: &Stage, forwarding: &Forwarding<'_>, stop: &Stop, ending: Ending) -> Value {
    let progress = forwarding.run.world().program_progress();
    let mut value = ending_json(ending);
    value["argv"] = json!(stage.options.program);
    value["wall_s"] = json!(forwarding.run.world().now().as_secs_f64());
    value["stopped_at_end"] = json!(*stop == Stop::Duration);
    value["delivered_bytes"] = json!(progress.delivered_bytes);
    value["longest_stall_s"] = json!(progress.longest_stall.as_secs_f64());
    value
}

/// Ends a program: by a request, and then by force.
fn end(mut program: Program) -> Ending {
    program.terminate();
    // A failed wait is treated like a timeout.
    let ended = wait_readable(&[program.report.as_fd()], GRACE);
    if !ended.is_ok_and(|ready| ready[0]) {
        program.kill();
        return Ending::Signal(9);
    }
    program.wait()
}

fn ending_json(ending: Ending) -> Value {
    let (status, signal) = match ending {
        Ending::Status(status) => (Some(status), None),
        Ending::Signal(signal) => (None, Some(signal)),
        Ending::NotStarted(_) => (Some(127), None),
        Ending::Lost => (None, None),
    };
    json!({ "status": status, "signal": signal, "ending": ending.describe() })
}

/// Summarizes the trustworthiness of the run, its machine and its settings.
fn live_summary(
    stage: &Stage,
    forwarding: &mut Forwarding<'_>,
    reports: &[SamplerReport],
) -> Value {
    let bound = stage.scenario.live.lateness_bound;
    let lateness = &forwarding.lateness;
    let mut doubts = Vec::new();
    let microseconds = |time: SimulatedDuration| time.as_nanos() as f64 / 1e3;
    let late = lateness.quantile(0.99);
    if late > bound {
        doubts.push(format!(
            "one packet in a hundred was more than {:.0} µs late (bound {:.0} µs): this machine is too slow or too busy \
             for this scenario",
            microseconds(late),
            microseconds(bound)
        ));
    }
    let mut dropped = forwarding.not_taken + forwarding.malformed();
    for host in &mut forwarding.hosts.hosts {
        match host.counters() {
            Ok(counters) => dropped += counters.dropped_outgoing,
            Err(error) => doubts.push(format!("an interface's counters cannot be read: {error}")),
        }
    }
    let lost_rows = forwarding.run.lost_rows();
    if lost_rows > 0 {
        doubts.push(format!(
            "{lost_rows} rows are missing from the record: it could not be written as fast as they came"
        ));
    }
    if dropped > 0 && stage.scenario.live.address == AddressPolicy::Kept {
        doubts.push(format!(
            "{dropped} packets were dropped outside the model, at the kernels' devices"
        ));
    }
    let impossible = forwarding.run.world().impossible_segments();
    if impossible > 0 {
        doubts.push(format!(
            "{impossible} TCP segments had sequence numbers that no connection gives: a program forges packets, and what \
             was delivered cannot be told"
        ));
    }
    let (mut sysctls, mut sysctls_set) = (json!({}), json!({}));
    let hosts = stage.scenario.live.hosts.iter();
    for (&node, host) in hosts.zip(&forwarding.hosts.hosts) {
        let name = &stage.scenario.nodes[node.0];
        sysctls[name] = json!(host.tcp_settings());
        sysctls_set[name] = json!(stage.plan.settings(node));
    }
    for report in reports {
        if report.lost_messages > 0 {
            let lost = report.lost_messages;
            doubts.push(format!("{lost} of the kernel's messages on TCP were lost"));
        }
        doubts.extend(report.failure.clone());
    }
    let mut lateness = lateness.summary();
    lateness["bound_us"] = json!(microseconds(bound));
    let world = forwarding.run.world();
    json!({
        "trusted": doubts.is_empty(),
        "doubts": doubts,
        "lateness": lateness,
        "dropped_outside_model": dropped,
        "not_forwarded": world.not_forwarded().total(),
        "drops": world.drops(),
        "kernel": stage.kernel.release,
        "sysctls": sysctls,
        "sysctls_set": sysctls_set,
        "ignored": stage.plan.refused.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "address": match stage.scenario.live.address {
            AddressPolicy::Kept => "kept",
            AddressPolicy::New => "new",
        },
        "nat": stage.scenario.live.nat,
        "priority": forwarding.has_priority,
    })
}
