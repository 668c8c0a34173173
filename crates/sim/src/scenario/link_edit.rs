//! Changes of links on demand in a live run: like an entry of `[[changes]]`, from now on.

use super::document::{Document, Path, Step};
use super::error::quoted;
use super::raw_links::{RawChange, RawState};
use super::resolve::Report;
use super::resolve_direction::check_direction;
use super::{checked, overrides, resolve_changes, schema};
use crate::link::config::LinkConfig;
use baton_proto::time::Instant;
use toml::{Table, Value};

const FORM: &str = "expected links.NAME.KEY=VALUE, like links.wifi.rate=2 Mbit/s";

/// A change of one key of one link.
#[derive(Debug)]
pub struct LinkEdit {
    raw: RawChange,
    text: String,
}

impl LinkEdit {
    /// Reads `links.NAME.KEY=VALUE`, where KEY is one of `[[changes]]`.
    ///
    /// # Errors
    /// Fails with the mistake in it.
    pub fn parse(text: &str) -> Result<LinkEdit, String> {
        let wrong = |why: &str| format!("{}: {why}", quoted(text));
        let (keys, value) = text.split_once('=').ok_or_else(|| wrong(FORM))?;
        let keys: Vec<&str> = keys.trim().split('.').collect();
        let ["links", link, keys @ ..] = keys.as_slice() else {
            let only = "only links can change during a run";
            return Err(wrong(&format!("{only}; {FORM}")));
        };
        if keys.is_empty() || keys.len() > 4 {
            return Err(wrong(FORM));
        }
        if matches!(keys[0], "at" | "link") {
            let fixed = "is set by the command itself, which changes that link now";
            return Err(wrong(&format!("\"{}\" {fixed}", keys[0])));
        }
        let value = overrides::parse(value.trim())
            .ok_or_else(|| wrong("a key cannot be removed during a run"))?;
        let mut values = nested(keys, value);
        values.insert("at".to_owned(), Value::from("0 s"));
        values.insert("link".to_owned(), Value::from(*link));
        let document = Document::of_values(values.clone(), text);
        let mut report = Report::new(&document, None);
        match checked::<RawChange>(values, &schema::of::<RawChange>(), &mut report) {
            Some(raw) => Ok(LinkEdit {
                raw,
                text: text.to_owned(),
            }),
            None => Err(report.into_error().to_string()),
        }
    }

    /// Returns the name of the link.
    pub fn link(&self) -> &str {
        &self.raw.link
    }

    /// Returns the text of the change.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns true if the link works from now on, false if it does not, and `None` for a change of another key.
    pub fn up(&self) -> Option<bool> {
        self.raw.state.map(|state| state == RawState::Up)
    }

    /// Changes a link's parameters, in a run that ends at `end`.
    ///
    /// # Errors
    /// Fails with the value that conflicts with the others.
    pub fn apply(&self, config: &mut LinkConfig, end: Instant) -> Result<(), String> {
        let document = Document::of_values(Table::new(), &self.text);
        let (mut report, top) = (Report::new(&document, None), Path::default());
        resolve_changes::change_config(&self.raw, &top, config, &mut report);
        for (key, direction) in [("down", &config.down), ("up", &config.up)] {
            let path = Path(vec![Step::Key(key.to_owned())]);
            check_direction(direction, &path, end, &mut report);
        }
        match report.is_clean() {
            true => Ok(()),
            false => Err(report.into_error().to_string()),
        }
    }
}

/// Returns a value under nested keys.
fn nested(keys: &[&str], value: Value) -> Table {
    let mut table = Table::new();
    if let [key, inner @ ..] = keys {
        let value = match inner {
            [] => value,
            _ => Value::Table(nested(inner, value)),
        };
        table.insert((*key).to_owned(), value);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::kinds::wired;

    #[test]
    fn a_key_of_a_change_takes_the_place_of_what_was_there() {
        let mut config = wired::link("wifi");
        let end = Instant::from_secs(10);
        for text in [
            "links.wifi.rate=2 Mbit/s",
            "links.wifi.down.delay=70 ms",
            "links.wifi.up.packet_error_rate=0.25",
        ] {
            let edit = LinkEdit::parse(text).unwrap();
            assert_eq!((edit.link(), edit.up()), ("wifi", None));
            edit.apply(&mut config, end).unwrap();
        }
        assert_eq!(config.down.rate, config.up.rate);
        assert_ne!(config.down.rate, wired::link("wifi").down.rate);
        assert_eq!(
            config.down.delay,
            baton_proto::time::Duration::from_millis(70)
        );
        assert_eq!(config.up.delay, wired::link("wifi").up.delay);
        assert_eq!(config.down.channel, wired::link("wifi").down.channel);
        assert_ne!(config.up.channel, wired::link("wifi").up.channel);
        let down = LinkEdit::parse("links.wifi.state=down").unwrap();
        assert_eq!(down.up(), Some(false));
    }

    #[test]
    fn what_cannot_be_changed_is_refused() {
        for (text, part) in [
            ("rate", "expected links.NAME.KEY=VALUE"),
            ("flows.f.traffic.bytes=1 kB", "only links can change"),
            ("links.wifi=2", "expected links.NAME.KEY=VALUE"),
            ("links.wifi.rate=fast", "\"fast\""),
            ("links.wifi.rat=1 Mbit/s", "did you mean \"rate\"?"),
            ("links.wifi.rate=@unset", "cannot be removed"),
            ("links.wifi.at=3 s", "set by the command itself"),
        ] {
            let said = LinkEdit::parse(text).unwrap_err();
            assert!(said.contains(part), "{text}: {said}");
        }
        let recorded =
            LinkEdit::parse("links.wifi.recording={ kind = \"csv\", file = \"a.csv\" }").unwrap();
        let said = recorded.apply(&mut wired::link("wifi"), Instant::from_secs(10));
        assert!(said.unwrap_err().contains("a recording runs to its end"));
    }
}
