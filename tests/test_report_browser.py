"""The report in headless Chromium, with the network cut off: what a reader sees and can do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from baton import report  # noqa: E402
from baton.compare import page as comparison_page  # noqa: E402
from baton.compare.measure import compare  # noqa: E402
from baton.compare.runs import open_run  # noqa: E402
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


def drawn(page: Any, times: int) -> None:
    """Waits until the page has drawn all panels so many times."""
    page.wait_for_function(f"Number(document.body.dataset.drawn) >= {times}", timeout=60_000)


def ranges(page: Any) -> list[list[float]]:
    return page.evaluate("[...document.querySelectorAll('.plot')].map((plot) => plot.layout.xaxis.range)")


def titles(page: Any) -> list[str]:
    return page.evaluate("[...document.querySelectorAll('.panel h3')].map((h) => h.firstChild.textContent)")


TCP_PANELS = ["Time\u2013sequence", "Congestion window", "Round-trip time and timeout", "Queues", "Goodput"]


def test_panels_tables_and_handovers_are_there(open_page: Any, handover_report: Path, tmp_path: Path) -> None:
    page = open_page(handover_report)
    assert titles(page) == TCP_PANELS
    assert page.locator("table").count() == 2
    assert page.locator("table th[scope=col]").count() == 20
    marks = page.evaluate(
        "[...document.querySelectorAll('.plot')].map((plot) => [plot.layout.annotations.map((a) => a.text),"
        " plot.layout.shapes.filter((s) => s.type === 'rect').map((s) => [s.x0, s.x1])])"
    )
    assert marks == [[["wavelan \u2192 gsm", "gsm \u2192 wavelan"], [[20, 21.5]]]] * 5
    units = page.evaluate("[...document.querySelectorAll('.plot')].map((p) => p.layout.yaxis.title.text)")
    assert units == ["", "kB", "s", "packets", "kbit/s"], "the first has its unit at the ticks"
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
    goodput = page.locator(".panel").nth(4)
    goodput.get_by_role("button", name="log").click()
    assert page.evaluate("state.panels[4].plot.layout.yaxis.type") == "log"
    goodput.get_by_role("button", name="over gsm").click()
    assert page.evaluate("state.panels[4].plot.data.map((trace) => trace.visible)") == [True, True, False]


def test_another_flow_is_chosen(open_page: Any, handover_report: Path, tmp_path: Path) -> None:
    page = open_page(handover_report, width=390)
    assert page.locator("#flow option").all_inner_texts() == ["download", "download 2", "ping"]
    page.locator("#flow").select_option(label="ping")
    drawn(page, 2)
    assert titles(page) == ["One-way delay", "Packets", "Round-trip time and timeout", "Queues", "Goodput"]
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
        ("A: congestion window", "solid"),
        ("B: congestion window", "dash"),
    ]
    assert drawn_as[0][2] != drawn_as[1][2]
    points = page.evaluate("state.panels[0].plot.data.map((t) => [t.name, t.x.length])")
    assert {name for name, count in points if count} >= {"A: segment", "B: segment", "A: retransmission"}
    assert "flows only in B: download 2" in page.locator("main").inner_text()
    page.locator("#view").select_option(index=1)
    drawn(page, 2)
    low, high = ranges(page)[0]
    assert low < 20 < high < 45
    page.screenshot(path=str(tmp_path / "compared.png"), full_page=True)
