"""Reads the definition of a comparison: a study file in a folder of its own.

Its keys, in TOML:

- `title`; `most_runs`, above which the standard cross takes fewer seeds; `paths`, scenario files beside it.
- `[[stacks]]`, implementations of TCP: `name`, `set` with keys of a flow, and `headline = true` if it ranks remedies.
- `[[network]]`, settings in the network that are no remedy of a flow: `name`, `about`, `installed`, `quic`, `ipsec`,
  keys of access `links` and of `handovers`, and `routed`: whether Mobile IP refuses it, so that it is run where routes
  move at once. Of `shapers` and `policers` the cross fills in flows, rate and direction.
- `[[blocks]]`, in which everything is crossed with everything, and with all remedies: `name`, lists of `paths`,
  `handovers`, `stacks`, `loss`, `loads` and `directions`, and the number of `seeds`.
- `[full]`: handovers, loss, loads, directions and seeds of `--full`, with all paths and stacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from baton.errors import InputError, nearest
from baton.toml import loads

from .facts import NOTHING, Network, Remedy, remedies, routed
from .loads import DIRECTIONS, LOADS
from .paths import HANDOVERS, AccessPath, Table, read_path
from .study import LEVELS, Block, RemedyStudy, Stack

PACKAGE = Path(__file__).parent.parent
STUDY_FILE = "study.toml"
NETWORK_KEYS = {"name", "about", "installed", "quic", "ipsec", "links", "handovers", "routed"}
KEYS = {"title", "most_runs", "paths", "stacks", "network", "blocks", "full"}


def study_file(given: str) -> Path | None:
    """Returns the file of a study of this kind that a command line names, by its folder or itself; none for anything
    else.

    A folder that is not there is looked for among what comes with Baton: `studies/remedies`.
    """
    path = Path(given) if Path(given).exists() else PACKAGE / given
    file = path / STUDY_FILE if path.is_dir() else path
    if not file.is_file():
        return None
    try:
        is_one = "blocks" in loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        is_one = False
    return file if is_one else None


def read(file: Path, *, full: bool, own_path: Path | None) -> RemedyStudy:
    """Reads a study; `full` crosses everything with everything, `own_path` puts a user's path in place of the study's.

    Raises `InputError` or `ScenarioError`.
    """
    document: Table = loads(file.read_text(encoding="utf-8"))
    for key in document.keys() - KEYS:
        raise InputError(f"{file}: {key}: no such key in a study of remedies; {nearest(key, KEYS)}")
    files = [own_path] if own_path else [file.parent / each for each in document.get("paths", [])]
    paths = {path.name: path for path in map(read_path, files)}
    stacks = {stack.name: stack for stack in _stacks(file, document)}
    blocks = list(_blocks(file, document, paths, stacks))
    if own_path:
        blocks = _with_path(blocks, next(iter(paths)))
    if full:
        blocks = [_full(file, document, paths, stacks)]
    most = None if full or own_path else document.get("most_runs")
    name = file.resolve().parent.name
    return RemedyStudy(
        name, str(document.get("title", name)), file, paths, stacks, blocks, remedies() | _network(file, document), most
    )


def _network(file: Path, document: Mapping[str, Any]) -> dict[str, Remedy]:
    """Reads the settings of the network, which are no remedy of a flow.

    Adds what the routed ones are compared with, where routes move at once too: nothing, and our own in the same place.
    """
    found: list[Remedy] = []
    for place, each in enumerate(document.get("network", [])):
        if each.keys() != NETWORK_KEYS:
            raise InputError(
                f"{file}: network[{place}]: has {', '.join(sorted(each))}; expected {', '.join(sorted(NETWORK_KEYS))}"
            )
        facts = each | {"installed": tuple(each["installed"]), "own": False}
        network = Network(facts.pop("links"), facts.pop("handovers"), facts.pop("routed"))
        found.append(Remedy(**facts, network=network))
    places = {each.installed for each in found if each.is_routed}
    known = remedies()
    others = [routed(each) for each in known.values() if each.own and each.installed in places]
    base = [routed(known[NOTHING]), *others] if places else []
    return {each.name: each for each in [*base, *found]}


def _stacks(file: Path, document: Mapping[str, Any]) -> Iterator[Stack]:
    for place, each in enumerate(document.get("stacks", [])):
        if not {"name", "set"} <= each.keys() <= {"name", "set", "headline"}:
            raise InputError(f"{file}: stacks[{place}]: expected name, set, and headline or not; nothing else")
        yield Stack(each["name"], bool(each.get("headline", False)), each["set"])


def _blocks(
    file: Path, document: Mapping[str, Any], paths: Mapping[str, AccessPath], stacks: Mapping[str, Stack]
) -> Iterator[Block]:
    known: dict[str, Iterable[str]] = {
        "handovers": HANDOVERS,
        "stacks": stacks,
        "loads": LOADS,
        "directions": DIRECTIONS,
    }
    for place, each in enumerate(document["blocks"]):
        where = f"{file}: blocks[{place}]"
        wanted = {"name", *LEVELS, "seeds"}
        if each.keys() != wanted:
            raise InputError(f"{where}: has {', '.join(sorted(each))}; expected {', '.join(sorted(wanted))}")
        for level, names in known.items():
            refuse_unknown(f"{where}.{level}", each[level], names)
        stems = {Path(name).stem for name in document.get("paths", [])}
        refuse_unknown(f"{where}.paths", each["paths"], {*stems, *paths})
        _refuse_no_probability(f"{where}.loss", each["loss"])
        yield Block(**each)


def refuse_unknown(where: str, given: Sequence[str], names: Iterable[str]) -> None:
    """Raises `InputError` for a name that is not in `names`."""
    for name in given:
        if name not in names:
            raise InputError(f"{where}: `{name}` is not known; {nearest(name, names)}")


def _refuse_no_probability(where: str, given: Sequence[Any]) -> None:
    for value in given:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
            raise InputError(f"{where}: is {value}; expected probabilities of losing a packet, from 0 to below 1")


def _with_path(blocks: Sequence[Block], path: str) -> list[Block]:
    return [Block(**vars(block) | {"paths": [path]}) for block in blocks]


def _full(file: Path, document: Mapping[str, Any], paths: Iterable[str], stacks: Iterable[str]) -> Block:
    if "full" not in document:
        raise InputError(f"{file}: has no [full]; expected its handovers, loss, loads, directions and seeds for --full")
    return Block(name="full", paths=[*paths], stacks=[*stacks], **document["full"])
