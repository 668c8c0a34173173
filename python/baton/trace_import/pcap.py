"""A reader of pcap and pcapng files: just what capacity estimates need of each packet.

pcap: draft-ietf-opsawg-pcap; pcapng: draft-ietf-opsawg-pcapng. Link types: tcpdump.org/linktypes.html.
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from .trace import NANOSECONDS, TraceError, open_input

MAGICS = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
PCAPNG = b"\x0a\x0d\x0d\x0a"
LARGEST_BLOCK = 1 << 24
LINK_HEADERS = {0: 4, 1: 14, 12: 0, 101: 0, 108: 4, 113: 16, 228: 0, 229: 0, 276: 20}
"""Bytes before the IP header: loopback, Ethernet, raw IP, Linux cooked captures."""


class Packet(NamedTuple):
    """A packet as captured. TCP's fields are `None` in other packets."""

    time_ns: int
    source: str
    destination: str
    ip_bytes: int
    payload_bytes: int
    ports: tuple[int, int] | None
    sequence: int | None
    acknowledgment: int | None
    flags: int


def is_capture(start: bytes) -> bool:
    """Returns true if a file that starts like this is a capture."""
    return start[:4] in MAGICS or start[:4] == PCAPNG


def read(path: Path, notes: list[str]) -> Iterator[Packet]:
    """Reads the IP packets of a capture. A truncated one gives what it holds, and a note."""
    with open_input(path) as file:
        start = file.read(4)
        try:
            frames = pcapng_frames(path, file) if start == PCAPNG else pcap_frames(path, file, start)
            for time_ns, link_type, frame in frames:
                packet = parse_frame(time_ns, link_type, frame)
                if packet is not None:
                    yield packet
        except struct.error:
            notes.append(f"{path.name} is damaged or breaks off in the middle of a packet: what stands before was used")


def take(file: IO[bytes], length: int) -> bytes:
    """Reads exactly this many bytes; raises `struct.error` if the file breaks off."""
    data = file.read(length)
    if len(data) < length:
        raise struct.error
    return data


def pcap_frames(path: Path, file: IO[bytes], magic: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yields (time, link type, bytes) of each record of a pcap file."""
    order, unit = MAGICS[magic]
    _, _, _, _, _, link_type = struct.unpack(f"{order}HHiIII", take(file, 20))
    check_link_type(path, link_type & 0xFFFF)
    while head := file.read(16):
        whole, part, captured, _ = struct.unpack(f"{order}IIII", head)
        if captured > LARGEST_BLOCK:
            raise TraceError(path, None, f"a record of {captured} bytes at byte {file.tell()}; the file is damaged")
        yield whole * NANOSECONDS + part * unit, link_type & 0xFFFF, take(file, captured)


def pcapng_frames(path: Path, file: IO[bytes]) -> Iterator[tuple[int, int, bytes]]:
    """Yields (time, link type, bytes) of each enhanced packet block of a pcapng file."""
    order = "<"
    interfaces: list[tuple[int, int, int]] = []
    head = PCAPNG + take(file, 4)
    while head:
        if head[:4] == PCAPNG:
            magic = take(file, 4)
            order = "<" if magic == b"\x4d\x3c\x2b\x1a" else ">"
            interfaces = []
            done = 12
        else:
            done = 8
        kind, length = struct.unpack(f"{order}II", head)
        if not 12 <= length <= LARGEST_BLOCK or length % 4:
            raise TraceError(path, None, f"a block of {length} bytes at byte {file.tell()}; the file is damaged")
        body = take(file, length - done)
        if kind == 1:
            link_type = struct.unpack_from(f"{order}H", body)[0]
            check_link_type(path, link_type)
            interfaces.append((link_type, *resolution(order, body[8:-4])))
        elif kind == 6:
            interface, high, low, captured = struct.unpack_from(f"{order}IIII", body)
            if interface >= len(interfaces):
                raise TraceError(
                    path, None, f"a packet of interface {interface}, which was not described; the file is damaged"
                )
            link_type, ticks, offset = interfaces[interface]
            yield (high << 32 | low) * NANOSECONDS // ticks + offset, link_type, body[20 : 20 + captured]
        head = file.read(8)


def resolution(order: str, options: bytes) -> tuple[int, int]:
    """Returns ticks per second (option 9, by default a million) and offset in nanoseconds (option 14) of an
    interface."""
    ticks, offset, place = 1_000_000, 0, 0
    while place + 4 <= len(options):
        code, length = struct.unpack_from(f"{order}HH", options, place)
        value = options[place + 4 : place + 4 + length]
        if code == 9 and length == 1 and len(value) == 1:
            ticks = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
        elif code == 14 and len(value) == 8:
            offset = struct.unpack(f"{order}q", value)[0] * NANOSECONDS
        place += 4 + (length + 3) // 4 * 4
    return ticks, offset


def check_link_type(path: Path, link_type: int) -> None:
    """Refuses link types that cannot be read."""
    if link_type not in LINK_HEADERS:
        raise TraceError(
            path,
            None,
            f"link type {link_type}; expected Ethernet, raw IP, loopback or a Linux cooked capture, "
            "else export CSV with tshark",
        )


def parse_frame(time_ns: int, link_type: int, frame: bytes) -> Packet | None:
    """Returns the IP packet in a frame, if it holds one."""
    place = LINK_HEADERS[link_type]
    if link_type == 1:
        while frame[place - 2 : place] in (b"\x81\x00", b"\x88\xa8"):
            place += 4
        if frame[place - 2 : place] not in (b"\x08\x00", b"\x86\xdd"):
            return None
    packet = frame[place:]
    if len(packet) >= 20 and packet[0] >> 4 == 4:
        length, protocol, header = struct.unpack_from("!H", packet, 2)[0], packet[9], (packet[0] & 15) * 4
        source, destination = packet[12:16], packet[16:20]
        first_fragment = struct.unpack_from("!H", packet, 6)[0] & 0x1FFF == 0
    elif len(packet) >= 40 and packet[0] >> 4 == 6:
        length, protocol, header = 40 + struct.unpack_from("!H", packet, 4)[0], packet[6], 40
        source, destination = packet[8:24], packet[24:40]
        first_fragment = True
    else:
        return None
    ends = str(ipaddress.ip_address(source)), str(ipaddress.ip_address(destination))
    length = length or len(packet)  # 0 where the network card cut a larger packet up after the capture
    body = packet[header:]
    if protocol != 6 or len(body) < 20 or not first_fragment:
        return Packet(time_ns, *ends, length, max(length - header, 0), None, None, None, 0)
    source_port, destination_port, sequence, acknowledgment, offset, flags = struct.unpack_from("!HHIIBB", body)
    payload = max(length - header - (offset >> 4) * 4, 0)
    return Packet(time_ns, *ends, length, payload, (source_port, destination_port), sequence, acknowledgment, flags)
