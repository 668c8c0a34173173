//! Changes between two texts of a configuration.

use toml::{Table, Value};

/// Returns the keys in which two configurations differ, each with its enclosing tables: `home_agent.endpoint`.
pub fn changed_keys(old: &Table, new: &Table) -> Vec<String> {
    let mut changed = Vec::new();
    compare("", old, new, &mut changed);
    changed
}

fn compare(prefix: &str, old: &Table, new: &Table, changed: &mut Vec<String>) {
    let added = new.keys().filter(|key| !old.contains_key(*key));
    for key in old.keys().chain(added) {
        let name = format!("{prefix}{key}");
        match (old.get(key), new.get(key)) {
            (Some(Value::Table(old)), Some(Value::Table(new))) => {
                compare(&format!("{name}."), old, new, changed);
            }
            (old, new) if old != new => changed.push(name),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_changed_added_or_gone_are_named_and_others_are_not() {
        let old = "device = 'a'\nlifetime = '60 s'\nnetworks = ['10.1.0.0/16']\n[home_agent]\naddress = '::1'\nendpoint = '192.0.2.1:4191'\n";
        let new = "networks = ['10.1.0.0/16']\nlifetime = '90 s'\nmetrics = '127.0.0.1:9191'\n[home_agent]\nendpoint = '192.0.2.2:4191'\naddress = '::1'\n";
        let changed = changed_keys(&old.parse().unwrap(), &new.parse().unwrap());
        let expected = ["device", "lifetime", "home_agent.endpoint", "metrics"];
        assert_eq!(changed, expected);
    }
}
