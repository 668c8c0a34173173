//! The command line of `baton-emulator`.

use crate::program::INSIDE;
use baton_sim::captures::CaptureSettings;
use baton_sim::scenario::Override;
use lexopt::prelude::{Long, Value};
use lexopt::{Parser, ValueExt};
use std::os::fd::RawFd;
use std::path::PathBuf;

/// Usage of `baton-emulator`.
pub const USAGE: &str = "usage:
  baton-emulator world SCENARIO [--set KEY=VALUE]... [--seed N] [--out DIR] [--force] [--pcap]
                       [--snap-length BYTES] [--pcap-interface NAME]... [--server COMMAND]
                       [--ignore-unsupported] [--run-name NAME] [--program-output inherit|stderr] [--events FD]
                       [--decisions FD]
                       [-- PROGRAM ARGUMENT...]
  baton-emulator check SCENARIO [--set KEY=VALUE]...
  baton-emulator machine
  baton-emulator --version";

/// The command on the command line.
#[derive(Debug)]
pub enum Command {
    /// Run a world in real time.
    World(Box<WorldOptions>),
    /// Report the parts of a scenario that the kernel cannot honour.
    Check(ScenarioOptions),
    /// Report whether this machine can run worlds with real hosts.
    Machine,
    /// Run as a process between the emulator and a program.
    Inside(String),
    /// Print the version.
    Version,
}

/// Selection of a scenario.
#[derive(Debug, Default)]
pub struct ScenarioOptions {
    /// File of the scenario.
    pub file: PathBuf,
    /// Overridden keys.
    pub overrides: Vec<Override>,
    /// The overrides as given on the command line.
    pub overrides_given: Vec<String>,
}

/// Settings of a world's run.
#[derive(Debug, Default)]
pub struct WorldOptions {
    /// The scenario.
    pub scenario: ScenarioOptions,
    /// Seed, if different from the scenario's.
    pub seed: Option<u64>,
    /// Folder for the results; without one only the summary is kept.
    pub out: Option<PathBuf>,
    /// True to replace an existing folder.
    pub force: bool,
    /// Captures to write, if any.
    pub captures: Option<CaptureSettings>,
    /// Program at the correspondent, as a shell command.
    pub server: Option<String>,
    /// True to leave out settings that the kernel cannot honour.
    pub ignore_unsupported: bool,
    /// Name of the run, if different from the scenario's.
    pub run_name: Option<String>,
    /// Descriptor to which events are written.
    pub events: Option<RawFd>,
    /// Descriptor of the socket to the process with the deciding Python classes.
    pub decisions: Option<RawFd>,
    /// True to send the program's standard output to standard error.
    pub program_to_stderr: bool,
    /// The program and its arguments; empty for none.
    pub program: Vec<String>,
}

impl Command {
    /// Parses the arguments after the program's name.
    ///
    /// # Errors
    /// The mistake in them.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Command, String> {
        let mut parser = Parser::from_args(arguments);
        let command = match parser.next().map_err(text)? {
            Some(Value(word)) => word.string().map_err(text)?,
            Some(Long("version")) => return Ok(Command::Version),
            _ => return Err(USAGE.to_owned()),
        };
        match command.as_str() {
            "world" => world(parser).map(|options| Command::World(Box::new(options))),
            "check" => {
                let options = world(parser)?;
                Ok(Command::Check(options.scenario))
            }
            "machine" => Ok(Command::Machine),
            INSIDE => match parser.next().map_err(text)? {
                Some(Value(spec)) => Ok(Command::Inside(spec.string().map_err(text)?)),
                _ => Err(USAGE.to_owned()),
            },
            other => Err(format!("unknown command `{other}`\n{USAGE}")),
        }
    }
}

fn world(mut parser: Parser) -> Result<WorldOptions, String> {
    let mut options = WorldOptions::default();
    let mut file = None;
    loop {
        // All arguments after `--` belong to the program, options included.
        if let Some(mut raw) = parser.try_raw_args()
            && raw.peek().is_some_and(|word| word == "--")
        {
            raw.next();
            let words = raw.map(|word| word.string().map_err(text));
            options.program = words.collect::<Result<_, _>>()?;
            if options.program.is_empty() {
                return Err("no program after `--`; expected the program to run".to_owned());
            }
            break;
        }
        let Some(argument) = parser.next().map_err(text)? else {
            break;
        };
        let value = |parser: &mut Parser| parser.value().and_then(ValueExt::string).map_err(text);
        match argument {
            Value(given) if file.is_none() => file = Some(PathBuf::from(given)),
            Long("set") => {
                let given = parser
                    .value()
                    .and_then(|given| given.string())
                    .map_err(text)?;
                let parsed = given.parse().map_err(text)?;
                options.scenario.overrides.push(parsed);
                options.scenario.overrides_given.push(given);
            }
            Long("seed") => {
                options.seed = Some(parser.value().and_then(|seed| seed.parse()).map_err(text)?);
            }
            Long("out") => options.out = Some(parser.value().map_err(text)?.into()),
            Long("force") => options.force = true,
            Long("pcap") => {
                options.captures.get_or_insert_default();
            }
            Long("snap-length") => {
                let length = parser.value().and_then(|length| length.parse());
                options.captures.get_or_insert_default().snap_length = Some(length.map_err(text)?);
            }
            Long("pcap-interface") => {
                let name = value(&mut parser)?;
                options
                    .captures
                    .get_or_insert_default()
                    .interfaces
                    .push(name);
            }
            Long("server") => options.server = Some(value(&mut parser)?),
            Long("ignore-unsupported") => options.ignore_unsupported = true,
            Long("run-name") => options.run_name = Some(value(&mut parser)?),
            Long("events") => {
                options.events = Some(parser.value().and_then(|fd| fd.parse()).map_err(text)?);
            }
            Long("decisions") => {
                options.decisions = Some(parser.value().and_then(|fd| fd.parse()).map_err(text)?);
            }
            Long("program-output") => match value(&mut parser)?.as_str() {
                "inherit" => options.program_to_stderr = false,
                "stderr" => options.program_to_stderr = true,
                other => {
                    return Err(format!(
                        "--program-output {other}: expected inherit or stderr"
                    ));
                }
            },
            other => return Err(format!("{}\n{USAGE}", other.unexpected())),
        }
    }
    options.scenario.file = file.ok_or(USAGE)?;
    Ok(options)
}

fn text(error: impl ToString) -> String {
    error.to_string()
}
