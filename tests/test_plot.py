"""Printed figures: they hold the points of the report, say what they show, and can be read without colour."""

import base64
import itertools
import json
import re
import sys
import zlib

import numpy as np
import pyarrow.parquet as pq
import pytest
from matplotlib import colors, rcParams
from matplotlib.figure import Figure
from matplotlib.image import imread

import baton
from baton import report
from baton.errors import InputError
from baton.report import tables
from baton.report.figures import Panel
from baton.report.style import LOOKS, link_role
from conftest import SCENARIO

PLOTS = {
    "Time\u2013sequence": baton.plot_time_sequence,
    "Congestion window": baton.plot_window,
    "Round-trip time and timeout": baton.plot_round_trip,
    "Queues": baton.plot_queue,
    "Goodput": baton.plot_goodput,
}


@pytest.fixture(scope="module")
def result():
    return baton.Scenario.parse(SCENARIO).run()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Returns the contents of the page of the same run: its data, and its packed columns."""
    folder = tmp_path_factory.mktemp("page") / "run"
    baton.Scenario.parse(SCENARIO).run(folder)
    html = report.write(folder).read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1])
    blobs = dict(re.findall(r'<script type="text/plain" id="c(\d+)">(.*?)</script>', html, re.DOTALL))
    return data, blobs


def unpacked(column, blobs):
    """A column as the page's script reads it."""
    raw = zlib.decompress(base64.b64decode(blobs[str(column["blob"])]))
    words = np.frombuffer(raw, np.uint8).reshape(4, -1).T.copy()
    if column["kind"] == "float":
        return words.view("<f4").ravel().astype(float)
    folded = words.view("<u4").ravel().astype(np.int64)
    steps = np.where(folded & 1, -(folded >> 1) - 1, folded >> 1)
    for place, jump in column["jumps"]:
        steps[place] += jump
    return (column["start"] + np.cumsum(steps)) * column["unit"]


def drawn(axes):
    """The points of each curve of a matplotlib figure, by name: x, and y from bottom to top."""
    found = {}
    for line in axes.get_lines():
        if not line.get_label().startswith("_"):
            x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
            bars = len(y) % 3 == 0 and np.all(np.isnan(y[2::3]))  # bottom, top, gap
            found[line.get_label()] = (x[::3], y[::3], y[1::3]) if bars else (x, y, y)
    return found


@pytest.mark.parametrize("title", PLOTS)
def test_figure_and_report_hold_the_same_points(result, page, title):
    data, blobs = page
    [flow] = [flow for flow in data["flows"] if flow["name"] == "download"]
    [panel] = [panel for panel in flow["panels"] if panel["title"] == title]
    curves = drawn(PLOTS[title](result, "download").axes[0])
    assert sorted(curves) == sorted(trace["name"] for trace in panel["traces"])
    assert curves
    for trace in panel["traces"]:
        x, low, high = curves[trace["name"]]
        value = unpacked(trace["value"], blobs)
        height = unpacked(trace["height"], blobs) if "height" in trace else 0
        np.testing.assert_allclose(x, unpacked(trace["time"], blobs), rtol=0, atol=1e-9)
        np.testing.assert_allclose(low, value, rtol=1e-6)
        np.testing.assert_allclose(high, value + height, rtol=1e-6)


def test_figure_and_report_leave_out_the_same_of_a_run_that_is_too_large(monkeypatch, tmp_path):
    """Of a part of the packets no goodput by link can be told, neither on the page nor in print."""
    monkeypatch.setattr(tables, "MOST_PACKETS", 500)
    folder = tmp_path / "run"
    baton.Scenario.parse(SCENARIO).run(folder)
    read = tables.read_run(folder)
    assert read.packets.every > 1
    [flow] = [flow for flow in report.describe(read).flows if flow.name == "download"]
    panels = {panel.title: panel for panel in flow.panels}
    for title, plot in PLOTS.items():
        panel = panels[title]
        curves = drawn(plot(folder, "download").axes[0])
        assert sorted(curves) == sorted(trace.name for trace in panel.traces)
        for trace in panel.traces:
            np.testing.assert_array_equal(curves[trace.name][1], trace.value)


@pytest.mark.parametrize(
    ("title", "unit"), list(zip(PLOTS, ["byte offset", "(kB)", "s)", "packets", "bit/s)"], strict=True))
)
def test_a_figure_says_what_it_shows(result, title, unit):
    figure = PLOTS[title](result, "download")
    assert isinstance(figure, Figure)
    [axes] = figure.axes
    assert axes.get_title(loc="left") == title
    assert axes.get_xlabel() == "time (s)"
    assert unit in axes.get_ylabel()
    assert len(axes.get_legend().get_texts()) == len(drawn(axes))
    assert "lan → modem" in [text.get_text() for text in axes.texts]


def test_a_handover_is_shown_from_near(result):
    figure = baton.plot_handover(result, 1, "download")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == list(PLOTS)[:3]
    limits = {axes.get_xlim() for axes in figure.axes}
    [(low, high)] = limits
    assert 0 < low < 2 < high < 4
    ticks = [axes.get_xlabel() for axes in figure.axes]
    assert ticks == ["", "", "time (s)"]


STALL = "handovers.0.flows.download.stall_s"
SWEPT = {
    "curves": lambda sweep: baton.plot_curves(sweep, STALL),
    "curves over words": lambda sweep: baton.plot_curves(sweep, STALL, "flows.download.transport.congestion"),
    "distribution": lambda sweep: baton.plot_distribution(sweep, "flows.download.goodput_bps"),
    "bars": lambda sweep: baton.plot_bars(sweep, STALL),
}


@pytest.fixture(scope="module")
def sweep():
    scenario = baton.Scenario.parse(SCENARIO, overrides=["links.modem.packet_error_rate=0.02"])
    axes = {
        "flows.download.transport.congestion": ["reno", "cubic"],
        "links.modem.delay": ["40 ms", "80 ms", "160 ms", "20 ms"],
    }
    return baton.sweep.run(scenario, axes, seeds=4)


def longest_line(image):
    """The longest horizontal run of dark pixels, as a share of the width: an axis, where there is one."""
    longest = 0
    for row in image[..., :3].mean(axis=2) < 0.35:
        edges = np.flatnonzero(np.diff(np.concatenate(([0], row, [0]))))
        longest = max([longest, *(edges[1::2] - edges[::2])])
    return longest / image.shape[1]


@pytest.mark.parametrize("width_mm", [88, 180])
@pytest.mark.parametrize("drawn", [*PLOTS, "a handover", *SWEPT])
def test_figures_fill_the_width_of_a_column(result, sweep, tmp_path, drawn, width_mm):
    """As pixels, and also when a figure is saved for the second time: the axes are wide, and nothing is cut off."""
    with baton.style(width_mm=width_mm, font_size=8):
        if drawn in SWEPT:
            figure = SWEPT[drawn](sweep)
        else:
            figure = PLOTS.get(drawn, lambda run, flow: baton.plot_handover(run, 1, flow))(result, "download")
        figure.savefig(tmp_path / "first.pdf")
        figure.savefig(tmp_path / "second.png")
    image = imread(tmp_path / "second.png")
    assert image.shape[1] == pytest.approx(width_mm / 25.4 * 300, abs=1)
    assert longest_line(image) > 0.7
    border = [image[:2], image[-2:], image[:, :2], image[:, -2:]]
    assert min(edge.min() for edge in border) == 1.0, "ink at the edge of the canvas: something is cut off"
    canvas = figure.bbox
    for legend in [*figure.legends, *(axes.get_legend() for axes in figure.axes)]:
        if legend is not None:
            box = legend.get_window_extent()
            assert canvas.x0 <= box.x0 < box.x1 <= canvas.x1
            assert canvas.y0 <= box.y0 < box.y1 <= canvas.y1


def test_curves_of_a_sweep_are_its_means_and_intervals(sweep):
    figure = baton.plot_curves(sweep, STALL)
    [axes] = figure.axes
    assert axes.get_xlabel() == "links.modem.delay (ms)"
    assert axes.get_ylabel().replace("\n", " ") == "Stall of download, handover 1 (ms)"
    for container in axes.containers:
        [line] = [each for each in container.lines[:1]]
        told = [point for point in sweep.statistics["points"] if container.get_label() in point["set"].values()]
        told.sort(key=lambda point: float(point["set"]["links.modem.delay"].split()[0]))
        assert line.get_xdata().tolist() == [20, 40, 80, 160]
        stalls = [point["quantities"][STALL] for point in told]
        np.testing.assert_allclose(line.get_ydata().astype(float), [1e3 * stall["mean"] for stall in stalls])
        ends = [segment[:, 1] for segment in container.lines[2][0].get_segments()]
        np.testing.assert_allclose(ends, [[1e3 * stall["low"], 1e3 * stall["high"]] for stall in stalls])


def test_a_distribution_goes_from_none_to_all_of_the_runs(sweep):
    [axes] = baton.plot_distribution(sweep, STALL).axes
    values = np.array(sweep.runs[STALL].to_pylist())
    assert len(axes.get_lines()) == 8
    for point, line in enumerate(axes.get_lines()):
        own = np.sort(values[np.array(sweep.runs["point"].to_pylist()) == point])
        x, y = line.get_xdata(), line.get_ydata()
        assert (y[0], y[-1]) == (0, 1)
        for value in own:
            assert y[np.searchsorted(x, value, side="right") - 1] == pytest.approx(np.mean(own <= value))


def test_bars_of_a_sweep_are_its_means(sweep):
    [axes] = baton.plot_bars(sweep, STALL).axes
    heights = [bar.get_height() for bar in axes.patches]
    means = [point["quantities"][STALL]["mean"] for point in sweep.statistics["points"]]
    np.testing.assert_allclose(heights, 1e3 * np.array(means), err_msg="in ms")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["40 ms", "80 ms", "160 ms", "20 ms"]


def test_a_folder_of_a_sweep_is_drawn_like_the_sweep(sweep, tmp_path):
    pq.write_table(sweep.runs, tmp_path / "runs.parquet")
    (tmp_path / "statistics.json").write_text(json.dumps(sweep.statistics))
    [of_folder], [of_sweep] = (baton.plot_distribution(each, STALL).axes for each in (tmp_path, sweep))
    for one, other in zip(of_folder.get_lines(), of_sweep.get_lines(), strict=True):
        np.testing.assert_array_equal(one.get_xdata(), other.get_xdata())


def test_a_folder_is_drawn_like_the_result(result, tmp_path):
    folder = tmp_path / "run"
    baton.Scenario.parse(SCENARIO).run(folder)
    for run in (folder, str(folder)):
        for name, (x, low, _) in drawn(baton.plot_window(run, "download").axes[0]).items():
            again = drawn(baton.plot_window(result, "download").axes[0])[name]
            np.testing.assert_array_equal(x, again[0])
            np.testing.assert_array_equal(low, again[1])


def test_publication_form(result, tmp_path, monkeypatch):
    monkeypatch.setitem(rcParams, "savefig.bbox", "tight")  # as some people's settings have it
    before = dict(rcParams)
    with baton.style(width_mm=88, font_size=7):
        figure = baton.plot_handover(result, flow="download")
        assert figure.get_figwidth() == pytest.approx(88 / 25.4)
        for kind in ("pdf", "svg", "png"):
            figure.savefig(tmp_path / f"figure.{kind}")
    assert dict(rcParams) == before
    pdf = (tmp_path / "figure.pdf").read_bytes()
    [width] = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+)", pdf)
    assert float(width) / 72 * 25.4 == pytest.approx(88)
    assert b"/FontFile2" in pdf, "the fonts are embedded"
    assert b"/Type3" not in pdf, "and as TrueType, as journals ask"
    svg = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert ">congestion window</text>" in svg.replace("\n", "")
    assert float(re.search(r'<svg[^>]* width="([\d.]+)pt"', svg)[1]) / 72 * 25.4 == pytest.approx(88)
    baton.style(font_size=11)
    assert rcParams["font.size"] == 11
    rcParams.update(before)


def test_curves_of_a_panel_differ_without_colour():
    """Two curves of one panel differ in shape, dash, sign, width (by half) or lightness (by a fifth)."""
    together = [
        ["congestion window", "slow-start threshold", "bytes in flight"],
        ["smoothed round-trip time", "retransmission timeout"],
        ["total", *(link_role(number) for number in range(6))],
        ["segment", "retransmission"],
        ["drop", "dropped acknowledgement"],
    ]

    def lightness(role):
        return np.dot(colors.to_rgb(LOOKS[role].light), (0.299, 0.587, 0.114))

    for roles in together:
        for one, other in itertools.combinations(roles, 2):
            a, b = LOOKS[one], LOOKS[other]
            wider = max(a.width, b.width) >= 1.5 * min(a.width, b.width)
            assert (a.dash, a.sign) != (b.dash, b.sign) or wider or abs(lightness(one) - lightness(other)) >= 0.2, (
                one,
                other,
            )


def test_what_cannot_be_drawn_is_said(result, sweep, tmp_path, monkeypatch):
    quiet = baton.Scenario.parse(SCENARIO, overrides=["record.packets=false", "record.series=false"]).run()
    cases = [
        (lambda: baton.plot_window(result), "which flow? there is `download`, `voice`"),
        (lambda: baton.plot_window(result, "downlod"), "there is no flow `downlod`; did you mean `download`?"),
        (lambda: baton.plot_time_sequence(result, "voice"), "flow `voice` is not a TCP flow"),
        (lambda: baton.plot_time_sequence(quiet, "download"), "Packets were not recorded"),
        (lambda: baton.plot_handover(result, 2, "download"), "there is no handover 2; the run has 1"),
        (lambda: baton.plot_window(tmp_path, "download"), "is not a results folder"),
        (lambda: baton.plot_bars(tmp_path, STALL), "is not the folder of a sweep: it holds no runs.parquet"),
        (lambda: baton.plot_bars(sweep, STALL + "x"), f"did you mean `{STALL}`?"),
        (lambda: baton.plot_curves(sweep, STALL, "links.modem.dely"), "did you mean `links.modem.delay`?"),
    ]
    for call, message in cases:
        with pytest.raises(InputError, match=re.escape(message)):
            call()
    [text] = baton.plot_window(quiet, "download").axes[0].texts[:1]
    assert "Series were not recorded" in text.get_text()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for call in (lambda: baton.plot_window(result, "download"), baton.style):
        with pytest.raises(ImportError, match=r"pip install 'baton-handover\[plot\]'"):
            call()


def test_a_panel_without_traces_shows_its_note():
    from baton.plot.draw import figure

    axes = figure([Panel("Empty", "time", "s", [], "Nothing was recorded.")], []).axes[0]
    assert [text.get_text() for text in axes.texts] == ["Nothing was recorded."]
