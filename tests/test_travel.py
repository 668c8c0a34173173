"""Results that are handed on: to another folder, another user, as one file."""

import gzip
import json
import shutil
import stat
import zipfile
import zlib

import pytest

from baton import FolderError, Scenario

NAME = "recordings/rate-"


@pytest.fixture
def recorded(scenario, tmp_path):
    """A scenario with a recording, in the folder of somebody with a name."""
    home = tmp_path / "home" / "dr.hildegard"
    home.mkdir(parents=True)
    (home / "rate.csv").write_text("time_s,rate_bps\n0,1000000\n2,500000\n4,2000000\n")
    wired = 'kind = "wired"\nrate = "2 Mbit/s"\ndelay = "5 ms"'
    files = {"down": f"{home}/rate.csv", "up": "rate.csv"}
    recordings = [f'{way}.recording = {{ kind = "csv", file = "{file}" }}' for way, file in files.items()]
    traced = "\n".join(['kind = "trace"', 'delay = "5 ms"', *recordings])
    assert wired in scenario.read_text()
    (home / "traced.toml").write_text(scenario.read_text().replace(wired, traced))
    return home / "traced.toml"


def contents(folder):
    """All bytes of a folder's files, unpacked where they are packed, by name."""
    for file in folder.rglob("*"):
        if file.is_file():
            yield file.name, file.read_bytes()


def test_a_run_is_repeated_where_its_author_is_not(baton, recorded, tmp_path):
    process = baton("run", recorded, "--out", "run", "--pcap", "--expect", "seed == 1")
    assert process.returncode == 0, process.stderr
    for name, content in contents(tmp_path / "run"):
        assert b"hildegard" not in content, name
        assert str(tmp_path).encode() not in content, name
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["origin"] == "traced.toml"
    (stored,) = manifest["traces"]
    assert stored.startswith(NAME)
    assert (tmp_path / "run" / stored).read_bytes() == (recorded.parent / "rate.csv").read_bytes()

    shutil.rmtree(recorded.parent)
    shutil.move(tmp_path / "run", tmp_path / "elsewhere" / "theirs")
    process = baton("rerun", "elsewhere/theirs")
    assert process.returncode == 0, process.stderr
    assert f"{stored}: the same" in process.stdout
    assert "packets.parquet: the same" in process.stdout


def test_a_run_from_python_travels_as_one_from_the_command_line_does(baton, recorded, tmp_path):
    result = Scenario.load(recorded).run(tmp_path / "run")
    assert baton("run", recorded, "--out", "other").returncode == 0
    of_python, of_command = ((tmp_path / name / "manifest.json").read_text() for name in ("run", "other"))
    keys = ("format", "origin", "resolved", "traces", "results")
    assert {key: json.loads(of_python)[key] for key in keys} == {key: json.loads(of_command)[key] for key in keys}
    assert result.manifest == json.loads(of_python)
    assert str(tmp_path) not in of_python
    shutil.rmtree(recorded.parent)
    process = baton("rerun", "run")
    assert process.returncode == 0, process.stderr


def test_force_from_python_leaves_what_is_not_ours(recorded, tmp_path):
    scenario = Scenario.load(recorded)
    foreign = tmp_path / "extension"
    (foreign / "src").mkdir(parents=True)
    (foreign / "manifest.json").write_text("{}")
    with pytest.raises(FolderError, match="is not a folder of results"):
        scenario.run(foreign, force=True)
    scenario.run(tmp_path / "run")
    scenario.run(tmp_path / "run" / ".." / "run", force=True)
    (tmp_path / "run" / "notes.txt").write_text("mine")
    with pytest.raises(FolderError, match=r"holds notes\.txt, which is not one of Baton's results"):
        scenario.run(tmp_path / "run", force=True)
    assert (tmp_path / "run" / "notes.txt").read_text() == "mine"
    assert (tmp_path / "run" / "packets.parquet").is_file()


def test_a_compressed_recording_travels_and_another_start_is_another_run(baton, recorded, tmp_path):
    rates = (recorded.parent / "rate.csv").read_bytes()
    (recorded.parent / "rate.csv.gz").write_bytes(gzip.compress(rates))
    text = recorded.read_text().replace("rate.csv", "rate.csv.gz")
    recorded.write_text(text.replace('kind = "trace"', 'kind = "trace"\nstart = "random"'))
    starts = set()
    for seed in (1, 2, 3):
        assert baton("run", recorded, "--seed", seed, "--out", f"run-{seed}").returncode == 0
        starts.add(json.loads((tmp_path / f"run-{seed}" / "manifest.json").read_text())["recordings_start_s"]["lan"])
    assert len(starts) == 3
    assert all(0 < start < 6 for start in starts)
    shutil.rmtree(recorded.parent)
    process = baton("rerun", "run-2")
    assert process.returncode == 0, process.stderr
    assert ".gz: the same" in process.stdout


def test_a_recording_that_did_not_travel_is_looked_for_where_it_is_said_to_be(baton, recorded, tmp_path):
    assert baton("run", recorded, "--out", "run").returncode == 0
    shutil.rmtree(tmp_path / "run" / "recordings")
    process = baton("rerun", "run")
    assert process.returncode == 2
    assert "baton: run/manifest.json: traces: recordings/rate-" in process.stderr
    assert "--traces DIR" in process.stderr
    assert ".toml:" not in process.stderr
    process = baton("rerun", "run", "--traces", recorded.parent)
    assert process.returncode == 0, process.stderr


def test_another_recording_is_noticed(baton, recorded, tmp_path):
    assert baton("run", recorded, "--out", "run").returncode == 0
    (stored,) = (tmp_path / "run" / "recordings").iterdir()
    stored.write_text("time_s,rate_bps\n0,1000000\n2,400000\n4,2000000\n")
    process = baton("rerun", "run")
    assert process.returncode == 1
    assert "packets.parquet: DIFFERS" in process.stdout


def test_a_mistake_in_a_manifest_is_told_of_the_manifest(baton, scenario, tmp_path):
    assert baton("run", scenario, "--out", "run").returncode == 0
    file = tmp_path / "run" / "manifest.json"
    manifest = json.loads(file.read_text())
    file.write_text(json.dumps(manifest | {"resolved": manifest["resolved"].replace("wired", "wierd")}))
    process = baton("rerun", "run")
    assert process.returncode == 2
    assert process.stderr.startswith("baton: run/manifest.json: resolved: links.lan.kind: unknown kind")
    assert "scenario.toml" not in process.stderr


def test_force_replaces_a_run_with_recordings(baton, recorded, tmp_path):
    assert baton("run", recorded, "--out", "run").returncode == 0
    (recorded.parent / "rate.csv").write_text("time_s,rate_bps\n0,1000000\n4,2000000\n")
    process = baton("run", recorded, "--out", "run", "--force")
    assert process.returncode == 0, process.stderr
    assert len(list((tmp_path / "run" / "recordings").iterdir())) == 1
    (tmp_path / "run" / "recordings" / "mine.csv").write_text("")
    process = baton("run", recorded, "--out", "run", "--force")
    assert process.returncode == 2
    assert "holds recordings/mine.csv, which is not one of Baton's results" in process.stderr


@pytest.mark.parametrize("name", ["starlink-like", "flight"])
def test_shipped_recordings_travel_too(baton, tmp_path, name):
    process = baton("run", name, "--set", "duration=5 s", "--out", "run")
    assert process.returncode == 0, process.stderr
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["traces"]
    assert all((tmp_path / "run" / each).is_file() for each in manifest["traces"])
    assert baton("rerun", "run").returncode == 0


def test_a_sweep_is_repeated_too(baton, recorded, tmp_path):
    other = recorded.parent / "other.csv"
    other.write_text("time_s,rate_bps\n0,800000\n4,900000\n")
    axis = f"links.lan.down.recording.file={recorded.parent}/rate.csv,{other}"
    process = baton("sweep", recorded, "--set", axis, "--seeds", 2, "--out", "sweep")
    assert process.returncode == 0, process.stderr
    for name, content in contents(tmp_path / "sweep"):
        assert b"hildegard" not in content, name
    shutil.rmtree(recorded.parent)
    process = baton("rerun", "sweep")
    assert process.returncode == 0, process.stderr
    assert process.stdout.count(": the same") == 2
    lines = (tmp_path / "sweep" / "runs.jsonl").read_text().splitlines()
    run = json.loads(lines[0])
    run["summary"]["flows"][0]["delivered_bytes"] += 1
    (tmp_path / "sweep" / "runs.jsonl").write_text("\n".join([json.dumps(run), *lines[1:]]) + "\n")
    process = baton("rerun", "sweep")
    assert process.returncode == 1
    assert process.stdout.count("DIFFERS") == 1
    assert f"seed {run['seed']}: DIFFERS" in process.stdout


def test_a_folder_of_several_runs_lists_them(baton, scenario):
    for seed in (1, 2):
        assert baton("run", scenario, "--seed", seed).returncode == 0
    process = baton("rerun", "results")
    assert process.returncode == 2
    assert process.stderr == (
        "baton: results: is not a run, but holds some; choose one of them:\n  results/short-1\n  results/short-2\n"
    )


def test_an_archive_is_taken_as_the_folder_is(baton, recorded, tmp_path):
    assert baton("run", recorded, "--out", "run").returncode == 0
    assert baton("sweep", recorded, "--seeds", 2, "--out", "sweep").returncode == 0
    (tmp_path / "run" / "notes.txt").write_text("for me only")
    for name in ("run", "sweep"):
        process = baton("pack", name)
        assert (process.returncode, process.stdout) == (0, f"{name}.zip\n"), process.stderr
    # Another program reads it.
    with zipfile.ZipFile(tmp_path / "run.zip") as archive:
        assert archive.testzip() is None
        assert "run/notes.txt" not in archive.namelist()
    shutil.rmtree(recorded.parent)
    (tmp_path / "run").rename(tmp_path / "same")
    shutil.rmtree(tmp_path / "sweep")
    for name in ("run", "sweep"):
        process = baton("rerun", f"{name}.zip")
        assert process.returncode == 0, process.stderr
        assert "DIFFERS" not in process.stdout
    process = baton("compare", "run.zip", "same", "--json")
    assert process.returncode == 0, process.stderr
    (flow, _) = json.loads(process.stdout)["flows"]
    assert all(not each["difference"] for each in flow["quantities"])
    assert baton("compare", "sweep.zip", "sweep.zip").returncode == 0
    assert baton("pack", "same", "--out", "run.zip").returncode == 2, "nothing is overwritten"


def entry(name, mode=stat.S_IFREG | 0o644):
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


@pytest.mark.parametrize(
    "entries",
    [
        [(entry("run/../../evil"), b"x")],
        [(entry("/tmp/evil"), b"x")],
        [(entry("run/manifest.json", stat.S_IFLNK | 0o777), b"/etc/passwd")],
        [(entry("run/a/b/c"), b"x")],
        [(entry("run\\evil"), b"x")],
        [(entry("run/manifest.json"), b"{}"), (entry("other/manifest.json"), b"{}")],
        [(entry("run/manifest.json"), b"{}"), (entry("run/manifest.json"), b"{}")],
        [],
    ],
    ids=["above", "absolute", "link", "deep", "backslash", "two", "twice", "empty"],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_hostile_archives_are_refused(baton, tmp_path, entries):
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        for info, content in entries:
            archive.writestr(info, content)
    before = sorted(tmp_path.rglob("*"))
    for command in (("rerun", "bad.zip"), ("compare", "bad.zip", "bad.zip")):
        process = baton(*command)
        assert process.returncode in (1, 2)
        assert process.stderr.startswith("baton: ")
        assert "Traceback" not in process.stderr
        assert "internal error" not in process.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_a_bomb_is_not_unpacked(baton, tmp_path):
    """A gigabyte of zeros, declared as it is, and one that declares to be small."""
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("run/manifest.json", b"\0" * 1_000_000_000)
    process = baton("rerun", "bomb.zip")
    assert process.returncode == 2
    assert "unpacks to more than" in process.stderr
    packed = (tmp_path / "bomb.zip").read_bytes()
    size = (1_000_000_000).to_bytes(4, "little")
    (tmp_path / "bomb.zip").write_bytes(packed.replace(size, (1000).to_bytes(4, "little")))
    process = baton("rerun", "bomb.zip")
    assert process.returncode == 2
    assert "is damaged" in process.stderr
    assert zlib.crc32(packed)


def test_verdicts_travel_with_the_results(baton, scenario, tmp_path):
    process = baton("run", scenario, "--out", "run", "--expect", "seed > 1", "--expect", "seed == 1")
    assert process.returncode == 3
    for name in ("summary.json", "manifest.json"):
        kept = json.loads((tmp_path / "run" / name).read_text())["expectations"]
        assert [(each["expression"], each["measured"], each["holds"]) for each in kept] == [
            ("seed > 1", 1, False),
            ("seed == 1", 1, True),
        ]
    page = (tmp_path / "run" / "report.html").read_text()
    assert "seed &gt; 1" in page
    assert baton("rerun", "run").returncode == 0, "verdicts are no data"


def test_a_second_run_takes_a_folder_of_its_own(baton, scenario, tmp_path):
    for name in ("short-1", "short-1-2", "short-1-3"):
        process = baton("run", scenario)
        assert process.stdout.splitlines()[-1] == f"results/{name}/report.html", process.stderr
    assert baton("run", scenario, "--force").stdout.splitlines()[-1] == "results/short-1/report.html"
    assert baton("run", scenario, "--out", "results/short-1").returncode == 2
    assert len(list((tmp_path / "results").iterdir())) == 3
