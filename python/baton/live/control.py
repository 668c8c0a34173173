"""`baton handover` and `baton set`: commands to a live run that is under way."""

from __future__ import annotations

import json
import socket
from pathlib import Path

from baton import RunError
from baton.errors import InputError, nearest
from baton.summary import Json

PREFIX = "baton/"
SOCKETS = Path("/proc/net/unix")
ANSWER_WITHIN_S = 5.0


def handover(run: str, link: str, outage_s: float | None) -> Json:
    """Asks a run for a handover; without an outage it is soft. Returns the answer; raises `InputError` or
    `RunError`."""
    kind = {"kind": "soft"} if outage_s is None else {"kind": "hard", "outage_s": outage_s}
    return obeyed(run, {"handover": link, **kind})


def change(run: str, text: str) -> Json:
    """Changes a key of a link, `links.NAME.KEY=VALUE`. Returns the answer; raises `InputError` or `RunError`."""
    return obeyed(run, {"set": text})


def obeyed(run: str, request: Json) -> Json:
    """Returns the answer to a request that the run carries out. Raises `InputError` with the reason for a refusal, or
    `RunError`."""
    answer = ask(run, request)
    if "error" in answer:
        raise InputError(f"{run}: {answer['error']}")
    return answer


def ask(run: str, request: Json) -> Json:
    """Sends one request, and returns the answer."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(ANSWER_WITHIN_S)
        try:
            connection.connect(f"\0{PREFIX}{run}")
            connection.sendall(json.dumps(request).encode() + b"\n")
            with connection.makefile("rb") as reading:
                line = reading.readline()
        except ConnectionRefusedError:
            raise InputError(f"no live run is called `{run}`; {nearest(run, running())}") from None
        except TimeoutError:
            raise RunError(f"{run} did not answer within {ANSWER_WITHIN_S:g} s") from None
    if not line:
        raise RunError(
            f"{run} cannot be reached: only the user who started it may command it, and it may have just ended"
        )
    answer = json.loads(line)
    assert isinstance(answer, dict)
    return answer


def running() -> list[str]:
    """Returns the names of the live runs under way."""
    # The last of eight columns is the path; `@` stands for the zero byte that an abstract name begins with.
    columns = (line.split(maxsplit=7) for line in SOCKETS.read_text(errors="replace").splitlines()[1:])
    found = {path[7].removeprefix(f"@{PREFIX}") for path in columns if path[7:] and path[7].startswith(f"@{PREFIX}")}
    return sorted(found)
