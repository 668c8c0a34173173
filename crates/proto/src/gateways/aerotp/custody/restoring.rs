//! Connections of an earlier start of the gateway, taken up again.

use super::super::rules::Rule;
use super::super::sending::path_ends;
use super::super::{AerotpGateway, Near, Splice};
use super::carrying::Journaled;
use super::record::Replayed;
use super::{MissingRule, Recovered, Returning};
use crate::aerotp::{self, Configuration, Identity, Past, PathId};
use crate::host::layer::Around;
use crate::packet::Payload;
use crate::time::{Duration, Instant};
use crate::wire::aerotp::Mode;
use std::sync::Arc;

/// Time beyond the longest custody for which a silent gateway is waited for: custody ends first.
const BEYOND_AGE: Duration = Duration::from_secs(60);

impl AerotpGateway {
    /// Returns true if connections of a rule are in the journal: those in near-reliable mode.
    pub(in crate::gateways::aerotp) fn keeps(&self, rule: &Rule) -> bool {
        self.custody.journal.is_some() && rule.connection_mode() == Mode::NearReliable
    }

    /// Returns the number of a rule; 65535, which no rule has, of one that was replaced.
    pub(super) fn number_of(&self, rule: &Arc<Rule>) -> u16 {
        let number = self.rules.iter().position(|it| Arc::ptr_eq(it, rule));
        number
            .and_then(|number| u16::try_from(number).ok())
            .unwrap_or(u16::MAX)
    }

    /// Changes a configuration to that of a connection in the journal.
    pub(in crate::gateways::aerotp) fn for_journal(&self, configuration: &mut Configuration) {
        configuration.trusts_paths = self.links_authenticate;
        configuration.confirms = true;
        configuration.keeps_until_confirmed = true;
        let age = self
            .custody
            .journal
            .as_ref()
            .map_or(Duration::ZERO, |it| it.age);
        configuration.close_timeout = configuration.close_timeout.max(age + BEYOND_AGE);
    }

    pub(super) fn check_rules(&self, recovered: &Recovered) -> Result<(), MissingRule> {
        let mut all = recovered.connections.values();
        let missing = all.find(|it| self.rule_of(it).is_none());
        missing.map_or(Ok(()), |it| {
            Err(MissingRule {
                ends: it.beginning.ends,
            })
        })
    }

    /// Returns the rule of a connection: that of the number which it had, or else the first in near-reliable mode.
    fn rule_of(&self, replayed: &Replayed) -> Option<&Arc<Rule>> {
        let is_right = |rule: &&Arc<Rule>| rule.connection_mode() == Mode::NearReliable;
        let same = self.rules.get(usize::from(replayed.beginning.rule));
        same.filter(is_right)
            .or_else(|| self.rules.iter().find(is_right))
    }

    /// Restores all connections of the journal that was read.
    pub(in crate::gateways::aerotp) fn restore(&mut self, now: Instant, around: &Around<'_>) {
        let journal = self.custody.journal.as_mut();
        let Some(recovered) = journal.and_then(|journal| journal.recovered.take()) else {
            return;
        };
        for (number, replayed) in recovered.connections {
            self.next_number = self.next_number.max(number + 1);
            if let Some(rule) = self.rule_of(&replayed).cloned() {
                self.restore_one(now, around, (number, rule), replayed);
            }
        }
    }

    fn restore_one(
        &mut self,
        now: Instant,
        around: &Around<'_>,
        (number, rule): (u64, Arc<Rule>),
        replayed: Replayed,
    ) {
        let beginning = replayed.beginning;
        let ends = beginning.ends;
        let starts = self.custody.journal.as_ref().map_or(0, |it| it.starts);
        let mut configuration = rule.configuration.clone();
        self.for_journal(&mut configuration);
        let identity = Identity {
            local_port: ends.0.port,
            remote_port: ends.1.port,
            initial: beginning.own.initial,
            token: beginning.own.token,
        };
        let past = Past {
            incarnation: starts.saturating_sub(beginning.start),
            peer: replayed.peer,
            received: replayed.delivered,
            written: replayed.taken,
            unconfirmed: unconfirmed(&replayed),
            is_closed: replayed.near_ended,
        };
        let first = (path_ends(&ends, PathId(0)), self.mtu_of_first(around));
        let mut aerotp = aerotp::Connection::resume(now, configuration, identity, first, &past);
        aerotp.set_offer(beginning.offer);
        self.add_links(now, around, &ends, &mut aerotp);
        let near = Near::Returning(Returning::new(now));
        let mut splice = Splice::new(now, ends, aerotp, near, rule, None);
        (splice.number, splice.half_open) = (number, false);
        splice.near_finished = replayed.near_ended;
        splice.journaled = Some(Box::new(Journaled::restored(&replayed)));
        self.splices.insert(ends, Box::new(splice));
        self.touched.insert(ends);
    }
}

/// Returns the data that the far end has not confirmed.
fn unconfirmed(replayed: &Replayed) -> Vec<Payload> {
    let kept = replayed.data.iter().map(|kept| {
        let known = replayed.confirmed.saturating_sub(kept.start) as usize;
        Payload::from_slice(kept.bytes.get(known..).unwrap_or_default())
    });
    kept.filter(|payload| !payload.is_empty()).collect()
}

impl Journaled {
    fn restored(replayed: &Replayed) -> Journaled {
        let ages = replayed.data.iter();
        let ages = ages.map(|kept| (kept.start + kept.bytes.len() as u64, kept.at));
        Journaled {
            beginning: Some(replayed.beginning),
            has_begun: true,
            peer: replayed.peer,
            taken: replayed.taken,
            ages: ages.collect(),
            confirmed: replayed.confirmed,
            put: replayed.delivered,
            delivered: replayed.delivered,
            delivered_durable: replayed.delivered,
            near_end: replayed.near_ended,
            near_end_durable: replayed.near_ended,
            far_end: replayed.far_end,
            far_end_durable: replayed.far_end.is_some(),
            ..Journaled::default()
        }
    }
}
