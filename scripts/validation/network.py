"""Settings of the network, T/TCP's opening and custody of bundles, against closed forms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from baton import Scenario
from validation import lab
from validation.row import Row

EXACT = "deterministic up to a packet at either end"


def policer() -> Iterator[Row]:
    """Yields rows on policers: a token bucket lets through its burst and its rate."""
    rule = {"flows": ["f"], "rate": "1 Mbit/s", "burst": "15000 B"}
    result = lab.run(
        "100 s", lab.wire(rate="10 Mbit/s", policers=[rule]), lab.datagrams({"rate": "2 Mbit/s"}), record="packets"
    )
    found = lab.packets(result)
    passed = float(found["bytes"][found["delivered"]].sum())
    source = "closed form: burst + rate · time"
    what = "bytes that a policer lets through in 100 s of twice its rate"
    yield Row("shapers.policer", "shapers", what, "B", passed, 15_000 + 1e6 / 8 * 100, source, 0.0003, EXACT)


def repeating() -> Iterator[Row]:
    """Yields rows on retransmission: each attempt fails by itself."""
    error, attempts = 0.3, 3

    def lost(seed: int) -> float:
        link = lab.wire(rate="12 Mbit/s", packet_error_rate=error, retransmission={"attempts": attempts})
        found = lab.packets(lab.run("100 s", link, lab.datagrams({"rate": "2 Mbit/s"}), record="packets", seed=seed))
        return float(np.mean(~found["delivered"]))

    ours, source = lab.over_seeds(lost), f"closed form: {error}^{attempts}"
    what = f"share lost after {attempts} attempts, of which each fails with {error}"
    reason = "about three standard errors of 4,500 losses"
    yield Row("retransmission.lost", "retransmission", what, "", ours, error**attempts, source, 0.05, reason)


def left_behind() -> Iterator[Row]:
    """Yields rows on flow control: a link delivers what it holds itself, and the packet that is on its way."""
    held = 3
    links: dict[str, Any] = {"m": lab.wire(rate="10 Mbit/s")}
    timetable = [
        {"at": "0 s", "attach": "l"},
        {"at": "10 s", "attach": "m", "handover": "soft", "old_queue": "reroute"},
    ]
    result = lab.run(
        "20 s",
        lab.wire(rate="1 Mbit/s", queue="50 packets", flow_control=f"{held} packets"),
        lab.datagrams({"rate": "2 Mbit/s"}),
        links=links,
        mobiles={"b": {"timetable": timetable}},
        record="packets",
    )
    found = lab.packets(result)
    late = float(np.sum(found["delivered"] & (found["decided"] > 10)))
    what = f"packets that the old link delivers after a handover, of 50 that wait, with {held} in its own queue"
    source = "closed form: the link's own queue, and the packet in service"
    yield Row("flow-control.left", "flow-control", what, "", late, held + 1, source, 0, "a count")


def opening() -> Iterator[Row]:
    """Yields rows on T/TCP: a second transaction saves the handshake's round trip."""
    result = lab.run(
        "30 s",
        lab.wire(rate="100 Mbit/s", delay="290 ms"),
        *(
            lab.flow(
                name=name,
                start=start,
                transport=lab.tcp(transaction_opening=True),
                traffic={"kind": "pages", "page": "1 kB", "count": 1},
            )
            for name, start in (("f", "0 s"), ("g", "10 s"))
        ),
    )
    first, second = (flow["completion_s"] for flow in result.summary["flows"])
    what = "time that T/TCP saves a request between hosts that have spoken, over 580 ms"
    source = "RFC 1644 section 2: one round trip"
    yield Row("t-tcp.saved", "t-tcp", what, "s", first - second, 0.58, source, 0.001, "segments take 0.1 ms to send")


def custody() -> Iterator[Row]:
    """Yields rows on DTN gateways: an outage costs a download its own length, and the bundles in the air."""

    def completion(outage: float) -> float:
        timetable = [
            {"at": "0 s", "attach": "satellite"},
            {"at": "5 s", "attach": "none"},
            {"at": f"{5 + outage} s", "attach": "satellite"},
        ]
        result = Scenario.build(
            name="validation",
            duration="60 s",
            links={
                "backbone": {"between": ["server", "ground"], "kind": "wired", "rate": "100 Mbit/s", "delay": "1 ms"},
                "satellite": {"between": ["ground", "train"], "kind": "geo", "rate": "5 Mbit/s", "delay": "289 ms"},
            },
            mobiles={"train": {"timetable": timetable}},
            dtn_gateways={"train": {"between": ["ground", "train"]}},
            flows=[{"name": "f", "from": "server", "to": "train", "traffic": {"bytes": "4 MB"}, "start": "1 s"}],
        ).run()
        return float(result.summary["flows"][0]["completion_s"])

    # 160 B of each packet of 1500 B are headers of the bundle, UDP and IP.
    sent = 4e6 / 1340 * 1500 * 8 / 5e6
    for outage in (5.0, 20.0):
        what = f"download of 4 MB by custody across an outage of {outage:g} s"
        source = "closed form: outage, transmission at the link's rate, 0.289 s in the air twice"
        oracle = outage + sent + 2 * 0.289
        reason = "handshake and slow start before the gateway, the last bundle's length"
        yield Row(f"dtn.outage.{outage:g}", "dtn", what, "s", completion(outage), oracle, source, 0.01, reason)


CASES = {"policer": policer, "repeating": repeating, "flow-control": left_behind, "t-tcp": opening}
CUSTODY = {"dtn": custody}
