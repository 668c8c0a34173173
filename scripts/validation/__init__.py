"""Validation of the models: what Baton measures beside closed forms, published figures and other implementations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from validation import (
    ad_hoc,
    aerotp,
    channels,
    coding,
    control,
    links,
    mobility,
    network,
    peers,
    queues,
    quic,
    radio,
    tcp,
    tdma,
    tp_plus_plus,
)
from validation.row import Row

Cases = dict[str, Callable[[], Iterator[Row]]]

SECTIONS: dict[str, Cases] = {
    "Links and handovers": {**links.CASES, **ad_hoc.CASES, **tdma.CASES},
    "L-DACS1": radio.CASES,
    "Mobility protocols": mobility.CASES,
    "Queues": queues.CASES,
    "Channels": {**channels.CASES, **coding.CASES},
    "AeroTP and its codes": {**aerotp.CASES, **tp_plus_plus.CASES},
    "QUIC": quic.CASES,
    "Shapers, retransmission, flow control and T/TCP": network.CASES,
    "Custody of DTN gateways": network.CUSTODY,
    "TCP profiles": tcp.CASES,
    "Congestion controls": control.CASES,
    "Other implementations: ns-3": peers.NS3,
    "Other implementations: the Linux kernel": peers.KERNEL_CASES,
}
"""The pages, by title: cases by name, each of which yields rows. Those of `kernel_live` follow, which are made of a
kept result, and the studies."""

CASES: Cases = {name: case for cases in SECTIONS.values() for name, case in cases.items()}

QUICK = (
    *("wired", "geo", "demand", "tdma", "gsm", "handover", "mobile-ipv4", "mobile-ipv6", "ldacs1", "codel"),
    *("micro-mobility", "hierarchical-mobile-ipv6", "policer", "flow-control", "t-tcp", "dtn"),
    *("aerotp-first-byte", "tp-plus-plus", "quic"),
    *("syn", "rto", "slow-start", "after-loss", "laws-after-loss", "vegas", "python", "kernel-slow"),
)
"""Cases that take a moment, which the tests repeat."""
