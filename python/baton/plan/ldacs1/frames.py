"""Frames of L-DACS1: modulations, code rates, and the sizes of a frame of the forward link and a tile of the return
link."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .channel import Grid, grid
from .code import MEMORY

BITS_PER_SYMBOL = {"qpsk": 2, "16qam": 4, "64qam": 6}
# Data bytes as in the model, `crates/sim/src/link/ldacs1/modulation.rs`.
FORWARD_BYTES = {
    "qpsk-1/2": 91,
    "qpsk-2/3": 120,
    "qpsk-3/4": 135,
    "16qam-1/2": 182,
    "16qam-2/3": 242,
    "64qam-1/2": 272,
    "64qam-2/3": 366,
    "64qam-3/4": 412,
}
RETURN_BYTES = {
    "qpsk-1/2": 14,
    "qpsk-2/3": 19,
    "qpsk-3/4": 22,
    "16qam-1/2": 28,
    "16qam-2/3": 39,
    "64qam-1/2": 43,
    "64qam-2/3": 58,
    "64qam-3/4": 66,
}
MODULATIONS = tuple(FORWARD_BYTES)
DIRECTIONS = ("forward", "return")
LONGEST_WORD = 255
"""Bytes of the longest Reed-Solomon word."""


@dataclass(frozen=True)
class Frame:
    """A frame of one modulation: a forward frame (18 OFDM symbols of 50 carriers, of which 814 places carry data) or a
    tile of the return link (6 of 25, 134 places)."""

    modulation: str
    direction: str

    @property
    def bits_per_symbol(self) -> int:
        """Returns the bits of a data symbol."""
        return BITS_PER_SYMBOL[self.modulation.split("-")[0]]

    @property
    def code_rate(self) -> str:
        """Returns the rate of the convolutional code."""
        return self.modulation.split("-")[1]

    @property
    def is_forward(self) -> bool:
        """Returns true for the forward link."""
        return self.direction == "forward"

    @property
    def symbols(self) -> int:
        """Returns the data symbols: a third of the 2442 of an OFDM frame of 54 symbols, or the 134 of a tile."""
        return 814 if self.is_forward else 134

    @property
    def together(self) -> int:
        """Returns the frames whose bits are interleaved: the blocks of the forward link, of which the shortest have six
        frames, or a tile alone."""
        return 6 if self.is_forward else 1

    @cached_property
    def grid(self) -> Grid:
        """Returns the places of data and pilots in an interleaved block: three pilots an OFDM symbol of the forward
        link, scattered over every fourth carrier; six in the first and in the last symbol of a tile."""
        if self.is_forward:
            scattered = tuple((4 * (n % 4) + 1, 4 * (n % 4) + 17, 4 * (n % 4) + 33) for n in range(108))
            return grid(108, 50, scattered, self.together * self.symbols)
        ends = (0, 4, 9, 14, 19, 24)
        return grid(6, 25, (ends, (), (), (), (), ends), self.symbols)

    @property
    def data_bytes(self) -> int:
        """Returns the bytes of data."""
        return (FORWARD_BYTES if self.is_forward else RETURN_BYTES)[self.modulation]

    @property
    def steps(self) -> int:
        """Returns the bits that enter the convolutional encoder, its tail included."""
        numerator, denominator = (int(part) for part in self.code_rate.split("/"))
        return self.symbols * self.bits_per_symbol * numerator // denominator

    @property
    def coded_bytes(self) -> int:
        """Returns the bytes of all Reed-Solomon words: as many as fit, in words of equal length."""
        fits = (self.steps - MEMORY) // 8
        return fits - fits % self.words

    @property
    def words(self) -> int:
        """Returns the Reed-Solomon words."""
        return -(-((self.steps - MEMORY) // 8) // LONGEST_WORD)

    @property
    def correctable(self) -> int:
        """Returns the wrong bytes that the code corrects in a word: half of its parity bytes."""
        return (self.coded_bytes - self.data_bytes) // self.words // 2
