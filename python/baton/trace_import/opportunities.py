"""Traces of mahimahi and of LeoReplayer.

mahimahi: a line is a millisecond at which 1500 B may pass; the file repeats when its last millisecond is over.
LeoReplayer: such a file, and one of one-way delays in milliseconds, a line for every 10 ms.
"""

from __future__ import annotations

from pathlib import Path

from .trace import LARGEST_TRACE, Imported, Trace, TraceError, bin_rates, bin_starts, lines_of, parse_number

OPPORTUNITY_BITS = 1500 * 8
MILLISECOND = 1_000_000
DELAY_STEP_NS = 10 * MILLISECOND
RATE_RULE = "rate_bps: 1500 B for each delivery opportunity, by bins of {bin} ms"
DELAY_RULE = "delay_ms: the mean of a bin's delays, a line being 10 ms; the file holds its last delay"


def read_mahimahi(paths: list[Path], bin_ns: int) -> Imported:
    """Reads the traces of a downlink, or of a downlink and an uplink."""
    traces = {}
    for direction, path in zip(("down", "up"), paths, strict=False):
        times = opportunities(path)
        starts = bin_starts(path, times[-1] * MILLISECOND, bin_ns)
        chances = ((time * MILLISECOND, OPPORTUNITY_BITS) for time in times)
        traces[direction] = Trace(starts, bin_rates(len(starts), bin_ns, chances))
    return Imported(traces, [RATE_RULE.format(bin=bin_ns // MILLISECOND)])


def read_leo(bandwidth: Path, delay: Path, bin_ns: int, direction: str) -> Imported:
    """Reads the trace of a LeoReplayer pair; it ends with the bandwidth."""
    imported = read_mahimahi([bandwidth], bin_ns)
    trace = imported.traces.pop("down")
    delays = [
        parse_number(delay, n, "the delay", text) for n, text in enumerate(lines_of(delay), start=1) if text.strip()
    ]
    if not delays:
        raise TraceError(delay, 1, "empty; expected a delay in ms on each line")
    trace.delay_ms = []
    for start in trace.time_ns:
        part = delays[start // DELAY_STEP_NS : -(-(start + bin_ns) // DELAY_STEP_NS)] or delays[-1:]
        trace.delay_ms.append(sum(part) / len(part))
    return Imported({direction: trace}, [*imported.rules, DELAY_RULE])


def opportunities(path: Path) -> list[int]:
    """Reads the milliseconds of a mahimahi file, which never descend."""
    times: list[int] = []
    for line, text in enumerate(lines_of(path), start=1):
        text = text.strip()
        if not text:
            continue
        if not (text.isascii() and text.isdigit()) or len(text) > 12:
            raise TraceError(path, line, f"{text[:40]!r}; expected a whole number of milliseconds")
        time = int(text)
        if times and time < times[-1]:
            raise TraceError(path, line, f"{time} after {times[-1]}; expected times that never descend")
        if len(times) >= 10 * LARGEST_TRACE:
            raise TraceError(path, line, f"more than {10 * LARGEST_TRACE} lines; expected a shorter trace: cut it")
        times.append(time)
    if not times:
        raise TraceError(path, 1, "empty; expected a millisecond on each line")
    return times
