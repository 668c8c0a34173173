"""The two codes of L-DACS1: a convolutional code of rate 1/2 with constraint length 7, punctured, inside a Reed-Solomon
code. All functions work on many frames at once, one a row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

GENERATORS = (0o133, 0o171)
"""Generators of the convolutional code, the newest bit in front."""
MEMORY = 6
"""Bits that the encoder remembers, and zeros that end a frame."""
STATES = 1 << MEMORY
PUNCTURING = {"1/2": ((1,), (1,)), "2/3": ((1, 1), (1, 0)), "3/4": ((1, 1, 0), (1, 0, 1))}
"""Bits of each generator that are sent, by the code rate; the patterns of IEEE 802.11 and 802.16."""


def puncture(rate: str, steps: int) -> npt.NDArray[np.bool_]:
    """Returns the mask of the bits that are sent of `2 * steps`, the two generators' bits in turn."""
    pattern = np.array(PUNCTURING[rate], dtype=bool)
    repeats = -(-steps // pattern.shape[1])
    sent: npt.NDArray[np.bool_] = np.tile(pattern, repeats)[:, :steps].T.reshape(-1)
    return sent


def encode(bits: Bits) -> Bits:
    """Returns the code bits of frames, before puncturing; each frame must end with `MEMORY` zeros."""
    frames, steps = bits.shape
    padded = np.concatenate([np.zeros((frames, MEMORY), np.uint8), bits], axis=1)
    coded = np.zeros((frames, steps, 2), np.uint8)
    for output, generator in enumerate(GENERATORS):
        for delay in range(MEMORY + 1):
            if generator >> (MEMORY - delay) & 1:
                coded[:, :, output] ^= padded[:, MEMORY - delay : MEMORY - delay + steps]
    return coded.reshape(frames, 2 * steps)


def _branches() -> npt.NDArray[np.intp]:
    """Returns, for each pair of states that differ in their oldest bit, the pair of code bits of a zero from the even
    one, as a number of two bits."""
    outputs = []
    for pair in range(STATES // 2):
        first, second = (bin(2 * pair & generator).count("1") & 1 for generator in GENERATORS)
        outputs.append(2 * first + second)
    return np.array(outputs, dtype=np.intp)


_BRANCHES = _branches()


def decode(likelihoods: Floats) -> Bits:
    """Returns the most likely bits of terminated frames (Viterbi, soft decision).

    `likelihoods` are log-likelihood ratios of the code bits, positive for a zero; 0 for a punctured bit.
    """
    frames = likelihoods.shape[0]
    pairs = np.ascontiguousarray(likelihoods.reshape(frames, -1, 2).transpose(1, 2, 0))
    steps = pairs.shape[0]
    metrics = np.full((STATES, frames), -1e9, np.float32)
    metrics[0] = 0
    # A step's decisions: true if the odd one of the two states before was the better one. Both generators have the
    # newest and the oldest bit, so that one metric and its negative are those of all four branches of a butterfly.
    decisions = np.empty((steps, STATES, frames), np.bool_)
    half = STATES // 2
    for step in range(steps):
        first, second = pairs[step]
        total, difference = first + second, first - second
        branch = np.stack([total, difference, -difference, -total])[_BRANCHES]
        even, odd = metrics[0::2], metrics[1::2]
        metrics = np.empty_like(metrics)
        for begin, sign in ((0, branch), (half, -branch)):
            stay, change = even + sign, odd - sign
            np.greater(change, stay, out=decisions[step, begin : begin + half])
            np.maximum(stay, change, out=metrics[begin : begin + half])
    bits = np.empty((steps, frames), np.uint8)
    state = np.zeros(frames, np.intp)
    every = np.arange(frames)
    for step in range(steps - 1, -1, -1):
        bits[step] = state >> (MEMORY - 1)
        state = (state << 1 & (STATES - 1)) | decisions[step, state, every]
    return np.ascontiguousarray(bits.T)


def failed_words(wrong: npt.NDArray[np.bool_], words: int, correctable: int) -> npt.NDArray[np.bool_]:
    """Returns, for each frame and Reed-Solomon word, true if more bytes are wrong than the code corrects.

    `wrong` has a row per frame and a column per byte; words take the bytes in turn. A word beyond the bound counts as
    failed: the chance that a decoder takes it for another word is neglected.
    """
    counts = np.stack([wrong[:, word::words].sum(axis=1) for word in range(words)], axis=1)
    return counts > correctable
