//! Files of the emulator mahimahi (Netravali et al., USENIX ATC 2015): one whole number per line, the millisecond of
//! one opportunity to send 1500 B; equal lines are several opportunities. The file repeats with its last line's time as
//! its period.

use super::{AtEnd, Opportunities, TraceError, malformed};

/// Reads the text of a file; `file` is its name for messages.
pub fn parse(file: &str, text: &str, at_end: AtEnd) -> Result<Opportunities, TraceError> {
    const EXPECTED: &str =
        "a time in whole milliseconds below 2^32, not before that of the line above";
    let mut milliseconds: Vec<u32> = Vec::with_capacity(text.len() / 6);
    for (index, line) in text.lines().enumerate() {
        match line.trim().parse::<u32>() {
            Ok(time) if milliseconds.last().is_none_or(|&last| last <= time) => {
                milliseconds.push(time);
            }
            _ => return Err(malformed(file, index, EXPECTED, line)),
        }
    }
    let lines = milliseconds.len();
    Opportunities::new(milliseconds, at_end).ok_or_else(|| {
        let found = if lines == 0 { "" } else { "0" };
        let expected = "a last time above 0, which is the length of the recording";
        malformed(file, lines.saturating_sub(1), expected, found)
    })
}
