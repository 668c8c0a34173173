"""Files that `sudo baton live` writes: they belong to the invoking user, and are written with that user's rights
alone."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from baton.errors import InputError


@contextmanager
def as_invoker(*files: Path | None) -> Iterator[None]:
    """Writes as the user who called sudo. Raises `InputError` if one of the files is a link: root follows none."""
    invoker = invoking_user()
    if invoker is None:
        yield
        return
    for file in files:
        if file is not None and file.is_symlink():
            raise InputError(f"{file}: is a link; under sudo, Baton does not write through links")
    user, group = invoker
    groups, own_group = os.getgroups(), os.getegid()
    # The user goes last and comes back first: it decides about the right to change groups.
    os.setgroups([group])
    os.setegid(group)
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(own_group)
        os.setgroups(groups)


def invoking_user() -> tuple[int, int] | None:
    """Returns user and group ids of the user who called sudo; nothing without sudo."""
    if os.geteuid() != 0:
        return None
    try:
        return int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"])
    except (KeyError, ValueError):
        return None


def without_home(text: str) -> str:
    """Returns a text of a command line with `~` for the calling user's home folder, since results are handed to
    others."""
    invoker = invoking_user()
    try:
        home = pwd.getpwuid(os.getuid() if invoker is None else invoker[0]).pw_dir.rstrip("/")
    except KeyError:
        home = ""
    for folder in {home, os.environ.get("HOME", "").rstrip("/")} - {""}:
        text = re.sub(rf"(?<![\w.~/-]){re.escape(folder)}(?![\w.-])", "~", text)
    return text
