//! `batond`: one node with this machine's clock and devices.

use baton_daemon::capture::client;
use baton_daemon::command_line::{Action, CommandLine};
use baton_daemon::gateway::signals::{LinkTable, LinkWord};
use baton_daemon::operation::control::{self, Answer, Command};
use baton_daemon::operation::log;
use baton_daemon::role::{RoleFile, RoleName};
use baton_daemon::{daemon, keys};
use clap::Parser;
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let done = match CommandLine::parse().action {
        Action::MobileRouter { config } => return run(RoleName::MobileRouter, &config),
        Action::HomeAgent { config } => return run(RoleName::HomeAgent, &config),
        Action::Gateway { config } => return run(RoleName::Gateway, &config),
        Action::Node { config } => return run(RoleName::Node, &config),
        Action::Check { config } => match RoleFile::read(None, &config) {
            Ok(file) => {
                let (config, role) = (config.display(), file.role.name());
                let words = format!("{config}: a configuration of a {role}");
                let warning = file.role.warning().map(|warning| format!("\n{warning}"));
                print(words + &warning.unwrap_or_default())
            }
            Err(message) => return fail(2, &message),
        },
        Action::Schema { role } => print_json(&role.schema()),
        Action::Key { file } => keys::make(&file).and_then(print),
        Action::Status { json, control } => status(control, json),
        Action::Switch { uplink, control } => {
            let uplink = (uplink != "auto").then_some(uplink);
            ask(control, &Command::Switch(uplink)).map(drop)
        }
        Action::Link {
            name,
            word,
            control,
        } => {
            let word = LinkWord::try_from(LinkTable {
                name,
                rate: word.rate,
                goes_down_in: word.goes_down_in,
                is: word.is,
            });
            match word {
                Ok(word) => ask(control, &Command::Link(word)).map(drop),
                Err(message) => return fail(2, &message),
            }
        }
        Action::Capture {
            file,
            seconds,
            control,
        } => {
            let socket = control.map_or_else(control::find, Ok);
            let most = seconds.map(Duration::from_secs);
            socket.and_then(|socket| client::save(&socket, &file, most))
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => fail(1, &message),
    }
}

fn fail(status: u8, message: &str) -> ExitCode {
    eprintln!("batond: {message}");
    ExitCode::from(status)
}

/// Runs a role. Its errors go to the log, like all its other messages.
fn run(name: RoleName, path: &Path) -> ExitCode {
    log::open();
    let failed = match RoleFile::read(Some(name), path) {
        Ok(file) => daemon::run(file, path).map_err(|message| (1, message)),
        Err(message) => Err((2, message)),
    };
    match failed {
        Ok(()) => ExitCode::SUCCESS,
        Err((status, message)) => {
            tracing::error!("{message}");
            ExitCode::from(status)
        }
    }
}

/// Requests a running daemon's state, and prints it.
fn status(socket: Option<PathBuf>, json: bool) -> Result<(), String> {
    match ask(socket, &Command::Status)? {
        Answer::Status(status) if json => print_json(&status),
        Answer::Status(status) => print(status),
        Answer::Done | Answer::Refused(_) => Err("the daemon did not report its state".to_owned()),
    }
}

/// Sends a command to a running daemon, at a socket or at the only one.
fn ask(socket: Option<PathBuf>, command: &Command) -> Result<Answer, String> {
    let socket = socket.map_or_else(control::find, Ok)?;
    match control::call(&socket, command)? {
        Answer::Refused(message) => Err(message),
        answer => Ok(answer),
    }
}

fn print_json(value: &impl Serialize) -> Result<(), String> {
    print(serde_json::to_string_pretty(value).map_err(|error| error.to_string())?)
}

/// Prints a line. A reader that has closed the pipe is not an error.
fn print(line: impl Display) -> Result<(), String> {
    match writeln!(io::stdout(), "{line}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("standard output: {error}"))
        }
        _ => Ok(()),
    }
}
