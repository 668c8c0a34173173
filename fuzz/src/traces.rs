//! Recordings: refused with a line, or usable at any time.

use crate::bytes::Bytes;
use baton_proto::time::{Duration, Instant};
use baton_sim::link::trace::{AtEnd, Capacity, Trace, TraceError, csv, leoreplayer, mahimahi};

/// Times and lengths at which a recording is used, and its text.
struct Use<'a> {
    at_end: AtEnd,
    moments: [Instant; 3],
    bits: u64,
    text: &'a str,
}

fn read(data: &[u8]) -> Option<Use<'_>> {
    let mut bytes = Bytes::new(data);
    let first = bytes.u8();
    let at_end = if first & 1 == 0 {
        AtEnd::Repeat
    } else {
        AtEnd::Hold
    };
    let bits = u64::from(bytes.u16()) * 8;
    // Nanoseconds up to ten thousand hours, by a shift that reaches all scales.
    let mut moments = [(); 3].map(|()| {
        let shift = bytes.u8() % 49;
        Instant::from_nanos(u64::from(bytes.u8()) << shift)
    });
    moments.sort();
    let text = core::str::from_utf8(bytes.rest()).ok()?;
    Some(Use {
        at_end,
        moments,
        bits,
        text,
    })
}

fn check_error(text: &str, error: &TraceError) {
    let TraceError::Malformed { file, line, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(file, "file");
    // The mistake in a text that is empty or ends too early is in the line after it.
    assert!((1..=text.lines().count() + 1).contains(line), "{error}");
    assert!(error.to_string().len() < 1_000, "{error}");
}

fn check_use(given: &Use<'_>, trace: &Trace) {
    let mut cursor = None;
    let mut before = Instant::ZERO;
    for now in given.moments {
        // Packets sent in turn end in turn, and never before they are sent.
        let now = now.max(before);
        let sent = match &trace.capacity {
            None => None,
            Some(Capacity::Rates(rates)) => rates.transmitted(now, given.bits),
            Some(Capacity::Opportunities(opportunities)) => {
                let cursor = cursor.get_or_insert_with(|| opportunities.after(now));
                opportunities.transmitted(cursor, now, given.bits)
            }
        };
        if let Some(sent) = sent {
            let waits_in_turn = matches!(trace.capacity, Some(Capacity::Opportunities(_)));
            assert!(sent >= now || waits_in_turn, "{sent} for {now}");
            before = before.max(sent);
        }
        let loss = trace.loss_at(now);
        assert!((0.0..=1.0).contains(&loss), "{loss}");
        trace.delay_at(now);
    }
    trace.mean_rate();
}

/// Tries comma-separated recordings.
pub fn check_csv(data: &[u8]) {
    let Some(given) = read(data) else {
        return;
    };
    let trace = match csv::parse("file", given.text, given.at_end) {
        Ok(trace) => trace,
        Err(error) => return check_error(given.text, &error),
    };
    // Every column present is used.
    let header = given.text.lines().next().unwrap_or("");
    for (column, used) in [
        ("rate_bps", trace.capacity.is_some()),
        ("delay_ms", trace.delay.is_some()),
        ("loss", trace.loss.is_some()),
    ] {
        assert_eq!(header.contains(column), used, "{column}");
    }
    check_use(&given, &trace);
}

/// Tries files of delivery opportunities.
pub fn check_mahimahi(data: &[u8]) {
    let Some(given) = read(data) else {
        return;
    };
    match mahimahi::parse("file", given.text, given.at_end) {
        Ok(opportunities) => {
            // A cursor that has been idle begins after now: each packet then leaves later than it arrived.
            let mut before = Instant::ZERO;
            for now in given.moments {
                let mut cursor = opportunities.after(now);
                let sent = opportunities.transmitted(&mut cursor, now, given.bits.max(8));
                assert!(
                    sent.is_none_or(|sent| sent > now && sent >= before),
                    "{now}"
                );
                before = sent.unwrap_or(before);
            }
            let trace = Trace {
                capacity: Some(Capacity::Opportunities(opportunities)),
                delay: None,
                loss: None,
            };
            check_use(&given, &trace);
        }
        Err(error) => check_error(given.text, &error),
    }
}

/// Tries LeoReplayer's files of delays.
pub fn check_leoreplayer(data: &[u8]) {
    let Some(given) = read(data) else {
        return;
    };
    match leoreplayer::parse_delays("file", given.text, given.at_end) {
        Ok(delays) => {
            let (lines, first) = (given.text.lines().count() as u64, delays.at(Instant::ZERO));
            let end = Instant::ZERO + Duration::from_millis(10).saturating_mul(lines);
            if given.at_end == AtEnd::Repeat {
                assert_eq!(delays.at(end), first, "it begins anew at its end");
            }
            let trace = Trace {
                capacity: None,
                delay: Some(delays),
                loss: None,
            };
            check_use(&given, &trace);
        }
        Err(error) => check_error(given.text, &error),
    }
}
