"""The engine of a Dask cluster: its scheduler shares calls out, also those of a worker that died."""

from __future__ import annotations

import hashlib
import logging
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

from baton import RunError
from baton.errors import InputError

from .engines import Stamp, other_version, result, stamp, submitted
from .parcel import Job

T = TypeVar("T")
CONNECT_S = 10
LOUD = ("distributed", "distributed.client", "distributed.utils", "distributed.core", "tornado.application", "asyncio")
"""Loggers that print the way to a lost connection, which the command's own message tells."""
LOOK_EVERY_S = 1.0
"""From one look at the number of workers to the next."""


class OnDask:
    """A client of a cluster."""

    def __init__(self, client: Any) -> None:
        self._client, self._stamp = client, stamp()
        self._executor = client.get_executor(pure=False)
        self._sent: dict[str, Any] = {}
        self._workers, self._looked = 1, 0.0

    def workers(self) -> int:
        """Returns the number of threads of all workers, which come and go."""
        if time.monotonic() - self._looked > LOOK_EVERY_S:
            self._workers = max(sum(self._client.nthreads().values()), 1)
            self._looked = time.monotonic()
        return self._workers

    def submit(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Requests a call, for which the worker has to have this version."""
        return submitted(self._executor, self._stamp, function, *arguments)

    def result(self, future: Future[T]) -> T:
        """Waits for a call. Raises `Gone`, `InputError` for a worker that can take no call, and `RunError` for a call
        whose workers died one after the other."""
        from distributed import KilledWorker

        try:
            return result(future)
        except KilledWorker as error:
            raise RunError(
                f"{error.allowed_failures + 1} workers died while they made it, the last one at"
                f" {error.last_worker.address}; memory may be short: see the workers' logs, and repeat it with --resume"
            ) from error

    def sent(self, job: Job) -> dict[str, Any]:
        """Returns a future of the content of each file, which goes to each worker once. Raises `InputError`, `OSError`.

        It is the result of a call, and not scattered, since the scheduler repeats a call whose worker died.
        """
        return {name: self._future_of(content) for name, content in job.contents.items()}

    def _future_of(self, content: bytes) -> Any:
        digest = hashlib.sha256(content).hexdigest()
        if digest not in self._sent:
            self._sent[digest] = self._client.submit(bytes, content, key=f"baton-{digest}")
        return self._sent[digest]


@contextmanager
def connected(to: Any) -> Iterator[OnDask]:
    """Yields the engine of a client, or of the scheduler at HOST:PORT. Raises `InputError`."""
    if not isinstance(to, str):
        _check_workers(to)
        yield OnDask(to)
        return
    try:
        from distributed import Client
    except ImportError:
        raise InputError(
            f"--executor dask://{to}: needs the Python package distributed; install it with"
            " pip install 'baton-handover[dask]'"
        ) from None
    for name in LOUD:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = Client(to, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"--executor dask://{to}: no scheduler answers there ({error}); start one with `dask scheduler`, which"
            " prints its address"
        ) from error
    try:
        _check_workers(client)
        yield OnDask(client)
    finally:
        client.close()


def _check_workers(client: Any) -> None:
    """Raises `InputError` for a worker of another version or without Baton; later ones are checked at each call."""

    def told() -> Stamp:  # within a function, so that it travels whole: a worker may have no Baton
        from importlib.metadata import version

        from baton._baton import build_commit

        return version("baton-handover"), build_commit()

    answers = client.run(told, on_error="return")
    for worker, answer in sorted(answers.items()):
        if isinstance(answer, BaseException):
            raise InputError(
                f"worker {worker}: has no Baton that could run ({type(answer).__name__}: {answer}); install"
                f" baton-handover {stamp()[0]} there and start it again"
            )
        if tuple(answer) != stamp():
            raise other_version(f"worker {worker}", tuple(answer), stamp())
    if not answers:
        print("baton: the scheduler has no worker yet; runs begin when one comes", file=sys.stderr)
