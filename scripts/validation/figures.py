"""Figures of the models' pages, drawn from the runs that the rows come from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import baton
from baton import Scenario
from validation import ad_hoc, channels, coding, control, lab, links, peers, queues, tcp, tdma

SCENARIOS = links.TRACES.parent
THEORY = {"color": "black", "linewidth": 0.8}
SEEDS = range(1, 4)


def write(folder: Path) -> None:
    """Draws all of them into the folder, a PNG each."""
    folder.mkdir(exist_ok=True)
    with baton.style(width_mm=130, font_size=9):
        for name, draw in {**DRAWN, **RUNS}.items():
            save(draw(), folder / f"{name}.png")


def save(figure: Figure, path: Path) -> None:
    """Saves a figure small, and without a date."""
    figure.savefig(path, dpi=120, metadata={"Software": None})


def axes(draw: Callable[[Axes], None]) -> Callable[[], Figure]:
    """Returns a figure with one pair of axes."""

    def made() -> Figure:
        figure = Figure(figsize=(5.1, 3.0), layout="constrained")
        draw(figure.subplots())
        for each in figure.axes:
            each.spines[["top", "right"]].set_visible(False)
            each.grid(color="#eceef1", linewidth=0.6)
            each.set_axisbelow(True)
            each.legend(frameon=False)
        return figure

    return made


def dots(at: Axes, x: list[float], values: list[list[float]], label: str = "Baton, each seed") -> None:
    """Draws every seed's value."""
    for number, (place, found) in enumerate(zip(x, values, strict=True)):
        at.plot([place] * len(found), found, "o", color="#2563eb", markersize=3.5, label=label if not number else None)


def wired(at: Axes) -> None:
    loads = [0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    curve = np.linspace(0.1, 0.92, 100)
    at.plot(curve, [links.md1(load) * 1e3 for load in curve], label="Pollaczek and Khinchine", **THEORY)
    dots(at, loads, [[links.waiting_time(load, seed) * 1e3 for seed in SEEDS] for load in loads])
    at.set(xlabel="load", ylabel="mean waiting time (ms)", title="M/D/1 queue: 1500 B at 12 Mbit/s")


def wifi(at: Axes) -> None:
    sizes = [100, 300, 500, 800, 1100, 1472]
    curve = np.linspace(50, 1472, 100)
    for name, preamble in (("long", 192e-6), ("short", 96e-6)):
        dash = "solid" if name == "long" else "dashed"
        theory = [links.theoretical_maximum(size, preamble) / 1e6 for size in curve]
        at.plot(curve, theory, label=f"theoretical maximum, {name} preamble", linestyle=dash, **THEORY)
        label = "Baton" if name == "long" else ""
        dots(at, sizes, [[links.saturation(size, name, 1) / 1e6] for size in sizes], label)
    at.set(
        xlabel="UDP payload of a packet (B)",
        ylabel="throughput (Mbit/s)",
        title="One saturated 802.11b station, 11 Mbit/s",
    )


def mobile_ad_hoc(at: Axes) -> None:
    nodes = [5, 10, 20, 30, 45, 60]
    for routing, colour in zip(ad_hoc.ROUTING, ("#2563eb", "#c2410c", "#15803d"), strict=True):
        for speed, dash in (("200 m/s", "solid"), ("1200 m/s", "dashed")):
            shares = ad_hoc.means(routing, [count - 1 for count in nodes], speed, SEEDS)
            label = routing if dash == "solid" else None
            at.plot(nodes, shares, marker="o", markersize=3, color=colour, linestyle=dash, label=label)
    at.set(
        xlabel="nodes that fly",
        ylabel="share delivered",
        ylim=(0, 1.02),
        title="A packet a second to the centre, 200 m/s (dashed 1200 m/s)",
    )


def gsm(at: Axes) -> None:
    sizes = [8, 56, 200, 500, 1000, 1400]
    curve = np.array([0.0, 1472])
    at.plot(curve, 2 * (0.25 + (curve + 36) / 960), label="2 (250 ms + (bytes + 8) / 960 B/s)", **THEORY)
    dots(at, sizes, [[links.gsm_ping(size)] for size in sizes], "Baton")
    at.plot([56], [0.7], "x", color="#c2410c", label="study T, about 700 ms")
    at.set(xlabel="payload of a ping (B)", ylabel="round-trip time (s)", title="A ping over GSM")


def trace(at: Axes) -> None:
    left, opportunities = links.replayed("lte-drive.down")
    bins = np.arange(0, opportunities[-1], 1.0)
    for moments, look in (
        (opportunities, {"color": "black", "linewidth": 2.5, "label": "the file"}),
        (left, {"color": "#60a5fa", "linewidth": 1, "label": "Baton"}),
    ):
        counts = np.histogram(moments, np.append(bins, bins[-1] + 1))[0]
        at.step(bins, counts * 12_000 / 1e6, where="post", **look)
    at.set(xlabel="time (s)", ylabel="rate in each second (Mbit/s)", title="lte-drive.down, saturated")


def drop_tail(at: Axes) -> None:
    loads = [0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5]
    curve = np.linspace(0.25, 1.55, 60)
    at.semilogy(curve, [queues.md1k_loss(load) for load in curve], label="M/D/1/K by its Markov chain", **THEORY)
    dots(at, loads, [[queues.refused(load, 1)] for load in loads], "Baton")
    at.set(xlabel="load", ylabel="share refused", title="Four places, Poisson arrivals")


def red(at: Axes) -> None:
    queue = [0, 50, 150, 300, 320]
    at.plot(queue, [0, 0, 0.1, 1, 1], label="Floyd and Jacobson 1993, gentle", **THEORY)
    overloads = [1.05, 1.1, 1.15, 1.4, 2.0, 3.0]
    found = [queues.red_queue(load, 1) for load in overloads]
    at.plot(
        found,
        [(1 - 1 / load) / 2 for load in overloads],
        "o",
        color="#2563eb",
        markersize=4,
        label="Baton, where it balances an overload",
    )
    at.set(xlabel="mean queue (packets)", ylabel="drop probability", title="RED, thresholds 50 and 150, maximum 0.1")


def codel(at: Axes) -> None:
    drops = np.diff(queues.codel_drops()[:101])
    number = np.arange(1, len(drops) + 1)
    at.loglog(number, drops * 1e3, "o", color="#2563eb", markersize=3, label="Baton")
    at.loglog(number, queues.control_law(len(drops)) * 1e3, label="100 ms / √n (RFC 8289)", **THEORY)
    at.set(xlabel="drop", ylabel="time to the next (ms)", title="CoDel under an overload that does not react")


def fq_codel(at: Axes) -> None:
    found, offered = queues.shares(), {"a": 9.0, "b": 7.0, "c": 1.0}
    curve = np.linspace(0, 10, 50)
    at.plot(curve, np.minimum(curve, queues.FAIR_SHARE), label="max-min fairness", **THEORY)
    rates = [rate * 1500 / 1472 for rate in offered.values()]
    at.plot(rates, [found[name] for name in offered], "o", color="#2563eb", markersize=4, label="Baton")
    at.set(xlabel="rate on offer (Mbit/s)", ylabel="rate carried (Mbit/s)", title="Three flows over 12 Mbit/s")


def pie(at: Axes) -> None:
    sent, waited = queues.pie_waits(1)
    steps = np.arange(0, 20, 0.1)
    means = [1e3 * float(np.mean(waited[(sent >= step) & (sent < step + 0.1)])) for step in steps]
    at.plot(steps, means, color="#2563eb", linewidth=1, label="Baton, mean of 100 ms")
    at.plot([0, 20], [15, 15], label="target (RFC 8033)", **THEORY)
    at.set(xlabel="time (s)", ylabel="waiting time (ms)", title="PIE under an overload of a quarter")


def priority(at: Axes) -> None:
    loads = [0.2, 0.4, 0.6, 0.8, 0.9]
    curve = np.linspace(0.1, 0.92, 60)
    for name in queues.PRECEDENCES:
        label = "M/D/1 by Cobham 1954" if name == "5" else ""
        at.semilogy(curve, [queues.cobham(load)[name] * 1e3 for load in curve], label=label, **THEORY)
        found = [[queues.priority_waiting(load, seed)[name] * 1e3 for seed in SEEDS] for load in loads]
        dots(at, loads, found, "Baton" if name == "5" else "")
        at.annotate(f"precedence {name}", (0.93, queues.cobham(0.92)[name] * 1e3), fontsize=7, va="center")
    at.set(xlim=(0.05, 1.12), xlabel="load", ylabel="mean waiting time (ms)", title="Three precedences at 12 Mbit/s")


def packet_errors(at: Axes) -> None:
    rates = [1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1]
    at.loglog([8e-4, 0.4], [8e-4, 0.4], label="share lost = p", **THEORY)
    dots(at, rates, [[channels.lost("packet_error_rate", rate, seed) for seed in SEEDS] for rate in rates])
    at.set(xlabel="packet_error_rate", ylabel="share lost", title="10,000 packets a seed")


def bit_errors(at: Axes) -> None:
    rates = [1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4]
    curve = np.logspace(-6.1, -3.4, 100)
    at.loglog(curve, [channels.packet_loss(rate) for rate in curve], label="1 - (1 - p)^12000", **THEORY)
    dots(at, rates, [[channels.lost("bit_error_rate", rate, seed) for seed in SEEDS] for rate in rates])
    at.set(xlabel="bit_error_rate", ylabel="share of packets lost", title="Packets of 1500 B")


def link_coding(at: Axes) -> None:
    times, parity = lab.series(coding.steps(), "parity", "link l down")
    at.step([0, *times, 60], [2, *parity, parity[-1]], where="post", color="#2563eb", label="parity of a codeword (B)")
    edges = [begin for begin, _ in coding.STEPS] + [60]
    sufficient = [coding.weakest(rate) for _, rate in coding.STEPS]
    at.stairs(sufficient, edges, baseline=None, linestyle="--", label="weakest sufficient", **THEORY)
    rows = lab.packets(coding.steps())
    lost, _ = np.histogram(rows["sent"][~rows["delivered"]], np.arange(61))
    at.bar(np.arange(60) + 0.5, lost, 1.0, color="#f59e0b", label="packets lost in a second")
    at.set(xlabel="time (s)", xlim=(0, 60), ylim=(0, 40))


def burst_loss(at: Axes) -> None:
    lengths = np.concatenate([channels.bursts(seed)[2] for seed in SEEDS])
    reach = np.arange(1, 61)
    at.semilogy(
        reach, [np.mean(lengths >= length) for length in reach], "o", color="#2563eb", markersize=3, label="Baton"
    )
    at.semilogy(reach, channels.stays_bad() ** (reach - 1.0), label="P(bad → bad in 10 ms) ^ (n - 1)", **THEORY)
    at.set(
        xlabel="run of losses, n packets or more",
        ylabel="share of runs",
        title="900 ms good, 100 ms bad, packets 10 ms apart",
    )


def jitter(at: Axes) -> None:
    delays = np.sort(channels.jittered(1)) * 1e3
    at.plot([9.5, 10, 15, 15.5], [0, 0, 1, 1], label="uniform from 10 to 15 ms", **THEORY)
    some = delays[:: len(delays) // 60]
    at.plot(some, np.linspace(0, 1, len(some)), "o", color="#2563eb", markersize=3, label="Baton")
    at.set(xlabel="delay (ms)", ylabel="share of packets below", title="delay 10 ms, jitter 5 ms")


def profile_rfc(at: Axes) -> None:
    times, ours, oracle = tcp.timeouts()
    at.plot(times, ours * 1e3, color="#60a5fa", linewidth=3, label="Baton")
    at.plot(times, oracle * 1e3, label="RFC 6298, worked out from the samples", **THEORY)
    at.set(
        xlabel="time (s)",
        ylabel="retransmission timeout (ms)",
        title="A download, minimum_rto = 1 ms",
        xlim=(0, 8),
        ylim=(100, 620),
    )


def profile_ns2(at: Axes) -> None:
    segments = [3, 10, 30, 100, 300, 1000, 3000]
    curve = np.arange(2, 4000)
    for window, dash in ((2, "solid"), (10, "dashed")):
        theory = [tcp.slow_start(int(count), window) for count in curve]
        at.semilogx(curve, theory, label=f"closed form, initial window {window}", linestyle=dash, **THEORY)
        at.plot(
            segments,
            [tcp.completion(count, window) for count in segments],
            "o" if window == 2 else "s",
            color="#2563eb",
            markersize=3.5,
            label=f"Baton, {window}",
        )
    at.set(xlabel="segments", ylabel="time of the transfer (s)", title="Slow start, round trip 100 ms")


def growth(congestion: str) -> Callable[[Axes], None]:
    def draw(at: Axes) -> None:
        times, window, at_loss = control.one_loss(congestion)
        after = times - times[0]
        some = slice(None, None, max(len(after) // 400, 1))
        at.plot(after[some], window[some], color="#60a5fa", linewidth=3, label="Baton")
        if congestion == "cubic":
            theory = control.cubic_window(after, at_loss)
            at.plot(after[some], theory[some], label="C (t - K)³ + W_max (RFC 9438)", **THEORY)
            at.set(xlim=(0, 15), ylim=(100, 600))
        else:
            reno = (control.reno_growth, "a segment each round trip (RFC 5681)")
            law, label = control.GROWTHS.get(congestion, reno)
            at.plot(after[some], law(after, at_loss)[some], label=label, **THEORY)
            if congestion in control.GROWTHS:
                at.set(xlim=(0, 10), ylim=(0, 1.2 * window[after < 10].max()))
        at.set(
            xlabel="time since the loss was found (s)",
            ylabel="congestion window (segments)",
            title=f"{congestion} after one loss at {at_loss:.0f} segments",
        )

    return draw


def vegas(at: Axes) -> None:
    times, window = control.vegas_queue()
    seconds = np.linspace(0.1, 30, 600)
    kept = [lab.at(times, window, second) for second in seconds]
    at.plot(seconds, kept, color="#60a5fa", linewidth=1.5, label="Baton")
    for waiting, name in ((2, "alpha"), (4, "beta")):
        at.axhline(control.VEGAS_PIPE + waiting, label=f"what the path holds, and {name} = {waiting}", **THEORY)
    at.set(
        xlabel="time (s)",
        ylabel="congestion window (segments)",
        title="Vegas alone on 5 Mbit/s and 100 ms",
        xlim=(0, 30),
        ylim=(0, 100),
    )


def newreno(at: Axes) -> None:
    rates = [1e-3, 3e-3, 1e-2, 3e-2, 5e-2]
    curve = np.logspace(-3.1, -1.2, 50)
    at.loglog(curve, [control.square_root(rate) for rate in curve], label="square-root law", **THEORY)
    at.loglog(
        curve, [control.rfc5348(rate) for rate in curve], label="RFC 5348, timeout 1 s", linestyle="dashed", **THEORY
    )
    for recovery, mark in (("newreno", "o"), ("reno", "s"), ("sack", "^")):
        found = [np.mean([control.constant("newreno", recovery, rate, seed, 200) for seed in SEEDS]) for rate in rates]
        at.plot(rates, found, mark, markersize=4, fillstyle="none", label=f"Baton, {recovery} recovery")
    at.set(xlabel="random loss", ylabel="mean window (segments)", title="Goodput over 100 ms, three seeds of 200 s")


def scps_tp(at: Axes) -> None:
    rates = [1e-3, 3e-3, 1e-2, 3e-2, 5e-2]
    curve = np.logspace(-3.1, -1.2, 50)
    at.loglog(curve, [control.square_root(rate) for rate in curve], label="square-root law", **THEORY)
    for snack, mark, label in ((True, "o", "SNACK"), (False, "s", "without it (NewReno)")):
        found = [np.mean([control.snack_window(rate, snack, seed) for seed in SEEDS]) for rate in rates]
        at.plot(rates, found, mark, markersize=4, fillstyle="none", label=f"Baton, {label}")
    at.set(xlabel="random loss", ylabel="mean window (segments)", title="SCPS-TP over 100 ms, three seeds of 200 s")


def python(at: Axes) -> None:
    for name, look in (
        ("python:validation.reno.Reno", {"color": "#60a5fa", "linewidth": 3, "label": "a class in Python"}),
        ("reno", {"label": "built-in", **THEORY}),
    ):
        times, window = control.in_python(name)
        at.step(times, window / 1460, where="post", **look)
    at.set(
        xlabel="time (s)",
        ylabel="congestion window (segments)",
        title="Reno on the same path",
        xlim=(0, 30),
        ylim=(0, 60),
    )


def linux_6() -> Figure:
    return baton.plot_window(peers.kernel_run("cubic"))


def bbr() -> Figure:
    return baton.plot_window(peers.kernel_run("bbr"))


def classic() -> Figure:
    return baton.plot_time_sequence(peers.slow_transfer(0.8))


def geo() -> Figure:
    link = lab.wire(kind="geo")
    return baton.plot_time_sequence(lab.run("8 s", link, lab.flow(traffic={"bytes": "1 MB"}), record="series packets"))


def linux_2_0_36() -> Figure:
    return baton.plot_round_trip(Scenario.load(SCENARIOS / "gsm-to-wavelan.toml").run())


def handover() -> Figure:
    return baton.plot_handover(Scenario.load(SCENARIOS / "wavelan-to-gsm.toml").run())


def ldacs1() -> Figure:
    return baton.plot_map(Scenario.load(SCENARIOS / "flight.toml").run())


def demand_assignment(at: Axes) -> None:
    upload = lab.flow(
        **{"from": "b", "to": "a", "transport": lab.tcp(initial_rto="3 s"), "traffic": {"bytes": "300 kB"}}
    )
    result = lab.run("7 s", lab.wire(**links.DEMAND, demand={}), upload, record="series")
    for name, colour in (("requested rate", "#f59e0b"), ("assigned rate", "#2563eb")):
        times, rates = lab.series(result, name, "link l up")
        at.step(np.append(times, 7), np.append(rates, rates[-1]) / 1e6, where="post", color=colour, label=name)
    at.set(xlabel="time (s)", ylabel="rate (Mbit/s)", xlim=(0, 7), ylim=(0, 3.2))


def tdma_link(at: Axes) -> None:
    lengths = range(60, tdma.SLOT_BYTES + 1)
    at.plot(lengths, [tdma.closed(length) / 1e3 for length in lengths], label="whole packets in a slot", **THEORY)
    measured = [100, 200, 281, 282, 375, 376, 450, 562, 563, 700, 900, tdma.SLOT_BYTES]
    dots(at, measured, [[tdma.throughput(length) / 1e3] for length in measured], "Baton")
    at.set(xlabel="length of packets (B)", ylabel="throughput (kbit/s)", ylim=(0, 220))


DRAWN = {
    "wired": axes(wired),
    "demand-assignment": axes(demand_assignment),
    "link-coding": axes(link_coding),
    "tdma": axes(tdma_link),
    "wifi": axes(wifi),
    "ad-hoc": axes(mobile_ad_hoc),
    "gsm": axes(gsm),
    "trace": axes(trace),
    "queue-drop-tail": axes(drop_tail),
    "queue-red": axes(red),
    "queue-codel": axes(codel),
    "queue-fq-codel": axes(fq_codel),
    "queue-pie": axes(pie),
    "queue-priority": axes(priority),
    "channel-packet-errors": axes(packet_errors),
    "channel-bit-errors": axes(bit_errors),
    "channel-burst-loss": axes(burst_loss),
    "channel-jitter": axes(jitter),
    "profile-rfc": axes(profile_rfc),
    "profile-ns2": axes(profile_ns2),
    "congestion-reno": axes(growth("reno")),
    "congestion-newreno": axes(newreno),
    "congestion-cubic": axes(growth("cubic")),
    "profile-scps-tp": axes(scps_tp),
    "congestion-scalable": axes(growth("scalable")),
    "congestion-bic": axes(growth("bic")),
    "congestion-hybla": axes(growth("hybla")),
    "congestion-westwood": axes(growth("westwood")),
    "congestion-vegas": axes(vegas),
    "congestion-python": axes(python),
}
RUNS = {
    "ldacs1": ldacs1,
    "geo": geo,
    "handover": handover,
    "profile-linux-2.0.36": linux_2_0_36,
    "profile-linux-6": linux_6,
    "congestion-bbr": bbr,
    "profile-classic": classic,
}
