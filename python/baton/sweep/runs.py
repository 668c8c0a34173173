"""Simulated runs of a sweep on an engine, whatever becomes of its workers."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

from baton import Scenario
from baton._baton import Stop
from baton.errors import InputError

from .engines import Engine, Gone
from .execute import Outcome
from .parcel import Ended, Job

WAITING = 2
"""Requested runs for each that is under way, so that no worker waits. Few, since a point may have had enough when their
turn comes."""


class Runs:
    """Runner of scenarios on an engine."""

    def __init__(self, engine: Engine, scenarios: Sequence[Scenario]) -> None:
        self._engine = engine
        self._stop = Stop()
        self._jobs = [Job(scenario, self._stop) for scenario in scenarios]
        self._sent: dict[int, dict[str, Any]] = {}
        self._under_way: dict[Future[Ended], tuple[int, int]] = {}
        self._ended: SimpleQueue[Future[Ended]] = SimpleQueue()

    @property
    def most_requested(self) -> int:
        """Number of runs that may be requested at once."""
        return (1 + WAITING) * self._engine.workers()

    def submit(self, place: int, seed: int) -> None:
        """Requests a run. Raises `Gone`, or `InputError` and `OSError` if the scenario cannot be packed."""
        job = self._jobs[place]
        if place not in self._sent:
            self._sent[place] = self._engine.sent(job)
        future = self._engine.submit(job.run, self._sent[place], seed)
        self._under_way[future] = place, seed
        future.add_done_callback(self._ended.put)

    def next(self) -> Outcome | None:
        """Returns a run that has ended; nothing if none is under way.

        A run that was lost with its workers is no result and is not kept. Raises `InputError` for a worker that cannot
        take any run, `Gone` if the engine is.
        """
        if not self._under_way:
            return None
        future = self._ended.get()
        place, seed = self._under_way.pop(future)
        try:
            summary, reason = self._engine.result(future)
        except (InputError, Gone):
            raise
        except Exception as error:  # of the engine, such as memory that it lacks
            return Outcome(place, seed, None, f"{type(error).__name__}: {error}", is_result=False)
        return Outcome(place, seed, summary, reason)

    def close(self) -> None:
        """Ends the runs under way, as far as the engine can."""
        self._stop.set()
        for future in self._under_way:
            future.cancel()
