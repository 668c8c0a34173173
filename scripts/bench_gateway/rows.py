"""The rows of the bench: each a scenario of two gateways, simulated as it is, and the ways that are measured beside it.

The emulator's scenario has the same links between the same two machines, without the gateways: those are real.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ways import GATEWAYS

from baton.toml import loads

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
#: Another way than the gateways that has taken so many times as long as the links need, and so many round trips for its
#: start, is stopped: its share of the links by then is its figure.
PATIENCE = 1.15
START_ROUND_TRIPS = 4
_LOSSES = {"loss-1-per-mille": 0.001, "loss-1-percent": 0.01, "loss-5-percent": 0.05}
_PEERS = ("kernel, CUBIC", "kernel, BBR", "split, CUBIC", "split, BBR", "KCP", "KCP, code", "QUIC, BBR")
_PAIRS = (GATEWAYS, f"{GATEWAYS}, rates found")

UNITS = {"Gbit/s": 1e9, "Mbit/s": 1e6, "kbit/s": 1e3, "bit/s": 1, "MB": 1e6, "kB": 1e3, "B": 1}
UNITS |= {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def value(text: str) -> float:
    """Returns a quantity of a scenario in its base unit: bit/s, bytes or seconds."""
    number, unit = text.split()
    return float(number) * UNITS[unit]


@dataclass(frozen=True)
class Row:
    """A row: its scenario, the changed keys, and the ways. `scale` shortens transfers and streams."""

    name: str
    file: Path
    settings: dict[str, str]
    ways: tuple[str, ...]
    scale: float = 1.0

    def shortened(self, scale: float) -> Row:
        """Returns the row with all but the outages a share as long."""
        row = replace(self, scale=scale)
        if scale == 1:
            return row
        settings = dict(self.settings)
        for number, flow in enumerate(row.scenario["flows"]):
            if "page" in flow["traffic"]:
                settings[f"flows.{number}.traffic.page"] = f"{int(value(flow['traffic']['page']) * scale)} B"
            if "stop" in flow:
                begins = value(flow["start"])
                settings[f"flows.{number}.stop"] = f"{begins + (value(flow['stop']) - begins) * scale} s"
        changes = row.scenario.get("changes", [])
        for number, change in enumerate(changes):
            at = value(change["at"]) - value(changes[0]["at"]) * (1 - scale)
            settings[f"changes.{number}.at"] = f"{at} s"
        return replace(row, settings=settings)

    @property
    def scenario(self) -> dict[str, Any]:
        """The scenario with the changed keys."""
        scenario: dict[str, Any] = loads(self.file.read_text())
        for path, text in self.settings.items():
            *above, key = path.split(".")
            table: Any = scenario
            for name in above:
                table = table[int(name)] if isinstance(table, list) else table[name]
            table[key] = type(table.get(key, ""))(text)
        return scenario

    @property
    def links(self) -> dict[str, dict[str, Any]]:
        """The links between the gateways."""
        return {name: link for name, link in self.scenario["links"].items() if link["between"] == ["shore", "gateway"]}

    @property
    def rate_bps(self) -> float:
        """The rate of all links together."""
        return sum(value(link["rate"]) for link in self.links.values())

    @property
    def delay_s(self) -> float:
        """The longest delay of a link, one way."""
        return max(value(link["delay"]) for link in self.links.values())

    @property
    def flows(self) -> dict[str, dict[str, Any]]:
        """The flows by their names."""
        return {flow["name"]: flow for flow in self.scenario["flows"]}

    @property
    def changes(self) -> list[tuple[float, str]]:
        """Changes of the links: seconds after a download's start, and what `baton set` is told."""
        changes = self.scenario.get("changes", [])
        return [(value(each["at"]), f"links.{each['link']}.state={each['state']}") for each in changes]

    @property
    def outages(self) -> list[tuple[float, float]]:
        """Times without one of the links, in seconds after a download's start."""
        times = [at for at, _ in self.changes]
        return list(zip(times[::2], times[1::2], strict=True))

    @property
    def stream_s(self) -> float | None:
        """Length of the control stream, if there is one."""
        control = self.flows.get("control")
        return value(control["stop"]) - value(control["start"]) if control else None

    @property
    def bytes(self) -> int:
        """Bytes of the download."""
        return int(value(self.flows["download"]["traffic"]["page"]))

    @property
    def others_within_s(self) -> float:
        """Longest time of a download by another way than the gateways."""
        away = sum(end - begin for begin, end in self.outages)
        return (self.bytes * 8 / self.rate_bps + away) * PATIENCE + START_ROUND_TRIPS * 2 * self.delay_s

    @property
    def within_s(self) -> float:
        """Longest time of a download by the gateways: as long as the stream, or until they have surely failed."""
        return self.stream_s + 2 if self.stream_s else 4 * self.others_within_s

    def plan(self) -> dict[str, Any]:
        """Returns what both ends are told."""
        plan = {"bytes": self.bytes, "changes": self.changes, "ways": self.ways}
        plan |= {"within_s": self.within_s, "others_within_s": self.others_within_s}
        plan |= {"links": {name: int(value(link["rate"])) for name, link in self.links.items()}}
        plan |= {"in_flight_bytes": self.rate_bps * 2 * self.delay_s / 8}
        control = self.flows.get("control", {})
        plan |= {"code_point": control.get("code_point", 46), "stream_s": self.stream_s}
        if control:
            traffic = control["traffic"]
            plan |= {"stream_bps": value(traffic["rate"]), "datagram_bytes": int(value(traffic["packet_size"]))}
            plan |= {"stream_start_s": value(control["start"])}
        return plan

    def emulated(self) -> str:
        """Returns the emulator's scenario: the near machine has all links to a router next to the far one."""
        text = [f'name = "{self.name}"', 'duration = "1 h"']
        text += ["[links.backbone]", 'between = ["far", "provider"]', 'kind = "wired"']
        text += ['rate = "1 Gbit/s"', 'delay = "10 us"']
        for name, link in self.links.items():
            own = link | {"between": ["provider", "near"]}
            text += [f"[links.{name}]", *(f"{key} = {json.dumps(entry)}" for key, entry in own.items())]
        text += ["[mobiles.near]", "timetable = ["]
        for number, name in enumerate(self.links):
            how = ', handover = "soft", overlap = "1 h"' if number else ""
            text += [f'  {{ at = "{10 * number} ms", attach = "{name}"{how} }},']
        text += ["]", "[[flows]]", 'name = "download"', 'from = "far"', 'to = "near"']
        text += [
            "[live]",
            'hosts = ["far", "near"]',
            'address = "new"',
            "[record]",
            "series = false",
            "packets = false",
        ]
        return "\n".join(text) + "\n"


def _loss(name: str) -> Row:
    settings = {"links.satellite.packet_error_rate": f"{_LOSSES[name]:g}"}
    ways = (*_PEERS, *_PAIRS) if name == "loss-1-percent" else (*_PEERS, GATEWAYS)
    return Row(name, HERE / "satellite.toml", settings, ways)


ROWS = {
    row.name: row
    for row in (
        *map(_loss, _LOSSES),
        Row("two-links", HERE / "links.toml", {}, ("MPTCP, CUBIC", "MPTCP, BBR", "QUIC multipath, BBR", *_PAIRS)),
        Row("control", HERE / "control.toml", {}, (GATEWAYS,)),
    )
}
