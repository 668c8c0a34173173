"""Study S's journey (S8): handovers decided by received power, their parts against equations 4, 5 and 7, and what is
lost with more and with less coverage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from baton import Scenario
from baton.live.trials import Figures
from baton.plan.coverage import Line, extension
from baton.report.arrow import Names
from baton.report.tables import Packets, Run, run_of

from .study_s_run import FULL, MOST, SEGMENT, result, series

#: Ends of the tunnel, latitude and obstacle of line.toml.
MOUTHS_M, LATITUDE_DEG, OBSTACLE_M = (9_000.0, 19_600.0), 45.0, 100.0
#: From a kilometre ahead of the tunnel, and without the download, so that only the steady stream has packets: equations
#: 4 and 5 have no time in queues. The first is the whole way, the other ends in the tunnel.
_UNLOADED = ["mobiles.train.track.from=8 km", "flows.download.start=149 s", "duration=150 s"]
_ENTERING = ["mobiles.train.track.from=8 km", "flows.download.start=29 s", "duration=30 s"]
_BY_MARGIN = "mobiles.train.decision.class=python:margin.Margin"
_SATELLITE_ONCE_UP = "mobiles.train.decision.class=python:margin.SatelliteOnceUp"
_WITH_SERVICE = 'mobiles.train.mobility.mih={ point_of_service = "gateway" }'
_WITH_FORWARD_SERVICE = 'mobiles.train.mobility.mih={ point_of_service = "gateway", signalling = "forward" }'
#: For recovery: the tunnel comes after 405 s, as in single.toml, the download is alone, and the run is long enough.
_LONG = ["mobiles.train.track.begin=300 s", "duration=900 s", "flows.steady.start=899 s", "record.packets=false"]
#: Schemes whose recovery is compared.
RECOVERING = ("newreno", "method-1", "method-2")
#: Chosen: share of the overlap d_2 with which a packet has to be lost.
TOO_LITTLE = 0.5
#: Time around a handover in which packets count as lost by it, in seconds.
_NEAR_S = 5.0


@dataclass(frozen=True)
class Handover:
    """A handover by the events of a run; times in seconds."""

    #: First reception of the new network (Link_Detected).
    detected_s: float
    #: The new link can be used (Link_Up).
    up_s: float
    decided_s: float
    #: The binding update that the sender accepted left the train.
    update_s: float
    #: Its acknowledgement arrived at the train.
    acknowledged_s: float
    #: Last packet of the steady stream by the old link.
    last_by_old_s: float
    #: Packets of the steady stream lost on the two links.
    lost: int

    @property
    def duration_s(self) -> float:
        """t_HO of section 5: until the acknowledgement or the last packet by the old network, whichever is later."""
        return max(self.acknowledged_s, self.last_by_old_s) - self.detected_s


def journey(file: Path, seed: int, overrides: Sequence[str], share_of_overlap: float = 1.0) -> Run:
    """Runs the journey with coverage as equation 3 asks, but only this share of the overlap d_2."""
    return run_of(Scenario.load(str(file), overrides=[*coverage(share_of_overlap), *overrides]).run(seed=seed))


def coverage(share_of_overlap: float) -> list[str]:
    """Returns the places of the first and the last access point, by equations 1 to 7."""
    line = Line()
    asked = extension(line, LATITUDE_DEG, OBSTACLE_M)
    before, after = (
        side.shadow_m + share_of_overlap * (side.extension_m - side.shadow_m) for side in (asked.before, asked.after)
    )
    first, last = MOUTHS_M[0] - before + line.coverage_m, MOUTHS_M[1] + after - line.coverage_m
    return [f"links.wifi.coverage.from={first:.1f} m", f"links.wifi.coverage.to={last:.1f} m"]


def handover(run: Run, link: str) -> Handover:
    """Reads the last handover to a link from a run's events and packets."""
    found = [each for each in run.summary["handovers"] if each["to"] == link][-1]
    at = float(found["at_s"])

    def times(name: str) -> list[float]:
        return [s.sent_ns / 1e9 for s in run.signals if (s.kind, s.link, s.name) == ("link", link, name)]

    detected = max(time for time in times("Link_Detected") if time < at)
    up = min(time for time in times("Link_Up") if time >= detected)
    completed = float(found["completed_s"])
    updates = [s for s in run.signals if s.name == "Binding Update" and s.link == link and s.fate == "delivered"]
    bound = {s.sent_ns for s in run.signals if s.name == "Binding Updated"}
    accepted = [s.sent_ns / 1e9 for s in updates if s.decided_ns in bound and at <= s.sent_ns / 1e9 <= completed]
    assert run.packets is not None, "the scenario records its packets"
    last, lost = _packets(run.packets, found["from"], at)
    return Handover(detected, up, at, accepted[-1], completed, last, lost)


def _packets(packets: Packets, old: str, at_s: float) -> tuple[float, int]:
    """Returns the time of the steady stream's last packet by the old link, and the number lost around a handover."""
    steady = _is(packets.names["flow"], "steady")
    near = np.abs(packets.numbers["sent_ns"] / 1e9 - at_s) < _NEAR_S
    fate = packets.names["fate"]
    arrived = steady & near & _is(packets.names["link"], old) & _is(fate, "delivered")
    lost = steady & near & ~_is(fate, "delivered")
    return float(packets.decided_ns[arrived].max()) / 1e9, int(np.count_nonzero(lost))


def _is(column: Names, value: str) -> np.ndarray:
    equal: np.ndarray = column.codes == column.code(value)
    return equal


def measured(file: Path, seed: int) -> Figures:
    """Measures S8 but for recovery, of one seed."""
    whole = journey(file, seed, _UNLOADED)
    to_wifi, to_satellite = handover(whole, "wifi"), handover(whole, "satellite")
    short_before = handover(journey(file, seed, _ENTERING, TOO_LITTLE), "wifi")
    short_after = handover(journey(file, seed, _UNLOADED, TOO_LITTLE), "satellite")
    by_margin = handover(journey(file, seed, [*_UNLOADED, _BY_MARGIN]), "satellite")
    once_up = handover(journey(file, seed, [*_UNLOADED, _SATELLITE_ONCE_UP]), "satellite")
    serviced = handover(journey(file, seed, [*_ENTERING, _WITH_SERVICE]), "wifi")
    forward = journey(file, seed, [*_UNLOADED, _WITH_FORWARD_SERVICE])
    forward_to_wifi, forward_to_satellite = handover(forward, "wifi"), handover(forward, "satellite")
    loaded = handover(journey(file, seed, ["duration=120 s"]), "wifi")
    return {
        "S8.a": to_wifi.duration_s,
        "S8.b": to_satellite.duration_s,
        "S8.c": to_wifi.decided_s - to_wifi.detected_s,
        "S8.d": to_wifi.last_by_old_s - to_wifi.decided_s,
        "S8.e": to_satellite.up_s - to_satellite.detected_s,
        "S8.f": to_satellite.decided_s - to_satellite.up_s,
        "S8.g": to_satellite.update_s - to_satellite.decided_s,
        "S8.h": to_satellite.acknowledged_s - to_satellite.update_s,
        "S8.i": to_wifi.lost,
        "S8.j": to_satellite.lost,
        "S8.k": short_before.lost,
        "S8.l": short_after.lost,
        "S8.m": once_up.duration_s,
        "S8.n": once_up.lost,
        "S8.o": serviced.duration_s,
        "S8.p": serviced.lost,
        "S8.q": loaded.duration_s,
        "S8.r": loaded.lost,
        "S8.u": forward_to_wifi.duration_s,
        "S8.v": forward_to_wifi.lost,
        "S8.w": by_margin.duration_s,
        "S8.x": by_margin.lost,
        "S8.y": forward_to_satellite.duration_s,
        "S8.z": forward_to_satellite.lost,
    }


def recovery(file: Path, seed: int) -> Figures:
    """Measures the recovery of S8: how much later than method #2 the others have a full window after the tunnel."""
    after = {key: _full_after(result(file, seed, {"download": key}, _LONG)) for key in RECOVERING}
    return {
        "S8.s": after["newreno"] - after["method-2"],
        "S8.t": after["method-1"] - after["method-2"],
    }


def _full_after(run: Run) -> float:
    """Returns the time from the handover to the satellite until the window is full, or the run ends."""
    at = next(float(each["at_s"]) for each in run.summary["handovers"] if each["to"] == "satellite")
    times, window = series(run, "download", "congestion window")
    full = times[(times >= at) & (window >= FULL * MOST * SEGMENT)]
    return (float(full[0]) if len(full) else run.duration_s) - at
