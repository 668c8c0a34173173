"""The report in headless Chromium, with the network cut off: what a reader sees and can do."""

from __future__ import annotations

import csv
import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")
imread = pytest.importorskip("matplotlib.image").imread
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from baton import report  # noqa: E402
from baton.compare import page as comparison_page  # noqa: E402
from baton.compare.measure import compare  # noqa: E402
from baton.compare.runs import open_run  # noqa: E402
from baton.reproduce import page as study_page  # noqa: E402
from baton.reproduce.checks import Reproduced  # noqa: E402
from baton.reproduce.figures import Curve, Figure  # noqa: E402
from report_folder import handover_folder, large_folder  # noqa: E402

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed (apt install chromium)")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def handover_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report.write(handover_folder(tmp_path_factory.mktemp("report") / "run", flows=2))


@pytest.fixture
def open_page(browser: Any) -> Iterator[Any]:
    """Opens a report; afterwards fails on anything the page complained about or tried to fetch."""
    contexts, complaints = [], []

    def opened(path: Path, width: int = 1200, scheme: str = "light") -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda asked: complaints.append(asked.url) if asked.url.startswith("http") else None)
        page.goto(path.as_uri())
        drawn(page, 1)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


def test_figures_of_a_study_are_drawn_in_both_schemes(open_page: Any, tmp_path: Path) -> None:
    x = np.arange(100, dtype=np.float64)
    line = Curve("with an interval", x, x, 0, x - 1, x + 1)
    points = Curve("points", x[:2], x[:2], 7, x[:2] - 1, x[:2] + 1, "points")
    figures = [
        Figure("Lines", "time (s)", "packets", [line, replace(line, name="dashed", look=6)], marks=[(50, "here")]),
        Figure("Points", "", "s", [points], names=["one", "other"]),
        Figure("Rates", "rate", "MB", [replace(line, x=x + 1)], logarithmic="x"),
        Figure("Delays", "rate", "ms", [line, replace(line, name="beside", aside=True, low=None)], logarithmic="y"),
    ]
    file = study_page.write_page(tmp_path / "report.html", "a study", Reproduced([], figures), [])
    for scheme in ("light", "dark"):
        page = open_page(file, scheme=scheme)
        assert [page.locator(f"#figure-{place} .scatterlayer .trace").count() for place in range(4)] == [4, 1, 2, 3]
        scales = [
            page.evaluate(f"$('figure-{place}').layout.{axis}.type") for place in (2, 3) for axis in ("xaxis", "yaxis")
        ]
        assert scales == ["log", "linear", "linear", "log"]
        assert page.locator("#figure-0 .annotation-text").all_text_contents() == ["here"]
        assert page.locator("#figure-1 .xtick").all_text_contents() == ["one", "other"]


def drawn(page: Any, times: int) -> None:
    """Waits until the page has drawn all panels so many times."""
    page.wait_for_function(f"Number(document.body.dataset.drawn) >= {times}", timeout=60_000)


def ranges(page: Any) -> list[list[float]]:
    return page.evaluate(
        "state.panels.filter((panel) => !panel.panel.across).map(({ plot }) => plot.layout.xaxis.range)"
    )


def titles(page: Any) -> list[str]:
    return page.evaluate("[...document.querySelectorAll('.panel h3')].map((h) => h.firstChild.textContent)")


TCP_PANELS = [
    "Time\u2013sequence",
    "Congestion window",
    "Round-trip time and timeout",
    "One-way delay",
    "Queues",
    "Goodput",
    "Distribution of the one-way delay",
]


def test_panels_tables_and_handovers_are_there(open_page: Any, handover_report: Path, tmp_path: Path) -> None:
    page = open_page(handover_report)
    assert titles(page) == TCP_PANELS
    assert page.locator("table").count() == 2
    assert page.locator("table th[scope=col]").count() == 21
    marks = page.evaluate(
        "[...document.querySelectorAll('.plot')].map((plot) => [plot.layout.annotations.map((a) => a.text),"
        " plot.layout.shapes.filter((s) => s.type === 'rect').map((s) => [s.x0, s.x1])])"
    )
    assert marks == [[["wavelan \u2192 gsm", "gsm \u2192 wavelan"], [[20, 21.5]]]] * 6 + [[[], []]], (
        "none in a distribution"
    )
    units = page.evaluate("[...document.querySelectorAll('.plot')].map((p) => p.layout.yaxis.title.text)")
    assert units == ["", "kB", "s", "ms", "packets", "kbit/s", ""], "the first has its unit at the ticks"
    page.screenshot(path=str(tmp_path / "light.png"), full_page=True)
    assert (tmp_path / "light.png").stat().st_size > 50_000


def test_zooming_one_panel_zooms_all_and_resets(open_page: Any, handover_report: Path) -> None:
    page = open_page(handover_report)
    whole = ranges(page)
    page.locator(".plot").nth(1).scroll_into_view_if_needed()
    box = page.locator(".plot .nsewdrag").nth(1).bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 90)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 92, steps=5)
    page.mouse.up()
    drawn(page, 2)
    zoomed = ranges(page)
    assert all(one == zoomed[1] for one in zoomed)
    assert zoomed[1] == pytest.approx([0.3 * 61.2 - 0.6, 0.5 * 61.2 - 0.6], abs=0.2)
    page.locator("#reset").click()
    drawn(page, 3)
    assert ranges(page) == whole


def test_a_handover_is_shown_close_up(open_page: Any, handover_report: Path, tmp_path: Path) -> None:
    page = open_page(handover_report, scheme="dark")
    page.locator("a[data-mark]").first.click()
    drawn(page, 2)
    low, high = ranges(page)[0]
    assert low < 20 < 21.5 < high < 30
    assert page.locator("#view").input_value() == "0"
    after = page.evaluate("extent(state.panels[0].panel.traces[0], 20, state.view.to)[0]")
    bottom = page.evaluate("state.panels[0].plot.layout.yaxis.range[0]")
    assert after * 0.95 < bottom < after, "bytes are fitted to what comes after the handover"
    page.keyboard.press("+")
    drawn(page, 3)
    assert ranges(page)[0][1] - ranges(page)[0][0] == pytest.approx((high - low) / 2)
    page.screenshot(path=str(tmp_path / "dark.png"), full_page=True)


def test_a_scale_becomes_logarithmic_and_a_trace_is_hidden(open_page: Any, handover_report: Path) -> None:
    page = open_page(handover_report)
    goodput = page.locator(".panel").nth(5)
    goodput.get_by_role("button", name="log").click()
    assert page.evaluate("state.panels[5].plot.layout.yaxis.type") == "log"
    goodput.get_by_role("button", name="over gsm").click()
    assert page.evaluate("state.panels[5].plot.data.map((trace) => trace.visible)") == [True, True, False]


def test_another_flow_is_chosen(open_page: Any, handover_report: Path, tmp_path: Path) -> None:
    page = open_page(handover_report, width=390)
    assert page.locator("#flow option").all_inner_texts() == ["download", "download 2", "ping"]
    page.locator("#flow").select_option(label="ping")
    drawn(page, 2)
    assert titles(page) == [
        "One-way delay",
        "Packets",
        "Round-trip time and timeout",
        "Queues",
        "Goodput",
        "Distribution of the one-way delay",
    ]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390, "a narrow screen need not scroll sideways"
    page.screenshot(path=str(tmp_path / "narrow.png"), full_page=True)


def test_what_is_drawn_is_what_was_recorded(open_page: Any, handover_report: Path) -> None:
    """Close to the points, the page has the very numbers of the table, through packing and unpacking."""
    from baton.report.tables import read_run

    panel = report.describe(read_run(handover_report.parent)).flows[0].panels[0]
    page = open_page(handover_report)
    for number, trace in enumerate(panel.traces):
        seen = page.evaluate(
            f"[state.panels[0].panel.traces[{number}]].map((t) => [t.x.length, [...t.x], [...t.y]])[0]"
        )
        assert seen[0] == len(trace.time_ns)
        assert seen[1] == pytest.approx((trace.time_ns / 1e9).tolist(), abs=1e-9)
        assert seen[2] == trace.value.tolist()


def test_losses_stay_visible_among_a_hundred_thousand_segments(open_page: Any, tmp_path: Path) -> None:
    page = open_page(report.write(large_folder(tmp_path, segments=100_000)))
    names = page.evaluate("state.panels[0].plot.data.map((trace) => [trace.name, trace.x.length])")
    points = dict(names)
    assert points["segment"] < 3 * 8001, "no more than the screen can show"
    lost = page.evaluate("state.panels[0].panel.traces.find((t) => t.name === 'lost segment').x.length")
    assert 60 < lost < 140
    assert points["lost segment"] > 0.8 * lost, "only those that fall on one another are left out"
    page.evaluate("show({ from: 50, to: 50.2 })")
    drawn(page, 2)
    inside = page.evaluate(
        "state.panels[0].plot.data.find((t) => t.name === 'segment').x.filter((x) => x > 50 && x < 50.2)"
    )
    assert len(inside) == pytest.approx(2 * 200, abs=8), "zooming in brings every segment back: two ends of each"


def test_strokes_are_drawn_where_the_numbers_are_and_tell_what_they_are(open_page: Any, handover_report: Path) -> None:
    """Plotly knows bars and dots, and the page draws them: in the same places, in logarithmic scale too."""
    page = open_page(handover_report)
    for panel in (0, 2):
        assert page.evaluate(f"({OFF_PLACE})({panel})") < 0.2, "pixels"
    page.locator(".panel").nth(2).get_by_role("button", name="log").click()
    assert page.evaluate(f"({OFF_PLACE})(2)") < 0.2
    page.locator(".panel").nth(0).get_by_role("button", name="retransmission").click()
    shown = page.evaluate("state.panels[0].plot.querySelectorAll('.strokes').length")
    assert shown == page.evaluate("state.panels[0].plot.data.filter((t) => t.mode === 'none').length") - 1
    page.evaluate("show({ from: 10, to: 10.2 })")
    drawn(page, 2)
    number = page.evaluate("state.panels[0].panel.traces.findIndex((trace) => trace.name === 'segment')")
    at = page.locator(f".scatterlayer .tracet{number} .strokes").first.get_attribute("d")
    inside = next(pair for pair in re.findall(r"M([-.\d]+) ([-.\d]+)V", at) if 300 < float(pair[0]) < 900)
    box = page.locator(".plot .nsewdrag").first.bounding_box()
    page.mouse.move(box["x"] + float(inside[0]), box["y"] + float(inside[1]))
    assert "segment" in page.locator(".hoverlayer .hovertext").first.text_content()


# Of all strokes of a panel, the farthest in pixels that one lies from where Plotly's axes put its ends.
OFF_PLACE = """(number) => {
  const plot = state.panels[number].plot, { xaxis, yaxis } = plot._fullLayout;
  return Math.max(...plot.data.filter((t) => t.mode === "none" && t.visible).map((trace) => {
    const path = plot.querySelector(`.scatterlayer .trace${trace.uid} .strokes`).getAttribute("d");
    const found = path.slice(1).split("M").map((stroke) => stroke.split(/[ V]/).map(Number));
    if (found.length !== trace.x.length / 3) return Infinity;
    return Math.max(...found.map(([x, top, end], i) => Math.max(Math.abs(x - xaxis.d2p(trace.x[3 * i])),
      Math.abs(top - yaxis.d2p(trace.y[3 * i])), Math.abs(end - yaxis.d2p(trace.y[3 * i + 1])))));
  }));
}"""


def test_a_million_segments(open_page: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Prints how long it takes; what is asserted does not depend on the machine."""
    folder = large_folder(tmp_path)
    begun = time.perf_counter()
    report_file = report.write(folder)
    written = time.perf_counter() - begun
    begun = time.perf_counter()
    page = open_page(report_file)
    opened = time.perf_counter() - begun
    size = report_file.stat().st_size / 1e6
    with capsys.disabled():
        print(f"\nA million segments: written in {written:.1f} s, {size:.1f} MB, interactive after {opened:.1f} s")
    assert size < 30
    every = page.evaluate("state.panels[0].panel.traces.find((t) => t.name === 'segment').x.length")
    assert every > 990_000, "all segments are in the page"
    points = dict(page.evaluate("state.panels[0].plot.data.map((trace) => [trace.name, trace.x.length])"))
    assert max(points.values()) < 3 * 8001, "no more than the screen can show is drawn"
    for name in ("lost segment", "retransmission"):
        farthest = page.evaluate(f"({FARTHEST})({json.dumps(name)})")
        assert farthest < 8, f"each {name} is drawn, or one within that many pixels of it"
    assert page.evaluate("state.panels[0].plot.layout.shapes.filter((s) => s.type === 'line').length") == 1
    page.evaluate("show({ from: 500, to: 500.2 })")
    drawn(page, 2)
    inside = page.evaluate(
        "state.panels.map((panel) => panel.plot.data.map((t) => t.x.filter((x) => x > 500 && x < 500.2).length))"
    )
    assert inside[0][1] == pytest.approx(2 * 200, abs=8), "two ends of each segment"
    assert inside[1][0] == pytest.approx(100, abs=4), "every value of the congestion window, one a millisecond or two"


# For every loss, how far in pixels the nearest one is that is drawn; the largest of these.
FARTHEST = """(name) => {
  const number = state.panels[0].panel.traces.findIndex((trace) => trace.name === name);
  const { x, y } = state.panels[0].panel.traces[number], shown = state.panels[0].plot.data[number];
  const { xaxis, yaxis, width, height } = state.panels[0].plot.layout;
  const acrossX = width / (xaxis.range[1] - xaxis.range[0]), acrossY = height / (yaxis.range[1] - yaxis.range[0]);
  return Math.max(...Array.from(x, (at, i) => Math.min(...shown.x.map((other, j) =>
    other === null ? Infinity : Math.hypot((at - other) * acrossX, (y[i] - shown.y[j]) * acrossY)))));
}"""


def test_it_prints_in_light_colours(open_page: Any, handover_report: Path, tmp_path: Path) -> None:
    page = open_page(handover_report, scheme="dark")
    page.pdf(path=str(tmp_path / "report.pdf"), format="A4")
    assert (tmp_path / "report.pdf").stat().st_size > 20_000
    page.evaluate("print(true)")
    assert page.evaluate("state.panels[1].plot.layout.font.color") == "#16181c"


def test_two_runs_are_drawn_in_the_same_panels(open_page: Any, tmp_path: Path) -> None:
    one = handover_folder(tmp_path / "one", seconds=45)
    other = handover_folder(tmp_path / "other", flows=2, seconds=45)
    page = open_page(comparison_page.write(compare(open_run(one), open_run(other)), tmp_path / "report.html"))
    shown = titles(page)
    assert shown[:4] == ["Time\u2013sequence", "Congestion window", "Round-trip time", "Goodput"]
    assert "Queue of gsm, down" in shown
    drawn_as = page.evaluate("state.panels[1].plot.data.map((t) => [t.name, t.line.dash, t.line.color])")
    assert [(name, dash) for name, dash, _ in drawn_as] == [
        ("one: congestion window", "solid"),
        ("other: congestion window", "dash"),
    ]
    assert drawn_as[0][2] != drawn_as[1][2]
    points = page.evaluate("state.panels[0].plot.data.map((t) => [t.name, t.x.length])")
    assert {name for name, count in points if count} >= {"one: segment", "other: segment", "one: retransmission"}
    assert "flows only in other: download 2" in page.locator("main").inner_text()
    page.locator("#view").select_option(index=1)
    drawn(page, 2)
    low, high = ranges(page)[0]
    assert low < 20 < high < 45
    page.screenshot(path=str(tmp_path / "compared.png"), full_page=True)


def sweep_page(folder: Path) -> Path:
    """A sweep over a numeric axis and one of words, made by the engine."""
    from baton.cli import app
    from conftest import SCENARIO

    scenario = folder / "short.toml"
    scenario.write_text(SCENARIO.replace('rate = "2 Mbit/s"', 'rate = "2 Mbit/s"\npacket_error_rate = 0.01'))
    axes = [
        "--set",
        "flows.download.transport.congestion=reno,cubic",
        "--set",
        "links.lan.rate=1 Mbit/s,2 Mbit/s,500 kbit/s,fast",
    ]
    status = app(["sweep", str(scenario), *axes, "--seeds", "12", "--out", str(folder / "out")], standalone_mode=False)
    assert status == 1, "one rate is none"
    return folder / "out" / "report.html"


def test_the_page_of_a_sweep(open_page: Any, tmp_path: Path) -> None:
    report_file = sweep_page(tmp_path)
    found = json.loads((report_file.parent / "statistics.json").read_text())
    page = open_page(report_file)
    assert titles(page) == [
        "Mean and 95 % interval",
        "Means over two axes",
        "Paired differences on the same seeds",
        "Runs of each point",
        "Distribution of the runs",
    ]
    assert page.locator("#points tbody tr").count() == 8
    assert "links.lan.rate = fast" in page.locator("main > section").first.inner_text(), "what failed stands first"
    name = page.locator("#quantity option:checked").inner_text()
    assert name == "Stall of download, handover 1", "what handovers did comes first"
    assert page.locator("h1").inner_text() == "short"
    assert page.locator(".lead").inner_text() == "A download meets a handover"
    told = page.locator(".facts").inner_text()
    assert "congestion of download, rate of lan" in told
    assert re.search(r"Made on\s+\d{4}-\d\d-\d\d", told)
    assert re.search(r"Baton\s+\d+\.\d+\.\d+", told)
    box = page.evaluate("document.querySelector('#boxes .plot').data.map((trace) => [trace.name, trace.x.length])")
    assert [length for _, length in box] == [point["runs"] for point in found["points"]] == [12, 12, 12, 0] * 2
    # Over words, a point each: means and ends of intervals are those of the statistics.
    drawn_means = page.evaluate("sweep.quantities[0].points.map((s) => s && s.slice(0, 3))")
    name = page.evaluate("sweep.quantities[0].name")
    told = [point["quantities"].get(name) for point in found["points"]]
    assert drawn_means == [each and [each["mean"], each["low"], each["high"]] for each in told]
    page.locator("#across").select_option(label="congestion of download")
    drawn(page, 2)
    ticks = page.evaluate("document.querySelector('#heat .plot').layout.xaxis.ticktext")
    assert ticks == ["reno", "cubic"]
    page.locator("#quantity").select_option(label="Longest stall of download")
    drawn(page, 3)
    assert page.evaluate("document.querySelector('#boxes .plot').layout.xaxis.ticksuffix") == "s"
    axis = page.evaluate("document.querySelector('#curves .plot').layout.yaxis.title.text")
    assert axis == "Longest stall of download"
    for ticks in ("#boxes .ytick", "#curves .xtick", "#heat .xtick", "#differences .ytick"):
        assert overlapping(page, f"{ticks} text") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 1200
    # The file has what the statistics have, under the same names.
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as CSV").click()
    assert saved.value.suggested_filename == "flows.download.longest_stall_s.csv"
    with Path(saved.value.path()).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(found["points"])
    for row, point in zip(rows, found["points"], strict=True):
        assert {axis: row[axis] for axis in point["set"]} == point["set"]
        stall = point["quantities"].get("flows.download.longest_stall_s")
        assert row["mean"] == "" if stall is None else float(row["mean"]) == stall["mean"]
    with page.expect_download() as saved:
        page.locator("#distribution").get_by_role("button", name="PNG").click()
    image = imread(saved.value.path())
    assert image.shape[1] == 2 * page.evaluate("document.querySelector('#distribution .plot').layout.width")
    assert image[..., :3].std() > 0.05, "something is drawn"
    page.screenshot(path=str(tmp_path / "sweep.png"), full_page=True)


# Pairs of texts that cover each other by more than a pixel.
OVERLAPPING = """(selector) => {
  const boxes = [...document.querySelectorAll(selector)].filter((each) => each.textContent.trim())
    .map((each) => [each.textContent, each.getBoundingClientRect()]);
  return boxes.flatMap(([text, a], i) => boxes.slice(i + 1).filter(([, b]) =>
    a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)
    .map(([other]) => [text, other]));
}"""


def overlapping(page: Any, selector: str) -> list[list[str]]:
    return page.evaluate(f"({OVERLAPPING})({json.dumps(selector)})")


def test_labels_of_a_map_stand_apart(open_page: Any, tmp_path: Path) -> None:
    """Of aircraft that start at one place beneath a cell's middle and are handed over near another's."""
    folder = handover_folder(tmp_path, seconds=5)
    summary = json.loads((folder / "summary.json").read_text())
    cells = [{"cell": f"c{n:02}", "latitude": 50.0, "longitude": 5.0 + 2 * n, "radius_m": 1e5} for n in range(4)]
    track = [
        {"at_s": float(n), "latitude": 50.0, "longitude": 5.0 + n, "altitude_m": 9e3, "cell": f"c{(n + 1) // 2:02}"}
        for n in range(6)
    ]
    fleet = [f"aircraft-{n}" for n in range(6)]
    summary["radios"] = [
        {"link": "radio", "cells": cells, "aircraft": [{"mobile": name, "track": track} for name in fleet]}
    ]
    summary["handovers"] = [
        {"mobile": name, "at_s": at + 0.02 * n, "from": f"radio.c00.{name}", "to": f"radio.c01.{name}", "kind": "hard"}
        for n, name in enumerate(fleet)
        for at in (2.0, 4.0)
    ]
    (folder / "summary.json").write_text(json.dumps(summary))
    page = open_page(report.write(folder), width=1400)
    assert overlapping(page, "#maps text, #maps .at") == [], "no label covers another one"
    covered = page.evaluate(f"({COVERED})()")
    assert covered == [], "nor the mark of a handover"
    shown = page.locator("#maps text").all_text_contents()
    assert {"c00", "c01", "c02", "c03"} <= set(shown), "cells have their names before all others"
    assert page.evaluate("document.documentElement.scrollWidth") <= 1400


def test_a_map_plays_the_run(open_page: Any, tmp_path: Path) -> None:
    """Of two aircraft one exists from 2 s to 4 s of 5 s, and goes from the middle of one cell to that of another."""
    folder = handover_folder(tmp_path, seconds=5)
    summary = json.loads((folder / "summary.json").read_text())
    loads = [[2.0, 1.0, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0, 4.0]]
    cells = [
        {"cell": f"c{n}", "latitude": 50.0, "longitude": 5.0 + 2 * n, "radius_m": 1e5}
        | {"load": {"stretch_s": 1.0, "aircraft": loads[n], "forward_bps": [0.0] * 5, "return_bps": [0.0] * 5}}
        for n in range(2)
    ]

    def track(*places: tuple[float, float]) -> list[dict[str, Any]]:
        return [
            {"at_s": at, "latitude": 50.0, "longitude": longitude, "altitude_m": 9e3, "cell": "c0"}
            for at, longitude in places
        ]

    tracks = {"stays": track((0.0, 5.0), (5.0, 5.0)), "flies": track((2.0, 5.0), (4.0, 7.0))}
    aircraft = [{"mobile": name, "track": places} for name, places in tracks.items()]
    summary["radios"] = [{"link": "radio", "cells": cells, "aircraft": aircraft}]
    (folder / "summary.json").write_text(json.dumps(summary))
    page = open_page(report.write(folder))
    slider = page.locator("#maps .player input")

    def shown(share: float) -> tuple[list[float], list[float], str]:
        slider.fill(str(share))
        dots = page.evaluate(
            "[...document.querySelectorAll('#maps .mobile')].filter((dot) => dot.style.display != 'none')"
            ".map((dot) => Number(dot.getAttribute('cx')))"
        )
        filled = page.evaluate(
            "[...document.querySelectorAll('#maps circle.cell')].map((cell) => Number(cell.style.fillOpacity))"
        )
        return dots, filled, page.locator("#maps .player output").text_content()

    middles = page.evaluate(
        "[...document.querySelectorAll('#maps circle.cell')].map((cell) => Number(cell.getAttribute('cx')))"
    )
    dots, filled, text = shown(0.1)
    assert dots == [pytest.approx(middles[0], abs=0.1)]
    assert filled == [pytest.approx(0.06 + 0.7 / 2), pytest.approx(0.06)]
    assert text == "00:00:00, 2 mobiles in cells"
    dots, _, text = shown(0.6)
    assert dots[1] == pytest.approx(sum(middles) / 2, abs=0.2), "half way at 3 s"
    assert text == "00:00:03, 2 mobiles in cells"
    dots, filled, _ = shown(0.9)
    assert len(dots) == 1
    assert filled[1] == pytest.approx(0.76), "the most of all"
    page.locator("#maps .player button").click()
    page.wait_for_function("Number(document.querySelector('#maps .player input').value) > 0.9")
    assert page.locator("#maps .player button").text_content() == "Stop"


# Labels of the map that cover the mark of a handover.
COVERED = """() => {
  const marks = [...document.querySelectorAll("#maps .at")].map((each) => each.getBoundingClientRect());
  return [...document.querySelectorAll("#maps text")].filter((text) => {
    const a = text.getBoundingClientRect();
    const across = (b) => a.left < b.right - 2 && b.left < a.right - 2;
    return marks.some((b) => across(b) && a.top < b.bottom - 2 && b.top < a.bottom - 2);
  }).map((text) => text.textContent);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_scrolls_tables_and_not_the_page(open_page: Any, tmp_path: Path, scheme: str) -> None:
    page = open_page(report.write(handover_folder(tmp_path, flows=60, seconds=3)), width=390, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    wide = page.evaluate("[...document.querySelectorAll('.wide')].map((each) => each.scrollWidth > each.clientWidth)")
    assert any(wide), "the tables are wider than the screen"
    attachment = page.evaluate("getComputedStyle(document.querySelector('.wide')).backgroundAttachment")
    assert attachment == "local, local, scroll, scroll", "and show by a shadow that they go on"


def test_curves_of_a_sweep_over_numbers_ascend(open_page: Any, tmp_path: Path) -> None:
    """Values in different units, in any order: 1 Mbit/s, 2 Mbit/s, 500 kbit/s."""
    from baton.cli import app
    from conftest import SCENARIO

    (tmp_path / "short.toml").write_text(SCENARIO)
    rates = ["--set", "links.lan.rate=1 Mbit/s,2 Mbit/s,500 kbit/s", "--out", str(tmp_path / "out")]
    assert not app(["sweep", str(tmp_path / "short.toml"), *rates, "--seeds", "2"], standalone_mode=False)
    page = open_page(tmp_path / "out" / "report.html")
    (curve,) = page.evaluate(
        "document.querySelector('#curves .plot').data.filter((t) => t.mode !== 'lines').map((t) => t.x)"
    )
    assert curve == [0.5, 1, 2]
