"""Study T: TCP across sudden link changes, WaveLAN and GSM (T1 to T9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .checks import Check, judge, load_expected, load_notes
from .transfer import Transfer

#: Runs of each scenario; the seed draws the flow's start (ten RTTs) and the handover time (± one RTT).
RUNS = 20
#: Bytes of the study's transfer after the handover: 680 B/s over the 116 s that its figure 7-3 shows.
TRANSFER = 78_880
#: Net rate of the GSM link in bytes a second (9.6 kbit/s with start and stop bits).
GSM_RATE = 960.0
#: The stretch of figure 7-3 over which the study gives the stable rate, in seconds after the handover.
STABLE = (58.0, 116.0)
#: Distance of T8: 100 ms more of RTT between correspondent and home agent, 50 ms each way.
FAR = ["links.ethernet.delay=50.1 ms"]
#: Chosen: thresholds around the four segments that fill the path, an average that follows within some
#: packets, since a packet takes more than a second.
RED = [
    'links.gsm.queue={ limit = "100 packets", management = "red", minimum_threshold = 2,'
    " maximum_threshold = 6, maximum_probability = 0.1, weight = 0.2 }"
]
#: Chosen: nothing passes for two seconds, and what the old link held is lost.
LOSS = 'handover = "hard", outage = "2 s"'
DISCARD = ["mobiles.mobile.timetable.1.old_queue=discard"]

Samples = dict[str, list[float]]


def reproduce(folder: Path, progress: Callable[[str], None] = lambda _: None) -> list[Check]:
    """All checks of the study, in the order of its file of expectations."""
    samples: Samples = {}
    _capacities(samples)
    for seed in range(1, RUNS + 1):
        progress(f"seed {seed} of {RUNS}")
        _towards_gsm(folder, seed, samples)
        _towards_wavelan(folder, seed, samples)
        _farther_and_lossy(folder, seed, samples)
        _upload(folder, seed, samples)
    notes = load_notes(folder / "notes.toml")
    expected = load_expected(folder / "expected.toml")
    return [judge(check, samples.get(check.id, []), notes.get(check.id, "")) for check in expected]


def _put(samples: Samples, rows: Iterable[tuple[str, float | int | None]]) -> None:
    for name, value in rows:
        if value is not None:
            samples.setdefault(name, []).append(float(value))


def _capacities(samples: Samples) -> None:
    """Rate times round-trip time, in bytes, as the study computes it."""
    links = {"T1.a": (2e6, 3.5e-3), "T1.b": (10e6, 0.5e-3), "T1.c": (9.6e3, 0.7)}
    _put(samples, [(name, round(rate * rtt / 8, 6)) for name, (rate, rtt) in links.items()])


class _Run:
    """A run and its transfer."""

    def __init__(self, file: Path, seed: int, overrides: list[str], flow: str = "download"):
        import pyarrow as pa

        from baton import Scenario

        result = Scenario.load(str(file), overrides=[*overrides, f"seed={seed}"]).run()
        upload = flow == "upload"
        self.transfer = Transfer(
            pa.table(result.packets),
            flow,
            data_direction="up" if upload else "down",
            sender_links=["wavelan", "gsm"] if upload else ["ethernet"],
        )
        self.flow: dict[str, Any] = result.summary["flows"][0]
        handover = result.summary["handovers"][0]
        self.handover_s: float = handover["completed_s"]
        self.at_handover: dict[str, Any] = handover["flows"][0]
        self._series = pa.table(result.series)

    def series(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Times and values of one of the flow's series."""
        from .transfer import _column

        chosen = (_column(self._series, "series") == name) & np.char.startswith(
            _column(self._series, "subject").astype(str), "flow "
        )
        times = _column(self._series, "time_ns")[chosen] / 1e9
        return times, _column(self._series, "value")[chosen]

    def value(self, name: str, at_s: float) -> float | None:
        """A series' value at a time."""
        times, values = self.series(name)
        place = int(np.searchsorted(times, at_s, side="right")) - 1
        return float(values[place]) if place >= 0 else None

    def first_on(self, link: str) -> tuple[int, float]:
        """The first segment of new data that takes a link after the handover, and when."""
        offered = self.transfer.data_on(link, delivered=False)
        new = (offered.time_s >= self.handover_s) & ~offered.retransmission
        return int(offered.sequence[new][0]), float(offered.time_s[new][0])

    def retransmissions_of(self, sequence: int) -> int:
        """How often a segment is sent again before the first acknowledgment of it arrives."""
        acks = self.transfer.acks
        later = acks.time_s[(acks.sequence > sequence) & (acks.time_s > self.handover_s)]
        until = later[0] if len(later) else np.inf
        sent = self.transfer.sent
        return int(np.count_nonzero((sent.sequence == sequence) & sent.retransmission & (sent.time_s < until)))

    def transfer_end(self) -> float | None:
        """When the study's number of bytes has arrived after the handover."""
        return self.transfer.time_of_byte(self.transfer.acknowledged(self.handover_s) + TRANSFER)

    def throughput(self) -> float | None:
        """Mean throughput of those bytes, in bytes a second."""
        end = self.transfer_end()
        return None if end is None else TRANSFER / (end - self.handover_s)

    def window_retransmitted(self) -> int:
        """Segments of those outstanding at the first timeout after the handover that are sent again."""
        sent = self.transfer.sent
        again = sent.retransmission & (sent.time_s >= self.handover_s)
        if not again.any():
            return 0
        timeout = sent.time_s[again][0]
        outstanding = (sent.time_s < timeout) & (sent.sequence >= self.transfer.acknowledged(timeout))
        return int(np.isin(np.unique(sent.sequence[outstanding]), sent.sequence[again]).sum())

    def rtt_near(self, at_s: float) -> float | None:
        """The last round-trip time measured by a time after the handover."""
        times, rtts = self.transfer.rtts()
        known = times + rtts <= at_s
        return float(rtts[known][-1]) if known.any() else None

    def drain_time(self, link: str) -> tuple[float, int]:
        """For how long after the handover a link goes on delivering, and how many segments."""
        delivered = self.transfer.data_on(link, delivered=True)
        late = delivered.time_s[delivered.time_s > self.handover_s]
        return (float(late[-1]) - self.handover_s if len(late) else 0.0), len(late)


def _towards_gsm(folder: Path, seed: int, samples: Samples) -> None:
    file = folder / "download.toml"
    plain = _Run(file, seed, [])
    transfer, start = plain.transfer, plain.handover_s
    runs = sorted(transfer.duplicate_acks(start), reverse=True)
    stall_end = _stall_end(plain)
    end = plain.transfer_end()
    stable = [transfer.acknowledged(start + bound) for bound in STABLE]
    after_recovery = _first_rtt_after(plain, stall_end)
    base = plain.throughput()
    _put(
        samples,
        [
            ("T2.a", plain.value("retransmission timeout", start)),
            ("T2.b", plain.retransmissions_of(plain.first_on("gsm")[0])),
            ("T2.c", plain.window_retransmitted()),
            ("T2.d", transfer.lost),
            ("T2.e", runs[0] if runs else 0),
            ("T2.f", sum(runs[1:])),
            ("T2.g", plain.flow["fast_retransmits"]),
            ("T2.h", plain.at_handover["stall_s"]),
            ("T2.i", transfer.longest_wait(start)),
            ("T3.a", stall_end - start),
            ("T3.b", None if end is None else end - start - TRANSFER / GSM_RATE),
            ("T3.c", base),
            ("T3.d", (stable[1] - stable[0]) / (STABLE[1] - STABLE[0])),
            ("T3.e", after_recovery),
            ("T3.f", plain.rtt_near(start + STABLE[1])),
            ("T3.g", plain.value("retransmission timeout", start + STABLE[1])),
        ],
    )
    _windows(file, seed, samples, base)
    red = _Run(file, seed, RED)
    _put(
        samples,
        [
            ("T7.d", _ratio(red.throughput(), base)),
            ("T7.e", red.rtt_near(red.handover_s + STABLE[1])),
        ],
    )


def _windows(file: Path, seed: int, samples: Samples, base: float | None) -> None:
    """T4: windows and segment sizes; also T7's remedies of that kind."""

    def limited(window: int, mss: int) -> _Run:
        settings = [
            f"flows.download.tcp.receive_buffer={window} B",
            f"flows.download.tcp.maximum_segment_size={mss} B",
        ]
        return _Run(file, seed, settings)

    best = limited(4096, 1024)
    small = limited(2144, 536)
    throughput = best.throughput()
    ratios = {
        name: _ratio(limited(window, 1024).throughput(), throughput)
        for name, window in (("T4.d", 2048), ("T4.e", 8192), ("T4.f", 16_384))
    }
    gain = _ratio(throughput, base)
    _put(
        samples,
        [
            ("T4.a", best.window_retransmitted()),
            ("T4.b", throughput),
            ("T4.c", None if gain is None else 100 * (gain - 1)),
            *ratios.items(),
            ("T4.g", small.throughput()),
            ("T7.a", gain),
            ("T7.b", best.window_retransmitted()),
            ("T7.c", small.retransmissions_of(small.first_on("gsm")[0])),
        ],
    )


def _towards_wavelan(folder: Path, seed: int, samples: Samples) -> None:
    file = folder / "download-back.toml"
    plain = _Run(file, seed, [])
    start = plain.handover_s
    drain, segments = plain.drain_time("gsm")
    duplicates = sum(plain.transfer.duplicate_acks(start, start + drain))
    times, rto = plain.series("retransmission timeout")
    after = times > start
    peak = int(np.argmax(np.where(after, rto, 0.0)))
    settled = np.flatnonzero((times > times[peak]) & (rto < 1.0))
    samples_needed = None
    if len(settled):
        sample_times, _ = plain.series("round-trip time")
        between = (sample_times > times[peak]) & (sample_times <= times[settled[0]])
        samples_needed = int(np.count_nonzero(between))
    rtt = plain.value("round-trip time", float(times[peak]))
    red = _Run(file, seed, RED)
    discard = _Run(file, seed, DISCARD)
    _put(
        samples,
        [
            ("T5.a", drain),
            ("T5.b", segments),
            ("T5.c", duplicates),
            ("T5.d", plain.flow["timeouts"]),
            ("T6.a", plain.value("retransmission timeout", start)),
            ("T6.b", rto[peak]),
            ("T6.c", rto[-1]),
            ("T6.d", _ratio(float(rto[peak]), rtt)),
            ("T6.e", samples_needed),
            ("T7.f", red.drain_time("gsm")[0]),
            ("T7.g", discard.at_handover["stall_s"]),
            ("T7.h", _time_to(plain, 100_000)),
            ("T7.i", _time_to(discard, 100_000)),
        ],
    )


def _farther_and_lossy(folder: Path, seed: int, samples: Samples) -> None:
    out, back = folder / "download.toml", folder / "download-back.toml"

    def lossy(at: str, link: str, jitter: str) -> list[str]:
        entry = f'{{ at = "{at}", attach = "{link}", jitter = "{jitter}", {LOSS} }}'
        return [f"mobiles.mobile.timetable.1={entry}"]

    far = _Run(out, seed, FAR)
    _put(
        samples,
        [
            ("T8.a", far.at_handover["stall_s"]),
            ("T8.b", far.throughput()),
            ("T8.c", _Run(back, seed, FAR).drain_time("gsm")[0]),
            ("T8.d", _Run(out, seed, lossy("12 s", "gsm", "3.5 ms")).at_handover["stall_s"]),
            ("T8.e", _Run(back, seed, lossy("70 s", "wavelan", "700 ms")).at_handover["stall_s"]),
        ],
    )


def _upload(folder: Path, seed: int, samples: Samples) -> None:
    run = _Run(folder / "upload.toml", seed, [], flow="upload")
    first, begin = run.first_on("gsm")
    sent = run.transfer.sent
    on_gsm = run.transfer.data_on("gsm", delivered=False)
    at_once = (on_gsm.time_s >= begin) & (on_gsm.time_s < begin + 0.1)
    following = np.unique(sent.sequence[sent.sequence > first])[0]
    _put(
        samples,
        [
            ("T9.a", int(np.count_nonzero(at_once))),
            ("T9.b", run.retransmissions_of(first)),
            ("T9.c", int(np.count_nonzero(sent.sequence == following))),
            ("T9.d", run.transfer.lost),
            ("T9.e", run.rtt_near(run.handover_s + STABLE[1])),
            ("T9.f", run.throughput()),
        ],
    )


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _stall_end(run: _Run) -> float:
    """When new data arrives again after the longest gap that follows the handover."""
    acks = run.transfer.acks
    rising = np.concatenate([[True], acks.sequence[1:] > np.maximum.accumulate(acks.sequence)[:-1]])
    times = acks.time_s[rising & (acks.time_s > run.handover_s)]
    gaps = np.diff(np.concatenate([[run.handover_s], times]))
    return float(times[int(np.argmax(gaps))])


def _first_rtt_after(run: _Run, at_s: float) -> float | None:
    times, rtts = run.transfer.rtts()
    later = times >= at_s
    return float(rtts[later][0]) if later.any() else None


def _time_to(run: _Run, amount: int) -> float | None:
    """From the handover until so many bytes have arrived."""
    end = run.transfer.time_of_byte(run.transfer.acknowledged(run.handover_s) + amount)
    return None if end is None else end - run.handover_s
