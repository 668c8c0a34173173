"""QUIC, against its handshake and the headers that it puts around data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from validation import lab
from validation.row import Row

#: Bytes of a full packet with IP's and UDP's headers: the path MTU that quinn's search ends at.
PACKET = 1452 + 28
#: Bytes of a short header with a connection ID of 8 and a packet number of 2, of a STREAM frame's type, stream and
#: offset, and of the tag.
AROUND = (1 + 8 + 2) + (1 + 1 + 4) + 16


def first_byte() -> float:
    """Returns the seconds from opening to delivery of data that follows the handshake at once, over 100 ms there and
    back."""
    wire = lab.wire(rate="1 Gbit/s", delay="50 ms")
    return float(
        lab.first(lab.run("1 s", wire, lab.flow(transport="quic", traffic={"bytes": "100 B"})))["completion_s"]
    )


def goodput() -> float:
    """Returns the megabits of data per second of a source that fills 5 Mbit/s, from 20 to 60 s."""
    wire = lab.wire(rate="5 Mbit/s", delay="20 ms", queue="100 packets")
    runs: list[dict[str, Any]] = [lab.first(lab.run(f"{end} s", wire, lab.flow(transport="quic"))) for end in (20, 60)]
    return float(runs[1]["delivered_bytes"] - runs[0]["delivered_bytes"]) * 8 / 40e6


def quic() -> Iterator[Row]:
    """Yields rows on the handshake's round trip, and a filled link."""
    yield Row(
        "quic.first-byte",
        "quic",
        "opening to first data at the server, 100 ms there and back",
        "s",
        first_byte(),
        0.150,
        "a round trip for the handshake, and half of one for the data (RFC 9001, figure 5)",
        0.001,
        "packets of the handshake take a hundredth of a millisecond each",
    )
    yield Row(
        "quic.goodput",
        "quic",
        "data over 5 Mbit/s in a long transfer",
        "Mbit/s",
        goodput(),
        5 * (PACKET - 28 - AROUND) / PACKET,
        "a full link, less the headers of IP, UDP and QUIC and the tag",
        0.005,
        "acknowledgments of the handshake, frames of flow control, and probes of the path's MTU",
    )


CASES: dict[str, Any] = {"quic": quic}
