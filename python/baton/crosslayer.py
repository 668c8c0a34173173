"""Signals between the layers of a host across a handover, for remedies and decisions that are classes.

A remedy gets a `Signal` and a `TransportView`, and answers with `Control`s; a decision gets a `LinkEvent` and a
`MobileView`, and answers with a `Decision`.
"""

from baton._baton import (
    Control,
    Decision,
    LinkEvent,
    LinkView,
    MobileView,
    PathParameters,
    Signal,
    TransportView,
)

__all__ = [
    "Control",
    "Decision",
    "LinkEvent",
    "LinkView",
    "MobileView",
    "PathParameters",
    "Signal",
    "TransportView",
]
