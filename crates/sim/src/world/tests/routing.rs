//! Routes that follow mobiles, against a search of all paths at the same moment.

use super::*;
use crate::rng::Seed;
use baton_proto::host::RouteTable;
use baton_proto::interface::InterfaceId;
use baton_proto::time::Instant;

const ROUTERS: u64 = 6;
const MOBILES: u64 = 4;

/// Creates a random graph of routers, and mobiles that move among them by soft and by hard handovers, with outages, on
/// chosen links and on none.
fn world(seed: u64) -> World {
    let mut draws = Seed(seed).stream("routing");
    let mut text = format!("name = \"test\"\nseed = {seed}\nduration = \"30 s\"\n");
    let mut link = |name: &str, ends: [String; 2]| {
        let [a, b] = ends;
        text += &format!(
            "[links.{name}]\nbetween = [\"{a}\", \"{b}\"]\nkind = \"wired\"\ndelay = \"1 ms\"\n"
        );
    };
    for router in 1..ROUTERS {
        let other = draws.below(router);
        link(
            &format!("tree{router}"),
            [format!("r{other}"), format!("r{router}")],
        );
    }
    for more in 0..draws.below(4) {
        let a = draws.below(ROUTERS);
        let b = (a + 1 + draws.below(ROUTERS - 1)) % ROUTERS;
        link(&format!("more{more}"), [format!("r{a}"), format!("r{b}")]);
    }
    for mobile in 0..MOBILES {
        for access in 0..3 {
            let router = draws.below(ROUTERS);
            let mut ends = [format!("m{mobile}"), format!("r{router}")];
            if draws.below(2) == 1 {
                ends.reverse();
            }
            link(&format!("access{mobile}-{access}"), ends);
        }
    }
    for mobile in 0..MOBILES {
        text += &format!("[mobiles.m{mobile}]\ntimetable = [\n");
        let mut access = draws.below(3);
        text += &format!("{{ at = \"0 s\", attach = \"access{mobile}-{access}\" }},\n");
        for at in 1..=8 {
            access = (access + 1 + draws.below(2)) % 3;
            let attach = match draws.below(8) {
                0 => "none".to_owned(),
                _ => format!("access{mobile}-{access}"),
            };
            let how = match draws.below(4) {
                _ if attach == "none" => "handover = \"hard\"",
                0 => "handover = \"hard\", outage = \"700 ms\"",
                1 => "handover = \"soft\", overlap = \"500 ms\"",
                2 => "handover = \"soft\", outgoing_after = \"300 ms\"",
                _ => "handover = \"hard\"",
            };
            text += &format!(
                "{{ at = \"{}.{mobile} s\", attach = \"{attach}\", {how} }},\n",
                3 * at
            );
        }
        text += "]\n";
    }
    unrecorded(&text)
}

/// Returns the interfaces by which each node sends to each other node.
fn ways(world: &World) -> Vec<Option<InterfaceId>> {
    let nodes = || world.net.nodes.iter().enumerate();
    nodes()
        .flat_map(|from| nodes().map(move |to| (from, to)))
        .filter(|((from, _), (to, _))| from != to)
        .map(|((_, from), (_, to))| from.host.routes().lookup(to.host.address()))
        .collect()
}

#[test]
fn routes_that_follow_mobiles_are_those_of_a_search_of_all_paths() {
    let mut moves = 0;
    for seed in 0..100 {
        let mut world = world(seed);
        let mut attached = Vec::new();
        for tick in 0..300 {
            world.run_until(Instant::from_millis(100 * tick + 50), u64::MAX);
            let present: Vec<Option<usize>> = world
                .net
                .mobiles
                .iter()
                .map(|mobile| mobile.attached())
                .collect();
            moves += usize::from(present != attached);
            attached = present;
            let followed = ways(&world);
            let tables: Vec<RouteTable> = world
                .net
                .nodes
                .iter()
                .map(|node| node.host.routes().clone())
                .collect();
            world.net.install_routes();
            assert_eq!(followed, ways(&world), "seed {seed}, {tick}");
            for (node, table) in world.net.nodes.iter_mut().zip(tables) {
                *node.host.routes_mut() = table;
            }
        }
    }
    assert!(moves > 100 * 8, "{moves}");
}
