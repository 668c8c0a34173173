"""Scenarios built in code, runs in threads, tables for other libraries, and what a notebook shows."""

import base64
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser

import duckdb
import nbformat
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from nbclient import NotebookClient

import baton
from conftest import SCENARIO

KEYS = {
    "name": "short",
    "description": "A download meets a handover",
    "duration": "4 s",
    "links": {
        "lan": dict(between=["server", "laptop"], kind="wired", rate="2 Mbit/s", delay="5 ms", queue="20 packets"),
        "modem": dict(
            between=["server", "laptop"], kind="wired", rate="100 kbit/s", delay="100 ms", queue="10 packets"
        ),
    },
    "mobiles": {
        "laptop": {"timetable": [{"at": "0 s", "attach": "lan"}, {"at": "2 s", "attach": "modem", "handover": "soft"}]}
    },
    "flows": [
        {"name": "download", "from": "server", "to": "laptop"},
        {
            "name": "voice",
            "from": "laptop",
            "to": "server",
            "transport": "udp",
            "traffic": {"kind": "constant", "rate": "16 kbit/s", "packet_size": "100 B"},
        },
    ],
}


def test_a_scenario_in_code_runs_like_the_file():
    built, read = baton.Scenario.build(**KEYS), baton.Scenario.parse(SCENARIO)
    assert (built.name, built.duration_s, built.flow_names) == ("short", 4.0, ["download", "voice"])
    assert built.resolved == read.resolved
    one, other = built.run(), read.run()
    assert pa.table(one.series).equals(pa.table(other.series))
    assert pa.table(one.packets).equals(pa.table(other.packets))


def test_overrides_and_traces_work_as_in_a_file(tmp_path):
    (tmp_path / "rates.csv").write_text("time_s,rate_bps\n0,1000000\n")
    recording = {"kind": "csv", "file": "rates.csv"}
    link = {"between": ["a", "b"], "kind": "trace", "recording": recording, "delay": "10 ms", "queue": "10 packets"}
    keys = {"name": "traced", "duration": "1 s", "links": {"radio": link}}
    built = baton.Scenario.build(directory=tmp_path, overrides=["seed=7"], **keys)
    assert built.seed == 7
    assert list(built.run().manifest["traces"]) == ["rates.csv"]
    with pytest.raises(baton.ScenarioError, match="scenario: links.radio.recording.file: "):
        baton.Scenario.build(**keys)


def changed(**more):
    return KEYS | more


def nested(depth):
    return nested(depth - 1) if depth < 0 else {"deeper": nested(depth - 1)} if depth else {}


CYCLE: dict = {}
CYCLE["again"] = CYCLE


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (changed(duration="4"), 'scenario: duration: "4" has no unit; expected a number with ns, us, ms, s'),
        (changed(duration=4), "scenario: duration: 4 has no unit; expected a number with"),
        (changed(linkz={}), 'scenario: linkz: unknown key "linkz"; did you mean "links"?'),
        (changed(flows=[{"name": "download", "from": "server"}]), 'scenario: flows.download: key "to" is missing'),
        (changed(flows=[KEYS["flows"][0] | {"to": "lap"}]), 'scenario: flows.download.to: unknown node "lap"'),
        (changed(seed=None), "scenario: seed: is None; leave the key out for its default"),
        (changed(links={"lan": object()}), "scenario: links.lan: is of type object; expected text, a number"),
        (changed(links={1: {}}), "scenario: links: a key is of type int; expected text"),
        (changed(flows=[{"traffic": {1}}]), "scenario: flows[0].traffic: is of type set"),
        (changed(seed=2**64), "scenario: seed: integer out of range; expected -2^63 to 2^63 - 1"),
        (changed(description="\ud800"), "scenario: description: is not Unicode text"),
        (changed(links=CYCLE), "nested more than 16 deep"),
        (changed(links=nested(40)), "nested more than 16 deep"),
        ({}, 'scenario: key "name" is missing; expected 1 to 64 letters'),
        (changed(format=3), "scenario: format: 3 is the format of a newer Baton; this one reads format 2"),
    ],
)
def test_mistakes_name_the_key_in_the_words_of_the_file(keys, message):
    with pytest.raises(baton.ScenarioError) as raised:
        baton.Scenario.build(**keys)
    assert message in str(raised.value)


def test_other_threads_go_on_during_a_run():
    """A thread that looks at the clock does so in the middle of a run, too: the interpreter lock is free."""
    looks, over = [], threading.Event()

    def look():
        while not over.wait(0.002):
            looks.append(time.perf_counter())

    scenario = baton.Scenario.parse(SCENARIO, overrides=["duration=40000 s", "record.packets=false"])
    looker = threading.Thread(target=look)
    looker.start()
    begun = time.perf_counter()
    scenario.run()
    ended = time.perf_counter()
    over.set()
    looker.join()
    third = (ended - begun) / 3
    assert any(begun + third < moment < ended - third for moment in looks)


def test_an_override_of_any_depth_is_answered():
    with pytest.raises(baton.ScenarioError, match="--set: 200003 nested keys; expected at most 16"):
        baton.Scenario.parse(SCENARIO, overrides=["links.lan." + "a." * 200_000 + "b=1"])


def test_two_threads_run_at_once():
    """Each run waits inside until the other has come as far: one alone would wait in vain."""
    both_under_way = threading.Barrier(2, timeout=60)
    scenario = baton.Scenario.parse(SCENARIO, overrides=["duration=40000 s", "record.packets=false"])
    results = {}

    def run(seed):
        waited = []

        def progress(*_):
            if not waited:
                waited.append(both_under_way.wait())

        results[seed] = scenario.run(seed=seed, progress=progress)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not both_under_way.broken
    assert results.keys() == {1, 2}
    assert all(result.complete for result in results.values())


def buffers(table):
    """Returns the addresses of a table's buffers, those of dictionaries too, by column."""
    for name in table.column_names:
        for chunk in pa.table(table)[name].chunks:
            yield from (buffer.address for buffer in chunk.buffers() if buffer)
            if pa.types.is_dictionary(chunk.type):
                yield from (buffer.address for buffer in chunk.dictionary.buffers() if buffer)


def test_tables_are_shared_not_copied():
    """Each taker gets the very memory of the engine, and it stays when the result has gone."""
    result = baton.Scenario.parse(SCENARIO).run()
    for table in (result.series, result.packets):
        assert len(set(buffers(table))) > 3
        assert list(buffers(table)) == list(buffers(table))
    assert list(buffers(result.series)) == list(buffers(result.series)), "also from one look at the result to the next"
    series = result.series
    address = pa.table(series)["value"].chunk(0).buffers()[1].address
    frame = pl.DataFrame(series)
    assert frame["value"].to_numpy(allow_copy=False).__array_interface__["data"][0] == address
    values = pa.table(series)["value"].chunk(0).to_numpy(zero_copy_only=True)
    assert values.__array_interface__["data"][0] == address
    del result, series, frame
    assert values.sum() > 0


def test_duckdb_reads_tables_as_they_are():
    packets = baton.Scenario.parse(SCENARIO).run().packets
    query = "select count(*), sum(wire_bytes) from packets where fate = 'delivered'"
    rows = pl.DataFrame(packets).filter(pl.col("fate").cast(pl.String) == "delivered")
    assert duckdb.sql(query).fetchall() == [(len(rows), rows["wire_bytes"].sum())]


def test_many_runs_in_threads_are_those_made_one_by_one():
    scenario = baton.Scenario.parse(SCENARIO, overrides=["links.lan.packet_error_rate=0.01"])

    def run(seed):
        result = scenario.run(seed=seed)
        numbers = {key: value for key, value in result.summary.items() if key != "wall_s"}
        return numbers, pa.table(result.series), pa.table(result.packets)

    with ThreadPoolExecutor(8) as threads:
        at_once = list(threads.map(run, range(50)))
    assert len({numbers["flows"][0]["delivered_bytes"] for numbers, _, _ in at_once}) > 10, "seeds differ"
    for seed, (numbers, series, packets) in enumerate(at_once):
        alone = run(seed)
        assert numbers == alone[0]
        assert series.equals(alone[1])
        assert packets.equals(alone[2])


def test_other_values_for_a_scenario(tmp_path):
    (tmp_path / "rates.csv").write_text("time_s,rate_bps\n0,1000000\n")
    recording = {"kind": "csv", "file": "rates.csv"}
    link = {"between": ["a", "b"], "kind": "trace", "recording": recording, "delay": "10 ms", "queue": "10 packets"}
    built = baton.Scenario.build(directory=tmp_path, name="traced", duration="1 s", links={"radio": link})
    other = built.with_overrides(["links.radio.delay=20 ms", "seed=5"]).with_overrides(["seed=6"])
    assert (built.seed, other.seed) == (1, 6)
    assert 'delay = "20 ms"' in other.resolved
    manifest = other.run().manifest
    assert manifest["overrides"] == ["links.radio.delay=20 ms", "seed=5", "seed=6"]
    assert list(manifest["traces"]) == ["rates.csv"]
    with pytest.raises(baton.ScenarioError, match='did you mean "delay"'):
        built.with_overrides(["links.radio.dely=20 ms"])


def test_tables_become_those_of_pandas_and_polars():
    result = baton.Scenario.parse(SCENARIO).run()
    for table in (result.series, result.packets):
        frames = table.to_pandas(), table.to_polars()
        assert isinstance(frames[0], pd.DataFrame)
        assert isinstance(frames[1], pl.DataFrame)
        for frame in frames:
            assert list(frame.columns) == table.column_names
            assert len(frame) == len(table)
    numbers = pa.table(result.packets)["wire_bytes"].to_pylist()
    assert result.packets.to_pandas()["wire_bytes"].tolist() == numbers
    assert result.packets.to_polars()["wire_bytes"].to_list() == numbers


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_library_that_is_not_there_is_named(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    series = baton.Scenario.parse(SCENARIO).run().series
    with pytest.raises(ImportError, match=f"{package} is not installed; install it with: pip install {package}"):
        getattr(series, f"to_{package}")()


class Balanced(HTMLParser):
    """Asserts that every tag is closed, and keeps the text."""

    def __init__(self, html):
        super().__init__()
        self.open, self.text = [], ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_a_notebook_shows_scenario_and_result(tmp_path):
    scenario = baton.Scenario.build(**changed(description="Two <links> & a handover"))
    shown = Balanced(scenario._repr_html_()).text
    assert "short Two <links> & a handover4 s, links lan, modem, flows download, voice" in shown
    assert 'rate = "2 Mbit/s"' in shown
    for result in (scenario.run(), scenario.run(tmp_path / "run")):
        html = result._repr_html_()
        shown = Balanced(html).text
        assert "short seed 1, 4 s" in shown
        assert "download" in shown
        assert "laptop: lan → modem" in shown
        assert "href" not in html
        table = Balanced(result.series._repr_html_()).text
        assert f"Table of {len(result.series):,} rows; the first 5:" in table
        assert "time_nsint64subjectstringseriesstringvaluedouble" in table
        assert "congestion window" in table
    assert repr(result) == f"<baton.Result of 'short', seed 1, in {tmp_path / 'run'}>"


def test_a_notebook_counts_the_links_of_a_fleet():
    cells = "".join(
        f'[links.radio.cells.c{number}]\nnode = "ground"\nposition = {{ latitude = 0, longitude = {number} }}\n'
        for number in (0, 1)
    )
    scenario = baton.Scenario.parse(
        'name = "fleet"\nduration = "1 s"\n[links.line]\nbetween = ["ground", "home"]\nkind = "wired"\n'
        f'[links.radio]\nkind = "ldacs1"\n{cells}[mobiles.a]\ncount = 1000\n'
        'timetable = [{ at = "0 s", attach = "radio" }]\ntrack.position = { latitude = 0, longitude = 0 }\n'
    )
    assert scenario.link_count == len(scenario.link_names) == 1 + 1000 * 2
    assert "fleet 1 s, 2,001 links" in Balanced(scenario._repr_html_()).text


CELLS = [
    f"import baton\nscenario = baton.Scenario.parse({SCENARIO!r})\nscenario",
    "result = scenario.run()\nresult",
    "result.packets",
    "baton.plot_window(result, 'download')",
    "from baton import tcp\ntcp.Connection.connect('10.0.0.1:1', '10.0.0.2:2', now=0)",
]


def test_a_notebook_runs_and_shows_everything(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [{kind: data for out in cell.outputs for kind, data in out["data"].items()} for cell in notebook.cells]
    assert "A download meets a handover" in shown[0]["text/html"]
    assert "modem" in shown[1]["text/html"]
    assert "wire_bytes" in shown[2]["text/html"]
    assert len(base64.b64decode(shown[3]["image/png"])) > 5000
    assert shown[4]["text/plain"] == "<baton.tcp.Connection 10.0.0.1:1 to 10.0.0.2:2, SYN-SENT>"


def test_a_report_is_written_of_a_run_or_its_folder(tmp_path):
    """The page is that of `baton run`; a run without a folder, and a folder without a run, are refused."""
    scenario = baton.Scenario.parse(SCENARIO)
    result = scenario.run(out=tmp_path / "run")
    assert not (tmp_path / "run" / "report.html").exists()
    page = baton.write_report(result)
    assert page == tmp_path / "run" / "report.html"
    text = page.read_text(encoding="utf-8")
    assert "A download meets a handover" in text
    page.unlink()
    assert baton.write_report(str(tmp_path / "run")) == page
    assert page.read_text(encoding="utf-8") == text
    with pytest.raises(baton.InputError, match="has no folder"):
        baton.write_report(scenario.run())
    (tmp_path / "empty").mkdir()
    with pytest.raises(baton.InputError, match="holds no manifest"):
        baton.write_report(tmp_path / "empty")


def test_the_runs_of_a_sweep_are_a_data_frame_in_one_call():
    scenario = baton.Scenario.parse(SCENARIO)
    found = baton.sweep.run(scenario, {"links.modem.delay": ["50 ms", "100 ms"]}, seeds=2)
    frame = found.runs.to_pandas()
    assert list(zip(frame["set.links.modem.delay"], frame["seed"], strict=True)) == [
        ("50 ms", 1),
        ("50 ms", 2),
        ("100 ms", 1),
        ("100 ms", 2),
    ]
