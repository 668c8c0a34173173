"""IPv4 packets with TCP segments, read and written with `struct` from RFC 791 and RFC 9293: none of Baton's code."""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass, field

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


def checksum(data: bytes) -> int:
    """RFC 1071."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@dataclass
class Segment:
    """Contents of a packet, addresses and ports included."""

    source: tuple[str, int]
    destination: tuple[str, int]
    sequence: int
    acknowledgment: int = 0
    flags: int = ACK
    window: int = 65535
    options: bytes = b""
    data: bytes = b""
    kinds: dict[int, bytes] = field(default_factory=dict)
    """Options by kind; only of a segment that was read."""

    def packet(self) -> bytes:
        """The whole packet."""
        options = self.options + b"\0" * (-len(self.options) % 4)
        words = (20 + len(options)) // 4
        head = struct.pack(
            "!HHIIBBHHH",
            self.source[1],
            self.destination[1],
            self.sequence % 2**32,
            self.acknowledgment % 2**32,
            words << 4,
            self.flags,
            self.window,
            0,
            0,
        )
        tcp = head + options + self.data
        tcp = tcp[:16] + struct.pack("!H", checksum(self._pseudo_header(len(tcp)) + tcp)) + tcp[18:]
        ends = [ipaddress.IPv4Address(end[0]).packed for end in (self.source, self.destination)]
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0, *ends)
        return ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:] + tcp

    def _pseudo_header(self, length: int) -> bytes:
        ends = [ipaddress.IPv4Address(end[0]).packed for end in (self.source, self.destination)]
        return struct.pack("!4s4sBBH", *ends, 0, 6, length)


def read(packet: bytes) -> Segment:
    """Reads a packet and asserts that its lengths and checksums are right."""
    version, _, length, _, flags, _, protocol, _, source, destination = struct.unpack("!BBHHHBBH4s4s", packet[:20])
    assert (version, length, flags, protocol) == (0x45, len(packet), 0x4000, 6)
    assert checksum(packet[:20]) == 0
    tcp = packet[20:]
    ports = struct.unpack("!HH", tcp[:4])
    sequence, acknowledgment, words, control, window, _, urgent = struct.unpack("!IIBBHHH", tcp[4:20])
    header = (words >> 4) * 4
    assert (words & 15, urgent) == (0, 0)
    ends = [(str(ipaddress.IPv4Address(end)), port) for end, port in zip((source, destination), ports, strict=True)]
    segment = Segment(*ends, sequence, acknowledgment, control, window, tcp[20:header], tcp[header:])
    assert checksum(segment._pseudo_header(len(tcp)) + tcp) == 0
    segment.kinds = options_by_kind(segment.options)
    return segment


def options_by_kind(options: bytes) -> dict[int, bytes]:
    """Kind and content of each option (RFC 9293 section 3.1)."""
    found, at = {}, 0
    while at < len(options) and options[at] != 0:
        if options[at] == 1:
            at += 1
            continue
        found[options[at]] = options[at + 2 : at + options[at + 1]]
        at += options[at + 1]
    return found
