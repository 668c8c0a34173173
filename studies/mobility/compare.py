"""Compares mobility schemes over the two paths of this folder: prints a Markdown table for each.

Of each handover, means over the handovers of all seeds: the longest wait for voice, packets lost, and messages from two
seconds before it to five seconds after it; and the most bytes that an agent held.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean
from typing import Any

import pyarrow

import baton
from baton.toml import loads

FOLDER = Path(__file__).parent
SEEDS = 20
IPV6 = {"protocol": "mobile-ipv6", "home_agent": "home"}
IPV4 = {"protocol": "mobile-ipv4", "home_agent": "home", "delivery": "reverse-tunnel"}
BUFFERING = {"size": "64 kB", "pace": "1 Mbit/s"}
PREFIX = {"ipv6": "2001:db8:1::/64", "ipv4": "192.0.2.0/24"}

# A mobile's mobility, the home agent's keys, and what foreign agents have in common.
SCHEMES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any] | None]] = {
    "Mobile IPv6": (IPV6, {}, None),
    "home-agent buffering": (IPV6 | {"asks_for_buffering": True}, {"buffering": BUFFERING}, None),
    "fast handover, reactive": (IPV6 | {"access_router_buffering": BUFFERING}, {}, None),
    "fast handover, predictive": (
        IPV6 | {"access_router_buffering": BUFFERING, "fast_handovers": "predictive"},
        {},
        None,
    ),
    "copies at all routers": (IPV6 | {"multicast_buffering": BUFFERING}, {}, None),
    "Mobile IPv4": (IPV4, {}, {}),
    "smooth handoff": (IPV4 | {"smooth_handoff": True}, {}, {}),
    "regional registration": (IPV4, {}, {"gateway": "domain"}),
    "buffering foreign agent": (IPV4 | {"smooth_handoff": True}, {}, {"buffering": BUFFERING}),
    "preregistration": (IPV4 | {"preregistration": True}, {}, {}),
}


def scenario(path: str, scheme: str) -> baton.Scenario:
    """A path's scenario with a scheme."""
    mobility, agent, foreign = SCHEMES[scheme]
    version = "ipv6" if foreign is None else "ipv4"
    values = loads((FOLDER / f"{path}.toml").read_text(encoding="utf-8"))
    values["mobiles"]["phone"]["mobility"] = mobility
    values["home_agents"] = {"home": agent | {"prefix": PREFIX[version]}}
    if foreign is not None:
        routers = {"wifi-chain": [f"router-{n}" for n in range(5)], "satellite-wifi": ["teleport", "tunnel"]}[path]
        values["foreign_agents"] = dict.fromkeys(routers, foreign) | ({"domain": {}} if "gateway" in foreign else {})
    return baton.Scenario.build(**values)


def measured(result: baton.Result) -> tuple[list[float], list[int], int, int]:
    """A run's waits for voice in seconds and messages, at each handover; all packets lost; and the most bytes held."""
    summary = result.summary
    messages = [
        row["sent_ns"] / 1e9
        for row in pyarrow.table(result.signals).to_pylist()
        if row["kind"] == "message" and not row["tunnelled"]
    ]
    waits, counts = [], []
    for handover in summary["handovers"]:
        waits.append(handover["flows"][0]["stall_s"])
        begin = handover["at_s"] - 2
        counts.append(sum(begin <= sent < begin + 7 for sent in messages))
    held = max((agent["most_bytes"] for agent in summary["agents"]), default=0)
    return waits, counts, summary["flows"][0]["packets"]["to_sink"]["lost"], held


def line(path: str, scheme: str) -> str:
    """A row of the table."""
    one = scenario(path, scheme)
    waits, counts, lost, held = zip(*(measured(one.run(seed=seed)) for seed in range(1, SEEDS + 1)), strict=True)
    handovers = sum(map(len, waits))
    wait, messages = (mean(value for run in runs for value in run) for runs in (waits, counts))
    return f"| {scheme} | {wait * 1e3:.0f} ms | {sum(lost) / handovers:.1f} | {messages:.1f} | {max(held)} B |"


if __name__ == "__main__":
    for path in ("wifi-chain", "satellite-wifi"):
        print(f"| {path} | wait | lost | messages | held |")
        print("|---|---|---|---|---|")
        with ThreadPoolExecutor() as pool:
            print("\n".join(pool.map(lambda scheme, path=path: line(path, scheme), SCHEMES)))
        print()
