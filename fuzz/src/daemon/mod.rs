//! All input of `batond`: files, commands, messages and frames of the kernel, and packets from the Internet to a home
//! agent and to a mobile router.

mod network;
mod node;
mod pair;

pub use pair::check as check_pair;

use baton_daemon::config::{self, Config, Configuration};
use baton_daemon::gateway::GatewayConfig;
use baton_daemon::home_agent::HomeAgentRole;
use baton_daemon::mobile_router::MobileRouterConfig;
use baton_daemon::operation::control::Command;
use baton_linux::links::{LinkChange, LinkMonitor};
use baton_linux::offload;
use std::collections::BTreeSet;

/// Parses the text of a configuration, for each role: it is accepted, or refused with a message that names the file.
pub fn check_config(data: &[u8]) {
    let Ok(text) = core::str::from_utf8(data) else {
        return;
    };
    refused_with_words::<MobileRouterConfig>(text);
    refused_with_words::<HomeAgentRole>(text);
    refused_with_words::<GatewayConfig>(text);
    refused_with_words::<Config>(text);
}

fn refused_with_words<T: Configuration>(text: &str) {
    if let Err(error) = config::parse::<T>(text, "the.toml") {
        let words = error.to_string();
        assert!(words.starts_with("the.toml"), "{words:?}");
    }
}

/// Parses a line at the command socket: an accepted command is written such that it parses again.
pub fn check_command(data: &[u8]) {
    if let Ok(command) = serde_json::from_slice::<Command>(data) {
        let again = serde_json::to_vec(&command).expect("a command can be written");
        assert_eq!(
            serde_json::from_slice::<Command>(&again).ok(),
            Some(command)
        );
    }
}

/// Parses a message of route netlink: read or refused. A removed interface existed before.
pub fn check_netlink(data: &[u8]) {
    let mut monitor = LinkMonitor::open().expect("the kernel has route netlink");
    let mut known = BTreeSet::new();
    // The kernel's own list first, which does not depend on the input.
    follow(&mut monitor, &mut known);
    // After an error the rest of a message is not read.
    let _ = monitor.take_message(data);
    let changes = follow(&mut monitor, &mut known);
    assert!(
        changes <= data.len() + 64,
        "{changes} changes of {} bytes",
        data.len()
    );
}

/// Takes all changes, and returns how many.
fn follow(monitor: &mut LinkMonitor, known: &mut BTreeSet<u32>) -> usize {
    let mut changes = 0;
    while let Ok(Some(change)) = monitor.poll() {
        changes += 1;
        match change {
            LinkChange::Is(link) => drop(known.insert(link.index)),
            LinkChange::Gone(index) => assert!(known.remove(&index), "{index} was not there"),
        }
    }
    changes
}

/// Splits a frame of a TUN device with offloads: no resulting packet is longer than the whole, and their number is
/// bounded.
pub fn check_frame(data: &[u8]) {
    let mut frame = data.to_vec();
    let Some(mut packets) = offload::read_frame(&mut frame) else {
        return;
    };
    let mut place = vec![0; packets.longest()];
    let mut count = 0;
    while let Ok(Some(length)) = packets.write_next(&mut place) {
        assert!(length <= place.len() && length <= data.len());
        count += 1;
        assert!(count <= data.len(), "more packets than bytes");
    }
}
