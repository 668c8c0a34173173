//! A home agent's pool of home network prefixes, and its leases.

use super::HOME_PREFIX_LENGTH;
use crate::time::{Duration, Instant};
use crate::wire::prefix::Ipv6Prefix;
use core::net::Ipv6Addr;
use std::collections::{BTreeMap, BTreeSet};

/// Prefixes of [`HOME_PREFIX_LENGTH`] bits within a shorter one, each on loan to at most one mobile.
#[derive(Clone, Debug)]
pub struct PrefixPool {
    whole: Ipv6Prefix,
    lifetime_s: u32,
    /// Mobile and end of each lease, by the prefix's number.
    leases: BTreeMap<u64, (u64, Instant)>,
    /// Numbers of the prefixes, by mobile.
    numbers: BTreeMap<u64, u64>,
    ends: BTreeSet<(Instant, u64)>,
    /// All prefixes with smaller numbers are on loan.
    lowest: u64,
}

impl PrefixPool {
    /// Creates a pool of the prefixes within `whole`, which are lent for `lifetime_s` seconds. `None` unless `whole` has
    /// 1 to [`HOME_PREFIX_LENGTH`] bits.
    pub fn new(whole: Ipv6Prefix, lifetime_s: u32) -> Option<PrefixPool> {
        (1..=HOME_PREFIX_LENGTH)
            .contains(&whole.length())
            .then_some(PrefixPool {
                whole,
                lifetime_s,
                leases: BTreeMap::new(),
                numbers: BTreeMap::new(),
                ends: BTreeSet::new(),
                lowest: 0,
            })
    }

    /// Returns the lifetime of a lease in seconds.
    pub const fn lifetime_s(&self) -> u32 {
        self.lifetime_s
    }

    /// Returns prefix `number` of those within `whole`, counted from zero; `None` beyond the last.
    pub fn nth(whole: Ipv6Prefix, number: u64) -> Option<Ipv6Prefix> {
        let spare = HOME_PREFIX_LENGTH.checked_sub(whole.length())?;
        let is_within = number.checked_shr(spare.into()).unwrap_or(0) == 0;
        let address = whole.address().to_bits() | u128::from(number) << HOME_PREFIX_LENGTH;
        Ipv6Prefix::new(Ipv6Addr::from_bits(address), HOME_PREFIX_LENGTH).filter(|_| is_within)
    }

    /// Returns the number of a prefix, if it is one of the pool's.
    fn number(&self, prefix: Ipv6Prefix) -> Option<u64> {
        let number = prefix.address().to_bits() ^ self.whole.address().to_bits();
        let number = u64::try_from(number >> HOME_PREFIX_LENGTH).ok()?;
        (PrefixPool::nth(self.whole, number) == Some(prefix)).then_some(number)
    }

    /// Lends a prefix to a mobile from `now` on, and returns it: the one that the mobile has on loan, otherwise the
    /// `wanted` one if that is free, otherwise the first free one. `None` if none is left.
    pub fn lend(
        &mut self,
        now: Instant,
        mobile: u64,
        wanted: Option<Ipv6Prefix>,
    ) -> Option<Ipv6Prefix> {
        let free = |number: &u64| !self.leases.contains_key(number);
        let number = match self.numbers.get(&mobile) {
            Some(&number) => number,
            None => match wanted.and_then(|wanted| self.number(wanted)).filter(free) {
                Some(number) => number,
                None => self.first_free(),
            },
        };
        let prefix = PrefixPool::nth(self.whole, number)?;
        let end = now + Duration::from_secs(self.lifetime_s.into());
        if let Some((_, before)) = self.leases.insert(number, (mobile, end)) {
            self.ends.remove(&(before, number));
        }
        self.ends.insert((end, number));
        self.numbers.insert(mobile, number);
        Some(prefix)
    }

    /// Returns the number of the first prefix that is not on loan, perhaps beyond the last.
    fn first_free(&mut self) -> u64 {
        while self.leases.contains_key(&self.lowest) {
            self.lowest += 1;
        }
        self.lowest
    }

    /// Returns the end of the lease that ends first.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.ends.first().map(|&(end, _)| end)
    }

    /// Ends a lease that is due; returns its mobile and prefix.
    pub fn poll_ended(&mut self, now: Instant) -> Option<(u64, Ipv6Prefix)> {
        let &(end, number) = self.ends.first().filter(|&&(end, _)| end <= now)?;
        self.ends.remove(&(end, number));
        let (mobile, _) = self.leases.remove(&number)?;
        self.numbers.remove(&mobile);
        self.lowest = self.lowest.min(number);
        Some((mobile, PrefixPool::nth(self.whole, number)?))
    }
}
