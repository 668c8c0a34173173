"""AeroTP packets made from the words of docs/aerotp.md alone: codes and checks bit by bit, nothing of Baton's."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path

SPECIFICATION = Path(__file__).resolve().parent.parent / "docs" / "aerotp.md"
HEADING = re.compile(r"^### (Vector \d+: .*)$", re.MULTILINE)
ADDRESSES = re.compile(r"^From ([\da-f.:]+) to ([\da-f.:]+)\.$", re.MULTILINE)
ROW = re.compile(r"^\| `(aerotp\.[\w.]+)` \| `?([^|`]*)`? \|$", re.MULTILINE)
BYTES = re.compile(r"^```text\n([\da-f\n ]+)```$", re.MULTILINE)
FLAGS = "asyn afin mack snack token block record pull".split()
"""From the highest bit to the lowest."""


class Vector:
    """One of the document's packets: addresses, fields by name, and its bytes behind the IP header."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.source, self.destination = (ipaddress.ip_address(each) for each in ADDRESSES.search(text).groups())
        self.fields = dict(ROW.findall(text))
        self.bytes = bytes.fromhex(BYTES.search(text)[1])

    def has(self, name: str) -> bool:
        """Returns true if the document tells of the field."""
        return f"aerotp.{name}" in self.fields

    def number(self, name: str) -> int:
        """A field's value; zero of one that is not there."""
        return int(self.fields.get(f"aerotp.{name}", "0"), 0)

    def numbers(self, name: str) -> list[int]:
        """The values of a field that may come more than once."""
        return [int(each, 0) for each in self.fields.get(f"aerotp.{name}", "").split(",") if each]

    def data(self, name: str) -> bytes:
        """A field's bytes."""
        return bytes.fromhex(self.fields.get(f"aerotp.{name}", ""))


class Made(Vector):
    """A packet of one's own, of fields by their names."""

    def __init__(self, source: str, destination: str, fields: dict[str, int], payload: bytes = b"") -> None:
        self.name = "made"
        self.source, self.destination = ipaddress.ip_address(source), ipaddress.ip_address(destination)
        self.fields = {f"aerotp.{name}": str(value) for name, value in fields.items()}
        self.fields |= {"aerotp.version": "1", "aerotp.length": str(len(payload)), "aerotp.payload": payload.hex()}


def vectors() -> list[Vector]:
    """All of the document's, in their order."""
    parts = HEADING.split(SPECIFICATION.read_text(encoding="utf-8"))
    return [Vector(name, text.split("\n## ")[0]) for name, text in zip(parts[1::2], parts[2::2], strict=True)]


def golay(data: int) -> int:
    """The 24 bits for 12: the remainder of division by the generator, then a bit that makes the number of ones even."""
    remainder = data << 11
    for degree in range(22, 10, -1):
        if remainder & 1 << degree:
            remainder ^= 0b110001110101 << degree - 11
    word = data << 11 | remainder
    return word << 1 | bin(word).count("1") % 2


def crc16(data: bytes) -> int:
    """CRC-16/IBM-3740: x^16 + x^12 + x^5 + 1, from all ones, highest bit first."""
    register = 0xFFFF
    for byte in data:
        for bit in range(7, -1, -1):
            feedback = register >> 15 ^ byte >> bit & 1
            register = register << 1 & 0xFFFF ^ 0x1021 * feedback
    return register


def crc32c(data: bytes) -> int:
    """Castagnoli's CRC-32, lowest bit first, from all ones, inverted."""
    register = 0xFFFFFFFF
    for byte in data:
        for bit in range(8):
            feedback = register & 1 ^ byte >> bit & 1
            register = register >> 1 ^ 0x82F63B78 * feedback
    return register ^ 0xFFFFFFFF


def times(one: int, other: int) -> int:
    """A product in GF(2^8) with x^8 + x^4 + x^3 + x^2 + 1, by shifts and additions."""
    product = 0
    for bit in range(8):
        product ^= (one << bit) * (other >> bit & 1)
    for degree in range(14, 7, -1):
        product ^= (0x11D << degree - 8) * (product >> degree & 1)
    return product


def inverse(number: int) -> int:
    """Returns the number whose product with this one is one: found by trying all."""
    return next(other for other in range(1, 256) if times(number, other) == 1)


def generator(degree: int) -> list[int]:
    """(x - alpha^0) … (x - alpha^(degree - 1)), highest coefficient first."""
    polynomial, root = [1], 1
    for _ in range(degree):
        shifted = [*polynomial, 0]
        polynomial = [a ^ times(root, b) for a, b in zip(shifted, [0, *polynomial], strict=True)]
        root = times(root, 2)
    return polynomial


def parity(data: bytes, degree: int) -> bytes:
    """The remainder of data times x^degree, by long division."""
    rest, divisor = [*data, *[0] * degree], generator(degree)
    for place in range(len(data)):
        factor = rest[place]
        for offset, coefficient in enumerate(divisor):
            rest[place + offset] ^= times(factor, coefficient)
    return bytes(rest[len(data) :])


def redundancy(data: bytes, words: int) -> bytes:
    """Of a packet: every I-th byte of it is one codeword's, redundancy included."""
    length = len(data) + 4 * words
    count = -(-length // 255)
    block = bytearray(data) + bytes(4 * words)
    for first in range(count):
        own = range(first, length, count)
        inside = [place for place in own if place < len(data)]
        found = parity(bytes(block[place] for place in inside), len(own) - len(inside))
        for place, byte in zip(own[len(inside) :], found, strict=True):
            block[place] = byte
    return bytes(block[len(data) :])


def number(value: int) -> bytes:
    """A number in one, two or four bytes, whose two first bits say how many."""
    for size, mark in ((1, 0), (2, 1), (4, 2)):
        if value < 1 << 8 * size - 2:
            return (mark << 8 * size - 2 | value).to_bytes(size, "big")
    raise ValueError(f"{value} does not fit 30 bits")


def ranges(vector: Vector, kind: str) -> list[tuple[int, int]]:
    """Starts and lengths of a MACK's ranges."""
    names = (f"mack.{kind}.start", f"mack.{kind}.length")
    return list(zip(*(vector.numbers(name) for name in names), strict=True))


def mack(vector: Vector) -> bytes:
    """The acknowledgment's extension."""
    received, missing = ranges(vector, "received"), ranges(vector, "missing")
    out = vector.number("mack.cumulative").to_bytes(4, "big") + vector.number("mack.echo").to_bytes(4, "big")
    out += bytes([vector.number("mack.error_rate"), 0x80 * vector.number("mack.complete")])
    out += bytes([len(received), len(missing)])
    for name in "unconfirmed window held_for arrival_rate".split():
        out += number(vector.number(f"mack.{name}"))
    end = 0
    for start, length in received:
        out += number(start - end) + number(length)
        end = start + length
    end = 0
    for (start, length), damaged in zip(missing, vector.numbers("mack.missing.damaged"), strict=True):
        out += number(start - end) + number(2 * length + damaged)
        end = start + length
    return out


def extensions(vector: Vector) -> bytes:
    """Returns the extensions behind the fixed header, in their order."""
    out = b""
    if vector.has("asyn.initial"):
        out += vector.number("asyn.initial").to_bytes(4, "big") + vector.number("asyn.token").to_bytes(4, "big")
    if vector.has("offer.mss"):
        options = vector.number("offer.sack") << 1 | vector.number("offer.timestamps")
        out += vector.number("offer.mss").to_bytes(2, "big") + bytes([vector.number("offer.scale"), options])
    if vector.has("mack.cumulative"):
        out += mack(vector)
    if vector.has("token"):
        out += vector.number("token").to_bytes(4, "big")
    if vector.has("block.number"):
        out += vector.number("block.number").to_bytes(2, "big")
        out += bytes(vector.number(f"block.{name}") for name in "index sources repairs".split())
    return out


def header(vector: Vector) -> bytes:
    """Returns the header between prelude and header error check."""
    flags = 0
    for bit, name in enumerate(reversed(FLAGS)):
        flags |= vector.number(f"flags.{name}") << bit
    out = bytes([vector.number("mode") << 5 | vector.number("class") << 2, flags, vector.number("tcp_flags")])
    sizes = {"srcport": 2, "dstport": 2, "seq": 4, "timestamp": 4, "length": 2}
    out += b"".join(vector.number(name).to_bytes(size, "big") for name, size in sizes.items())
    return out + extensions(vector)


def prelude(vector: Vector) -> bytes:
    """The word of three bytes."""
    data = vector.number("version") << 10 | vector.number("covers_header") << 9 | vector.number("strength")
    return golay(data).to_bytes(3, "big")


def build(vector: Vector) -> bytes:
    """The packet behind the IP header, of the document's fields but for its checks and redundancy."""
    inside, payload = header(vector), vector.data("payload")
    inside += crc16(vector.source.packed + vector.destination.packed + inside).to_bytes(2, "big")
    sealed = payload + crc32c(payload).to_bytes(4, "big") if payload else b""
    covered = inside + sealed if vector.number("covers_header") else sealed
    code = redundancy(covered, vector.number("strength")) if covered else b""
    return prelude(vector) + inside + sealed + code


def shard(sequence: int, flags: int, data: bytes) -> bytes:
    """A packet's part in a block: its length, sequence number, two flags, data."""
    inside = sequence.to_bytes(4, "big") + bytes([flags]) + data
    return len(inside).to_bytes(2, "big") + inside


def repair(shards: list[bytes], index: int) -> bytes:
    """The sum of all shards, each times 1 / (its number + (255 - index))."""
    out = bytearray(max(map(len, shards)))
    for place, each in enumerate(shards):
        factor = inverse(place ^ (255 - index))
        for at, byte in enumerate(each):
            out[at] ^= times(factor, byte)
    return bytes(out)
