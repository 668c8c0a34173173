"""Files that `sudo baton live` writes: the invoking user's, written by that user's right and no other."""

from __future__ import annotations

import os
import stat
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
            raise InputError(f"{file}: is a link; under sudo nothing is written through one")
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


@contextmanager
def given_to_invoker(*paths: Path | None) -> Iterator[None]:
    """Gives what is written at these paths meanwhile, and the folders made for it, to the user who called sudo.

    For runs in threads, which cannot change their user one by one.
    """
    invoker = invoking_user()
    if invoker is None:
        yield
        return
    tops = [first_new(path.absolute()) for path in paths if path is not None]
    try:
        yield
    finally:
        for top in tops:
            give(top, *invoker)


def invoking_user() -> tuple[int, int] | None:
    """User and group ids of the user who called sudo; nothing without sudo."""
    if os.geteuid() != 0:
        return None
    try:
        return int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"])
    except (KeyError, ValueError):
        return None


def first_new(path: Path) -> Path:
    """The uppermost folder on the way to a path that is not there yet, or else the path itself."""
    for folder in [*reversed(path.parents), path]:
        if not folder.exists():
            return folder
    return path


def give(top: Path, user: int, group: int) -> None:
    """Gives root's plain files and folders at and below a path to a user. Links are left alone: they lead elsewhere."""
    for folder, _, files in os.walk(top):
        _give_one(Path(folder), user, group)
        for name in files:
            _give_one(Path(folder, name), user, group)
    if not top.is_dir():
        _give_one(top, user, group)


def _give_one(path: Path, user: int, group: int) -> None:
    try:
        status = path.lstat()
        of_one_name = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
        if status.st_uid == 0 and (stat.S_ISDIR(status.st_mode) or of_one_name):
            os.chown(path, user, group, follow_symlinks=False)
    except FileNotFoundError:
        pass  # nothing was written there
