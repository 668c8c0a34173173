"""Compares mobility schemes over the two paths of this folder: prints a Markdown table for each.

Of each handover, means over the handovers of all seeds: the longest wait for voice, packets lost, and messages from two
seconds before it to five seconds after it; and the most bytes that an agent held. Then an idle phone: messages that it
sends, and the delay of the first packet for it.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
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
PREFIX = {"mobile-ipv6": "2001:db8:1::/64", "mobile-ipv4": "192.0.2.0/24"}
ROUTERS = {"wifi-chain": [f"router-{n}" for n in range(5)], "satellite-wifi": ["teleport", "tunnel"]}


@dataclass(frozen=True)
class Scheme:
    """A mobility scheme, as tables of a scenario."""

    mobility: dict[str, Any]
    """The mobile's protocol."""
    agent: dict[str, Any] = field(default_factory=dict)
    """Keys of the home agent."""
    foreign: dict[str, Any] | None = None
    """Keys that foreign agents have in common."""
    domain: dict[str, Any] | None = None
    """Keys of a micro-mobility domain of all routers."""
    anchor: dict[str, Any] | None = None
    """Keys of a mobility anchor point for all routers."""


def fast(mode: str, anchor: dict[str, Any] | None = None) -> Scheme:
    """Fast handovers in a mode."""
    return Scheme(IPV6 | {"access_router_buffering": BUFFERING, "fast_handovers": mode}, anchor=anchor)


def domain(protocol: str, **keys: str) -> Scheme:
    """A micro-mobility protocol below Mobile IPv4."""
    return Scheme(IPV4, domain={"protocol": protocol} | keys)


SCHEMES = {
    "Mobile IPv6": Scheme(IPV6),
    "home-agent buffering": Scheme(IPV6 | {"asks_for_buffering": True}, {"buffering": BUFFERING}),
    "fast handover, reactive": fast("reactive"),
    "fast handover, predictive": fast("predictive"),
    "copies at all routers": Scheme(IPV6 | {"multicast_buffering": BUFFERING}),
    "hierarchical": Scheme(IPV6, anchor={}),
    "hierarchical, buffering": Scheme(IPV6 | {"asks_for_buffering": True}, anchor={"buffering": BUFFERING}),
    "hierarchical, fast handover": fast("predictive", anchor={}),
    "Mobile IPv4": Scheme(IPV4, foreign={}),
    "smooth handoff": Scheme(IPV4 | {"smooth_handoff": True}, foreign={}),
    "regional registration": Scheme(IPV4, foreign={"gateway": "domain"}),
    "TeleMIP": Scheme(IPV4, foreign={"gateway": "domain", "private_address": True}),
    "buffering foreign agent": Scheme(IPV4 | {"smooth_handoff": True}, foreign={"buffering": BUFFERING}),
    "preregistration": Scheme(IPV4 | {"preregistration": True}, foreign={}),
    "HAWAII, UNF": domain("hawaii", path_setup="unf"),
    "HAWAII, MSF": domain("hawaii", path_setup="msf"),
    "HAWAII, MSF with a buffer": domain("hawaii", path_setup="msf", buffer="64 kB"),
    "HAWAII, SSF with a buffer": domain("hawaii", path_setup="ssf", buffer="64 kB"),
    "HAWAII, MNF": domain("hawaii", path_setup="mnf"),
    "Cellular IP, hard": domain("cellular-ip", handoff="hard"),
    "Cellular IP, semisoft": domain("cellular-ip", handoff="semisoft"),
}


def tables(path: str, scheme: Scheme) -> dict[str, Any]:
    """A path's scenario with a scheme, as tables."""
    values: dict[str, Any] = loads((FOLDER / f"{path}.toml").read_text(encoding="utf-8"))
    values["mobiles"]["phone"]["mobility"] = scheme.mobility
    values["home_agents"] = {"home": scheme.agent | {"prefix": PREFIX[scheme.mobility["protocol"]]}}
    if scheme.foreign is not None:
        agents = dict.fromkeys(ROUTERS[path], scheme.foreign)
        values["foreign_agents"] = agents | ({"domain": {}} if "gateway" in scheme.foreign else {})
    if scheme.domain is not None:
        values["micro_mobility"] = {"campus": scheme.domain | {"root": "domain", "routers": ROUTERS[path]}}
    if scheme.anchor is not None:
        own = {"prefix": "2001:db8:9::/64", "access_routers": ROUTERS[path]}
        values["mobility_anchor_points"] = {"domain": scheme.anchor | own}
    return values


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
    one = baton.Scenario.build(**tables(path, SCHEMES[scheme]))
    waits, counts, lost, held = zip(*(measured(one.run(seed=seed)) for seed in range(1, SEEDS + 1)), strict=True)
    handovers = sum(map(len, waits))
    wait, messages = (mean(value for run in runs for value in run) for runs in (waits, counts))
    return f"| {scheme} | {wait * 1e3:.0f} ms | {sum(lost) / handovers:.1f} | {messages:.1f} | {max(held)} B |"


def idle_line(name: str, keys: dict[str, str]) -> str:
    """A row on a phone that has walked to the end of the chain, and gets one packet half an hour later."""
    values = tables("wifi-chain", SCHEMES[name])
    values["duration"] = "1800 s"
    values["flows"][0] |= {"start": "1790 s", "stop": "1790.01 s"}
    values["mobiles"]["phone"]["mobility"] = IPV4 | {"lifetime": "65534 s"}
    values["micro_mobility"]["campus"] |= keys
    result = baton.Scenario.build(**values).run(seed=1)
    rows = pyarrow.table(result.signals).to_pylist()
    sent = [row["sent_ns"] / 1e9 for row in rows if row["kind"] == "message" and row["sender"] == "phone"]
    messages = sum(60 <= at < 1790 for at in sent)
    delay = result.summary["flows"][0]["delay"]["mean_s"]
    phone = "idle after 10 s" if keys else "always active"
    return f"| {name}, {phone} | {messages} | {delay * 1e3:.0f} ms |"


if __name__ == "__main__":
    for path in ("wifi-chain", "satellite-wifi"):
        print(f"| {path} | wait | lost | messages | held |")
        print("|---|---|---|---|---|")
        with ThreadPoolExecutor() as pool:
            print("\n".join(pool.map(lambda scheme, path=path: line(path, scheme), SCHEMES)))
        print()
    print("| phone at rest on wifi-chain | messages from 60 s to 1790 s | delay of the first packet |")
    print("|---|---|---|")
    for name in ("HAWAII, UNF", "Cellular IP, hard"):
        for keys in ({}, {"active_timeout": "10 s"}):
            print(idle_line(name, keys))
