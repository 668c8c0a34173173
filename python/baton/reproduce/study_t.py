"""Study T: TCP across sudden link changes, WaveLAN and GSM (T1 to T11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from baton.live.trials import Figures
from baton.sweep.engines import Engine

from . import study_t_figures as drawing
from .checks import Reproduced, judged, put
from .spread import spread
from .study_run import STABLE, WINDOWS, ratio, simulate, towards_gsm, towards_wavelan, window
from .study_t_quoted import quoted

#: Runs of each scenario; the seed draws the flow's start (ten RTTs) and the handover time (± one RTT).
RUNS = 20
#: Runs of T11, whose scenarios are no handovers of the study.
QUOTED_RUNS = 5
#: Distance of T8: 100 ms more of RTT between correspondent and home agent, 50 ms each way.
FAR = ["links.ethernet.delay=50.1 ms"]
#: Chosen: thresholds around the four segments that fill the path, an average that follows within some
#: packets, since a packet takes more than a second.
RED = [
    'links.gsm.queue={ limit = "100 packets", management = "red", minimum_threshold = 2,'
    " maximum_threshold = 6, maximum_probability = 0.1, weight = 0.2 }"
]
#: Chosen: nothing passes for two seconds, and what the old link held is lost.
LOSS = 'handover = "hard", outage = "2 s"'
DISCARD = ["mobiles.mobile.timetable.1.old_queue=discard"]
#: MosquitoNet's handover as the study found it: outgoing packets move at the request, incoming ones a round trip later.
UNMODIFIED = ["mobiles.mobile.mobility.outgoing_after=request"]
#: Flow control between IP and link (section 7.2.3). Chosen: one packet waits in the link, so that its line stays busy.
REROUTE = ["links.gsm.flow_control=1 packets", "mobiles.mobile.timetable.1.old_queue=reroute"]
#: Remedies of section 7 that are the transport's, in the order of their checks: T7.j to T7.m and so on.
REMEDIES = ("timeout-reset", "window-reset", "path-reset", "path-window")

Samples = dict[str, list[float]]


def reproduce(
    folder: Path,
    progress: Callable[[str], None] = lambda _: None,
    seeds: int = RUNS,
    engine: Engine | None = None,
) -> Reproduced:
    """Makes all checks of the study, in the order of its file of expectations."""
    samples: Samples = {}
    put(samples, _capacities())
    put(samples, _pings(folder / "download.toml"))
    tasks = [(_measured, (seed,)) for seed in range(1, seeds + 1)]
    for (_, (seed,)), found in zip(tasks, spread(engine, folder, tasks), strict=True):
        progress(f"seed {seed} of {seeds}")
        for check, values in found.items():
            samples.setdefault(check, []).extend(values)
    return Reproduced(judged(folder, samples), drawing.draw(folder))


def _measured(folder: Path, seed: int) -> Samples:
    """Measures all checks with one seed."""
    samples: Samples = {}
    _towards_gsm(folder / "download.toml", seed, samples)
    _towards_wavelan(folder / "download-back.toml", seed, samples)
    _farther_and_lossy(folder, seed, samples)
    _upload(folder / "upload.toml", seed, samples)
    _both_ways(folder, seed, samples)
    if seed <= QUOTED_RUNS:
        put(samples, quoted(folder, seed))
    return samples


def windows(plain: Figures, limited: Mapping[str, Figures]) -> Figures:
    """Returns T4, by its ids, from the figures of a download and of one with each of `WINDOWS`, as far as there are
    any."""
    throughput = {name: figures.get("T3.c") for name, figures in limited.items()}
    best = throughput["4k"]
    gain = ratio(best, plain.get("T3.c"))
    return {
        "T4.a": limited["4k"].get("T2.c"),
        "T4.b": best,
        "T4.c": None if gain is None else 100 * (gain - 1),
        "T4.d": ratio(throughput["2k"], best),
        "T4.e": ratio(throughput["8k"], best),
        "T4.f": ratio(throughput["16k"], best),
        "T4.g": throughput["small"],
    }


def _capacities() -> Figures:
    """Computes rate times round-trip time, in bytes, as the study does."""
    links = {"T1.a": (2e6, 3.5e-3), "T1.b": (10e6, 0.5e-3), "T1.c": (9.6e3, 0.7)}
    return {name: round(rate * rtt / 8, 6) for name, (rate, rtt) in links.items()}


def _pings(file: Path) -> Figures:
    """Measures the round-trip time of an idle link, as the study's ping did."""
    from baton import Scenario

    figures: Figures = {}
    for name, link in (("T1.d", "wavelan"), ("T1.e", "gsm")):
        overrides = [
            'flows=[{ name = "ping", from = "mobile", to = "correspondent", transport = "udp",'
            ' traffic = { kind = "ping", interval = "3 s" } }]',
            f'mobiles.mobile.timetable=[{{ at = "0 s", attach = "{link}" }}]',
            "duration=60 s",
        ]
        found = Scenario.load(str(file), overrides=overrides).run(seed=1).summary["flows"][0]["ping"]["mean_rtt_s"]
        figures[name] = None if found is None else 1e3 * found
    return figures


def _towards_gsm(file: Path, seed: int, samples: Samples) -> None:
    """Measures T2, T3 and T4, and T7's remedies for them."""
    plain = towards_gsm(simulate(file, seed, []))
    limited = {name: towards_gsm(simulate(file, seed, window(name))) for name in WINDOWS}
    red = simulate(file, seed, RED)
    put(samples, plain)
    put(samples, windows(plain, limited))
    put(
        samples,
        {
            "T7.a": ratio(limited["4k"]["T3.c"], plain["T3.c"]),
            "T7.b": limited["4k"]["T2.c"],
            "T7.c": limited["small"]["T2.b"],
            "T7.d": ratio(red.throughput(), plain["T3.c"]),
            "T7.e": red.rtt_near(red.handover_s + STABLE[1]),
        },
    )
    for place, remedy in enumerate(REMEDIES):
        remedied = towards_gsm(simulate(file, seed, [f"flows.download.remedies={remedy}"]))
        figures = {"jklm"[place]: ratio(remedied["T3.c"], plain["T3.c"]), "nopq"[place]: remedied["T2.h"]}
        put(samples, {f"T7.{letter}": value for letter, value in figures.items()})


def _towards_wavelan(file: Path, seed: int, samples: Samples) -> None:
    """Measures T5 and T6, and T7's remedies for them."""
    plain = simulate(file, seed, [])
    discard = simulate(file, seed, DISCARD)
    reroute = simulate(file, seed, REROUTE)
    put(samples, towards_wavelan(plain))
    put(
        samples,
        {
            "T7.f": simulate(file, seed, RED).drain_time("gsm")[0],
            "T7.g": discard.at_handover["stall_s"],
            "T7.h": plain.time_to(100_000),
            "T7.i": discard.time_to(100_000),
            "T7.v": reroute.drain_time("gsm")[0],
            "T7.w": reroute.at_handover["stall_s"],
            "T7.x": reroute.time_to(100_000),
            "T7.y": towards_wavelan(reroute)["T6.b"],
        },
    )
    for letter, remedy in zip("rstu", REMEDIES, strict=True):
        remedied = towards_wavelan(simulate(file, seed, [f"flows.download.remedies={remedy}"]))
        put(samples, {f"T7.{letter}": remedied["T6.b"]})
    faster = towards_wavelan(simulate(file, seed, ["flows.download.remedies=faster-timeout-decrease"]))
    put(samples, {"T7.z": faster["T6.b"], "T7.aa": faster["T6.e"]})


def _farther_and_lossy(folder: Path, seed: int, samples: Samples) -> None:
    out, back = folder / "download.toml", folder / "download-back.toml"

    def lossy(at: str, link: str, jitter: str) -> list[str]:
        entry = f'{{ at = "{at}", attach = "{link}", jitter = "{jitter}", {LOSS} }}'
        return [f"mobiles.mobile.timetable.1={entry}"]

    far = simulate(out, seed, FAR)
    put(
        samples,
        {
            "T8.a": far.at_handover["stall_s"],
            "T8.b": far.throughput(),
            "T8.c": simulate(back, seed, FAR).drain_time("gsm")[0],
            "T8.d": simulate(out, seed, lossy("12 s", "gsm", "3.5 ms")).at_handover["stall_s"],
            "T8.e": simulate(back, seed, lossy("70 s", "wavelan", "700 ms")).at_handover["stall_s"],
        },
    )


def _upload(file: Path, seed: int, samples: Samples) -> None:
    run = simulate(file, seed, [], flow="upload")
    first, begin = run.first_on("gsm")
    sent = run.transfer.sent
    on_gsm = run.transfer.data_on("gsm", delivered=False)
    at_once = (on_gsm.time_s >= begin) & (on_gsm.time_s < begin + 0.1)
    following = np.unique(sent.sequence[sent.sequence > first])[0]
    put(
        samples,
        {
            "T9.a": int(np.count_nonzero(at_once)),
            "T9.b": run.retransmissions_of(first),
            "T9.c": int(np.count_nonzero(sent.sequence == following)),
            "T9.d": run.transfer.lost,
            "T9.e": run.rtt_near(run.handover_s + STABLE[1]),
            "T9.f": run.throughput(),
        },
    )


def _both_ways(folder: Path, seed: int, samples: Samples) -> None:
    """Measures T10: the handover as the study found it and as the study changed it, downwards and upwards."""

    def stall(flow: str, overrides: list[str]) -> float:
        return float(simulate(folder / f"{flow}.toml", seed, overrides, flow).at_handover["stall_s"])

    unmodified = [stall(flow, UNMODIFIED) for flow in ("download", "upload")]
    modified = [stall(flow, []) for flow in ("download", "upload")]
    put(
        samples,
        {
            "T10.a": unmodified[0],
            "T10.b": unmodified[1],
            "T10.c": max(unmodified) / min(unmodified),
            "T10.d": max(modified) / min(modified),
        },
    )
