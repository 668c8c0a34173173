//! The log of a daemon: the journal, with fields, if a service manager connects standard error to it; otherwise lines
//! on standard error.

use core::fmt::{self, Debug, Write};
use std::env;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::time::Instant;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::FmtContext;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

/// Prefix of field names in the journal.
const PREFIX: &str = "BATON";

/// Opens the log of this process, once.
pub fn open() {
    // If the journal does not accept the connection, it gets the lines by standard error.
    let journal = leads_to_journal().then(tracing_journald::layer);
    match journal {
        Some(Ok(journal)) => {
            let journal = journal.with_field_prefix(Some(PREFIX.to_owned()));
            tracing_subscriber::registry()
                .with(LevelFilter::INFO)
                .with(journal)
                .init();
        }
        Some(Err(_)) | None => {
            tracing_subscriber::fmt()
                // An unwritable log cannot be reported, and does not stop the daemon.
                .log_internal_errors(false)
                .event_format(Lines(Instant::now()))
                .with_writer(io::stderr)
                .with_max_level(LevelFilter::INFO)
                .init();
        }
    }
}

/// Returns true if standard error is the journal: the service manager passes its device and inode (systemd.exec(5),
/// `$JOURNAL_STREAM`).
fn leads_to_journal() -> bool {
    let Ok(named) = env::var("JOURNAL_STREAM") else {
        return false;
    };
    let error = io::stderr().as_fd().try_clone_to_owned();
    let metadata = error.and_then(|error| File::from(error).metadata());
    metadata.is_ok_and(|found| named == format!("{}:{}", found.dev(), found.ino()))
}

/// Format of lines: the time since the log was opened, and the message, which includes the contents of the fields.
struct Lines(Instant);

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut message = Message::default();
        event.record(&mut message);
        let since_s = self.0.elapsed().as_secs_f64();
        writeln!(writer, "batond: {since_s:.3} s: {}", message.0)
    }
}

/// The message of an event, without its fields.
#[derive(Default)]
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            // Writing to a string does not fail.
            let _ = write!(self.0, "{value:?}");
        }
    }
}
