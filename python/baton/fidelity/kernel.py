"""Kernel settings that the profile assumes. A kernel of another release, or with other settings, behaves
differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from baton.live.trials import Kept

from .execute import Outcome

#: The release whose rules and defaults `linux-6` has.
MATCHED = "6.18"


@dataclass(frozen=True)
class Setting:
    """A setting under `net.ipv4` at Linux's default, which the profile assumes."""

    value: str
    meaning: str
    """Effect of another value on the comparison."""


#: Settings that are read back from every kernel, without the congestion control, which each socket has of its own. A
#: kernel that lacks one of them has its default built in.
SETTINGS = {
    "tcp_adv_win_scale": Setting("1", "before Linux 6.6, another share of the receive buffer is offered as window"),
    "tcp_comp_sack_delay_ns": Setting("1000000", "acknowledgments of a gap are held back for another time"),
    "tcp_comp_sack_nr": Setting("44", "another number of acknowledgments of a gap is held back"),
    "tcp_dsack": Setting("1", "duplicates are not reported: wrong reductions are not taken back by them"),
    "tcp_early_retrans": Setting("3", "the loss of a tail is not probed for, and waits for the timeout"),
    "tcp_ecn": Setting("2", "the handshake asks for congestion marks; links here make none"),
    "tcp_frto": Setting("2", "a timeout that was spurious is not found out by new data"),
    "tcp_min_rtt_wlen": Setting("300", "the shortest round trip is forgotten after another time"),
    "tcp_moderate_rcvbuf": Setting("1", "the receive window does not grow"),
    "tcp_notsent_lowat": Setting("4294967295", "the application is let to write later"),
    "tcp_recovery": Setting("1", "losses are found by counting, not by time, or by another rule of time"),
    "tcp_reordering": Setting("3", "another number of duplicates makes a loss"),
    "tcp_retries2": Setting("15", "a silent path is given up at another time"),
    "tcp_rmem": Setting("4096 131072 33554432", "the receive window begins with, or grows to, another size"),
    "tcp_rto_max_ms": Setting("120000", "the longest timeout is another"),
    "tcp_rto_min_us": Setting("200000", "the shortest timeout is another"),
    "tcp_sack": Setting("1", "losses are found and repaired one a round trip"),
    "tcp_slow_start_after_idle": Setting("1", "the window is kept over an idle time"),
    "tcp_syn_linear_timeouts": Setting("4", "timeouts of a SYN double from another one on"),
    "tcp_syn_retries": Setting("6", "an attempt to connect is given up at another time"),
    "tcp_synack_retries": Setting("5", "an answer to a SYN is given up at another time"),
    "tcp_timestamps": Setting("1", "full segments are 12 bytes longer, and retransmissions are not measured"),
    "tcp_window_scaling": Setting("1", "no window is larger than 64 kB"),
    "tcp_wmem": Setting("4096 16384 4194304", "the send buffer begins with, or grows to, another size"),
}


@dataclass(frozen=True)
class Other:
    """A setting that some of the kernels had at another value, though no scenario asked for it."""

    setting: str
    value: str
    assumed: str
    meaning: str
    repetitions: int
    """Live repetitions in which it was so."""

    def as_json(self) -> dict[str, Any]:
        """Returns the setting as in `fidelity.json`."""
        return asdict(self)

    def __str__(self) -> str:
        times = f"{self.repetitions} repetition{'s' if self.repetitions > 1 else ''}"
        return f"{self.setting} was {self.value}, not {self.assumed} ({times}): {self.meaning}"


def others(outcomes: Sequence[Outcome]) -> list[Other]:
    """Returns the settings that differ from the profile's assumptions."""
    counts = Counter(pair for outcome in outcomes for kept in outcome.live for pair in set(_of(kept)))
    return [
        Other(name, value, SETTINGS[name].value, SETTINGS[name].meaning, count)
        for (name, value), count in sorted(counts.items())
    ]


def _of(kept: Kept) -> Iterator[tuple[str, str]]:
    for host, settings in kept.sysctls.items():
        wanted = kept.sysctls_set.get(host, {})
        for name, told in settings.items():
            value = " ".join(told.split())
            if name in SETTINGS and name not in wanted and value != SETTINGS[name].value:
                yield name, value


def warnings(found: dict[str, Any]) -> Iterator[str]:
    """Yields a sentence for each difference between a result's kernels and the one that the profile was matched to."""
    for kernel in found["kernels"]:
        if kernel.split(".")[:2] != found["matched"].split("."):
            told = f"the profile linux-6 was matched to {found['matched']}, and other releases have other rules"
            yield f"kernel {kernel}: {told}"
    for other in found["other_settings"]:
        yield str(Other(**other))
