"""A run of study D, and its measures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from baton import Result, Scenario
from baton._baton import json_radio_figures
from baton.report.shares import Series
from baton.report.tables import run_of

#: Bytes that L-DACS1 puts around a packet, as the model has it.
HEADER_BYTES: int = json.loads(json_radio_figures(1.0, 1, 1))["header_bytes"]
#: The foreign cell's link to the aircraft, in results.
NEW_CELL = "radio.foreign.aircraft"
#: A track on which the aircraft stands still in its home cell.
HOME = ["mobiles.aircraft.track={ position = { latitude = 50.5, longitude = 5.0, altitude = '10 km' } }"]
#: The faster of the rates that the study gives a user.
FAST = ["links.radio.user_rate=158 kbit/s"]

#: Requests for each packet of the aircraft, as in a cell of many users, in place of a standing grant.
REQUESTED = ["links.radio.standing_grant=false"]
#: Delays of the ground, of 2200 km of fibre in each link.
GROUND = [f"links.{link}.delay=11 ms" for link in ("home-ground", "foreign-ground", "airline")]


class AircraftRun:
    """A run whose first flow is the one that counts."""

    def __init__(self, result: Result):
        self.summary: dict[str, Any] = result.summary
        self.flow: dict[str, Any] = self.summary["flows"][0]
        self._result = result

    @property
    def completion_s(self) -> float:
        """Time from the start of the transfer to its last byte; infinite if that has not arrived."""
        completion = self.flow["completion_s"]
        return float("inf") if completion is None else float(completion)

    @property
    def timeouts(self) -> int:
        """Expiries of the sender's retransmission timer."""
        return int(self.flow["timeouts"])

    @property
    def handover(self) -> dict[str, Any]:
        """The run's handover: from HO_COM without the P-bit to the home agent's answer."""
        handover: dict[str, Any] = self.summary["handovers"][0]
        return handover

    @property
    def handover_at_s(self) -> float:
        """Time at which the handover began."""
        return float(self.handover["at_s"])

    @property
    def handover_s(self) -> float:
        """Duration of the handover; infinite if it has not ended."""
        completed = self.handover["completed_s"]
        return float("inf") if completed is None else float(completed) - self.handover_at_s

    @property
    def held(self) -> dict[str, int]:
        """Numbers of packets that the home agent held, and that it dropped as duplicates."""
        # Agents that never held one are not in the summary.
        agents = [agent for agent in self.summary["agents"] if agent["agent"] == "home agent"]
        return {key: sum(agent[key] for agent in agents) for key in ("held", "duplicates")}

    def first_segment_s(self) -> float | None:
        """Returns the time from the handover's beginning until the first segment arrives in the new cell."""
        packets = self._rows("link", "direction", "fate", "decided_ns", "payload_bytes")
        begun = self.handover_at_s * 1e9
        arrived = packets["decided_ns"][_segments(packets) & (packets["link"] == NEW_CELL)]
        later = arrived[arrived > begun]
        return float(later.min() - begun) / 1e9 if len(later) else None

    def dropped_before_answer(self) -> int:
        """Returns the segments that reached the aircraft in its new cell before the home agent's answer, and went no
        further."""
        packets = self._rows("link", "direction", "fate", "decided_ns", "payload_bytes")
        begun, ended = self.handover_at_s * 1e9, (self.handover_at_s + self.handover_s) * 1e9
        meanwhile = _segments(packets) & (packets["decided_ns"] > begun) & (packets["decided_ns"] < ended)
        came, went = (np.count_nonzero(meanwhile & (packets["link"] == link)) for link in (NEW_CELL, "cabin"))
        return int(came - went)

    def overhead(self, payload: int) -> float | None:
        """Returns the share that headers, tunnel and radio add to a segment on the air, in per cent of all."""
        packets = self._rows("link", "payload_bytes", "wire_bytes")
        on_air = np.char.startswith(packets["link"].astype(str), "radio.") & (packets["payload_bytes"] == payload)
        if not on_air.any():
            return None
        length = float(packets["wire_bytes"][on_air].mean()) + HEADER_BYTES
        return 100 * (length - payload) / length

    def mean_rtt(self) -> float | None:
        """Returns the mean of the round-trip times that the sender has measured of data."""
        samples = self._rtts()
        return float(samples.mean()) if len(samples) else None

    def largest_rtt(self) -> float:
        """Returns the largest of these round-trip times."""
        samples = self._rtts()
        return float(samples.max()) if len(samples) else float("nan")

    def timeout_at_handover(self) -> float | None:
        """Returns the sender's retransmission timeout when the handover begins."""
        series = self._series("retransmission timeout")
        if series is None:
            return None
        place = int(np.searchsorted(series.time_ns, self.handover_at_s * 1e9, side="right")) - 1
        return float(series.value[place]) if place >= 0 else None

    def over_time(self, quantity: str) -> tuple[np.ndarray, np.ndarray]:
        """Returns times and values of one of the flow's series; empty if it was not recorded."""
        series = self._series(quantity)
        return (np.zeros(0), np.zeros(0)) if series is None else (series.time_ns / 1e9, series.value)

    def _rtts(self) -> np.ndarray:
        series = self._series("round-trip time")
        # The first is the handshake's.
        return series.value[1:] if series is not None else np.zeros(0)

    def _series(self, name: str) -> Series | None:
        return run_of(self._result).find(f"flow {self.flow['name']}", name)

    def _rows(self, *columns: str) -> dict[str, np.ndarray]:
        """Returns columns of the table of packets."""
        table = pa.table(self._result.packets)
        return {name: np.array(table[name].to_pylist()) for name in columns}


def _segments(packets: dict[str, np.ndarray]) -> np.ndarray:
    """Returns true for each delivered segment with data on its way to the aircraft."""
    delivered = (packets["fate"] == "delivered") & (packets["direction"] == "down") & (packets["payload_bytes"] > 0)
    return np.asarray(delivered)


def simulate(file: Path, seed: int, overrides: list[str], record: str = "") -> AircraftRun:
    """Runs one of the study's scenarios; `record` names the tables that are needed, `series` or `packets`, or both.

    Raises `ScenarioError`.
    """
    recorded = [f"record.{table}={str(table in record).lower()}" for table in ("series", "packets")]
    return AircraftRun(Scenario.load(file, overrides=[*overrides, *recorded]).run(seed=seed))


def window(kilobytes: int) -> list[str]:
    """Returns the overrides that give the download a receive window."""
    return [f"flows.weather.transport.receive_buffer={kilobytes} KiB"]
