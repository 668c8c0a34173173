"""Losses at handoffs by the distance of the crossover router, over a tree of routers as in A. Campbell, J. Gomez,
S. Kim, C. Wan, Z. Turanyi and A. Valko, "Comparison of IP micromobility protocols", IEEE Wireless Communications 9(1),
2002.

The paper's rates, delays and stream are from memory, its results were not to be had: the oracle is a closed form. The
mobile's links, of 1 ms, are chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from baton import Scenario
from validation import lab
from validation.row import Row

DISTANCES = {1: ("bs-1", "bs-2"), 2: ("bs-2", "bs-3"), 3: ("bs-3", "bs-4")}
"""Base stations by the hops between them and their crossover router."""
ROUTERS = {"root": ["a-1", "a-2"], "a-1": ["b-1", "b-2"], "a-2": ["b-3"]}
STATIONS = {"b-1": ["bs-1", "bs-2"], "b-2": ["bs-3"], "b-3": ["bs-4"]}
TREE = {**ROUTERS, **STATIONS, "internet": ["home", "peer", "root"]}
"""Nodes, and those below each of them."""
LINE = {"kind": "wired", "rate": "10 Mbit/s", "delay": "2 ms"}
AIR = {"kind": "wired", "rate": "1 Gbit/s", "delay": "1 ms"}
HANDOFFS = 100
"""Handoffs in a run. Each comes 0.1 ms later in the 10 ms between two datagrams than the one before."""


def lost(distance: int, announced: dict[str, str], **whole: Any) -> float:
    """Returns the mean number of datagrams that a hard handoff costs, of 210 B each 10 ms, between base stations at
    this distance from their crossover router; the mobile moves to and fro, each second."""
    links = {f"{above}-{end}": {"between": [above, end], **LINE} for above, ends in TREE.items() for end in ends}
    stations = DISTANCES[distance]
    links |= {f"air-{end}": {"between": [end, "mobile"], **AIR} for end in stations}
    moves = [
        {"at": f"{5 + move * 1.0001:.4f} s", "attach": f"air-{stations[1 - move % 2]}", "handover": "hard", **announced}
        for move in range(HANDOFFS)
    ]
    mobility = {"protocol": "mobile-ipv4", "home_agent": "home"}
    timetable = [{"at": "0 s", "attach": f"air-{stations[0]}"}, *moves]
    ends = {"from": "peer", "to": "mobile", "start": "2 s", "stop": "108 s"}
    stream = lab.datagrams({"rate": "168 kbit/s", "packet_size": "210 B"}, **ends)
    found = Scenario.build(
        name="validation",
        duration="110 s",
        record={"packets": False},
        links=links,
        home_agents={"home": {"prefix": "192.0.2.0/24"}},
        mobiles={"mobile": {"timetable": timetable, "mobility": mobility}},
        flows=[stream],
        **whole,
    ).run(seed=1)
    return float(found.summary["flows"][0]["packets"]["to_sink"]["lost"]) / HANDOFFS


def by_distance(page: str) -> Iterator[Row]:
    """Yields rows on four schemes at each distance."""
    below = [node for ends in (*ROUTERS.values(), *STATIONS.values()) for node in ends]
    agents = {end: {"gateway": "root"} for ends in STATIONS.values() for end in ends}

    def domain(protocol: str, **keys: str) -> dict[str, Any]:
        return {"micro_mobility": {"tree": {"root": "root", "routers": below, "protocol": protocol, **keys}}}

    unf, hard = domain("hawaii", path_setup="unf"), domain("cellular-ip", handoff="hard")
    semisoft = domain("cellular-ip", handoff="semisoft")
    hierarchy = {"foreign_agents": {"root": {}, **agents}}
    crossed = "both ways between the mobile and the crossover router"
    to_root = "both ways between the mobile and the root, and a solicitation's on the link"
    for distance in DISTANCES:
        # The root is three hops away from everywhere.
        cases = (
            ("hawaii", "HAWAII, UNF", lost(distance, {}, **unf), round_trip(distance), crossed),
            ("cellular-ip", "Cellular IP, hard", lost(distance, {}, **hard), round_trip(distance), crossed),
            ("semisoft", "Cellular IP, semisoft", lost(distance, {"announced": "500 ms"}, **semisoft), 1, "the air"),
            ("hierarchical", "hierarchical Mobile IP", lost(distance, {}, **hierarchy), round_trip(3) + 2, to_root),
        )
        for name, scheme, ours, oracle, ways in cases:
            yield Row(
                f"{page}.distance.{name}.{distance}",
                page,
                f"datagrams lost in a handoff, crossover router {distance} hop{'s' * (distance > 1)} up, {scheme}",
                "",
                ours,
                oracle / 10,
                f"closed form: {ways}, 1 ms on the link and 2 ms a hop, a datagram each 10 ms",
                0.05,
                "0.1 ms between the phases of handoffs, out of some ms, and messages' lengths",
            )


def round_trip(hops: int) -> float:
    """Returns the milliseconds from a router to the mobile and back: a datagram takes 0.19 ms on a line, a message half
    of that."""
    return 1 + 2.19 * hops + 1 + 2.1 * hops
