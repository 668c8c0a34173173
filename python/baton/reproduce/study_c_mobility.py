"""Study C's line: scattered WiFi networks, decisions by signal strength, and Mobile IPv6's own latency (C9)."""

from __future__ import annotations

from pathlib import Path

from baton import Scenario
from baton.live.trials import Figures
from baton.report.tables import Run, run_of

from .study_c_run import RTT, Delivery, gain

#: Handovers of the network layer along the line, by the study's number of the case: old link and new one.
CASES = {1: ("satellite", "wifi-1"), 3: ("wifi-1", "wifi-2"), 4: ("wifi-2", "satellite")}
#: Case 2: a change of access point is half-way between those of network 1, at 750 m of the line and 20 m/s.
CHANGE_M, SPEED_M_S = 750.0, 20.0
#: Chosen: seconds around case 2 in which its messages would be, more than a change of network takes.
AROUND_S = 5.0
#: Overrides of a transfer, by its direction.
WAYS = {"upload": [], "download": ["flows.transfer.from=correspondent", "flows.transfer.to=mobile"]}
#: Checks of the gain, in MB and in percent, by direction and case.
GAINS = {
    ("upload", 1): ("C9.h", "C9.l"),
    ("upload", 4): ("C9.i", "C9.m"),
    ("download", 1): ("C9.j", "C9.n"),
    ("download", 4): ("C9.k", "C9.o"),
}


def mobility(folder: Path, seed: int) -> Figures:
    """Measures C9 with one seed."""
    figures: Figures = {}
    for way, settings in WAYS.items():
        runs = {
            remedy: _run(folder, seed, [f"flows.transfer.remedies={remedy}", *settings])
            for remedy in ("eclair", "none")
        }
        scheme, standard = (Delivery(runs[remedy]) for remedy in ("eclair", "none"))
        places = _places(scheme)
        if way == "upload":
            figures |= _cases(runs["none"], Delivery(runs["none"]))
        if places is None or _places(standard) is None:
            continue
        lost = sum(scheme.handovers[places[case]]["lost_packets"] for case in (1, 4))
        figures["C9.f" if way == "upload" else "C9.g"] = lost
        for case, link in ((1, "wifi"), (4, "satellite")):
            more, percent = gain(scheme, standard, places[case], link)
            in_bytes, in_percent = GAINS[way, case]
            figures[in_bytes], figures[in_percent] = more / 1e6, percent
    return figures


def _run(folder: Path, seed: int, overrides: list[str]) -> Run:
    return run_of(Scenario.load(str(folder / "mobility.toml"), overrides=overrides).run(seed=seed))


def _places(run: Delivery) -> dict[int, int] | None:
    """Returns the place of each case among a run's handovers; `None` if the run has others."""
    made = [(handover["from"], handover["to"]) for handover in run.handovers]
    return {case: place for place, case in enumerate(CASES)} if made == list(CASES.values()) else None


def _cases(run: Run, delivery: Delivery) -> Figures:
    """Measures the cases themselves: their handovers, the silence of case 2, and the latencies."""
    figures: Figures = {}
    made = [(handover["from"], handover["to"]) for handover in delivery.handovers]
    figures["C9.a"] = len(made) if set(made) <= set(CASES.values()) else 0
    change = CHANGE_M / SPEED_M_S
    updates = [s for s in run.signals if s.name == "Binding Update" and s.sender == "mobile"]
    figures["C9.b"] = sum(abs(update.sent_ns / 1e9 - change) < AROUND_S for update in updates)
    for (_, new), handover, name in zip(CASES.values(), delivery.handovers, "cde", strict=False):
        begun = round(handover["at_s"] * 1e9)
        end = next((s.sent_ns for s in run.signals if s.name == "Route Optimized" and s.sent_ns > begun), None)
        if end is not None:
            figures[f"C9.{name}"] = (end - begun) / 1e9 / RTT[new.partition("-")[0]]
    return figures
