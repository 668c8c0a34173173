//! `batond`: one node behind this machine's clock and devices.

use baton_daemon::operation::control::{self, Answer};
use baton_daemon::role::{ROLES, Role};
use baton_daemon::{daemon, keys};
use lexopt::prelude::{Long, Short, Value};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "Keeps a moving network reachable: Baton's mobile router and its home agent.

usage:
  batond mobile-router CONFIG  run a mobile router until SIGTERM or SIGINT
  batond home-agent CONFIG     run a home agent until SIGTERM or SIGINT
  batond node CONFIG           run a node of Mobile IPv6 on links of its own, without encryption
  batond check CONFIG          read a configuration of any of the three, and say what is wrong
  batond key FILE              print the public key to the private key in FILE, which is made if it is not there
  batond status [--json]       print the state of the daemon that is running
  batond switch UPLINK         hold the mobile router to an uplink while that is up; `auto` lets it choose again
  batond --help
  batond --version

`status` and `switch` take `--control PATH` where several daemons run, or the socket is elsewhere.

It needs CAP_NET_ADMIN, and CAP_NET_RAW for devices that it does not make. It says on standard error what happens,
and gives its devices back when it ends. Every key of the files: docs/batond.md.

Exit status: 0 ended by a signal, 1 something failed, 2 the command line or the file is wrong.
";

fn main() -> ExitCode {
    let command = match Command::parse() {
        Ok(command) => command,
        Err(message) => return fail(2, &message),
    };
    match command {
        Command::Help => print!("{HELP}"),
        Command::Version => println!("batond {}", env!("CARGO_PKG_VERSION")),
        Command::Key(file) => match keys::make(&file) {
            Ok(public) => println!("{public}"),
            Err(message) => return fail(1, &message),
        },
        Command::Check(file) => match Role::of_file(&file) {
            Ok(role) => {
                println!("{}: a configuration of a {}", file.display(), role.name());
                role.warning()
                    .into_iter()
                    .for_each(|warning| println!("{warning}"));
            }
            Err(message) => return fail(2, &message),
        },
        Command::Ask(command, socket, json) => {
            if let Err(message) = ask(&command, socket, json) {
                return fail(1, &message);
            }
        }
        Command::Run(name, file) => {
            let role = match Role::read(name, &file) {
                Ok(role) => role,
                Err(message) => return fail(2, &message),
            };
            if let Err(message) = daemon::run(role, &file) {
                return fail(1, &message);
            }
        }
    }
    ExitCode::SUCCESS
}

fn fail(status: u8, message: &str) -> ExitCode {
    eprintln!("batond: {message}");
    ExitCode::from(status)
}

/// The request on the command line.
enum Command {
    /// A role to run, by its name, with its configuration.
    Run(&'static str, PathBuf),
    Check(PathBuf),
    Key(PathBuf),
    /// A command to a daemon under way; with `true` the answer is printed as JSON.
    Ask(control::Command, Option<PathBuf>, bool),
    Help,
    Version,
}

/// The words of a command line, and its options.
#[derive(Default)]
struct Words {
    values: Vec<OsString>,
    control: Option<PathBuf>,
    json: bool,
}

const USAGE: &str = "expected a command; see `batond --help`";

impl Command {
    fn parse() -> Result<Command, String> {
        let mut parser = lexopt::Parser::from_env();
        let wrong = |error: lexopt::Error| format!("{error}; {USAGE}");
        let mut words = Words::default();
        while let Some(argument) = parser.next().map_err(wrong)? {
            match argument {
                Long("help") | Short('h') => return Ok(Command::Help),
                Long("version") => return Ok(Command::Version),
                Long("json") => words.json = true,
                Long("control") => {
                    words.control = Some(parser.value().map_err(wrong)?.into());
                }
                Value(word) => words.values.push(word),
                other => return Err(wrong(other.unexpected())),
            }
        }
        Command::of(words)
    }

    fn of(words: Words) -> Result<Command, String> {
        let mut values = words.values.into_iter();
        let Some(name) = values.next() else {
            return Err(USAGE.to_owned());
        };
        let name = name.to_string_lossy().into_owned();
        let argument = values.next();
        if let Some(more) = values.next() {
            return Err(format!("{more:?} is too much; {USAGE}"));
        }
        let file = || {
            let file = argument.clone().map(PathBuf::from);
            file.ok_or_else(|| format!("`{name}` without a file; {USAGE}"))
        };
        let role = ROLES.into_iter().find(|role| *role == name);
        match (role, name.as_str()) {
            (Some(role), _) => Ok(Command::Run(role, file()?)),
            (None, "check") => Ok(Command::Check(file()?)),
            (None, "key") => Ok(Command::Key(file()?)),
            (None, "status") => Ok(Command::Ask(
                control::Command::Status,
                words.control,
                words.json,
            )),
            (None, "switch") => {
                let uplink =
                    argument.ok_or_else(|| format!("`switch` without an uplink; {USAGE}"))?;
                let uplink = uplink.to_string_lossy().into_owned();
                let switch = control::Command::Switch((uplink != "auto").then_some(uplink));
                Ok(Command::Ask(switch, words.control, words.json))
            }
            (None, _) => Err(format!("there is no command \"{name}\"; {USAGE}")),
        }
    }
}

/// Asks a daemon under way, and prints its answer.
fn ask(command: &control::Command, socket: Option<PathBuf>, json: bool) -> Result<(), String> {
    let socket = socket.map_or_else(control::find, Ok)?;
    match control::call(&socket, command)? {
        Answer::Status(status) if json => {
            let text = serde_json::to_string_pretty(&status).map_err(|error| error.to_string())?;
            println!("{text}");
        }
        Answer::Status(status) => println!("{status}"),
        Answer::Done => {}
        Answer::Refused(message) => return Err(message),
    }
    Ok(())
}
