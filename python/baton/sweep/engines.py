"""Engines of sweeps: calls of this package's functions in threads of this process, or by any executor on workers."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from baton import RunError, version
from baton._baton import build_commit
from baton.errors import InputError

from .parcel import Job

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")
Stamp = tuple[str, str | None]
"""Version and commit, which decide results."""
MOST_UNDER_WAY = 1_000
"""Calls under way in an executor that does not tell its number of workers. Chosen."""
_ADDRESS = re.compile(r"dask://(\[[0-9a-fA-F:]+\]|[^\s/:\[\]]+):([0-9]{1,5})")


class Gone(RunError):
    """End of an engine, which makes no more calls."""


class Engine(Protocol):
    """Maker of calls, some at once."""

    def workers(self) -> int:
        """Returns the number of calls that are made at once."""

    def submit(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Requests a call of a function of this package."""

    def result(self, future: Future[T]) -> T:
        """Waits for a call. Raises `Gone`, `InputError` for a worker that can take no call, or what the call raised."""

    def sent(self, job: Job) -> dict[str, Any]:
        """Returns the files of a job by their paths, as an argument of calls."""


class Local:
    """Threads of this process; runs release the interpreter lock."""

    def __init__(self, threads: int | None) -> None:
        self._threads = threads or cores()
        self._executor = ThreadPoolExecutor(self._threads, thread_name_prefix="sweep")

    def workers(self) -> int:
        """Returns the number of threads."""
        return self._threads

    def submit(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Requests a call, without a copy of its arguments."""
        return self._executor.submit(function, *arguments)

    def result(self, future: Future[T]) -> T:
        """Waits for a call."""
        return future.result()

    def sent(self, job: Job) -> dict[str, Any]:
        """Returns nothing: the job does not leave this process."""
        return {}

    def close(self) -> None:
        """Waits for the calls under way; the others are not made."""
        self._executor.shutdown(cancel_futures=True)


class Given:
    """An executor of the caller's, which stays open."""

    def __init__(self, executor: Executor, workers: int | None) -> None:
        self._executor = executor
        self._workers = workers or getattr(executor, "_max_workers", None) or MOST_UNDER_WAY

    def workers(self) -> int:
        """Returns the number of workers, as far as it is known."""
        return int(self._workers)

    def submit(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Requests a call, for which the worker has to have this version."""
        return submitted(self._executor, stamp(), function, *arguments)

    def result(self, future: Future[T]) -> T:
        """Waits for a call. Raises `Gone`, or `InputError` for a worker that can take no call."""
        return result(future)

    def sent(self, job: Job) -> dict[str, Any]:
        """Returns the content of each file, which travels with each call. Raises `InputError`, `OSError`."""
        return dict(job.contents)


@contextmanager
def opened(executor: str | Executor | Client | None, jobs: int | None) -> Iterator[Engine]:
    """Yields the engine that a command or a program names; by default `jobs` threads, one for each core.

    Raises `InputError` for a name that is none, a scheduler that does not answer, and workers of another version.
    """
    if executor is None:
        local = Local(jobs)
        try:
            yield local
        finally:
            local.close()
        return
    if isinstance(executor, str) or hasattr(executor, "get_executor"):
        from .on_dask import connected

        address = executor if not isinstance(executor, str) else dask_address(executor)
        if jobs is not None:
            raise InputError("--jobs: counts the threads on this machine; with --executor leave it out")
        with connected(address) as engine:
            yield engine
        return
    if not isinstance(executor, Executor):
        raise InputError(
            f"executor: is a {type(executor).__name__}; expected dask://HOST:PORT, a concurrent.futures.Executor or a"
            " distributed.Client"
        )
    yield Given(executor, jobs)


def dask_address(text: str) -> str:
    """Returns HOST:PORT of `dask://HOST:PORT`. Raises `InputError`."""
    found = _ADDRESS.fullmatch(text)
    if found is None or not 0 < int(found[2]) < 2**16:
        raise InputError(f"--executor {text}: no such executor; expected dask://HOST:PORT, as in dask://login1:8786")
    return f"{found[1]}:{found[2]}"


def cores() -> int:
    """Returns the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def stamp() -> Stamp:
    """Returns version and commit of this process."""
    return version.installed(), build_commit()


def submitted(executor: Executor, expected: Stamp, function: Callable[..., T], *arguments: Any) -> Future[T]:
    """Requests a call of an executor, on a worker of this version. Raises `Gone`."""
    try:
        return executor.submit(call, expected, function, *arguments)
    except RuntimeError as error:  # shut down or broken
        raise _gone(error) from error


def result(future: Future[T]) -> T:
    """Waits for a call. Raises `Gone`, or `InputError` for a worker that can take no call."""
    try:
        return future.result()
    except (BrokenExecutor, CancelledError) as error:
        raise _gone(error) from error
    except (ImportError, AttributeError) as error:  # raised where the call is unpacked
        raise InputError(
            f"a worker cannot take calls ({type(error).__name__}: {error}); install baton-handover {stamp()[0]} on all"
            " workers and start them again"
        ) from error


def _gone(error: BaseException) -> Gone:
    told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return Gone(
        f"the executor makes no more runs ({told}); start its workers again. A sweep has kept its finished runs:"
        " continue it with --resume"
    )


def call(expected: Stamp, function: Callable[..., T], *arguments: Any) -> T:
    """Calls a function on a worker. Raises `InputError` if the worker has another version."""
    if stamp() != expected:
        raise other_version(f"worker {socket.gethostname()}, process {os.getpid()}", stamp(), expected)
    return function(*arguments)


def other_version(worker: str, found: Stamp, expected: Stamp) -> InputError:
    """Returns the error that names a worker of another version."""
    return InputError(
        f"{worker}: has Baton {in_words(found)}, and this command {in_words(expected)}; results could differ: install"
        " the same version on all workers and start them again"
    )


def in_words(told: Stamp) -> str:
    """Writes a version with its commit."""
    return told[0] if told[1] is None else f"{told[0]} of commit {told[1]}"
