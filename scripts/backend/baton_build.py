"""Build backend for pip: maturin's, with `baton-emulator`, which the wheel installs beside `baton`, and plotly's script
made first."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import maturin
import pack_plotly
from maturin import *  # noqa: F403 - the hooks that stay as they are

ROOT = Path(__file__).resolve().parents[2]
EMULATOR = ROOT / "target" / "wheel" / "scripts" / "baton-emulator"
"""Its place is named in pyproject.toml, as `data`."""


def prepare_metadata_for_build_wheel(metadata: str, settings: dict[str, Any] | None = None) -> str:
    """Prepares the metadata of the wheel; returns its folder's name. Maturin wants the place of `baton-emulator` to
    exist."""
    EMULATOR.parent.mkdir(parents=True, exist_ok=True)
    folder: str = maturin.prepare_metadata_for_build_wheel(metadata, settings)
    return folder


def build_wheel(wheel: str, settings: dict[str, Any] | None = None, metadata: str | None = None) -> str:
    """Builds all three; returns the wheel's name. Raises `CalledProcessError`."""
    subprocess.run(["cargo", "build", "--release", "--locked", "--package", "baton-live"], cwd=ROOT, check=True)
    EMULATOR.parent.mkdir(parents=True, exist_ok=True)
    built = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "baton-emulator"
    shutil.copy(built, EMULATOR)
    pack_plotly.pack()
    name: str = maturin.build_wheel(wheel, settings, metadata)
    return name
