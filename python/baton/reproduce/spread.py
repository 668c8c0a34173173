"""Parts of a study on an engine: on all cores, or on other machines, whose package has the study's files too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from baton.sweep.engines import Engine, opened

from . import STUDIES

Task = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function of this package, whose first argument is the study's folder, and the arguments after it."""


def spread(engine: Engine | None, folder: Path, tasks: Sequence[Task]) -> Iterator[Any]:
    """Yields the results of tasks, in their order; without an engine they are made on all cores."""
    if engine is None:
        with opened(None, None) as local:
            yield from spread(local, folder, tasks)
        return
    where = folder.relative_to(STUDIES) if folder.is_relative_to(STUDIES) else folder
    futures = [engine.submit(_perform, function, where, *arguments) for function, arguments in tasks]
    try:
        for future in futures:
            yield engine.result(future)
    finally:
        for future in futures:
            future.cancel()


def _perform(function: Callable[..., Any], where: Path, *arguments: Any) -> Any:
    """Calls a function with a study's folder, which lies elsewhere on each machine."""
    return function(STUDIES / where, *arguments)
