"""What is crossed: a study file in a folder of its own, with paths, stacks, and blocks of levels.

title = "…"
most_runs = 5000                    # more than that the standard cross must not have
paths = ["one.toml", …]             # files beside it
[[stacks]]                          # who speaks: keys of a flow
name = "Linux 6 CUBIC"
headline = true
set = { profile = "linux-6", congestion = "cubic" }
[[blocks]]                          # everything in it with everything else in it, and with all remedies
name = "handovers"
paths, handovers, stacks, loss, loads = lists of levels
seeds = 4
[full]                              # handovers, loss, loads and seeds of `--full`
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from baton.errors import InputError, nearest
from baton.toml import loads

from .facts import NOTHING, Network, Remedy, nothing_routed, remedies
from .loads import LOADS
from .paths import HANDOVERS, AccessPath, Table, read_path

PACKAGE = Path(__file__).parent.parent
STUDY_FILE = "study.toml"
LEAST_SEEDS = 2
"""Of which an interval can be made."""
KEYS = {"title", "most_runs", "paths", "stacks", "network", "blocks", "full"}
LEVELS = ("paths", "handovers", "stacks", "loss", "loads")
AXES = ("path", "handover", "stack", "loss", "load", "remedy")


@dataclass(frozen=True)
class Stack:
    """Who speaks TCP."""

    name: str
    headline: bool
    set: Table


@dataclass(frozen=True)
class Block:
    """Levels that are crossed with each other and with all remedies."""

    name: str
    paths: list[str]
    handovers: list[str]
    stacks: list[str]
    loss: list[float]
    loads: list[str]
    seeds: int


@dataclass(frozen=True)
class Situation:
    """All that is the same for all remedies."""

    path: str
    handover: str
    """As `AccessPath.kinds` names it."""
    stack: str
    loss: float
    load: str


@dataclass
class RemedyStudy:
    """A study that compares remedies."""

    name: str
    title: str
    file: Path
    paths: dict[str, AccessPath]
    stacks: dict[str, Stack]
    blocks: list[Block]
    remedies: dict[str, Remedy]
    """All that are compared, `NOTHING` first."""
    most_runs: int | None

    def situations(self) -> dict[Situation, int]:
        """All situations, each with the number of its seeds: the largest of the blocks that have it."""
        found: dict[Situation, int] = {}
        for block in self.blocks:
            for path, handover, *rest in itertools.product(*(getattr(block, level) for level in LEVELS)):
                for kind in self.paths[path].kinds(handover):
                    situation = Situation(path, kind, *rest)
                    found[situation] = max(found.get(situation, 0), block.seeds)
        return found

    def count(self) -> int:
        """Runs, if the engine refuses none."""
        return len(self.remedies) * sum(self.situations().values())

    def fit(self) -> Iterator[str]:
        """Takes seeds away until there are no more than `most_runs` runs, and says so: new remedies are no mistake."""
        asked = self.count()
        while self.most_runs is not None and self.count() > self.most_runs:
            largest = max(self.blocks, key=lambda block: block.seeds)
            if largest.seeds <= LEAST_SEEDS:
                raise InputError(
                    f"{self.file}: {self.count():,} runs, and most_runs is {self.most_runs:,}; shorten a block"
                )
            self.blocks[self.blocks.index(largest)] = Block(**vars(largest) | {"seeds": largest.seeds - 1})
        if self.count() < asked:
            yield f"{asked:,} runs would be above most_runs, {self.most_runs:,}: some blocks have fewer seeds"

    @property
    def headline(self) -> list[str]:
        """Names of the stacks by which remedies are ranked."""
        wanted = {name for block in self.blocks for name in block.stacks}
        of_headline = [name for name, stack in self.stacks.items() if stack.headline and name in wanted]
        return of_headline or [name for name in self.stacks if name in wanted]


def study_file(given: str) -> Path | None:
    """The file of a study of this kind that a command line names, by its folder or itself; none if it is another.

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
    """Reads a study; `full` takes everything with everything, `own_path` a user's path in place of the study's.

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
    """What is set in the network and is no remedy of a flow, and the nothing that it is held against."""
    found: list[Remedy] = []
    for place, each in enumerate(document.get("network", [])):
        if each.keys() != {"name", "about", "installed", "quic", "ipsec", "links", "handovers"}:
            raise InputError(
                f"{file}: network[{place}]: expected name, about, installed, quic, ipsec, links and handovers"
            )
        facts = each | {"installed": tuple(each["installed"]), "own": False}
        network = Network(facts.pop("links"), facts.pop("handovers"))
        found.append(Remedy(**facts, network=network))
    return {each.name: each for each in ([nothing_routed(), *found] if found else [])}


def _stacks(file: Path, document: Mapping[str, Any]) -> Iterator[Stack]:
    for place, each in enumerate(document.get("stacks", [])):
        if not {"name", "set"} <= each.keys() <= {"name", "set", "headline"}:
            raise InputError(f"{file}: stacks[{place}]: expected name, set, and headline or not; nothing else")
        yield Stack(each["name"], bool(each.get("headline", False)), each["set"])


def _blocks(
    file: Path, document: Mapping[str, Any], paths: Mapping[str, AccessPath], stacks: Mapping[str, Stack]
) -> Iterator[Block]:
    known: dict[str, Iterable[str]] = {"handovers": HANDOVERS, "stacks": stacks, "loads": LOADS}
    for place, each in enumerate(document["blocks"]):
        where = f"{file}: blocks[{place}]"
        wanted = {"name", *LEVELS, "seeds"}
        if each.keys() != wanted:
            raise InputError(f"{where}: has {', '.join(sorted(each))}; expected {', '.join(sorted(wanted))}")
        for level, names in known.items():
            _refuse_unknown(f"{where}.{level}", each[level], names)
        stems = {Path(name).stem for name in document.get("paths", [])}
        _refuse_unknown(f"{where}.paths", each["paths"], {*stems, *paths})
        _refuse_no_probability(f"{where}.loss", each["loss"])
        yield Block(**each)


def _refuse_unknown(where: str, given: Sequence[str], names: Iterable[str]) -> None:
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
        raise InputError(f"{file}: has no [full]; expected its handovers, loss, loads and seeds for --full")
    return Block(name="full", paths=[*paths], stacks=[*stacks], **document["full"])


def narrowed(study: RemedyStudy, overrides: Sequence[str], seeds: int | None) -> RemedyStudy:
    """The study with fewer levels, by `--set AXIS=A,B`, and with other numbers of seeds. Raises `InputError`."""
    from baton.sweep.study import split_values

    for override in overrides:
        axis, equals, text = override.partition("=")
        if axis not in AXES or not equals:
            raise InputError(f"--set {override}: a study of remedies has no such axis; {nearest(axis, AXES)}")
        _narrow(study, axis, split_values(text))
    if seeds is not None:
        study.blocks = [Block(**vars(block) | {"seeds": seeds}) for block in study.blocks]
    study.blocks = [block for block in study.blocks if all(getattr(block, level) for level in LEVELS)]
    if not study.blocks:
        raise InputError("no block has all of that; see the study file for what is crossed with what")
    return study


def _narrow(study: RemedyStudy, axis: str, wanted: Sequence[str]) -> None:
    if axis == "remedy":
        _refuse_unknown("--set remedy", wanted, study.remedies)
        kept = {*wanted, *(study.remedies[name].base for name in wanted), NOTHING}
        study.remedies = {name: each for name, each in study.remedies.items() if name in kept}
        return
    level = {"path": "paths", "handover": "handovers", "stack": "stacks", "loss": "loss", "load": "loads"}[axis]
    there = {str(value) for block in study.blocks for value in getattr(block, level)}
    numbers = {str(float(value)): value for value in there} if axis == "loss" else {}
    chosen = [numbers.get(str(float(value)), value) if axis == "loss" else value for value in wanted]
    _refuse_unknown(f"--set {axis}", chosen, there)
    study.blocks = [
        Block(**vars(block) | {level: [value for value in getattr(block, level) if str(value) in chosen]})
        for block in study.blocks
    ]
