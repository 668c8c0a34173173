"""Python classes that decide in a live run: the emulator asks them, and a thread answers.

A class is the user's: it may be slow, or raise anything. Neither delays the emulator's events, which the main thread
reads.
"""

from __future__ import annotations

import json
import socket
import threading
from typing import TYPE_CHECKING

from baton._baton import LiveDecisions

if TYPE_CHECKING:
    from baton import Scenario


class Deciding:
    """The classes that decide in one live run."""

    def __init__(self, scenario: Scenario) -> None:
        """Makes an object of each mobile's class. Raises whatever a class raises."""
        self._decisions = LiveDecisions(scenario)
        self.failure: BaseException | None = None
        """Exception of a class, which ends the run."""
        self.far_end: socket.socket | None = None
        """The emulator's end of the way between them; none if no class decides."""
        if not self._decisions.is_empty:
            self._own, self.far_end = socket.socketpair()
            threading.Thread(target=self._answer, name="decisions", daemon=True).start()

    def _answer(self) -> None:
        """Answers questions until the emulator has ended."""
        with self._own, self._own.makefile("rb") as questions:
            for question in questions:
                try:
                    reply = self._decisions.reply(question)
                except BaseException as error:  # whatever a class raises, SystemExit too, is its failure
                    self.failure = error
                    reply = _failed(question, error)
                try:
                    self._own.sendall(reply)
                except OSError:
                    return  # the emulator has ended meanwhile

    def close(self) -> None:
        """Closes this process's copy of the emulator's end, once the emulator has it."""
        if self.far_end is not None:
            self.far_end.close()


def _failed(question: bytes, error: BaseException) -> bytes:
    """Returns the reply that reports a class's failure."""
    why = f"raised {type(error).__name__}: {error}"
    reply = {"mobile": json.loads(question)["mobile"], "decided": {"failed": {"why": why}}}
    return json.dumps(reply).encode() + b"\n"
