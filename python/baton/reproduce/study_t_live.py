"""Study T with the kernel's own TCP: T2 to T6, beside the study's stack and a present one simulated."""

from __future__ import annotations

from collections.abc import Mapping

from baton.live.trials import Figures

from .live_study import LiveStudy
from .study_run import WINDOWS, figures, window
from .study_t import windows

#: Trials that are files of the study.
_FILES = ("download", "download-back")
_WINDOWS = {f"window-{name}": name for name in WINDOWS}


def checks(of_trials: Mapping[str, Figures]) -> Figures:
    """Returns the figures of T2 to T6 from trials, by id."""
    found = {**of_trials.get("download", {}), **of_trials.get("download-back", {})}
    if all(name in of_trials for name in _WINDOWS):
        found |= windows(of_trials["download"], {name: of_trials[trial] for trial, name in _WINDOWS.items()})
    return found


STUDY = LiveStudy(
    stacks={name: [f"flows.download.transport.profile={name}"] for name in ("linux-2.0.36", "linux-6")},
    needs={
        "T2": ("download",),
        "T3": ("download",),
        "T4": ("download", *_WINDOWS),
        "T5": ("download-back",),
        "T6": ("download-back",),
    },
    only_simulated={
        "T1": "arithmetic, for which nothing is run",
        "T7": "remedies, which are compared in the simulator",
        "T8": "variants, which the study names and did not measure",
        "T9": "an upload, for which the study's authors suspect their testbed",
    },
    not_told={
        "T2.g": "the kernel counts fast retransmits of all its connections together, and tells none of one",
        "T6.e": "the kernel does not tell its samples of the round-trip time",
    },
    files={name: "download" for name in _WINDOWS},
    limits={trial: window(name) for trial, name in _WINDOWS.items()},
    whole=_FILES,
    measure=figures,
    checks=checks,
)
