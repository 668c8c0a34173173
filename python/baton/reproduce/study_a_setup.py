"""Set-up of connections over a link that loses packets (A1)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from baton import Scenario
from baton.live.trials import Figures

from .study_a_run import AEROTP, RATE, TCP
from .transfer import Floats

#: Packet loss rates.
LOSSES = (0.0, 0.05, 0.1, 0.15, 0.2)
#: Connections of a run, one every so many seconds, so that they hardly ever meet; the study's means are of so many.
CONNECTIONS, EVERY_S, OF_A_MEAN = 500, 0.1, 100
#: From one packet of the source to the next, which is also how long it waits for its first.
INTERVAL_S = 8 * AEROTP / RATE
#: Chosen: a connection is given up after six more SYNs, as in ns-3. Whoever is called does not repeat its answer by
#: itself, but answers every SYN: so does ns-3, in which the study was made. "repeating" is as RFC 9293 has it.
_BYTES = f'traffic.bytes = "{TCP} B"'
_KEYS = f'profile = "ns2", maximum_segment_size = "{TCP} B", initial_rto = "3 s", syn_retries = 6'
CALLERS = {
    "aerotp": (
        f'traffic = {{ kind = "constant", rate = "{RATE:.0f} bit/s", packet_size = "{AEROTP} B",'
        f' bytes = "{10 * AEROTP} B" }},'
        ' transport = { kind = "aerotp", mode = "reliable", coding = "none" }'
    ),
    "tcp": f'{_BYTES}, transport = {{ {_KEYS}, receiver = {{ initial_rto = "1000 s", maximum_rto = "1000 s" }} }}',
    "repeating": f"{_BYTES}, transport = {{ {_KEYS} }}",
}
#: The last connection's last SYN is sent 189 s after its first (3 s, doubled five times), and may wait as long again.
_LONGEST_S = 400


@dataclass(frozen=True)
class Setups:
    """Outcome of 500 calls."""

    #: From the call to the first data at the sink, in seconds, of those that came to that.
    delays: Floats

    @property
    def given_up(self) -> int:
        """Calls that came to nothing."""
        return CONNECTIONS - len(self.delays)


def simulate(folder: Path, seed: int, caller: str, loss: float) -> Setups:
    """Runs the calls. Raises `ScenarioError`."""
    keys = (
        f'{{ name = "c{number}", from = "article", to = "ground", start = "{number * EVERY_S:.1f} s",'
        f" {CALLERS[caller]} }}"
        for number in range(CONNECTIONS)
    )
    overrides = [
        f"flows=[{', '.join(keys)}]",
        f"links.radio.packet_error_rate={loss}",
        f"duration={CONNECTIONS * EVERY_S + _LONGEST_S} s",
        "record.series=false",
    ]
    table = pa.table(Scenario.load(folder / "setup.toml", overrides=overrides).run(seed=seed).packets)
    arrived = pc.and_(pc.equal(table["fate"], "delivered"), pc.greater(table["payload_bytes"], 0))
    rows = table.filter(arrived)
    number = np.array([int(name[1:]) for name in rows["flow"].to_pylist()])
    first = np.full(CONNECTIONS, np.inf)
    np.minimum.at(first, number, rows["decided_ns"].to_numpy() / 1e9)
    delays = first - EVERY_S * np.arange(CONNECTIONS)
    # TCP's handshake takes longer than the source's first interval.
    waited = INTERVAL_S if caller == "aerotp" else 0.0
    return Setups(delays[np.isfinite(delays)] + waited)


Found = Mapping[tuple[str, float, int], Setups]


def figures(found: Found, seed: int) -> Figures:
    """Returns the figures that A1 asks of one seed's calls."""
    aerotp = {loss: found["aerotp", loss, seed].delays.mean() for loss in LOSSES}
    tcp = {loss: found["tcp", loss, seed].delays.mean() for loss in LOSSES}
    added = {loss: (aerotp[loss] - aerotp[0.0]) / INTERVAL_S for loss in LOSSES}
    return {
        "A1.a": tcp[0.0],
        "A1.b": tcp[0.2],
        "A1.c": 1e3 * aerotp[0.0],
        "A1.d": 1e3 * aerotp[0.2],
        "A1.e": math.log10(tcp[0.2] / aerotp[0.2]),
        **{f"A1.{letter}": added[loss] for letter, loss in zip("fgh", (0.05, 0.1, 0.2), strict=True)},
        **{f"A1.{letter}": tcp[loss] for letter, loss in zip("ijkl", (0.0, 0.05, 0.1, 0.2), strict=True)},
        "A1.s": found["repeating", 0.2, seed].delays.mean(),
    }


def spread(found: Found, seeds: int) -> Figures:
    """Returns the figures that A1 asks of all calls together."""
    tcp, aerotp = (
        np.concatenate([found[caller, 0.2, seed].delays for seed in range(1, seeds + 1)])
        for caller in ("tcp", "aerotp")
    )
    means = np.array([part.mean() for part in np.array_split(tcp, max(len(tcp) // OF_A_MEAN, 1))])
    return {
        "A1.m": float(np.median(tcp)),
        "A1.n": float(np.quantile(tcp, 0.95)),
        "A1.o": float(np.quantile(tcp, 0.99)),
        "A1.p": float(means.std(ddof=1)),
        "A1.q": float(means.min()),
        "A1.r": float(means.max()),
        "A1.t": 1e3 * float(np.quantile(aerotp, 0.99)),
        "A1.u": sum(found["tcp", 0.2, seed].given_up for seed in range(1, seeds + 1)),
    }
