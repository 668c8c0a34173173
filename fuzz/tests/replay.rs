//! The stored corpus, and a bounded number of seeded mutations of it, through every target.

use baton_fuzz::TARGETS;
use baton_sim::rng::{Seed, Stream};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

/// Mutations of a target's corpus, in all.
const MUTATIONS: u64 = 1_500;
/// Longest input of a mutation.
const LONGEST: usize = 4_096;

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target);
    let entries =
        std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
        .into_iter()
        .map(|file| {
            let data = std::fs::read(&file).unwrap();
            (file, data)
        })
        .collect()
}

/// Changes an input as searches do: bits, bytes, stretches, and parts of another input.
fn mutate(draws: &mut Stream, mut data: Vec<u8>, other: &[u8]) -> Vec<u8> {
    for _ in 0..=draws.below(4) {
        let at = draws.below(data.len() as u64 + 1) as usize;
        let end = (at + 1 + draws.below(16) as usize).min(data.len());
        match draws.below(6) {
            0 => data.truncate(at),
            1 => data.insert(at, draws.bits() as u8),
            2 if at < data.len() => data[at] ^= 1 << draws.below(8),
            3 if at < data.len() => {
                data[at] = [0, 1, 0x7F, 0x80, 0xFF, b'9'][draws.below(6) as usize]
            }
            4 if at < end => {
                let stretch = data[at..end].to_vec();
                data.splice(at..at, stretch);
            }
            _ => {
                let from = draws.below(other.len() as u64 + 1) as usize;
                let to = (from + draws.below(64) as usize).min(other.len());
                data.splice(at..end.max(at), other[from..to].iter().copied());
            }
        }
    }
    data.truncate(LONGEST);
    data
}

fn survives(target: &str, data: &[u8], what: &str) {
    if catch_unwind(|| baton_fuzz::run(target, data)).is_err() {
        panic!(
            "{target} does not survive {what}; keep it with: printf '{}' > fuzz/corpus/{target}/found",
            data.iter()
                .map(|byte| format!("\\x{byte:02x}"))
                .collect::<String>()
        );
    }
}

fn replay(chosen: impl Fn(&str) -> bool) {
    for (target, _) in TARGETS.into_iter().filter(|(name, _)| chosen(name)) {
        let corpus = corpus(target);
        assert!(!corpus.is_empty(), "no corpus for {target}");
        for (file, data) in &corpus {
            survives(target, data, &file.display().to_string());
        }
        let mut draws = Seed(1).stream(target);
        for number in 0..MUTATIONS {
            let [first, second] = [(); 2].map(|()| draws.below(corpus.len() as u64) as usize);
            let data = mutate(&mut draws, corpus[first].1.clone(), &corpus[second].1);
            survives(target, &data, &format!("mutation {number}"));
        }
    }
}

#[test]
fn the_kept_corpus_and_mutations_of_it_break_no_invariant() {
    replay(|target| !target.starts_with("agent-") && target != "daemon");
}

/// The same for the slow targets, run in parallel.
#[test]
fn agents_between_forged_packets_break_no_invariant() {
    replay(|target| target.starts_with("agent-"));
}

/// Each input is two minutes of a home agent and a router.
#[test]
fn daemons_across_a_hostile_network_break_no_invariant() {
    replay(|target| target == "daemon");
}
