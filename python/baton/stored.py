"""The JSON files of results, read into types; a damaged file is refused with its name and the key."""

# Annotations are no texts here, which every run would compile to read them.
import json
import stat
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypedDict, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

from baton.errors import InputError, refuse_newer
from baton.summary import (
    Aircraft,
    Cell,
    CellLoad,
    FlowSummary,
    Handover,
    HandoverFlow,
    Lateness,
    LiveSummary,
    LostBy,
    LostByOfWays,
    Overload,
    Packets,
    PacketsOfWays,
    Place,
    Radio,
)

MANIFEST_FORMAT, SUMMARY_FORMAT, SWEEP_FORMAT = 2, 1, 1
LARGEST_FILE = 2_000_000_000
# Nothing in these files is larger, of either sign; times have to fit into nanoseconds of 64 bits.
LARGEST_NUMBER, LARGEST_SEED, LARGEST_S = 2**63 - 1, 2**64 - 1, 9.2e9


class ChosenCaptures(TypedDict):
    """Captures of a run, if not all of every interface."""

    interfaces: list[str]
    snap_length: int | None


class Manifest(TypedDict):
    """The part of a run's `manifest.json` that is read."""

    format: int
    version: str
    commit: str | None
    mode: str
    scenario: str
    seed: int
    complete: bool
    simulated_s: float
    origin: str
    resolved: str
    overrides: list[str]
    traces: dict[str, str]
    recordings_start_s: dict[str, float]
    captures: ChosenCaptures
    parts: int
    results: dict[str, str]


class Verdict(TypedDict):
    """A verdict on an expectation."""

    expression: str
    measured: Any
    holds: bool


class Summary(LiveSummary):
    """A run's `summary.json`, of a simulated or a live run."""

    expectations: list[Verdict]


class SweptPoint(TypedDict):
    """A point in a `sweep.json`."""

    values: dict[str, str]
    overrides: list[str]
    resolved: str | None
    traces: dict[str, str]
    reason: str | None


class SweptMachine(TypedDict):
    """The machine of a sweep's live runs, without its name, so that results can be handed on."""

    kernel: str
    architecture: str
    processors: int
    processor: str


class SweptLive(TypedDict):
    """Programs that ran in the real hosts of a live sweep."""

    program: list[str]
    server: str | None
    files: dict[str, str]
    machine: SweptMachine


class SweptShard(TypedDict):
    """Part of a sweep's runs that a folder has."""

    number: int
    of: int
    seeds: list[int]
    runs: int | None


class SweepManifest(TypedDict):
    """A `sweep.json`."""

    format: int
    version: str
    commit: str | None
    name: str
    origin: str
    live: SweptLive
    shard: SweptShard
    points: list[SweptPoint]


class KeptRun(TypedDict):
    """A line of a `runs.jsonl`."""

    point: int
    seed: int
    summary: LiveSummary | None
    reason: str | None


# Keys that may not be left out; of other dictionaries any may, since earlier versions wrote fewer.
_COUNTS = (LostBy, LostByOfWays, Packets, PacketsOfWays, Overload)
_ALL = (
    Radio,
    Cell,
    CellLoad,
    Aircraft,
    Place,
    Lateness,
    ChosenCaptures,
    SweptMachine,
    SweptLive,
    SweptShard,
    SweptPoint,
    KeptRun,
    *_COUNTS,
)
_NEEDED: dict[Any, set[str]] = {each: set(each.__annotations__) for each in _ALL} | {
    SweepManifest: set(SweepManifest.__annotations__) - {"live", "shard"},
    Cell: set(Cell.__annotations__) - {"load"},
    Verdict: {"expression", "holds"},
    FlowSummary: {"name"},
    Handover: {"at_s"},
    HandoverFlow: {"name"},
}
# Of the others null is not taken for a key that is left out.
_STRICT = (Manifest, SweepManifest, SweptShard, SweptPoint, KeptRun, Place, *_COUNTS)
RERUN_NEEDS = {"format", "complete", "simulated_s", "origin", "seed", "resolved", "traces", "results"}


def read_manifest(file: Path, needed: AbstractSet[str] = frozenset()) -> Manifest:
    """Reads a run's manifest with at least the `needed` keys. Raises `InputError`."""
    value = read_object(file)
    if not value.keys() >= needed:
        raise InputError(f"{file}: is not a manifest; expected the manifest.json of a results folder")
    refuse_newer(file, value.get("format"), MANIFEST_FORMAT)
    _check(file, "", value, Manifest)
    _check_seed(file, value.get("seed"))
    return cast("Manifest", value)


def read_summary(file: Path) -> dict[str, Any]:
    """Reads a run's summary. Raises `InputError`."""
    value = read_object(file)
    refuse_newer(file, value.get("format"), SUMMARY_FORMAT)
    _check(file, "", value, Summary)
    return value


def read_sweep(file: Path) -> SweepManifest:
    """Reads the manifest of a sweep. Raises `InputError`."""
    value = read_object(file)
    refuse_newer(file, value.get("format"), SWEEP_FORMAT)
    _check(file, "", value, SweepManifest)
    return cast("SweepManifest", value)


def kept_run(file: str, line: bytes, points: int) -> KeptRun:
    """Reads a run of a sweep of this many points; `file` has the line's number, too. Raises `InputError`."""
    value = _parsed(file, line)
    _check(file, "", value, KeptRun)
    run = cast("KeptRun", value)
    _check_seed(file, run["seed"])
    if not 0 <= run["point"] < points:
        raise InputError(f"{file}: point: is {run['point']}; the sweep has {points}, counted from 0")
    if (run["summary"] is None) == (run["reason"] is None):
        raise InputError(f"{file}: summary: expected either a summary or a reason why there is none")
    return run


def update(file: Path, **values: object) -> None:
    """Sets keys of one of Baton's JSON files; others see the old file or the new one. Raises `OSError`."""
    text = json.dumps(read_object(file) | values, indent=2, ensure_ascii=False) + "\n"
    staged = file.with_name(f".partial-{file.name}")
    try:
        staged.write_text(text, encoding="utf-8")
        staged.replace(file)
    except OSError as error:
        staged.unlink(missing_ok=True)
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(file)) from error


def read_object(file: Path) -> dict[str, Any]:
    """Reads a JSON object. Raises `InputError`, also if the file is not a regular one."""
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            what = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise InputError(f"{file}: is {what}; expected a file that a run has written")
        if status.st_size > LARGEST_FILE:
            raise InputError(f"{file}: is larger than 2 GB; expected a file that a run has written")
        return _parsed(file, file.read_bytes())
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from error


def _parsed(file: object, text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: is damaged: byte {error.start} is not UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: is damaged: {error}") from error
    if not isinstance(value, dict):
        raise InputError(f"{file}: is {_shown(value)}; expected a JSON object")
    return value


def _check_seed(file: object, seed: int | None) -> None:
    if seed is not None and not 0 <= seed < 2**64:
        raise InputError(f"{file}: seed: is {seed}; expected a whole number from 0 to {2**64 - 1}")


def _check(file: object, key: str, value: Any, hint: Any) -> None:
    """Raises `InputError` if a value is not of a type; `key` is where it stands."""
    for wrong in _wrong(key, value, hint):
        raise InputError(f"{file}: {wrong}")


def _wrong(key: str, value: Any, hint: Any) -> Iterator[str]:
    """Describes the parts that do not fit a type."""
    kind, inner = get_origin(hint), get_args(hint)
    expected = _misfit(key, value, hint)
    if expected is not None:
        yield f"{key}: is {_shown(value)}; expected {expected}"
    elif kind is Annotated:
        yield from _wrong(key, value, inner[0])
    elif kind in (Union, UnionType) and value is not None:
        yield from _wrong(key, value, next(each for each in inner if each is not type(None)))
    elif kind is list:
        for place, each in enumerate(value):
            yield from _wrong(f"{key}[{place}]", each, inner[0])
    elif kind is dict:
        yield from _wrong_names(key, value, inner[1])
    elif is_typeddict(hint):
        yield from _wrong_keys(f"{key}." if key else "", value, hint)


def _wrong_names(key: str, value: dict[str, Any], hint: Any) -> Iterator[str]:
    for name, each in value.items():
        if not name.isprintable():
            yield f"{key}: has the name {_shown(name)}; expected one that can be printed"
        yield from _wrong(f"{key}.{name}", each, hint)


def _wrong_keys(above: str, value: dict[str, Any], hint: Any) -> Iterator[str]:
    for name, of_name in _hints(hint).items():
        is_null = name in value and value[name] is None and hint not in _STRICT and not _may_be_null(of_name)
        if name in value and not is_null:
            yield from _wrong(above + name, value[name], of_name)
        elif name in _NEEDED.get(hint, ()):
            yield f"{above}{name}: is missing"


def _misfit(key: str, value: Any, hint: Any) -> str | None:
    """Describes the expected type, if a value itself has another one; says nothing of its contents."""
    kind, inner = get_origin(hint), get_args(hint)
    if kind is Annotated:
        return _misfit(key, value, inner[0])
    if kind in (Union, UnionType):
        of_value = next(each for each in inner if each is not type(None))
        expected = None if value is None else _misfit(key, value, of_value)
        return expected and f"{expected}, or null"
    if hint in (int, float):
        return _misfit_number(key, value, hint)
    if hint is Any:
        return None
    if hint is str:
        return None if isinstance(value, str) and _is_text(value) else "text"
    forms: dict[Any, tuple[type, str]] = {list: (list, "an array"), bool: (bool, "true or false")}
    form, words = forms.get(kind or hint, (dict, "an object"))
    return None if isinstance(value, form) else words


def _misfit_number(key: str, value: Any, hint: type) -> str | None:
    is_number = isinstance(value, int if hint is int else (int, float)) and not isinstance(value, bool)
    is_seed = key.rpartition(".")[2] == "seed"
    largest = LARGEST_S if key.endswith("_s") else LARGEST_SEED if is_seed else LARGEST_NUMBER
    if is_number and abs(value) <= largest:
        return None
    return f"a {'whole ' if hint is int else ''}number of at most {largest:g}"


def _may_be_null(hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        return _may_be_null(get_args(hint)[0])
    return type(None) in get_args(hint)


@cache
def _hints(kind: Any) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _is_text(value: str) -> bool:
    """Returns true if a text can be written again: JSON may hold lone surrogates."""
    return not any("\ud800" <= letter <= "\udfff" for letter in value)


def _shown(value: object) -> str:
    """Writes a value for a message, cut if it is long."""
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
