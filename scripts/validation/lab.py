"""Runs of small scenarios, and measurements of them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from baton import Result, Scenario

T = TypeVar("T")
SEEDS = range(1, 11)
"""Ten runs wherever chance plays a part."""


def wire(**keys: Any) -> dict[str, Any]:
    """Returns a link from a to b; wired unless `keys` say otherwise."""
    return {"between": ["a", "b"], "kind": "wired", **keys}


def tcp(**settings: Any) -> dict[str, Any]:
    """Returns the standards' TCP with these settings."""
    return {"profile": "rfc", **settings}


def poisson(pause: str, **traffic: Any) -> dict[str, Any]:
    """Returns a Poisson process of datagrams: one at a time, after exponentially distributed pauses of this mean."""
    return {"kind": "on-off", "rate": "10 Gbit/s", "on": "1 ns", "off": pause, **traffic}


def flow(**keys: Any) -> dict[str, Any]:
    """Returns the flow f from a to b; a bulk transfer over the standards' TCP unless `keys` say otherwise."""
    return {"name": "f", "from": "a", "to": "b", "transport": tcp(), **keys}


def datagrams(traffic: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """Returns the flow f of packets of 1500 B, at a constant rate unless `traffic` says otherwise."""
    return flow(transport="udp", traffic={"kind": "constant", "packet_size": "1472 B", **traffic}, **keys)


def scenario(duration: str, link: dict[str, Any], *flows: dict[str, Any], record: str = "", **keys: Any) -> Scenario:
    """Returns a scenario of one link, l, and flows over it; `record` names the kept tables: packets, series."""
    kept = {name: name in record for name in ("packets", "series")}
    links = {"l": link, **keys.pop("links", {})}
    return Scenario.build(name="validation", duration=duration, record=kept, links=links, flows=list(flows), **keys)


def run(duration: str, link: dict[str, Any], *flows: dict[str, Any], seed: int = 1, **keys: Any) -> Result:
    """Returns a run of such a scenario."""
    return scenario(duration, link, *flows, **keys).run(seed=seed)


def over_seeds(measure: Callable[[int], T], seeds: range = SEEDS) -> list[T]:
    """Returns a measure for each seed, on all cores."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(measure, seeds))


def first(result: Result) -> dict[str, Any]:
    """Returns the first flow of the summary."""
    found: dict[str, Any] = result.summary["flows"][0]
    return found


def packets(result: Result, direction: str = "down", link: str = "l", flow: str | None = None) -> dict[str, np.ndarray]:
    """Returns the packets of one direction of a link, of all flows or one; times in seconds, `nan` for what never
    arrived."""
    table = pa.table(result.packets)
    mask = _equal(table["link"], link) & _equal(table["direction"], direction)
    chosen = table.filter(pa.array(mask if flow is None else mask & _equal(table["flow"], flow)))
    return {
        "sent": chosen["sent_ns"].to_numpy() / 1e9,
        "decided": chosen["decided_ns"].to_numpy().astype(float) / 1e9,
        "delivered": _equal(chosen["fate"], "delivered"),
        "managed": _equal(chosen["fate"], "queue management"),
        "bytes": chosen["wire_bytes"].to_numpy(),
        "payload": chosen["payload_bytes"].to_numpy(),
    }


def _equal(column: pa.ChunkedArray, text: str) -> np.ndarray:
    return np.asarray(pc.equal(column.cast(pa.string()), text).to_numpy(), dtype=bool)


def series(result: Result, name: str, subject: str = "flow f") -> tuple[np.ndarray, np.ndarray]:
    """Returns times in seconds and values of one series."""
    table = pa.table(result.series)
    rows = table.filter(pa.array(_equal(table["subject"], subject) & _equal(table["series"], name)))
    return rows["time_ns"].to_numpy() / 1e9, rows["value"].to_numpy()


def at(times: np.ndarray, values: np.ndarray, moment: float) -> float:
    """Returns a state at a moment."""
    return float(values[np.searchsorted(times, moment, side="right") - 1])


def time_average(times: np.ndarray, values: np.ndarray, begin: float, end: float) -> float:
    """Returns the mean over time of a state that holds until its next row."""
    edges = np.clip(np.append(times, end), begin, end)
    return float(np.sum(np.diff(edges) * values) / (end - begin))


def goodput(result: Result, begin: float, end: float) -> float:
    """Returns the payload that the application got between two moments, in bit/s."""
    times, values = series(result, "delivered bytes")
    rows = np.searchsorted(times, [begin, end], side="right") - 1
    return float((values[rows[1]] - values[rows[0]]) * 8 / (times[rows[1]] - times[rows[0]]))
