"""A folder of results as one file: a zip archive that `baton rerun` and `baton compare` accept in place of the
folder."""

from __future__ import annotations

import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from baton.errors import InputError
from baton.stored import read_manifest, read_sweep
from baton.travel import RECORDINGS

MANIFEST_FILE, SWEEP_FILE = "manifest.json", "sweep.json"
BESIDE_RUN: tuple[str, ...] = ("summary.json", "server.log", "report.html")
BESIDE_SWEEP: tuple[str, ...] = ("runs.jsonl", "runs.parquet", "statistics.json", "report.html")
MOST_FILES = 100_000
# Largest unpacked size of an archive: this much, or so many times its own size; tables and recordings stay below.
LARGEST, MOST_TIMES_LARGER = 64_000_000, 100
# The time of each entry, the earliest that zip knows: equal results make equal archives.
TIME = (1980, 1, 1, 0, 0, 0)


def pack(folder: Path, out: Path) -> Path:
    """Writes a folder of a run or a sweep as an archive, and returns the archive's path. Leaves out files that are not
    Baton's.

    Raises `InputError`, `OSError` if it cannot be written.
    """
    names = _names(folder)
    if out.exists():
        raise InputError(f"{out}: already exists; choose another file with --out")
    top = folder.resolve().name
    staged = out.with_name(f".partial-{out.name}")
    try:
        with zipfile.ZipFile(staged, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in names:
                entry = zipfile.ZipInfo(f"{top}/{name}", TIME)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                with (folder / name).open("rb") as source, archive.open(entry, "w", force_zip64=True) as target:
                    while chunk := source.read(1 << 20):
                        target.write(chunk)
        return staged.replace(out)
    finally:
        staged.unlink(missing_ok=True)


def _names(folder: Path) -> list[str]:
    """Returns the names of a run's or a sweep's files, in order."""
    if (folder / SWEEP_FILE).is_file():
        points = read_sweep(folder / SWEEP_FILE)["points"]
        read = {name for point in points for name in point["traces"]}
        needed, others = [SWEEP_FILE, *sorted(read)], BESIDE_SWEEP
    elif (folder / MANIFEST_FILE).is_file():
        manifest = read_manifest(folder / MANIFEST_FILE, {"results", "traces"})
        needed, others = [MANIFEST_FILE, *sorted(manifest["traces"]), *sorted(manifest["results"])], BESIDE_RUN
    else:
        raise InputError(f"{folder}: holds neither a run nor a sweep (no {MANIFEST_FILE}, no {SWEEP_FILE})")
    for name in needed:
        plain = PurePosixPath(name).parts
        if len(plain) > 2 or name != "/".join(plain) or ".." in plain or (len(plain) == 2 and plain[0] != RECORDINGS):
            raise InputError(
                f"{folder}: {name}: lies outside the folder; only files that a run has written there are packed"
            )
        if (folder / name).is_symlink() or not (folder / name).is_file():
            raise InputError(f"{folder / name}: is not a file that a run has written there; run it again")
    return [*needed, *(name for name in others if (folder / name).is_file() and not (folder / name).is_symlink())]


@contextmanager
def opened(path: Path) -> Iterator[Path]:
    """Yields the folder of an archive, unpacked for a while, or any other path unchanged. Raises `InputError`."""
    if path.suffix != ".zip" or not path.is_file():
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="baton-archive-") as folder:
        try:
            with zipfile.ZipFile(path) as archive:
                unpacked = _unpack(path, archive, Path(folder))
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
            raise InputError(f"{path}: is damaged, or not an archive of `baton pack`: {error}") from error
        yield unpacked


def _unpack(path: Path, archive: zipfile.ZipFile, folder: Path) -> Path:
    entries = archive.infolist()
    most = max(LARGEST, MOST_TIMES_LARGER * path.stat().st_size)
    if len(entries) > MOST_FILES or sum(entry.file_size for entry in entries) > most:
        raise InputError(f"{path}: unpacks to more than {most:,} B or {MOST_FILES:,} files; it is not unpacked")
    tops = set()
    for entry in entries:
        parts = PurePosixPath(entry.filename).parts
        mode = entry.external_attr >> 16
        odd = mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG)
        outside = entry.filename != "/".join(parts) or {"..", "/"} & {*parts} or "\\" in entry.filename
        if odd or outside or not 2 <= len(parts) <= 3 or (len(parts) == 3 and parts[1] != RECORDINGS):
            raise InputError(
                f"{path}: {entry.filename!r}: is not an entry that `baton pack` writes; the archive is not unpacked"
            )
        tops.add(parts[0])
    if len(tops) != 1:
        raise InputError(f"{path}: is not an archive of `baton pack`: it holds {len(tops)} folders, expected one")
    for entry in entries:
        target = folder / entry.filename
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(entry) as source, target.open("xb") as out:
            while chunk := source.read(1 << 20):
                out.write(chunk)
    return folder / tops.pop()
