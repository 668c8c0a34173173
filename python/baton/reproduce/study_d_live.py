"""Study D's Table 2 with the kernel's own TCP: D7 to D9, beside the study's stack and a present one simulated."""

from __future__ import annotations

from collections.abc import Mapping

from baton.live.trials import Figures
from baton.report.tables import Run

from .live_study import LiveStudy
from .study_d import SCENARIOS

#: The study's settings of TCP that a kernel has, too.
_TCP = "{ profile = 'linux-6', maximum_segment_size = '1024 B', receive_buffer = '6 KiB', delayed_ack = 'off' }"


def figures(run: Run) -> Figures:
    """Returns the figures of a run, from its handover and its map."""
    (flow,) = run.summary["flows"]
    (handover,) = run.summary["handovers"]
    begin, end = handover["at_s"], handover["completed_s"]
    return {
        "completion": flow["completion_s"],
        "timeouts": flow["timeouts"],
        "handover": None if end is None else end - begin,
        "begin": begin,
    }


def checks(of_trials: Mapping[str, Figures]) -> Figures:
    """Returns the figures of D7 to D9 from those of the three scenarios, by id."""

    def of(scenario: str, name: str) -> float | None:
        return of_trials.get(scenario, {}).get(name)

    def later(scenario: str, other: str, name: str) -> float | None:
        end, earlier = of(scenario, name), of(other, name)
        return None if end is None or earlier is None else end - earlier

    plain, quick = of("baseline", "completion"), of("proposal-1", "completion")
    earlier = later("proposal-1", "proposal-2", "completion")
    twice = (of("baseline", "timeouts") or 0) >= 2 > (of("proposal-1", "timeouts") or 0)
    return {
        "D7.a": of("proposal-1", "handover"),
        "D7.b": of("proposal-2", "handover"),
        "D7.c": later("baseline", "proposal-1", "handover"),
        "D8.a": plain / quick if plain and quick and not twice else None,
        "D8.b": later("baseline", "proposal-1", "completion") if twice else None,
        "D8.d": earlier,
        "D8.e": 100 * earlier / quick if earlier is not None and quick else None,
        "D8.f": plain,
        "D8.g": quick,
        "D8.h": of("proposal-2", "completion"),
        "D9.a": later("proposal-2", "proposal-1", "begin"),
        "D9.b": of("proposal-2", "timeouts"),
    }


_OF_TIMER = "the timer is a variant of the study's stack"

STUDY = LiveStudy(
    stacks={"as the study": [], "linux-6": [f"flows.weather.transport={_TCP}"]},
    needs=dict.fromkeys(("D7", "D8", "D9"), SCENARIOS),
    only_simulated={
        **dict.fromkeys(("D0", "D1"), "arithmetic, for which nothing is run"),
        **dict.fromkeys(("D2", "D3", "D4"), "of the radio alone, without a handover"),
        "D5": "of the radio alone, without a handover",
        "D6": "the timer of the study's stack",
        **dict.fromkeys(("D10", "D11"), "losses of signalling, which do not concern the stack"),
        **{f"D{number}": "beyond the study, in the simulator" for number in range(12, 21)},
    },
    not_told={
        "D8.b": "no baseline timed out twice",
        "D8.c": "which runs time out twice is counted over twenty runs",
        **dict.fromkeys(("D8.i", "D8.j", "D8.k"), _OF_TIMER),
    },
    files={},
    limits={},
    whole=SCENARIOS,
    measure=figures,
    checks=checks,
)
