//! `baton-emulator`: the laboratory's hosts and links under a real clock.

use baton_live::arguments::{Command, ScenarioOptions};
use baton_live::decisions::Decisions;
use baton_live::emulator::{self, Failure};
use baton_live::events::Events;
use baton_live::plan::{KernelFacts, Refusal, plan};
use baton_live::{machine, program};
use baton_sim::scenario;
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = match Command::parse(std::env::args().skip(1)) {
        Ok(command) => command,
        Err(message) => {
            eprintln!("baton-emulator: {message}");
            return ExitCode::from(2);
        }
    };
    match command {
        Command::World(options) => {
            let mut events = Events::open(options.events);
            let status = emulator::world(*options, &mut events).unwrap_or_else(|failure| {
                events.failed(&failure.message, failure.exit_status);
                failure.exit_status
            });
            ExitCode::from(status)
        }
        Command::Check(options) => exit(check(&options)),
        Command::Machine => {
            let (fit, report) = machine::examine();
            println!("{report:#}");
            ExitCode::from(u8::from(!fit))
        }
        Command::Inside(spec) => exit(program::inside(&spec).map_err(Failure::run)),
        Command::Version => {
            println!("baton-emulator {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
    }
}

fn exit(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("baton-emulator: {}", failure.message);
            ExitCode::from(failure.exit_status)
        }
    }
}

/// Prints the settings of a scenario that the kernel cannot honour.
fn check(options: &ScenarioOptions) -> Result<(), Failure> {
    let decisions = Decisions::open(None).map_err(Failure::run)?;
    let named = |class: &str| Ok(decisions.named(class));
    let loaded =
        scenario::load_live(&options.file, &options.overrides, &named).map_err(Failure::input)?;
    let plan = plan(&loaded, &KernelFacts::read());
    let refused: Vec<Refusal> = plan.wrong.into_iter().chain(plan.refused).collect();
    println!("{:#}", serde_json::json!({ "refused": refused }));
    if refused.is_empty() {
        Ok(())
    } else {
        Err(Failure::input(format!(
            "the kernel cannot honour {} keys of this scenario",
            refused.len()
        )))
    }
}
