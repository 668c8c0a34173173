//! Writes the manual pages of `batond` and of its commands into a folder.

use baton_daemon::command_line::CommandLine;
use clap::CommandFactory;
use std::io;

fn main() -> io::Result<()> {
    let folder = std::env::args_os().nth(1);
    let folder = folder.ok_or_else(|| io::Error::other("expected the folder for the pages"))?;
    clap_mangen::generate_to(CommandLine::command(), folder)
}
