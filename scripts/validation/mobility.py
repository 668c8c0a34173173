"""Mobility protocols against the times of their standards and ways computed by hand.

A mobile with 5 ms to the router of each access link; the routers and the correspondent are 10 ms from a hub, the home
agent is 100 ms from it. So it is 115 ms from the mobile to its home agent and 25 ms to the correspondent without it.
All links have 1 Gbit/s, on which a message takes microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from baton import Result, Scenario
from validation import crossover, lab
from validation.row import Row

CLOSE, CLOSELY = 1e-3, "deterministic; messages take some microseconds on the line"
MANY = range(1, 101)
"""Runs of a moment, where times are drawn."""
AGENTS = {4: "192.0.2.0/24", 6: "2001:db8:1::/64"}
ENDS = {"from": "peer", "to": "mobile"}
PING = {"from": "mobile", "to": "peer", "transport": "icmp", "traffic": "ping", "start": "5 s", "stop": "9 s"}


def run(version: int, hard: bool, keys: dict[str, Any], seed: int = 1, **whole: Any) -> Result:
    """Returns a run of 20 s; the mobile moves at 10 s, and without a link for 300 ms if that is to be hard."""

    def link(near: str, far: str, delay: str) -> dict[str, Any]:
        return {"between": [near, far], "kind": "wired", "rate": "1 Gbit/s", "delay": delay}

    links = {
        "first": link("near", "mobile", "5 ms"),
        "second": link("far", "mobile", "5 ms"),
        **{f"{router}-ground": link(router, "hub", "10 ms") for router in ("near", "far", "peer")},
        "home-ground": link("home", "hub", "100 ms"),
    }
    how = {"handover": "hard", "outage": "300 ms"} if hard else {}
    if keys.get("preregistration"):
        how["announced"] = "1 s"
    mobility = {"protocol": f"mobile-ipv{version}", "home_agent": "home", **keys}
    timetable = [{"at": "0 s", "attach": "first"}, {"at": "10 s", "attach": "second", **how}]
    agent = {"prefix": AGENTS[version], **({"duplicate_address_detection": "unique-prefix"} if version == 6 else {})}
    return Scenario.build(
        name="validation",
        duration="20 s",
        record={"packets": False},
        links=links,
        home_agents={"home": agent},
        mobiles={"mobile": {"timetable": timetable, "mobility": mobility}},
        **whole,
    ).run(seed=seed)


def handover(version: int, hard: bool, keys: dict[str, Any], seed: int = 1, **whole: Any) -> float:
    """Returns the duration of the handover."""
    found = run(version, hard, keys, seed, **whole).summary["handovers"][0]
    return float(found["completed_s"] - found["at_s"])


def ping(version: int, keys: dict[str, Any]) -> float:
    """Returns the round trip of the last of some pings from the mobile to its correspondent."""
    result = run(version, False, keys, flows=[{"name": "ping", **PING}])
    return float(lab.series(result, "round-trip time", "flow ping")[1][-1])


def handoff(keys: dict[str, Any], agents: dict[str, Any]) -> dict[str, Any]:
    """Returns the summary of a stream of a datagram per millisecond across a hard handover between foreign agents."""
    stream = lab.datagrams({"rate": "800 kbit/s", "packet_size": "100 B"}, start="5 s", stop="15 s", **ENDS)
    found: dict[str, Any] = run(4, True, keys, flows=[stream], foreign_agents=agents).summary
    return found


def lost(keys: dict[str, Any]) -> float:
    """Returns the number of datagrams that the handover costs."""
    found = handoff(keys, {"near": {}, "far": {}})["flows"][0]
    return 10_000 - float(found["delivered_bytes"]) / 100


def mobile_ipv4() -> Iterator[Row]:
    """Yields rows on registration, routes of packets, the conflict check, smooth handoff."""
    page = "mobile-ipv4"

    def exact(name: str, what: str, ours: float, oracle: float, source: str) -> Row:
        return Row(f"{page}.{name}", page, what, "s", ours, oracle, source, CLOSE, CLOSELY)

    soft = handover(4, False, {})
    yield exact("registration", "soft handover, own address known", soft, 0.23, "closed form: 2 · 115 ms")
    changes = [{"at": at, "link": "far-ground", "state": state} for at, state in (("9.9 s", "down"), ("10.5 s", "up"))]
    again = handover(4, False, {}, changes=changes)
    yield exact("repeated", "the same, its first request lost", again, 1.23, "RFC 5944, section 3.6.3: after 1 s")
    for way, oracle, source in (
        ("triangle", 0.25, "closed form: 25 ms there, 225 ms back by the home agent"),
        ("reverse-tunnel", 0.45, "closed form: 2 · 225 ms"),
        ("care-of-address", 0.05, "closed form: 2 · 25 ms"),
    ):
        yield exact(way, f"round trip, delivery `{way}`", ping(4, {"delivery": way}), oracle, source)
    dhcp = {"care_of_address": "dhcp"}
    background = handover(4, False, {**dhcp, "conflict_check": "background"})
    source = "closed form: two exchanges with the server, 4 · 5 ms, and 230 ms"
    yield exact("dhcp", "soft handover, own address by DHCP, checked later", background, 0.25, source)
    checked = lab.over_seeds(lambda seed: handover(4, False, dhcp, seed) - 0.25, MANY)
    source = "RFC 5227, section 2.1.1, means: 0.5 s, 2 · 1.5 s, 2 s"
    reason = "three standard errors of a hundred runs"
    yield Row(f"{page}.check", page, "duration of the conflict check", "s", checked, 5.5, source, 0.03, reason)
    for smooth, oracle, source in (
        (False, 540, "closed form: 5 ms on the link, 300 ms, 15 ms to the agent, 110 ms home, 110 ms under way there"),
        (True, 340, "closed form: 5 ms on the link, 300 ms, 15 ms to the agent, 20 ms to the previous one"),
    ):
        what = f"datagrams lost between foreign agents, {'smooth handoff' if smooth else 'without smooth handoff'}"
        reason = "a datagram a millisecond; messages take some microseconds"
        name = f"{page}.handoff.{'smooth' if smooth else 'plain'}"
        yield Row(name, page, what, "", lost({"smooth_handoff": smooth}), oracle, source, 0.01, reason)
    source = "closed form: 5 ms on the link, 300 ms"
    what = "datagrams lost between foreign agents, preregistration"
    ahead = lost({"preregistration": True})
    yield Row(f"{page}.handoff.ahead", page, what, "", ahead, 305, source, 0.01, reason)
    copies = handoff({"smooth_handoff": True}, {"near": {"buffering": {}}, "far": {}})["agents"][0]["released"]
    source = "closed form: those that smooth handoff loses without copies"
    what = "datagrams that the previous foreign agent forwards from its copies"
    yield Row(f"{page}.handoff.copies", page, what, "", float(copies), 340, source, 0.01, reason)


def mobile_ipv6() -> Iterator[Row]:
    """Yields rows on registration with and without duplicate address detection, routes of packets."""
    page = "mobile-ipv6"
    known = {"duplicate_address_detection": "icao-address"}
    source = "closed form: 300 ms, 5 ms for the advertisement, 2 · 115 ms"
    ours = handover(6, True, known)
    yield Row(f"{page}.unasked", page, "hard handover, address unique", "s", ours, 0.535, source, CLOSE, CLOSELY)
    asked = lab.over_seeds(lambda seed: handover(6, True, {}, seed) - 0.535, MANY)
    source = "RFC 4861, 6.3.7 and RFC 4862, 5.4: 0 to 1 s, and 1 s"
    reason = "three standard errors of a hundred runs"
    yield Row(
        f"{page}.detection", page, "duration of duplicate address detection", "s", asked, 1.5, source, 0.06, reason
    )
    for optimized, oracle, source in (
        (False, 0.45, "closed form: 2 · 225 ms, through the tunnel"),
        (True, 0.05, "closed form: 2 · 25 ms"),
    ):
        ours = ping(6, {**known, "route_optimization": optimized})
        what = f"round trip, {'optimised route' if optimized else 'by the home agent'}"
        name = f"{page}.{'optimized' if optimized else 'tunnel'}"
        yield Row(name, page, what, "s", ours, oracle, source, CLOSE, CLOSELY)


def micro_mobility() -> Iterator[Row]:
    """Yields rows on handoffs inside a domain, whose crossover router is the hub, and over a tree of routers."""
    page = "micro-mobility"
    stream = lab.datagrams({"rate": "800 kbit/s", "packet_size": "100 B"}, start="5 s", stop="15 s", **ENDS)
    source = "closed form: 5 ms on the link and 10 ms to it, 300 ms, 15 ms from the mobile to the hub"
    for name, keys in (
        ("HAWAII, UNF", {"protocol": "hawaii", "path_setup": "unf"}),
        ("Cellular IP, hard", {"protocol": "cellular-ip", "handoff": "hard"}),
    ):
        domain = {"hub": {"root": "hub", "routers": ["near", "far"], **keys}}
        found = run(4, True, {}, flows=[stream], micro_mobility=domain).summary["flows"][0]
        ours = 10_000 - float(found["delivered_bytes"]) / 100
        what = f"datagrams lost in a hard handoff, {name}"
        reason = "a datagram a millisecond; messages take some microseconds"
        yield Row(f"{page}.{keys['protocol']}", page, what, "", ours, 330, source, 0.01, reason)
    yield from crossover.by_distance(page)


def hierarchical_mobile_ipv6() -> Iterator[Row]:
    """Yields rows on a handover inside the domain of an anchor point at the hub."""
    page = "hierarchical-mobile-ipv6"
    known = {"duplicate_address_detection": "icao-address"}
    anchor = {"prefix": "2001:db8:9::/64", "access_routers": ["near", "far"]}
    points = {"hub": {**anchor, "duplicate_address_detection": "unique-prefix"}}
    ours = handover(6, True, known, mobility_anchor_points=points)
    source = "closed form: 300 ms, 5 ms for the advertisement, 2 · 15 ms to the anchor point"
    yield Row(f"{page}.handover", page, "hard handover in its domain", "s", ours, 0.335, source, CLOSE, CLOSELY)


CASES = {
    "mobile-ipv4": mobile_ipv4,
    "mobile-ipv6": mobile_ipv6,
    "micro-mobility": micro_mobility,
    "hierarchical-mobile-ipv6": hierarchical_mobile_ipv6,
}
