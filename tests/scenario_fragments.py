"""Makes a whole scenario of keys that a page shows, so that they can be checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from baton import Scenario
from baton.shipped import SCENARIOS
from baton.toml import loads

CELL = {"node": "ground", "position": {"latitude": 50.9, "longitude": 5.7}, "radius": "370 km"}
RADIO = {"kind": "ldacs1", "cells": {"home": CELL}}
CABLE = {"kind": "wired", "rate": "1 Mbit/s", "delay": "10 ms", "queue": "50 packets"}


def check(text: str) -> None:
    """Raises `ScenarioError` if the text is wrong. Traces that it names are those that come with Baton."""
    Scenario.build(directory=SCENARIOS, **completed(loads(text)))


def completed(given: dict[str, Any]) -> dict[str, Any]:
    """The keys, and the least that they need around them: links that they name, nodes that they join."""
    whole = {"name": "fragment", "duration": "1000 s", **given}
    mobiles = {name: dict(mobile) for name, mobile in whole.get("mobiles", {}).items()}
    if "losses" in whole and not any("mobility" in mobile for mobile in mobiles.values()):
        whole["home_agents"] = {**whole.get("home_agents", {}), "agent": {"prefix": "2001:db8:ff::/64"}}
        mobiles["traveller"] = {"mobility": {"protocol": "mobile-ipv6", "home_agent": "agent"}}
        mobiles["traveller"]["timetable"] = [{"at": "0 s", "attach": "abroad"}]
    links = dict(whole.get("links", {}))
    for mobile in mobiles.values():
        # Only a radio network needs its place on the earth.
        if "track" in mobile and "along" not in mobile["track"]:
            mobile.setdefault("timetable", [{"at": "0 s", "attach": "radio"}])
            links.setdefault(mobile["timetable"][0]["attach"], RADIO)
    if mobiles:
        whole["mobiles"] = mobiles
    whole["links"] = links
    for name, ends in named_links(whole):
        links.setdefault(name, {"between": ends, **CABLE})
    for ends in joined_nodes(whole):
        if not set(ends) <= {node for each in links.values() for node in each.get("between", [])}:
            links["-".join(ends)] = {"between": ends, **CABLE}
    return {**whole, "links": links or {"cable": {"between": ["server", "client"], **CABLE}}}


def named_links(whole: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Links that mobiles, gateways, changes and flows name, with ends that they could have."""
    for gateway in whole.get("aerotp_gateways", {}).values():
        for link in gateway["links"]:
            yield link, ["airborne", "ground"]
    routers = [
        router for point in whole.get("mobility_anchor_points", {}).values() for router in point["access_routers"]
    ]
    for node, mobile in whole.get("mobiles", {}).items():
        near = mobile.get("mobility", {}).get("home_agent", "server")
        for number, entry in enumerate(mobile.get("timetable", [])):
            if entry["attach"] != "none":
                yield entry["attach"], [routers[number % len(routers)] if routers else near, node]
        for name in mobile.get("failback", {}).get("prefer", []):
            yield name, [near, node]
    for change in whole.get("changes", []):
        yield change["link"], ["server", "client"]
    for flow in whole.get("flows", []):
        for name in settings_of(flow).get("paths", []):
            yield name, [flow["to"], flow["from"]]


def settings_of(flow: dict[str, Any]) -> dict[str, Any]:
    """The settings of a flow's transport; none of one that has only its name."""
    transport = flow.get("transport", {})
    return transport if isinstance(transport, dict) else {}


def joined_nodes(whole: dict[str, Any]) -> Iterator[list[str]]:
    """Nodes between which there must be a way."""
    for flow in whole.get("flows", []):
        yield [flow["from"], flow["to"]]
    kinds = ("home_agents", "foreign_agents", "mobility_anchor_points")
    agents = [agent for kind in kinds for agent in whole.get(kind, {})]
    protocols = [mobile.get("mobility", {}) for mobile in whole.get("mobiles", {}).values()]
    servers = [mobility["aaa"]["server"] for mobility in protocols if "aaa" in mobility]
    told = [rule["to"] for mobility in protocols for rule in mobility.get("policy", [])]
    cells = [cell["node"] for link in whole["links"].values() for cell in link.get("cells", {}).values()]
    yield from (pair["between"] for pair in whole.get("dtn_gateways", {}).values())
    for host in [*whole.get("live", {}).get("hosts", []), *agents, *told, *servers, *cells]:
        yield ["middle", host]
