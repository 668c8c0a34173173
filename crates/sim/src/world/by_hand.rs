//! Changes of links on demand, during a live run.

use super::World;
use crate::scenario::LinkEdit;
use crate::scenario::model::{LinkChange, LinkIndex};
use baton_proto::time::Instant;

impl World {
    /// Changes a link now, as an entry of `[[changes]]` does. A later entry for the same link sets it to the entry's
    /// values.
    ///
    /// # Errors
    /// The reason why the link cannot be changed.
    pub fn change_link(&mut self, edit: &LinkEdit) -> Result<(), String> {
        let link = self.changeable(edit)?;
        let wire = self.net.wires.plain(link.0);
        let mut config = wire.link.config().clone();
        edit.apply(&mut config, Instant::ZERO + self.scenario.duration)?;
        let up = edit.up().unwrap_or(wire.works);
        let at = self.now;
        let change = LinkChange {
            at,
            link,
            config: config.into(),
            up,
        };
        self.scenario.changes.push(change);
        self.apply_change(self.scenario.changes.len() - 1);
        self.settle();
        Ok(())
    }

    /// Returns the link of an edit, if it can be changed.
    fn changeable(&self, edit: &LinkEdit) -> Result<LinkIndex, String> {
        let scenario = &self.scenario;
        let plain = &scenario.links;
        let named = |name: &str| plain.iter().position(|link| link.config.name == name);
        let Some(link) = named(edit.link()) else {
            let names: Vec<&str> = plain.iter().map(|link| link.config.name.as_str()).collect();
            return Err(format!(
                "no link {:?} can be changed (there are: {})",
                edit.link(),
                names.join(", ")
            ));
        };
        if edit.up().is_some() && plain[link].reception.is_some() {
            let name = edit.link();
            return Err(format!(
                "the state of {name} follows from the position of its mobile; expected no change of it"
            ));
        }
        Ok(LinkIndex(link))
    }
}
