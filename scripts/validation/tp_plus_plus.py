"""TP++: its constant rate, and what its code across packets leaves."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, comb
from statistics import fmean

from validation import lab
from validation.row import Row

HEADERS = 63
"""Bytes of headers in a packet with one chunk: IP's 20, TP++'s 22 and the chunk's 21."""


def transfer() -> Iterator[Row]:
    """Yields rows on TP++: without losses, a transfer takes its bits at the link's rate."""
    result = lab.run(
        "10 s",
        lab.wire(rate="5 Mbit/s", delay="10 ms"),
        lab.flow(transport={"kind": "tp++"}, traffic={"bytes": "1 MB"}),
    )
    oracle = 8 * (1e6 + HEADERS * ceil(1e6 / (1500 - HEADERS))) / 5e6 + 0.01
    measured = float(result.summary["flows"][0]["completion_s"])
    source = "closed form: no handshake, the link's rate, one way"
    yield Row("tp-plus-plus.transfer", "tp-plus-plus", "1 MB by TP++", "s", measured, oracle, source, 0.001, "rounding")


def blocks() -> Iterator[Row]:
    """Yields rows on TP++: the code's share of lost data, without retransmission."""
    data, repair, loss = 8, 2, 0.05

    def skipped(seed: int) -> float:
        code = {"data": data, "repair": repair}
        result = lab.run(
            "60 s",
            lab.wire(rate="5 Mbit/s", delay="10 ms", packet_error_rate=loss),
            lab.flow(
                transport={"kind": "tp++", "mode": "quasi-reliable", "blocks": code},
                traffic={"bytes": "20 MB"},
            ),
            seed=seed,
        )
        return float(result.summary["flows"][0]["tp_plus_plus"]["skipped_bytes"]) / 20e6

    whole = data + repair
    lost = (comb(whole, k) * loss**k * (1 - loss) ** (whole - k) * k / whole for k in range(repair + 1, whole + 1))
    what = "share of 20 MB that 8 + 2 packets leave lost, of 5 % lost packets"
    source = "closed form: binomial losses"
    measured = fmean(lab.over_seeds(skipped))
    reason = "some 100 bad blocks in ten runs"
    yield Row("tp-plus-plus.skipped", "tp-plus-plus", what, "", measured, sum(lost), source, 0.15, reason)


CASES = {"tp-plus-plus": transfer, "tp-plus-plus-blocks": blocks}
