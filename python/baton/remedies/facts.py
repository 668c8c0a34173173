"""What the engine tells of each remedy: what it does, where it is installed, and where it works."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from baton._baton import json_remedies

NOTHING = "none"
"""No remedy."""
NOTHING_ROUTED = "none, routed"
"""No remedy where routes move at once, without a protocol: what some are held against."""
PLACES = {"mobile": "the mobile", "sender": "the sender", "gateway": "the gateway"}
"""Where an operator may install something, in words."""


@dataclass(frozen=True)
class Network:
    """What a remedy sets in the network: keys of access links and of handovers. Routes move at once."""

    links: dict[str, Any]
    handovers: dict[str, Any]


@dataclass(frozen=True)
class Remedy:
    """A remedy, or none."""

    name: str
    about: str
    installed: tuple[str, ...]
    """Of `PLACES`; nothing for no remedy."""
    quic: bool
    ipsec: bool
    own: bool
    """Baton's own, and no published one."""
    network: Network | None = None
    """What is set in the network, if it is no remedy of a flow."""

    @property
    def base(self) -> str:
        """The one of no remedies that it is held against."""
        return NOTHING if self.network is None else NOTHING_ROUTED

    @property
    def shown(self) -> str:
        """The name as people read it."""
        return "install nothing" if self.name == NOTHING else self.name

    @property
    def where(self) -> str:
        """Where it is installed, in words."""
        return " and ".join(self.installed) or "nowhere"


def remedies() -> dict[str, Remedy]:
    """All that the engine knows, by name, after the one that is none."""
    nothing = Remedy(NOTHING, "Nothing is installed.", (), True, True, False)
    known = [Remedy(**each | {"installed": tuple(each["installed"])}) for each in json.loads(json_remedies())]
    return {each.name: each for each in [nothing, *known]}


def nothing_routed() -> Remedy:
    """No remedy where routes move at once."""
    return Remedy(NOTHING_ROUTED, "Nothing is installed.", (), True, True, False, Network({}, {}))


def in_place(all_remedies: Sequence[Remedy], place: str) -> list[Remedy]:
    """Those that need that place alone."""
    return [each for each in all_remedies if each.installed == (place,)]
