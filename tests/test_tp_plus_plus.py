"""TP++ packets of a capture, read by the layout at the head of wire/tp_plus_plus.rs alone, with a second check."""

import struct
from pathlib import Path

from baton import Scenario

SCENARIO = """
name = "labels"
duration = "20 s"

[links.radio]
between = ["aircraft", "ground"]
kind = "wired"
rate = "5 Mbit/s"
delay = "10 ms"
packet_error_rate = 0.05

[[flows]]
name = "telemetry"
from = "aircraft"
to = "ground"
transport = { kind = "tp++", blocks = { data = 8, repair = 2 } }
traffic = { kind = "constant", rate = "4 Mbit/s", packet_size = "400 B", bytes = "400 kB" }
"""
#: x^32 + x^22 + x^2 + x + 1, as a number.
POLYNOMIAL = 1 << 32 | 1 << 22 | 0b111
#: Positions of labels in the check of a TPDU.
LABELS, EXTERNAL = 1 << 16, 1 << 17


def multiplied(one, other):
    """Returns a product of polynomials over GF(2), reduced."""
    product = 0
    for bit in range(other.bit_length()):
        if other >> bit & 1:
            product ^= one << bit
    while product.bit_length() > 32:
        product ^= POLYNOMIAL << (product.bit_length() - 33)
    return product


def power(exponent):
    result, square = 1, 2
    while exponent:
        if exponent & 1:
            result = multiplied(result, square)
        square, exponent = multiplied(square, square), exponent >> 1
    return result


def check_of(pieces):
    """Returns the check of pieces, each a position and bytes: byte by byte, each at its place in its word."""
    words = {}
    for position, piece in pieces:
        for place, byte in enumerate(piece, position):
            words[place // 4] = words.get(place // 4, 0) ^ byte << 8 * (3 - place % 4)
    plain = weighted = 0
    for place, word in words.items():
        plain ^= word
        weighted ^= multiplied(word, power(place))
    return struct.pack(">II", plain, weighted)


def packets(file):
    """Yields the IP payloads of protocol 39 in a pcapng file of IPv4 packets."""
    data, at = file.read_bytes(), 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            captured = struct.unpack_from("<I", data, at + 20)[0]
            packet = data[at + 28 : at + 28 + captured]
            if packet[0] == 0x45 and packet[9] == 39:
                yield packet[20:]
        at += length


def chunks(data):
    while data:
        flags, position, place, external, external_at, length = struct.unpack_from(">BQHIIH", data)
        yield flags, position, place, external, external_at, data[21 : 21 + length]
        data = data[21 + length :]


def data_check(packet):
    """Returns the check of a packet with a whole TPDU."""
    number = packet[17:21]
    pieces, length, last, base = [], 0, 0, 0
    for flags, position, place, external, external_at, data in chunks(packet[22:]):
        pieces.append((place, data))
        base, length = position - place, length + len(data)
        if flags & 3:
            end = struct.pack(">IIB", external, external_at + len(data), flags & 1)
            pieces.append((EXTERNAL + 16 * (place + len(data)), end))
        last |= flags >> 2
    assert flags & 2, "the TPDU ends"
    return check_of([*pieces, (LABELS, packet[:8] + number + struct.pack(">QIB", base, length, last))])


def test_packets_are_as_the_layout_has_them(tmp_path: Path):
    summary = Scenario.parse(SCENARIO).run(tmp_path / "run", pcap=True).summary
    flow = summary["flows"][0]
    assert flow["delivered_bytes"] == 400_000
    assert flow["tp_plus_plus"]["restored_tpdus"] > 0
    seen, records = {}, set()
    for packet in packets(tmp_path / "run" / "capture-ground-radio.pcapng"):
        kind = packet[8]
        seen[kind] = seen.get(kind, 0) + 1
        if kind == 0:
            assert packet[9:17] == data_check(packet)
            records |= {external for flags, _, _, external, *_ in chunks(packet[22:]) if flags & 1}
        else:
            assert packet[9:17] == check_of([(0, packet[:9] + bytes(8) + packet[17:])])
    assert set(seen) == {0, 1, 2}, "data, repairs and acknowledgments"
    assert seen[2] == flow["tp_plus_plus"]["acknowledgments"]
    assert len(records) > 900, "of a thousand records, most arrive without the code"
