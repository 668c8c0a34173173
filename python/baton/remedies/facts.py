"""Facts of the engine about each remedy: its effect, its place, and the stacks in which it works."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from baton._baton import json_remedies
from baton.classes import load
from baton.errors import InputError

NOTHING = "none"
"""No remedy."""
ROUTED = ", routed"
"""Suffix to the name of a remedy of flows, or of none, that is run where routes move at once, without a protocol."""
NOTHING_ROUTED = NOTHING + ROUTED
"""No remedy there, with which some are compared."""
ROUTED_MARK = " \u2020"
"""Mark behind the name of a remedy that is run in a world of its own."""
CLASS = "python:"
"""Prefix to the module and class of a remedy in Python."""
PLACES = {"mobile": "the mobile", "sender": "the sender", "gateway": "the gateway"}
"""Places at which an operator may install something, in words."""


@dataclass(frozen=True)
class Network:
    """Settings of a remedy in the network: keys of access links and of handovers."""

    links: dict[str, Any]
    handovers: dict[str, Any]
    routed: bool
    """True if routes move at once, since Mobile IP refuses it."""


@dataclass(frozen=True)
class Remedy:
    """A remedy, or none."""

    name: str
    about: str
    installed: tuple[str, ...]
    """Keys of `PLACES`; empty for no remedy."""
    quic: bool
    ipsec: bool
    own: bool
    """True if it is Baton's own rather than a published one."""
    network: Network | None = None
    """Settings in the network, if it is no remedy of a flow."""
    of_flow: str | None = None
    """Remedies of flows, if they are not what its name says."""

    def to_json(self) -> dict[str, Any]:
        """Returns the object that `--json` prints."""
        return {key: value for key, value in vars(self).items() if key not in ("network", "of_flow")}

    @property
    def is_counterpart(self) -> bool:
        """True if it is another one, run where routes move at once, to be compared with remedies that are run only
        there."""
        return self.of_flow is not None

    @property
    def base(self) -> str:
        """The entry for no remedy that it is compared with."""
        return NOTHING_ROUTED if self.is_routed else NOTHING

    @property
    def is_routed(self) -> bool:
        """True if it is run in a world of its own, where routes move at once, and compared with installing nothing
        there."""
        return self.network is not None and self.network.routed

    @property
    def shown(self) -> str:
        """The name for people, marked if it is run in a world of its own."""
        return "install nothing" if self.name == NOTHING else self.name + (ROUTED_MARK if self.is_routed else "")

    @property
    def where(self) -> str:
        """Place where it is installed, in words."""
        return " and ".join(self.installed) or "nowhere"


def remedies() -> dict[str, Remedy]:
    """Returns all remedies that the engine knows, by name, after the entry for none."""
    nothing = Remedy(NOTHING, "Nothing is installed.", (), True, True, False)
    known = [Remedy(**each | {"installed": tuple(each["installed"])}) for each in json.loads(json_remedies())]
    return {each.name: each for each in [nothing, *known]}


def of_class(name: str, directory: Path) -> Remedy:
    """Returns a remedy that is a Python class, named `python:module.Class`. Raises `InputError`."""
    try:
        found = load(name.removeprefix(CLASS), directory, "remedy")
    except InputError as error:
        raise InputError(f"--set remedy={name}: {error}") from error
    installed = "sender" if getattr(found, "place", "mobile") == "correspondent" else "mobile"
    about = (found.__doc__ or "A class in Python.").strip().splitlines()[0]
    return Remedy(name, about, (installed,), True, True, False)


def routed(remedy: Remedy) -> Remedy:
    """Returns a remedy of flows, or none, as run where routes move at once."""
    return replace(remedy, name=remedy.name + ROUTED, network=Network({}, {}, routed=True), of_flow=remedy.name)


def in_place(all_remedies: Sequence[Remedy], place: str) -> list[Remedy]:
    """Returns the remedies that need that place alone."""
    return [each for each in all_remedies if each.installed == (place,)]
