"""Gray-coded QPSK, 16QAM and 64QAM: half of a symbol's bits in each dimension."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]
Complex = npt.NDArray[np.complex64]


def levels(bits: int) -> Floats:
    """Returns the amplitudes of one dimension by its Gray-coded bits, for a symbol of unit energy."""
    count = 1 << bits
    amplitudes = np.empty(count, np.float32)
    for place in range(count):
        amplitudes[place ^ place >> 1] = 2 * place - (count - 1)
    amplitudes /= np.float32(np.sqrt(2 * (count**2 - 1) / 3))
    return amplitudes


def modulate(bits: Bits, bits_per_symbol: int) -> Complex:
    """Returns the symbols of frames' bits: half of a symbol's bits in each dimension."""
    half = bits_per_symbol // 2
    weights = 1 << np.arange(half)[::-1]
    numbers = (bits.reshape(bits.shape[0], -1, 2, half) * weights).sum(axis=3)
    amplitudes = levels(half)[numbers]
    symbols = np.empty(amplitudes.shape[:2], np.complex64)
    symbols.real, symbols.imag = amplitudes[:, :, 0], amplitudes[:, :, 1]
    return symbols


def demodulate(received: Complex, noise: Floats, bits_per_symbol: int) -> Floats:
    """Returns the bits' log-likelihood ratios, positive for a zero (the nearest level with each value of a bit).

    `received` are equalised symbols, `noise` is the variance of each.
    """
    half = bits_per_symbol // 2
    amplitudes = levels(half)
    dimensions = np.stack([received.real, received.imag], axis=2)
    distances = (dimensions[..., None] - amplitudes) ** 2
    ratios = np.empty((*dimensions.shape, half), np.float32)
    for bit in range(half):
        one = (np.arange(1 << half) >> (half - 1 - bit) & 1).astype(bool)
        ratios[..., bit] = distances[..., one].min(axis=3) - distances[..., ~one].min(axis=3)
    ratios /= noise[:, :, None, None]
    return ratios.reshape(received.shape[0], -1)
