"""The laboratory: scenarios, runs, and their tables."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, final

__all__ = [
    "BatonError",
    "FolderError",
    "Pool",
    "Result",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Table",
    "build_commit",
    "json_schema",
]

class BatonError(Exception):
    """What Baton raises; its text is written for people."""

class ScenarioError(BatonError):
    """A scenario is wrong. The text has one line for each mistake: file, line, column, key, what was
    expected, and the nearest valid name."""

class RunError(BatonError):
    """A run could not be made, or its results could not be kept: a folder that exists already, a full disk."""

class FolderError(RunError):
    """The given folder cannot take the results: it is there already, holds something else, or is in use."""

@final
class Scenario:
    """A scenario that can be run. It does not change: runs of it may go on in several threads at once."""

    @staticmethod
    def load(path: str | PathLike[str], overrides: Sequence[str] = ..., *, live: bool = ...) -> Scenario:
        """Reads a scenario file; for a live run, in which a flow may have any congestion control of the kernel's.

        `overrides` are texts like `"flows.download.congestion=cubic"`; of two for one key the later holds.
        Raises `ScenarioError`, also for a file that cannot be read.
        """

    @staticmethod
    def parse(text: str, directory: str | PathLike[str] = ..., overrides: Sequence[str] = ...) -> Scenario:
        """Reads a scenario from TOML text.

        Files that it names are looked for in `directory` (by default the current one), and messages name it
        as `scenario.toml` there. Raises `ScenarioError`.
        """

    @property
    def name(self) -> str:
        """Short name."""

    @property
    def description(self) -> str:
        """One line for people; may be empty."""

    @property
    def duration_s(self) -> float:
        """Simulated time that a run lasts, in seconds."""

    @property
    def seed(self) -> int:
        """Seed of all randomness, unless `run` is given another."""

    @property
    def flow_names(self) -> list[str]:
        """Names of the flows, in the order of the file."""

    @property
    def link_names(self) -> list[str]:
        """Names of the links, in the order of the file."""

    @property
    def expectations(self) -> list[str]:
        """Expectations that the scenario holds itself to, as written."""

    @property
    def warnings(self) -> list[str]:
        """What is probably not meant, such as a change after the end of the run."""

    @property
    def resolved(self) -> str:
        """The scenario as TOML, with the overrides applied."""

    @property
    def traces(self) -> dict[str, str]:
        """SHA-256 of the recordings that the scenario reads, by path as the scenario names them."""

    def run(
        self,
        out: str | PathLike[str] | None = None,
        *,
        seed: int | None = None,
        force: bool = False,
        pcap: bool = False,
        progress: Callable[[float, str], object] | None = None,
    ) -> Result:
        """Runs the scenario; other threads go on meanwhile.

        Without `out`, tables stay in memory and nothing is written. With it, the results appear as the folder
        `out` when the run has ended; one that exists already is refused unless `force` is true, and even then
        replaced only if it is empty or holds results; `FolderError` says so. `pcap` adds captures of every
        interface, in a folder.

        `progress` is called with the simulated seconds and a word on what is going on, about twenty times a
        second; an exception in it ends the run, nothing is kept, and it is raised here.

        Ctrl-C ends the run early. With `out`, what there is by then is kept, and the result's `complete` is
        false; without, `KeyboardInterrupt` is raised. Raises `RunError` if the results cannot be kept.
        """

@final
class Result:
    """What a run leaves."""

    @property
    def summary(self) -> dict[str, Any]:
        """Flows and handovers in numbers: the object that `baton run --json` prints."""

    @property
    def manifest(self) -> dict[str, Any]:
        """What is needed to repeat the run: version, seed, resolved scenario, hashes of traces and results."""

    @property
    def complete(self) -> bool:
        """Whether the run reached its end."""

    @property
    def folder(self) -> str | PathLike[str] | None:
        """The folder of the results; None if they are in memory only."""

    @property
    def series(self) -> Table | None:
        """Series: `time_ns`, `subject`, `series`, `value`. A run with a folder reads them from there each time.
        None if they were switched off."""

    @property
    def packets(self) -> Table | None:
        """One row for every packet on every link. A run with a folder reads them from there each time. None if
        they were switched off."""

@final
class Table:
    """A table that Arrow libraries take without copies: `pyarrow.table(table)`, `polars.DataFrame(table)`.

    Its schema's metadata describes columns and series as JSON, under `baton.series` or `baton.packets`.
    """

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""

    def __len__(self) -> int:
        """Number of rows."""

    def __arrow_c_schema__(self) -> object:
        """The schema, by Arrow's PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows, by Arrow's PyCapsule interface. `requested_schema` is ignored, as the interface allows."""

@final
class Pool:
    """Threads that run scenarios without recording anything but the summary; used by `baton sweep`."""

    def __new__(cls, scenarios: Sequence[Scenario], workers: int | None = ...) -> Pool:
        """Starts `workers` threads, by default one for each core. Raises `RunError` if the system grants none."""

    @property
    def workers(self) -> int:
        """How many threads there are."""

    def submit(self, point: int, seed: int) -> None:
        """Adds a run of `scenarios[point]`. Raises `RunError` when the pool is closed."""

    def next(self) -> tuple[int, int, str | None, str | None] | None:
        """Waits for a run to end: its point, its seed, and its summary as JSON or else the reason why there is none.

        Outcomes come in the order in which runs end; `None` when none is under way. Ctrl-C raises
        `KeyboardInterrupt`, and runs go on until `close`.
        """

    def close(self) -> None:
        """Ends the runs under way, whose outcomes are lost."""

def build_commit() -> str | None:
    """The commit that Baton was built from, with `-dirty` if the tree had changes; none outside a checkout."""

def json_schema() -> str:
    """The JSON Schema (draft 2020-12) of scenario files, as text."""
