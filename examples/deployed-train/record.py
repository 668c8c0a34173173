"""The results of a run of the daemons, as a folder that `baton compare` reads beside a simulated run's.

Its times are of the scenario's clock, which the train's router does not know: it loses a link when a hard handover
begins, and hears of it soon after. The soonest of these times counts.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

INTERVAL_S, LENGTH = 0.001, 200
# Flows as simulated.toml names them.
STREAMS = ("to-train", "to-ground")
# News of the nodes, as a simulated agent says them too.
NEWS = ("Attached", "Detached", "Registered", "Binding Updated")

Told = list[tuple[float, str]]
Json = dict[str, Any]


def write(out: Path, live: Path, folder: Path, version: str) -> Path:
    """Writes the results of the daemons from what both ends have left in a folder, and the live run's own results."""
    summary, manifest = (json.loads((live / f"{name}.json").read_text()) for name in ("summary", "manifest"))
    handovers = summary["handovers"]
    told = {end: _read(folder / f"{end}.log") for end in ("train", "ground")}
    begins = [float(handover["at_s"]) for handover in handovers]
    zero = _zero(told["train"], handovers)
    windows = list(zip(begins, [*begins[1:], float("inf")], strict=True))
    flows, effects = [], [[] for _ in windows]
    for name in STREAMS:
        stream = _Stream(json.loads((folder / f"{name}.json").read_text()), zero)
        flows.append({"name": name, "transport": "udp", **stream.summary()})
        for window, effect in zip(windows, effects, strict=True):
            effect.append({"name": name, "stall_s": stream.stall(window), "lost_packets": stream.lost(window)})
    pieces = [(at - zero, length) for at, length in json.loads((folder / "download.json").read_text())]
    arrivals = [at for at, _ in pieces]
    flows.append({"name": "download", "transport": "tcp", "delivered_bytes": sum(length for _, length in pieces)})
    for window, effect in zip(windows, effects, strict=True):
        effect.append({"name": "download", "stall_s": _longest_gap(arrivals, window)})
    for handover, effect in zip(handovers, effects, strict=True):
        handover["flows"] = effect
    out.mkdir(parents=True, exist_ok=True)
    _write_signals(out / "signals.parquet", sorted(_signals(told, zero)))
    kept = {key: summary[key] for key in ("format", "scenario", "seed", "simulated_s", "live", "handovers")}
    (out / "summary.json").write_text(json.dumps(kept | {"flows": flows, "deployed": version}))
    (out / "manifest.json").write_text(json.dumps(manifest))
    return out


def _read(file: Path) -> Told:
    return [(at, line) for at, line in map(json.loads, file.read_text().splitlines())]


def _zero(told: Told, handovers: list[Json]) -> float:
    """The scenario's start by the clock of the train's host."""
    lines, heard = iter(told), []
    for handover in handovers:
        if handover["kind"] == "hard":
            lost = next(at for at, line in lines if f"{handover['from']} is down" in line)
            heard.append(lost - float(handover["at_s"]))
    return min(heard)


class _Stream:
    """A stream's datagrams: when each was sent, and when it first arrived."""

    def __init__(self, arrivals: list[tuple[int, float, float]], zero: float) -> None:
        self.first: dict[int, float] = {}
        for number, _, at in arrivals:
            self.first.setdefault(int(number), at - zero)
        number, sent, _ = arrivals[0]
        self.begun = sent - zero - number * INTERVAL_S
        self.arrivals = sorted(self.first.values())

    def summary(self) -> Json:
        lost = self.lost((self.begun, float("inf")))
        longest = self.stall((self.begun, float("inf")))
        delivered = len(self.first) * LENGTH
        lasted = self.arrivals[-1] - self.arrivals[0]
        numbers = {"delivered_bytes": delivered, "goodput_bps": 8 * delivered / lasted}
        return numbers | {"lost_packets": lost, "longest_stall_s": longest}

    def stall(self, window: tuple[float, float]) -> float:
        return _longest_gap(self.arrivals, window)

    def lost(self, window: tuple[float, float]) -> int:
        """Counts datagrams sent in a time that did not arrive. The last that arrived is the last that counts."""
        sent = ((number, self.begun + number * INTERVAL_S) for number in range(max(self.first)))
        return sum(window[0] <= at < window[1] and number not in self.first for number, at in sent)


def _longest_gap(times: list[float], window: tuple[float, float]) -> float:
    gaps = [after - before for before, after in itertools.pairwise(times) if window[0] <= after < window[1]]
    return max(gaps, default=0.0)


def _signals(told: dict[str, Told], zero: float) -> Iterator[tuple[int, str, str, str | None, str, str]]:
    """Yields the time, kind, sender, link, name and details of each piece of news."""
    for end, lines in told.items():
        for at, line in lines:
            time_ns = round(1e9 * (at - zero))
            if link := re.search(r"\b(wifi|cellular) is (up|down)$", line):
                # The router speaks of its path: up after a handshake, down with the device.
                name = "Path Up" if link[2] == "up" else "Link_Down"
                yield time_ns, "agent" if link[2] == "up" else "link", end, link[1], name, ""
            if news := re.search(rf"\b({'|'.join(NEWS)})(?:, (.*))?$", line):
                yield time_ns, "agent", end, None, news[1], news[2] or ""


def _write_signals(file: Path, rows: list[tuple[int, str, str, str | None, str, str]]) -> None:
    sent, kind, sender, link, name, details = zip(*rows, strict=True)
    nothing = [None] * len(rows)
    texts = {"kind": kind, "sender": sender, "receiver": nothing, "link": link, "name": name, "details": details}
    columns = {key: pa.array(values, pa.string()) for key, values in (texts | {"fate": nothing}).items()}
    columns |= {"sent_ns": pa.array(sent, pa.int64()), "decided_ns": pa.array(nothing, pa.int64())}
    columns |= {"tunnelled": pa.array([False] * len(rows)), "packet": pa.array(nothing, pa.uint64())}
    pq.write_table(pa.table(columns), file)
