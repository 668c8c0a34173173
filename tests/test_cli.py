"""The command line, as a user meets it: in processes of its own."""

import json
import os
import signal
import subprocess
import sys

import pytest

from baton import Scenario
from baton.shipped import scenarios
from baton.summary import Discarded, FlowSummary, Handover, HandoverFlow, Summary


def only_json(process):
    """The one object on standard output."""
    lines = process.stdout.splitlines()
    assert len(lines) == 1
    return json.loads(lines[0])


def test_a_run_leaves_its_files_and_ends_with_the_path_of_the_report(baton, scenario, tmp_path):
    process = baton("run", scenario)
    assert process.returncode == 0, process.stderr
    folder = tmp_path / "results" / "short-1"
    assert process.stdout.splitlines()[-1] == "results/short-1/report.html"
    assert {path.name for path in folder.iterdir()} == {
        "manifest.json",
        "summary.json",
        "series.parquet",
        "packets.parquet",
        "report.html",
    }
    for word in ("download", "voice", "lan", "modem", "soft"):
        assert word in process.stdout
    assert process.stderr == ""


def test_json_is_one_object_with_the_promised_keys(baton, scenario):
    process = baton("run", scenario, "--json", "--seed", 7)
    summary = only_json(process)
    assert {*summary, "unlisted_handovers", "unlisted_flows", "cut"} == {
        *Summary.__annotations__,
        "expectations",
        "report",
    }
    assert (summary["scenario"], summary["seed"], summary["simulated_s"]) == ("short", 7, 4.0)
    download, voice = summary["flows"]
    assert {*download, "ping", "aerotp", "tp_plus_plus", "quic", "flow_class"} == {*FlowSummary.__annotations__}
    assert (download["name"], download["transport"]) == ("download", "tcp")
    assert (voice["name"], voice["transport"]) == ("voice", "udp")
    # 2 Mbit/s for 2 s bound what can have come by the handover; a tenth of it must.
    assert 50_000 < download["delivered_bytes"] < 550_000
    # 16 kbit/s for 4 s are 8000 bytes, less what is under way at the end.
    assert 7000 <= voice["delivered_bytes"] <= 8000
    (handover,) = summary["handovers"]
    assert {*handover, "mobile_class"} == {*Handover.__annotations__}
    assert (handover["at_s"], handover["from"], handover["to"], handover["kind"]) == (2.0, "lan", "modem", "soft")
    assert handover["flows"][0].keys() == HandoverFlow.__annotations__.keys()
    assert summary["discarded"].keys() == Discarded.__annotations__.keys()


def test_an_override_changes_the_run(baton, scenario):
    slow = only_json(baton("run", scenario, "--json", "--set", "links.lan.rate=200 kbit/s", "--out", "slow"))
    fast = only_json(baton("run", scenario, "--json", "--out", "fast"))
    assert slow["flows"][0]["delivered_bytes"] < fast["flows"][0]["delivered_bytes"] / 2


def test_a_folder_of_results_does_not_hide_the_shipped_scenario_of_its_name(baton):
    for _ in range(2):
        assert baton("run", "wavelan-to-gsm", "--force", "--out", "wavelan-to-gsm").returncode == 0
    process = baton("run", ".")
    assert (process.returncode, process.stderr) == (2, "baton: .: is a folder; expected a scenario file (TOML)\n")


def test_captures_are_written_when_asked_for(baton, scenario, tmp_path):
    assert baton("run", scenario, "--pcap", "--out", "out").returncode == 0
    names = {path.name for path in (tmp_path / "out").glob("*.pcapng")}
    assert names == {f"capture-{node}-{link}.pcapng" for node in ("server", "laptop") for link in ("lan", "modem")}


def test_an_existing_folder_is_kept_without_force_and_what_is_no_result_always(baton, scenario, tmp_path):
    kept = tmp_path / "out" / "thesis.txt"
    kept.parent.mkdir()
    kept.write_text("mine")
    for force in ([], ["--force"]):
        process = baton("run", scenario, "--out", "out", *force)
        assert process.returncode == 2
        assert "out: " in process.stderr
        assert kept.read_text() == "mine"
    assert baton("run", scenario, "--out", "again").returncode == 0
    process = baton("run", scenario, "--out", "again")
    assert process.returncode == 2
    assert "--force" in process.stderr
    assert baton("run", scenario, "--out", "again", "--force").returncode == 0


def test_an_expectation_that_fails_ends_with_status_3_and_is_shown(baton, scenario):
    process = baton("run", scenario, "--expect", "flows.download.goodput_bps > 1e9", "--expect", "seed == 1")
    assert process.returncode == 3
    assert "flows.download.goodput_bps > 1e9" in process.stdout
    assert "FAILED" in process.stdout
    assert "holds" in process.stdout
    assert process.stdout.splitlines()[-1].endswith("report.html")


def test_a_connection_that_failed_is_named_with_its_reason(baton, scenario, tmp_path):
    assert "FAILED" not in baton("run", scenario).stdout
    scenario.write_text(scenario.read_text() + '[[changes]]\nat = "1 s"\nlink = "lan"\nstate = "down"\n')
    process = baton(
        "run", scenario, "--force", "--set", "flows.download.transport.data_retries=0", "--set", "duration=20 s"
    )
    assert process.returncode == 0, process.stderr
    summary = json.loads((tmp_path / "results" / "short-1" / "summary.json").read_text())
    reasons = {flow["name"]: flow["failure"] for flow in summary["flows"]}
    assert reasons["download"] is not None
    failed = [line for line in process.stdout.splitlines() if line.startswith("FAILED")]
    assert failed == [f"FAILED download: {reasons['download']}"], "datagrams need no connection"


def test_a_scenario_holds_expectations_too_and_junit_has_them_all(baton, scenario, tmp_path):
    scenario.write_text('expect = ["flows.download.timeouts < 100"]\n' + scenario.read_text())
    process = baton("run", scenario, "--expect", "seed > 1", "--junit", "sub/junit.xml", "--json")
    assert process.returncode == 3
    assert [entry["holds"] for entry in only_json(process)["expectations"]] == [True, False]
    text = (tmp_path / "sub" / "junit.xml").read_text()
    assert 'tests="2" failures="1"' in text


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--expect", "flows.donwload.longest_stall_s < 2"], ["`donwload`", "`download`"]),
        (["--expect", "flows.download.stall < 2"], ["`stall`"]),
        (["--expect", "flows.download"], ["not an expectation"]),
        (["--set", "flows.download.transport.congestion=newrino"], ["newrino", "newreno"]),
        (["--set", "links.lan.rate=-1 Mbit/s"], ["links.lan.rate"]),
        (["--seed", "one"], ["--seed"]),
        (["--seed", str(2**64)], ["--seed"]),
        (["--junit", "."], [".: cannot write the JUnit file"]),
        (["--junit", "short.toml/junit.xml"], ["short.toml"]),
        (["--sed", "1"], ["--sed"]),
    ],
)
def test_wrong_input_ends_with_status_2_and_writes_nothing(baton, scenario, tmp_path, arguments, parts):
    process = baton("run", scenario, *arguments, "--json")
    assert process.returncode == 2
    error = only_json(process)["error"]
    assert error["exit_status"] == 2
    assert error["message"] in process.stderr
    for part in parts:
        assert part in error["message"]
    assert "Traceback" not in process.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["short.toml"]


def test_a_mistake_in_the_file_is_named_with_its_place(baton, scenario):
    text = scenario.read_text()
    scenario.write_text(text.replace('queue = "20 packets"', 'qeue = "20 packets"'))
    line = text[: text.index('queue = "20')].count("\n") + 1
    for command in ("run", "check"):
        process = baton(command, scenario)
        assert process.returncode == 2
        assert f"short.toml:{line}:1" in process.stderr
        assert "queue" in process.stderr
        assert process.stdout == ""


def test_a_scenario_that_is_not_there_is_answered_with_the_nearest(baton):
    process = baton("run", "wavelan-to-gms")
    assert process.returncode == 2
    assert "did you mean `wavelan-to-gsm`?" in process.stderr


def test_a_shipped_scenario_runs_by_name_anywhere(baton, tmp_path):
    process = baton("run", "wavelan-to-gsm")
    assert process.returncode == 0, process.stderr
    assert (tmp_path / "results" / "wavelan-to-gsm-1" / "report.html").is_file()


def test_a_handover_that_no_flow_meets_is_told(baton):
    assert "No flow was under way." not in baton("run", "wavelan-to-gsm").stdout
    process = baton("run", "wavelan-to-gsm", "--set", "flows.download.traffic.bytes=1 kB", "--force")
    assert "No flow was under way." in process.stdout


@pytest.mark.parametrize("path", scenarios().values(), ids=lambda path: path.stem)
def test_a_handover_of_a_shipped_scenario_meets_a_flow(path):
    handovers = Scenario.load(path).run().summary["handovers"]
    assert not handovers or any(handover["active"] for handover in handovers)


def test_every_shipped_scenario_is_listed_and_right(baton):
    names = [line.split()[0] for line in baton("list", "scenarios").stdout.splitlines()]
    assert "wavelan-to-gsm" in names
    for name in names:
        process = baton("check", name)
        assert process.returncode == 0, process.stderr


@pytest.mark.parametrize(
    ("what", "some"),
    [
        (
            "links",
            {"wired", "geo", "wifi", "gsm", "tdma", "wifi6", "lte", "5g", "starlink", "trace", "ad-hoc", "ldacs1"},
        ),
        ("queues", {"drop-tail", "red", "codel", "priority"}),
        ("congestion", {"reno", "newreno", "cubic", "bbr", "westwood", "scalable", "bic", "vegas", "hybla"}),
        ("profiles", {"rfc", "ns2", "linux-2.0.36", "linux-6", "classic", "scps-tp"}),
    ],
)
def test_what_there_is_can_be_listed(baton, what, some):
    names = {line.split()[0] for line in baton("list", what).stdout.splitlines()}
    assert names >= some


def test_the_schema_is_a_json_schema(baton):
    schema = json.loads(baton("schema").stdout)
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert {"name", "duration", "links", "flows"} <= schema["properties"].keys()


def test_traces_are_imported(baton, tmp_path):
    (tmp_path / "recorded.csv").write_text("time_s,rate_mbps\n0,5\n1,2\n2,5\n")
    process = baton("trace", "import", "recorded.csv")
    assert process.returncode == 0, process.stderr
    assert (tmp_path / "recorded.down.csv").is_file()


def test_help_and_version(baton):
    assert baton("--version").stdout == "baton 0.1.0\n"
    for arguments in ([], ["--help"]):
        process = baton(*arguments)
        assert process.returncode == 0
        assert "run" in process.stdout
    assert baton("frobnicate").returncode == 2


def test_a_run_can_be_repeated_and_compared(baton, scenario, tmp_path):
    assert (
        baton("run", scenario, "--pcap", "--seed", 5, "--set", "links.lan.delay=7 ms", "--out", "out").returncode == 0
    )
    scenario.unlink()
    process = baton("rerun", "out/manifest.json")
    assert process.returncode == 0, process.stdout + process.stderr
    assert "series.parquet: the same" in process.stdout
    assert "capture-laptop-lan.pcapng: the same" in process.stdout

    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    manifest["results"]["packets.parquet"] = "0" * 64
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest))
    process = baton("rerun", "out")
    assert process.returncode == 1
    assert "packets.parquet: DIFFERS" in process.stdout
    assert "series.parquet: the same" in process.stdout


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": 1}'])
def test_what_is_no_manifest_is_refused(baton, tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    process = baton("rerun", "manifest.json")
    assert process.returncode == 2
    assert process.stderr.startswith("baton: manifest.json: is ")
    assert baton("rerun", "nowhere.json").returncode == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["list", "remedies"], ""),
        (["--version"], ""),  # so short that it is written only at the end
        (["run", "short.toml"], ""),
        (["run", "short.toml", "--seed", "one", "--json"], "baton: Invalid value for '--seed'"),
    ],
)
def test_a_reader_that_goes_away_ends_it_quietly(scenario, tmp_path, arguments, told):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "baton", *arguments]
    process = subprocess.run(
        command, cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE, text=True, check=False, timeout=120
    )
    os.close(writing)
    assert process.returncode == 128 + signal.SIGPIPE, "as POSIX shells tell of a program that a signal ended"
    assert process.stderr.startswith(told)
    assert process.stderr.count("\n") == bool(told)
    if arguments == ["run", "short.toml"]:
        folder = tmp_path / "results" / "short-1"
        assert json.loads((folder / "manifest.json").read_text())["complete"]
        assert (folder / "report.html").read_text().rstrip().endswith("</html>")
