"""Tables of error rates for the key `error_table` of an L-DACS1 network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

from .channel import EnRoute
from .errors import Effort, Rate, curve
from .frames import DIRECTIONS, MODULATIONS, Frame

HEADER = "direction,modulation,snr_db,frame_error_rate,bit_error_rate,frames"


def rows(
    channel: EnRoute | None, effort: Effort, seed: int, workers: int | None, modulations: Sequence[str] = MODULATIONS
) -> Iterator[str]:
    """Yields the lines of a table, the header first; `workers` processes (default: one a processor) share the work."""
    frames = [Frame(modulation, direction) for direction in DIRECTIONS for modulation in modulations]
    yield HEADER
    with ProcessPoolExecutor(workers) as pool:
        same = [channel] * len(frames), [effort] * len(frames), [seed] * len(frames)
        for frame, found in zip(frames, pool.map(curve, frames, *same), strict=True):
            yield from (_row(frame, rate) for rate in found)


def _row(frame: Frame, rate: Rate) -> str:
    rates = f"{rate.frame_error_rate:.3g},{rate.bit_error_rate:.3g}"
    return f"{frame.direction},{frame.modulation},{rate.snr_db:g},{rates},{rate.frames}"
