"""Drive logs: CSV tables of times and measurements."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from .trace import LARGEST_TIME_NS, LARGEST_TRACE, NANOSECONDS, Imported, Trace, TraceError, lines_of, parse_number

TIME = re.compile(r"^(time|timestamp|t|sec|seconds|elapsed|epoch|date ?time)\b")
RATE = re.compile(r"\b(throughput|rate|bandwidth|bw|capacity|goodput|bitrate|[kmg]?bps|[kmg]?bits?/s)\b")
DELAY = re.compile(r"\b(delay|latency|owd|rtt|ping)\b")
LOSS = re.compile(r"\b(loss|plr)\b")
ROUND_TRIP = re.compile(r"\b(rtt|ping)\b")
RATE_UNITS = [
    (re.compile(r"\b(gbps|gbits?)\b"), 1e9),
    (re.compile(r"\b(mbps|mbits?)\b"), 1e6),
    (re.compile(r"\b(kbps|kbits?)\b"), 1e3),
    (re.compile(r"\b(bps|bits?)\b"), 1.0),
]
LOG_RULE = "drive log: each row's values hold until the next row's time; the last row lasts as long as the one before"


@dataclass(frozen=True)
class Columns:
    """Names that the user gave; `None` is to be recognised."""

    time: str | None = None
    rate: str | None = None
    delay: str | None = None
    loss: str | None = None


@dataclass(frozen=True)
class Measure:
    """A column: where it is, and the factor to the trace's unit."""

    place: int
    name: str
    factor: float


def read(path: Path, columns: Columns, direction: str) -> Imported:
    """Reads the trace of a drive log."""
    rows = table(path)
    line, header = next(rows, (1, []))
    if not any(cell.strip() for cell in header):
        raise TraceError(path, 1, "empty; expected a header line with the names of the columns")
    time = find(path, line, header, columns.time, TIME, "time", lambda name: 0.001 if has(name, "ms") else 1.0)
    if time is None:
        raise TraceError(path, line, f"no time column among {names(header)}; name it with --time-column")
    rate = find(path, line, header, columns.rate, RATE, "rate", rate_factor)
    delay = find(path, line, header, columns.delay, DELAY, "delay", delay_factor)
    loss = find(
        path,
        line,
        header,
        columns.loss,
        LOSS,
        "loss",
        lambda name: 0.01 if "%" in name or has(name, "percent") else 1.0,
    )
    measures = [rate, delay, loss]
    if measures == [None, None, None]:
        raise TraceError(
            path,
            line,
            f"no rate, delay or loss among {names(header)}; "
            "name one with --rate-column, --delay-column or --loss-column",
        )
    times, values = samples(path, rows, len(header), time, measures)
    trace = Trace(times, *(values[i] if measure is not None else None for i, measure in enumerate(measures)))
    if trace.loss is not None and max(trace.loss) > 1:
        raise TraceError(path, None, f"{loss.name if loss else ''} exceeds 1; expected a share, or a name with % in it")
    return Imported({direction: trace}, [LOG_RULE, *unit_rules(rate, delay, loss)])


def samples(
    path: Path, rows: Iterator[tuple[int, list[str]]], width: int, time: Measure, measures: list[Measure | None]
) -> tuple[list[int], list[list[float]]]:
    """Returns times from 0 in nanoseconds and the measures' values, each row checked."""
    times: list[int] = []
    values: list[list[float]] = [[] for _ in measures]
    first = 0
    for line, row in rows:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != width:
            raise TraceError(path, line, f"{len(row)} cells; expected {width} as in the header")
        moment = parse_time(path, line, time, row[time.place])
        if not times:
            first = moment
        elif moment - first <= times[-1]:
            raise TraceError(
                path, line, f"{time.name} is {row[time.place].strip()}; expected a later time than in the row before"
            )
        if len(times) >= LARGEST_TRACE:
            raise TraceError(path, line, f"more than {LARGEST_TRACE} rows; expected a shorter log: cut it")
        times.append(moment - first)
        for column, measure in zip(values, measures, strict=True):
            if measure is not None:
                column.append(measure.factor * parse_number(path, line, measure.name, row[measure.place]))
    if len(times) < 2:
        raise TraceError(path, None, f"{len(times)} rows of samples; expected at least two")
    return times, values


def table(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Reads rows of a CSV file with their line numbers; comma, semicolon or tab, as the first line has it."""
    lines = lines_of(path)
    first = next(lines, "")
    separator = max(",;\t", key=first.count)
    reader = csv.reader(_chain(first, lines), delimiter=separator)
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise TraceError(path, reader.line_num, f"{error}; expected a CSV table") from None
        yield reader.line_num, row


def _chain(first: str, rest: Iterator[str]) -> Iterator[str]:
    if first:
        yield first
    yield from rest


def find(
    path: Path,
    line: int,
    header: list[str],
    given: str | None,
    pattern: re.Pattern[str],
    what: str,
    factor: Callable[[str], float],
) -> Measure | None:
    """Returns the column that was named, or the one whose name tells that it fits."""
    if given is not None:
        matches = [i for i, name in enumerate(header) if name.strip() == given]
        if not matches:
            raise TraceError(path, line, f"no column {given!r} among {names(header)}")
    else:
        matches = [i for i, name in enumerate(header) if pattern.search(words(name))]
        if len(matches) > 1:
            found = names([header[i] for i in matches])
            raise TraceError(path, line, f"{found} could each be the {what}; choose one with --{what}-column")
        if not matches:
            return None
    name = header[matches[0]].strip()
    return Measure(matches[0], name, factor(name))


def words(name: str) -> str:
    """Returns a column's name in lower case, its words apart: `DL_Throughput(Mbps)` is `dl throughput mbps`."""
    return " ".join(re.findall(r"[a-z%]+(?:/s)?", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()))


def has(name: str, word: str) -> bool:
    """Returns true if a column's name has a word in it."""
    return word in words(name).split()


def rate_factor(name: str) -> float:
    """Returns the bits per second in a rate's unit, which its name tells; without one Mbit/s, as in most drive logs."""
    for pattern, factor in RATE_UNITS:
        if pattern.search(words(name)):
            return factor
    return 1e6


def delay_factor(name: str) -> float:
    """Returns the one-way milliseconds in a delay column's unit; a round trip counts half."""
    unit = 1000.0 if has(name, "s") or has(name, "sec") or has(name, "seconds") else 1.0
    return unit / 2 if ROUND_TRIP.search(words(name)) else unit


def unit_rules(rate: Measure | None, delay: Measure | None, loss: Measure | None) -> list[str]:
    """Describes the values that were taken, with the column and the unit of each."""
    rules = []
    if rate is not None:
        rules.append(f"rate_bps = {rate.factor:g} * {rate.name}")
    if delay is not None:
        rules.append(
            f"delay_ms = {delay.factor:g} * {delay.name}"
            + (" (half of a round trip)" if ROUND_TRIP.search(words(delay.name)) else "")
        )
    if loss is not None:
        rules.append(f"loss = {loss.factor:g} * {loss.name}")
    return rules


def names(header: list[str]) -> str:
    """Joins column names for a message."""
    return ", ".join(repr(name.strip()[:40]) for name in header[:20])


def parse_time(path: Path, line: int, time: Measure, text: str) -> int:
    """Returns nanoseconds of a number of (milli)seconds or of an ISO 8601 date and time."""
    text = text.strip()
    if re.match(r"^\d{4}-\d\d-\d\d[T ]", text):
        try:
            moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
        except ValueError:
            raise TraceError(
                path, line, f"{time.name} is {text[:40]!r}; expected a date and time of ISO 8601"
            ) from None
        since = moment.replace(tzinfo=moment.tzinfo or timezone.utc) - datetime(1970, 1, 1, tzinfo=timezone.utc)
        return (since.days * 86_400 + since.seconds) * NANOSECONDS + since.microseconds * 1000
    moment_ns = round(parse_number(path, line, time.name, text) * time.factor * 1e6) * 1000
    if moment_ns > LARGEST_TIME_NS:
        raise TraceError(path, line, f"{time.name} is {text[:40]}; expected a time of at most 292 years")
    return moment_ns
