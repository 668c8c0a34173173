//! Our TCP against the kernel's, over a scenario's links: every profile, opened from either side.
//!
//! The oracle is the kernel: it takes our segments and we take its, both say the same of what they have agreed on,
//! and every byte that either side's application reads is compared with what the other's wrote.

mod bench;
mod carrying;
mod closing;
mod forged;
mod handshake;
mod kernel;
mod paths;
mod seen;
mod windows;

use baton_proto::tcp::profile::Profile;
use bench::Side;
use std::fmt::Debug;

/// Runs a case for every profile and opener, all at once.
fn for_each(case: impl Fn(&Profile, Side) + Sync) {
    at_once(profiles_and_openers(), |(name, opener)| {
        case(&Profile::named(name).unwrap(), opener);
    });
}

fn profiles_and_openers() -> Vec<(&'static str, Side)> {
    let names = Profile::NAMES.into_iter();
    names
        .flat_map(|name| Side::BOTH.map(|opener| (name, opener)))
        .collect()
}

/// Runs cases at once: most of the time they wait for their links.
fn at_once<T: Copy + Debug + Send>(cases: Vec<T>, run: impl Fn(T) + Sync) {
    let run = &run;
    std::thread::scope(|scope| {
        let begin = |&case: &T| {
            let thread = std::thread::Builder::new().name(format!("{case:?}"));
            let thread = thread.spawn_scoped(scope, move || run(case)).unwrap();
            (case, thread)
        };
        let threads: Vec<_> = cases.iter().map(begin).collect();
        let failed = threads
            .into_iter()
            .filter_map(|(case, thread)| thread.join().is_err().then_some(case));
        let failed: Vec<T> = failed.collect();
        assert!(failed.is_empty(), "failed: {failed:?}");
    });
}
