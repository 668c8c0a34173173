//! `baton-emulator world`: a scenario in real time, between real hosts.

mod kernel;
mod results;
mod setup;

use crate::arguments::WorldOptions;
use crate::clock::RealClock;
use crate::control::{Command, Control, HandoverCommand, HandoverKind, Request};
use crate::decisions::{Answered, Decisions};
use crate::events::Events;
use crate::forwarding::{Forwarding, ForwardingError};
use crate::program::{Ending, Program};
use crate::traffic::TrafficHandle;
use baton_linux::readiness::{Signals, Waker, wait_readable};
use baton_proto::mobility::attachment::{Handover, OldQueue};
use baton_proto::time::{Duration as SimulatedDuration, Instant};
use baton_sim::scenario::model::{LinkIndex, NodeIndex, Scenario};
use kernel::Samplers;
use serde_json::{Value, json};
use setup::{Names, Stage};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Interval of checks of signals, commands, samples and child processes.
const LOOK_EVERY: SimulatedDuration = SimulatedDuration::from_millis(5);
/// Interval of progress lines.
const TELL_EVERY: SimulatedDuration = SimulatedDuration::from_millis(200);
/// Interval of flushes of the record.
const FLUSH_EVERY: SimulatedDuration = SimulatedDuration::from_millis(100);
/// Time before time zero at which the kernels' flows learn of it.
const LEAD: Duration = Duration::from_millis(20);
/// Time for which the thread stays awake after a packet.
const STAY_AWAKE: SimulatedDuration = SimulatedDuration::from_micros(100);

/// A failed run: the error message, and the exit status.
#[derive(Debug)]
pub struct Failure {
    /// The error message.
    pub message: String,
    /// 1: the run failed; 2: the input or the machine is unsuitable.
    pub exit_status: u8,
}

impl Failure {
    /// Creates the failure of a run.
    pub fn run(error: impl ToString) -> Failure {
        Failure {
            message: error.to_string(),
            exit_status: 1,
        }
    }

    /// Creates the failure of a request that cannot be carried out.
    pub fn input(error: impl ToString) -> Failure {
        Failure {
            message: error.to_string(),
            exit_status: 2,
        }
    }
}

/// Reason for the end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stop {
    /// The scenario's duration has passed.
    Duration,
    /// The program has ended.
    Program,
    /// SIGINT or SIGTERM.
    Interrupted,
    /// A process that the run needs was killed.
    Lost(String),
    /// The program could not be started.
    NotStarted(String),
}

/// A run in progress, apart from its forwarding.
struct Emulator {
    control: Control,
    waker: Waker,
    signals: Signals,
    decisions: Decisions,
    server: Option<Program>,
    server_ending: Option<Ending>,
    program: Option<Program>,
    traffic: TrafficHandle,
    samplers: Samplers,
    /// Commands carried out, for the results.
    by_hand: Vec<Value>,
    next_look: Instant,
    next_flush: Instant,
    next_tale: Instant,
}

/// Runs a world; returns the exit status. The process must have a single thread.
///
/// # Errors
/// [`Failure`]; then nothing of the run remains.
pub fn world(options: WorldOptions, events: &mut Events) -> Result<u8, Failure> {
    let (stage, loaded) = Stage::prepare(options, events)?;
    let signals = Signals::take().map_err(Failure::run)?;
    let waker = Waker::new().map_err(Failure::run)?;
    let control = stage.control(&waker)?;
    let run = stage.run(loaded)?;
    let mut hosts = stage.hosts(&run)?;
    let names = Names::new(&stage, &run, &control.name);
    let server = match &stage.options.server {
        Some(command) => Some(stage.start_server(command, &run, &hosts, &names)?),
        None => None,
    };
    events.ready(&control.name, &names.told);
    let traffic = stage.prepare_traffic(&run, &hosts)?;
    let clock = RealClock::start_in(LEAD);
    let samplers = Samplers::start(&stage, &hosts, &clock)?;
    let traffic = traffic.start(clock.zero()).map_err(Failure::run)?;
    let program = match stage.options.program.is_empty() {
        true => None,
        false => Some(stage.start_program(&hosts, &names)?),
    };
    let mut forwarding = Forwarding::new(run, &mut hosts, clock);
    events.started();
    let mut emulator = Emulator {
        control,
        waker,
        signals,
        decisions: stage.decisions.clone(),
        server,
        server_ending: None,
        program,
        traffic,
        samplers,
        by_hand: Vec::new(),
        next_look: Instant::ZERO,
        next_flush: Instant::ZERO,
        next_tale: Instant::ZERO,
    };
    let stop = emulator
        .forward(&mut forwarding, events)
        .map_err(Failure::run)?;
    if let Stop::NotStarted(why) = &stop {
        let program = stage.options.program.join(" ");
        return Err(Failure::input(format!("the program `{program}` {why}")));
    }
    results::conclude(&stage, emulator, forwarding, &stop, events)
}

impl Emulator {
    /// Forwards until the run ends.
    fn forward(
        &mut self,
        forwarding: &mut Forwarding<'_>,
        events: &mut Events,
    ) -> Result<Stop, ForwardingError> {
        let end = forwarding.run.end();
        let mut last_packet = Instant::ZERO;
        loop {
            let busy = forwarding.turn()?;
            self.decide(forwarding)?;
            let now = forwarding.clock.now();
            if now >= end {
                // Time may have passed since the clock was last read.
                forwarding.run.advance_to(end)?;
                return Ok(Stop::Duration);
            }
            if now >= self.next_look {
                self.next_look = now + LOOK_EVERY;
                if let Some(stop) = self.look(forwarding, events, now)? {
                    return Ok(stop);
                }
            }
            if busy {
                last_packet = now;
            } else if now > last_packet + STAY_AWAKE {
                self.rest(forwarding, now)?;
            }
        }
    }

    /// Sleeps until there may be work.
    fn rest(
        &mut self,
        forwarding: &mut Forwarding<'_>,
        now: Instant,
    ) -> Result<(), ForwardingError> {
        let end = forwarding.run.end();
        let until = self.next_flush.min(self.next_tale).min(end);
        let mut others = vec![self.signals.as_fd(), self.waker.as_fd()];
        others.extend(self.reports().map(|program| program.report.as_fd()));
        self.decisions.waiting(|answers| {
            let waited: Vec<BorrowedFd<'_>> = others.iter().copied().chain(answers).collect();
            forwarding.rest(&waited, until.saturating_since(now))
        })?;
        self.next_look = now;
        Ok(())
    }

    /// Passes the answers of decisions to their mobiles.
    fn decide(&self, forwarding: &mut Forwarding<'_>) -> Result<(), ForwardingError> {
        let world = forwarding.run.world_mut();
        let answers = self.decisions.poll(world.now());
        for Answered { mobile, answer } in answers.map_err(ForwardingError::Decision)? {
            let node = world
                .scenario()
                .nodes
                .iter()
                .position(|name| *name == mobile);
            if let Some(node) = node {
                world.answer(NodeIndex(node), answer);
            }
        }
        Ok(())
    }

    /// Returns the programs that have not ended.
    fn reports(&self) -> impl Iterator<Item = &Program> {
        let server = self.server.iter().filter(|_| self.server_ending.is_none());
        server.chain(&self.program)
    }

    /// Handles everything but packets.
    fn look(
        &mut self,
        forwarding: &mut Forwarding<'_>,
        events: &mut Events,
        now: Instant,
    ) -> Result<Option<Stop>, ForwardingError> {
        if self.signals.poll() {
            return Ok(Some(Stop::Interrupted));
        }
        self.waker.clear();
        while let Some(request) = self.control.poll() {
            self.by_hand.extend(obey(forwarding, &request));
        }
        for sample in self.samplers.poll() {
            forwarding.run.world_mut().note_tcp_info(&sample);
        }
        if now >= self.next_flush {
            self.next_flush = now + FLUSH_EVERY;
            forwarding.run.flush_record();
        }
        if now >= self.next_tale {
            self.next_tale = now + TELL_EVERY;
            events.progress(now.as_secs_f64(), &forwarding.run.world().status());
        }
        self.look_after_programs(events)
    }

    fn look_after_programs(
        &mut self,
        events: &mut Events,
    ) -> Result<Option<Stop>, ForwardingError> {
        let has_ended = |program: &Program| {
            let ready = wait_readable(&[program.report.as_fd()], Duration::ZERO);
            ready.map(|ready| ready[0]).map_err(ForwardingError::Wait)
        };
        if let (Some(server), None) = (&mut self.server, self.server_ending)
            && has_ended(server)?
        {
            let ending = server.wait();
            self.server_ending = Some(ending);
            if ending == Ending::Lost {
                let lost = format!("the server {}", ending.describe());
                return Ok(Some(Stop::Lost(lost)));
            }
            events.warn(&format!(
                "the server {} before the run's end",
                ending.describe()
            ));
        }
        let Some(program) = &mut self.program else {
            return Ok(None);
        };
        if !has_ended(program)? {
            return Ok(None);
        }
        Ok(Some(match program.wait() {
            ending @ Ending::Lost => Stop::Lost(format!("the program {}", ending.describe())),
            ending @ Ending::NotStarted(_) => Stop::NotStarted(ending.describe()),
            _ => Stop::Program,
        }))
    }
}

/// Carries out a command; returns its entry in the results, if it succeeded.
fn obey(forwarding: &mut Forwarding<'_>, request: &Request) -> Option<Value> {
    let world = forwarding.run.world_mut();
    let at_s = world.now().as_secs_f64();
    let done = match &request.command {
        Command::Handover(command) => mobile_and_link(world.scenario(), &command.link)
            .and_then(|(mobile, link)| world.request_handover(mobile, link, handover(command))),
        Command::Set(edit) => world.change_link(edit),
    };
    let what = request.command.describe();
    let kept = done.is_ok().then(|| json!({ "at_s": at_s, "what": what }));
    request.answer(done.map(|()| at_s));
    kept
}

/// Returns the handover that a command requests.
fn handover(command: &HandoverCommand) -> Handover {
    match command.kind {
        HandoverKind::Soft => Handover::Soft {
            overlap: None,
            old_queue: OldQueue::Stays,
            outgoing_after: SimulatedDuration::ZERO,
        },
        HandoverKind::Hard => Handover::Hard {
            outage: SimulatedDuration::from_nanos((command.outage_s * 1e9) as u64),
            old_queue: OldQueue::Discarded,
        },
    }
}

/// Returns the mobile whose access link has this name; "none" detaches the first mobile.
fn mobile_and_link(
    scenario: &Scenario,
    name: &str,
) -> Result<(NodeIndex, Option<LinkIndex>), String> {
    let Some(first) = scenario.mobiles.first() else {
        return Err("this scenario has no mobile".to_owned());
    };
    if name == "none" {
        return Ok((first.node, None));
    }
    let mut known = Vec::new();
    for mobile in &scenario.mobiles {
        for (number, link) in scenario.links.iter().enumerate() {
            if link.ends.contains(&mobile.node) {
                if link.config.name == name {
                    return Ok((mobile.node, Some(LinkIndex(number))));
                }
                known.push(link.config.name.as_str());
            }
        }
    }
    Err(format!(
        "no mobile has a link {name:?} (there are: {}, none)",
        known.join(", ")
    ))
}
