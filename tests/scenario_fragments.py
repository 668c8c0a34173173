"""Makes a whole scenario of keys that a page shows, so that they can be checked."""

from __future__ import annotations

from typing import Any

from baton import Scenario
from baton.shipped import SCENARIOS
from baton.toml import loads

CABLE = {"kind": "wired", "rate": "1 Mbit/s", "delay": "10 ms", "queue": "50 packets"}


def check(text: str) -> None:
    """Raises `ScenarioError` if the text is wrong. Traces that it names are those that come with Baton."""
    Scenario.build(directory=SCENARIOS, **completed(loads(text)))


def completed(given: dict[str, Any]) -> dict[str, Any]:
    """The keys, and the least that they need around them: links that they name, nodes that they join."""
    whole = {"name": "fragment", "duration": "1000 s", **given}
    links = dict(whole.get("links", {}))

    def link(name: str, *ends: str) -> None:
        links.setdefault(name, {"between": list(ends), **CABLE})

    for node, mobile in whole.get("mobiles", {}).items():
        for entry in mobile.get("timetable", []):
            if entry["attach"] != "none":
                link(entry["attach"], "server", node)
        for name in mobile.get("failback", {}).get("prefer", []):
            link(name, "server", node)
    for change in whole.get("changes", []):
        link(change["link"], "server", "client")
    joined = {node for each in links.values() for node in each["between"]}
    for flow in whole.get("flows", []):
        if not {flow["from"], flow["to"]} <= joined:
            link(f"under-{flow['name']}", flow["from"], flow["to"])
    for host in whole.get("live", {}).get("hosts", []):
        if host not in joined:
            link(f"to-{host}", "middle", host)
    if not links:
        link("cable", "server", "client")
    return {**whole, "links": links}
