"""A run of study T, simulated or live, and its measures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from baton import Scenario
from baton.live.trials import Figures
from baton.report.tables import Run, run_of

from .transfer import Floats, Transfer

#: Bytes of the study's transfer over GSM: 680 B/s over the 116 s that its figure 7-3 shows.
TRANSFER = 78_880
#: Net rate of the GSM link in bytes a second (9.6 kbit/s with start and stop bits).
GSM_RATE = 960.0
#: The stretch of figure 7-3 over which the study gives the stable rate, in seconds after the handover.
STABLE = (58.0, 116.0)
#: Windows and segment sizes of T4, in bytes.
WINDOWS = {"2k": (2048, 1024), "4k": (4096, 1024), "8k": (8192, 1024), "16k": (16_384, 1024), "small": (2144, 536)}
#: Chosen: the longest that a stack takes to answer an acknowledgment; half of the least timeout of all of them, for a
#: kernel on a busy machine.
PROMPT_S = 0.1


class StudyRun:
    """A run and its transfer."""

    def __init__(self, run: Run, flow: str = "download"):
        upload = flow == "upload"
        assert run.packets is not None, "the scenarios of the study record their packets"
        self.transfer = Transfer(
            run.packets,
            flow,
            data_direction="up" if upload else "down",
            sender_links=["wavelan", "gsm"] if upload else ["ethernet"],
        )
        self.flow: dict[str, Any] = run.summary["flows"][0]
        handover = run.summary["handovers"][0]
        #: Time of the binding at the home agent, from which on packets to the mobile take the new link.
        self.handover_s = _binding_after(handover["at_s"], run)
        self.at_handover: dict[str, Any] = handover["flows"][0]
        self._run = run

    def series(self, name: str) -> tuple[Floats, Floats]:
        """Returns times and values of one of the flow's series."""
        series = self._run.find(f"flow {self.flow['name']}", name)
        if series is None:
            return np.zeros(0), np.zeros(0)
        return series.time_ns / 1e9, series.value

    def value(self, name: str, at_s: float) -> float | None:
        """Returns a series' value at a time."""
        times, values = self.series(name)
        place = int(np.searchsorted(times, at_s, side="right")) - 1
        return float(values[place]) if place >= 0 else None

    def first_on(self, link: str) -> tuple[int, float]:
        """Returns the first segment of new data on a link after the handover, and its time."""
        offered = self.transfer.data_on(link, delivered=False)
        new = (offered.time_s >= self.handover_s) & ~offered.retransmission
        return int(offered.sequence[new][0]), float(offered.time_s[new][0])

    def retransmissions_of(self, sequence: int) -> int:
        """Counts the times that a segment is sent again before the first acknowledgment of it arrives."""
        acks = self.transfer.acks
        later = acks.time_s[(acks.sequence > sequence) & (acks.time_s > self.handover_s)]
        until = later[0] if len(later) else np.inf
        sent = self.transfer.sent
        return int(np.count_nonzero((sent.sequence == sequence) & sent.retransmission & (sent.time_s < until)))

    def retransmissions_of_timers(self) -> int:
        """Retransmissions after the handover that no acknowledgment triggered: one would have arrived a moment
        before."""
        sent, acks = self.transfer.sent, self.transfer.acks.time_s
        again = sent.time_s[sent.retransmission & (sent.time_s > self.handover_s)]
        before = np.searchsorted(acks, again, side="right") - 1
        return int(np.count_nonzero(again - acks[before] > PROMPT_S))

    def time_to(self, amount: int) -> float | None:
        """Returns the time from the handover until this many bytes have arrived."""
        end = self.transfer.time_of_byte(self.transfer.acknowledged(self.handover_s) + amount)
        return None if end is None else end - self.handover_s

    def transfer_time(self) -> float | None:
        """Returns the time from the handover until the study's transfer over GSM has arrived.

        The transfer begins with the first new segment on GSM: what WaveLAN still delivers after the binding is not part
        of it.
        """
        end = self.transfer.time_of_byte(self.first_on("gsm")[0] + TRANSFER)
        return None if end is None else end - self.handover_s

    def throughput(self) -> float | None:
        """Returns the mean throughput of the study's transfer over GSM, in bytes per second."""
        time = self.transfer_time()
        return None if time is None else TRANSFER / time

    def window_retransmitted(self) -> int:
        """Segments outstanding at the first timeout after the handover that are retransmitted."""
        sent = self.transfer.sent
        again = sent.retransmission & (sent.time_s >= self.handover_s)
        if not again.any():
            return 0
        timeout = sent.time_s[again][0]
        outstanding = (sent.time_s < timeout) & (sent.sequence >= self.transfer.acknowledged(timeout))
        return int(np.isin(np.unique(sent.sequence[outstanding]), sent.sequence[again]).sum())

    def rtt_near(self, at_s: float) -> float | None:
        """Returns the last round-trip time measured by a time after the handover."""
        times, rtts = self.transfer.rtts()
        known = times + rtts <= at_s
        return float(rtts[known][-1]) if known.any() else None

    def rtt_after(self, at_s: float) -> float | None:
        """Returns the round-trip time of the first segment that is sent at or after a time, and only once."""
        times, rtts = self.transfer.rtts()
        later = times >= at_s
        return float(rtts[later][0]) if later.any() else None

    def drain_time(self, link: str) -> tuple[float, int]:
        """Returns for how long after the handover a link goes on delivering, and how many segments."""
        delivered = self.transfer.data_on(link, delivered=True)
        late = delivered.time_s[delivered.time_s > self.handover_s]
        return (float(late[-1]) - self.handover_s if len(late) else 0.0), len(late)

    def stall_end(self) -> float:
        """Returns the time at which new data arrives again after the longest gap that follows the handover."""
        acks = self.transfer.acks
        rising = np.concatenate([[True], acks.sequence[1:] > np.maximum.accumulate(acks.sequence)[:-1]])
        times = acks.time_s[rising & (acks.time_s > self.handover_s)]
        gaps = np.diff(np.concatenate([[self.handover_s], times]))
        return float(times[int(np.argmax(gaps))])


def _binding_after(time_s: float, run: Run) -> float:
    """Returns the time at which the first registration request from a time on arrives at the home agent."""
    arrivals = (
        one.decided_ns
        for one in run.signals
        if one.name == "Registration Request" and one.sent_ns >= time_s * 1e9 and one.fate == "delivered"
    )
    return next(arrival / 1e9 for arrival in arrivals if arrival is not None)


def simulate(file: Path, seed: int, overrides: list[str], flow: str = "download") -> StudyRun:
    """Runs one of the study's scenarios. Raises `ScenarioError`."""
    return StudyRun(run_of(Scenario.load(str(file), overrides=overrides).run(seed=seed)), flow)


def window(name: str) -> list[str]:
    """Returns the overrides that give the download one of `WINDOWS`."""
    bytes_, segment = WINDOWS[name]
    return [
        f"flows.download.transport.receive_buffer={bytes_} B",
        f"flows.download.transport.maximum_segment_size={segment} B",
    ]


def towards_gsm(run: StudyRun) -> Figures:
    """Returns T2 and T3, by their ids: a download that moves from WaveLAN to GSM."""
    transfer, start = run.transfer, run.handover_s
    duplicates = sorted(transfer.duplicate_acks(start), reverse=True)
    stall_end = run.stall_end()
    time = run.transfer_time()
    stable = [transfer.acknowledged(start + bound) for bound in STABLE]
    return {
        "T2.a": run.value("retransmission timeout", start),
        "T2.b": run.retransmissions_of(run.first_on("gsm")[0]),
        "T2.c": run.window_retransmitted(),
        "T2.d": transfer.lost,
        "T2.e": duplicates[0] if duplicates else 0,
        "T2.f": sum(duplicates[1:]),
        "T2.g": run.flow["fast_retransmits"],
        "T2.h": run.at_handover["stall_s"],
        "T2.i": transfer.longest_wait(start),
        "T3.a": stall_end - start,
        "T3.b": None if time is None else time - TRANSFER / GSM_RATE,
        "T3.c": run.throughput(),
        "T3.d": (stable[1] - stable[0]) / (STABLE[1] - STABLE[0]),
        "T3.e": run.rtt_after(stall_end),
        "T3.f": run.rtt_near(start + STABLE[1]),
        "T3.g": run.value("retransmission timeout", start + STABLE[1]),
    }


def towards_wavelan(run: StudyRun) -> Figures:
    """Returns T5 and T6, by their ids: a download that moves from GSM to WaveLAN."""
    start = run.handover_s
    drain, segments = run.drain_time("gsm")
    times, rto = run.series("retransmission timeout")
    peak = int(np.argmax(np.where(times > start, rto, 0.0)))
    return {
        "T5.a": drain,
        "T5.b": segments,
        "T5.c": sum(run.transfer.duplicate_acks(start, start + drain)),
        "T5.d": run.retransmissions_of_timers(),
        "T6.a": run.value("retransmission timeout", start),
        "T6.b": float(rto[peak]),
        "T6.c": float(rto[-1]),
        "T6.d": ratio(float(rto[peak]), float(rto[-1])),
        "T6.e": _samples_until_settled(run, peak),
    }


def figures(run: Run) -> Figures:
    """Returns the figures that T2 to T6 ask of a download, by where it moves to."""
    towards = {"gsm": towards_gsm, "wavelan": towards_wavelan}
    return towards[run.summary["handovers"][0]["to"]](StudyRun(run))


def _samples_until_settled(run: StudyRun, peak: int) -> int | None:
    """Counts the round-trip times that are measured from the largest timeout until it is below one second."""
    times, rto = run.series("retransmission timeout")
    settled = np.flatnonzero((times > times[peak]) & (rto < 1.0))
    samples, _ = run.series("round-trip time")
    if not len(settled) or not len(samples):
        return None
    return int(np.count_nonzero((samples > times[peak]) & (samples <= times[settled[0]])))


def ratio(part: float | None, whole: float | None) -> float | None:
    """Returns the quotient; nothing if a value is unknown."""
    return part / whole if part is not None and whole else None
