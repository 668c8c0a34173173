"""The csv trace that every import makes: its content, and how it is written.

A trace is one direction of a link: a time from 0, ascending, and any of rate, delay and loss. A value holds
until the next sample; the last sample lasts as long as the one before it.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from baton.errors import InputError

NANOSECONDS = 1_000_000_000
LARGEST_TRACE = 2_000_000
"""Samples in a trace at most: more is a wrong time stamp or a wrong bin, not a drive."""


LARGEST_NUMBER = 1e18
"""Largest number in any column and unit; more is damage."""
LARGEST_TIME_NS = 2**63 - 1
"""Times as tables hold them: 292 years, since the epoch or the beginning."""


class TraceError(InputError):
    """An input that cannot be imported: the place, the mistake, and the expected input."""

    def __init__(self, path: Path, line: int | None, message: str) -> None:
        place = f"{path}:{line}" if line is not None else str(path)
        super().__init__(f"{place}: {message}")


@dataclass
class Trace:
    """One direction. The columns that are there are as long as `time_ns`."""

    time_ns: list[int]
    rate_bps: list[float] | None = None
    delay_ms: list[float] | None = None
    loss: list[float] | None = None

    def to_csv(self) -> str:
        """Returns the file's text. Samples that change nothing are left out, except the last two, which say when it
        ends."""
        columns = [
            ("rate_bps", self.rate_bps, "%.0f"),
            ("delay_ms", self.delay_ms, "%.3f"),
            ("loss", self.loss, "%.6f"),
        ]
        present = [(name, values, form) for name, values, form in columns if values is not None]
        lines = [",".join(["time_s", *(name for name, _, _ in present)])]
        previous: list[str] = []
        for place, time in enumerate(self.time_ns):
            cells = [form % values[place] for _, values, form in present]
            if cells != previous or place >= len(self.time_ns) - 2:
                lines.append(",".join([seconds(time), *cells]))
                previous = cells
        return "\n".join(lines) + "\n"

    @property
    def end_ns(self) -> int:
        """End of the last sample; a single one is said to last a second."""
        return 2 * self.time_ns[-1] - self.time_ns[-2] if len(self.time_ns) > 1 else NANOSECONDS

    def mean(self, values: list[float]) -> float:
        """Returns the mean of a column over time."""
        times = [*self.time_ns, self.end_ns]
        return sum(v * (b - a) for v, a, b in zip(values, times, times[1:], strict=False)) / self.end_ns

    def summary(self) -> str:
        """Describes the trace in one line."""
        parts = [f"{self.end_ns / NANOSECONDS:.1f} s"]
        if self.rate_bps is not None:
            parts.append(f"mean rate {self.mean(self.rate_bps) / 1e6:.3f} Mbit/s")
        if self.delay_ms is not None:
            parts.append(f"delay {min(self.delay_ms):.1f} to {max(self.delay_ms):.1f} ms")
        if self.loss is not None:
            parts.append(f"mean loss {100 * self.mean(self.loss):.2f} %")
        return ", ".join(parts)


@dataclass
class Imported:
    """Results of an import: traces by direction (`down`, `up`), and the rules that made them."""

    traces: dict[str, Trace]
    rules: list[str]
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    """Places where a trace says more than its input does."""


def seconds(time_ns: int) -> str:
    """Writes a time in seconds, exact and without trailing zeros."""
    whole, rest = divmod(time_ns, NANOSECONDS)
    return f"{whole}.{rest:09d}".rstrip("0").rstrip(".")


def bin_starts(path: Path, end_ns: int, bin_ns: int) -> list[int]:
    """Returns starts of the bins that cover [0, end)."""
    if end_ns <= 0:
        raise TraceError(path, None, "all samples have the same time; expected a recording that spans some time")
    if end_ns // bin_ns >= LARGEST_TRACE:
        raise TraceError(
            path,
            None,
            f"spans {end_ns / NANOSECONDS:.0f} s, more than {LARGEST_TRACE} bins; "
            "look for a wrong time stamp, or choose a longer --bin",
        )
    return list(range(0, end_ns, bin_ns))


def bin_rates(bins: int, bin_ns: int, arrivals: Iterable[tuple[int, int]]) -> list[float]:
    """Returns bits per second in each bin from (time, bits); an arrival at the very end counts for the last bin."""
    bits = [0] * bins
    for time, count in arrivals:
        bits[min(time // bin_ns, bins - 1)] += count
    return [b * NANOSECONDS / bin_ns for b in bits]


def parse_number(path: Path, line: int, name: str, text: str) -> float:
    """Reads a number from 0 to `LARGEST_NUMBER`."""
    try:
        value = float(text)
    except ValueError:
        shown = repr(text.strip()[:40]) if text.strip() else "an empty cell"
        raise TraceError(path, line, f"{name} is {shown}; expected a number") from None
    if not 0 <= value <= LARGEST_NUMBER:
        raise TraceError(path, line, f"{name} is {text.strip()[:40]}; expected a number from 0 to {LARGEST_NUMBER:g}")
    return value


@contextmanager
def open_input(path: Path) -> Iterator[IO[bytes]]:
    """Yields the bytes of a file, unpacked if it is gzip; any failure to read is a `TraceError`."""
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            if packed:
                with gzip.open(raw) as unpacked:
                    yield unpacked  # type: ignore[misc]
            else:
                yield raw
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TraceError(path, None, f"damaged gzip file ({error}); expected a complete one") from None
    except OSError as error:
        raise TraceError(path, None, f"cannot be read: {error.strerror or error}") from None


def lines_of(path: Path) -> Iterator[str]:
    """Yields lines of a text file."""
    with open_input(path) as raw:
        for number, line in enumerate(raw, start=1):
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise TraceError(path, number, "not text; expected UTF-8") from None


def write(imported: Imported, sources: list[Path], prefix: Path, force: bool) -> list[Path]:
    """Writes `PREFIX.<direction>.csv` and the provenance `PREFIX.json`; each file appears complete or not at all."""
    texts = {Path(f"{prefix}.{direction}.csv"): trace.to_csv() for direction, trace in imported.traces.items()}
    provenance = {
        "sources": [{"file": source.name, "sha256": sha256(source)} for source in sources],
        "rules": imported.rules,
        "notes": imported.notes,
        "warnings": imported.warnings,
        "files": {path.name: hashlib.sha256(text.encode()).hexdigest() for path, text in texts.items()},
    }
    texts[Path(f"{prefix}.json")] = json.dumps(provenance, indent=2) + "\n"
    for path in texts:
        if path.exists() and not force:
            raise TraceError(path, None, "already exists; give another --out, or --force to replace it")
    for path, text in texts.items():
        partial = path.with_name(f".partial-{path.name}")
        try:
            partial.write_text(text, encoding="utf-8", newline="\n")
            os.replace(partial, path)
        except OSError as error:
            raise TraceError(path, None, f"cannot be written: {error.strerror or error}") from None
    return list(texts)


def sha256(path: Path) -> str:
    """Returns the SHA-256 hash of a file as it is on disk."""
    digest = hashlib.sha256()
    with path.open("rb") as raw:
        while block := raw.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
