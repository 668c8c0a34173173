"""Error rates of L-DACS1's frames over the SNR, by simulation of the physical layer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .channel import EnRoute, en_route, white
from .code import decode, encode, failed_words, puncture
from .frames import Frame
from .symbols import demodulate, modulate

BATCH_BITS = 400_000
"""Encoder input bits simulated at a time, which bounds memory to some 100 MB."""
TRUSTED_LOSSES = 5
"""Lost frames from which on a rate is reported: its standard deviation is then below one half."""
HIGHEST_SNR_DB = 20.0


@dataclass(frozen=True)
class Effort:
    """Frames to simulate for each rate: until so many are lost, at most so many encoder input bits."""

    lost: int = 100
    bits: int = 100_000_000


@dataclass(frozen=True)
class Rate:
    """Result at one SNR. Bits are data bits behind the outer code."""

    snr_db: float
    frames: int
    lost: int
    wrong_bits: int
    bits: int

    @property
    def frame_error_rate(self) -> float:
        """Returns the share of lost frames."""
        return self.lost / self.frames

    @property
    def bit_error_rate(self) -> float:
        """Returns the share of wrong bits, those of lost frames included."""
        return self.wrong_bits / self.bits


def measure(frame: Frame, snr_db: float, channel: EnRoute | None, effort: Effort, draws: np.random.Generator) -> Rate:
    """Simulates frames at one SNR."""
    blocks = max(1, BATCH_BITS // (frame.steps * frame.together))
    total = Rate(snr_db, 0, 0, 0, 0)
    while total.lost < effort.lost and total.frames * frame.steps < effort.bits:
        lost, wrong_bits = _lose(frame, blocks, snr_db, channel, draws)
        frames = blocks * frame.together
        total = Rate(
            snr_db,
            total.frames + frames,
            total.lost + lost,
            total.wrong_bits + wrong_bits,
            total.bits + frames * 8 * frame.data_bytes,
        )
    return total


def _lose(
    frame: Frame, blocks: int, snr_db: float, channel: EnRoute | None, draws: np.random.Generator
) -> tuple[int, int]:
    """Simulates interleaved blocks of frames, and returns how many frames are lost, and their wrong data bits."""
    count, size = blocks * frame.together, 8 * frame.coded_bytes
    bits = np.zeros((count, frame.steps), np.uint8)
    bits[:, :size] = draws.integers(0, 2, (count, size), np.uint8)
    sent = puncture(frame.code_rate, frame.steps)
    coded = encode(bits)[:, sent]
    room = frame.symbols * frame.bits_per_symbol
    filled = np.zeros((count, room), np.uint8)
    filled[:, : coded.shape[1]] = coded
    # One random interleaver for all: L-DACS1's own was not available.
    order = np.random.default_rng(room).permutation(frame.together * room)
    symbols = modulate(filled.reshape(blocks, -1)[:, order], frame.bits_per_symbol)
    if channel is None:
        received, noise = white(symbols, snr_db, draws)
    else:
        received, noise = en_route(symbols, frame.bits_per_symbol, frame.grid, snr_db, channel, draws)
    ratios = np.empty((blocks, frame.together * room), np.float32)
    ratios[:, order] = demodulate(received, noise, frame.bits_per_symbol)
    full = np.zeros((count, 2 * frame.steps), np.float32)
    full[:, sent] = ratios.reshape(count, room)[:, : coded.shape[1]]
    wrong = decode(full)[:, :size] != bits[:, :size]
    by_byte = wrong.reshape(count, -1, 8)
    failed = failed_words(by_byte.any(axis=2), frame.words, frame.correctable)
    data = by_byte.sum(axis=2)[:, : frame.data_bytes]
    in_failed = failed[:, np.arange(frame.data_bytes) % frame.words]
    return int(failed.any(axis=1).sum()), int(data[in_failed].sum())


def curve(
    frame: Frame, channel: EnRoute | None, effort: Effort, seed: int, *, start_db: float = -3.0, step_db: float = 1.0
) -> list[Rate]:
    """Returns the rates at rising SNRs: from the last at which every frame is lost to the last with enough lost frames
    to trust, or to 20 dB."""
    rates: list[Rate] = []
    for step in range(round((HIGHEST_SNR_DB - start_db) / step_db) + 1):
        snr_db = start_db + step * step_db
        # The draws at a point depend on nothing but the seed, the frame and the SNR.
        key = [seed, int(frame.is_forward), *frame.modulation.encode(), round(100 * snr_db) + 10_000]
        rate = measure(frame, snr_db, channel, effort, np.random.default_rng(key))
        if rate.lost < TRUSTED_LOSSES:
            break
        if rate.lost == rate.frames:
            rates.clear()
        rates.append(rate)
    return rates
