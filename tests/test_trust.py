"""Files from others: what they may overwrite, and when the code in them runs."""

import json
import shutil

import pytest

CONTROL = '''
from pathlib import Path
Path("{mark}").write_text("the module ran")

class Slow:
    """A window of one segment."""

    def __init__(self, segment_size, window, threshold):
        self.window, self.slow_start_threshold = segment_size, threshold

    def on_acknowledged(self, sample): ...
    def on_loss(self, loss): ...
    def on_timeout(self, loss): ...
    def on_idle_restart(self, restart_window): ...
'''


@pytest.fixture
def with_class(scenario, tmp_path):
    """A scenario in a folder of its own whose control is a class beside it, and the file that the module writes when it
    is imported."""
    mark = tmp_path / "ran"
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "mine.py").write_text(CONTROL.format(mark=mark))
    text = scenario.read_text().replace(
        'name = "download"', 'name = "download"\ntransport.congestion = "python:mine.Slow"'
    )
    (folder / "classy.toml").write_text(text)
    return folder / "classy.toml", mark


def test_check_imports_nothing(baton, with_class):
    scenario, mark = with_class
    process = baton("check", scenario)
    assert (process.returncode, process.stdout) == (0, "short: no mistakes found\n"), process.stderr
    assert not mark.exists()
    assert baton("run", scenario).returncode == 0
    assert mark.read_text() == "the module ran", "or the test above says nothing"


@pytest.mark.parametrize(
    ("name", "source", "message"),
    [
        ("mine.Slo", None, "mine has no class `Slo`; did you mean `Slow`?"),
        ("absent_module.Slow", None, "no module `absent_module`"),
        ("mine.Slow", "class Slow:\n  def on_loss(self, loss): ...\n", "it lacks on_acknowledged, on_timeout"),
        ("mine.Slow", "class Slow(:\n", "cannot be imported: SyntaxError"),
        ("mine.Slow", "from elsewhere import Slow\n", None),
        ("mine.Slow", "class Base: ...\nclass Slow(Base): ...\n", None),
        ("mine.Slow", "(" * 100_000, "cannot be imported: "),
    ],
)
def test_check_tells_what_the_source_tells(baton, with_class, name, source, message):
    scenario, _ = with_class
    if source is not None:
        (scenario.parent / "mine.py").write_text(source)
    process = baton("check", scenario, "--set", f"flows.download.transport.congestion=python:{name}")
    assert process.returncode == (0 if message is None else 2)
    assert (message or "") in process.stderr
    assert "Traceback" not in process.stderr


@pytest.mark.parametrize("command", [["run"], ["sweep", "--seeds", "1"]])
def test_a_class_from_elsewhere_runs_only_when_it_is_allowed(baton, with_class, tmp_path, command):
    scenario, mark = with_class
    (scenario.parent / "mine.py").rename(tmp_path / "mine.py")  # where `python -m baton` would import it
    process = baton(*command, scenario)
    assert process.returncode == 2
    assert "a class from elsewhere runs only with --allow-python" in process.stderr
    assert not mark.exists()
    process = baton(*command, scenario, "--allow-python")
    assert process.returncode == 0, process.stderr
    assert mark.exists()


def test_a_run_with_classes_is_repeated_only_when_it_is_allowed(baton, with_class):
    scenario, mark = with_class
    assert baton("run", scenario, "--out", "run").returncode == 0
    mark.unlink()
    process = baton("rerun", "run")
    assert process.returncode == 2
    assert '"python:mine.Slow" is a class in Python, whose code would run here' in process.stderr
    assert "--allow-python" in process.stderr
    assert not mark.exists()
    process = baton("rerun", "run", "--allow-python", "--traces", scenario.parent)
    assert process.returncode == 0, process.stderr
    assert mark.exists()


@pytest.mark.parametrize("manifest", ["{}", '{"format": 1, "name": "an extension", "version": "2.0"}'])
def test_force_leaves_foreign_folders_alone(baton, scenario, tmp_path, manifest):
    foreign = {"manifest.json": manifest, "src/main.js": "code", ".git/HEAD": "ref: main"}
    for name, text in foreign.items():
        file = tmp_path / "ext" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    process = baton("run", scenario, "--out", "ext", "--force")
    assert process.returncode == 2
    assert "ext: holds no manifest.json of Baton's" in process.stderr
    for name, text in foreign.items():
        assert (tmp_path / "ext" / name).read_text() == text


def test_force_leaves_notes_in_a_results_folder_alone(baton, scenario, tmp_path):
    assert baton("run", scenario, "--out", "run").returncode == 0
    (tmp_path / "run" / "notes.txt").write_text("mine")
    before = (tmp_path / "run" / "manifest.json").read_bytes()
    process = baton("run", scenario, "--out", "run", "--seed", 2, "--force")
    assert process.returncode == 2
    assert "run: holds notes.txt, which is not one of Baton's results" in process.stderr
    assert (tmp_path / "run" / "notes.txt").read_text() == "mine"
    assert (tmp_path / "run" / "manifest.json").read_bytes() == before
    (tmp_path / "run" / "notes.txt").unlink()
    assert baton("run", scenario, "--out", "run", "--seed", 2, "--force").returncode == 0
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["seed"] == 2


def test_a_folder_may_be_given_by_a_way_through_itself(baton, scenario, tmp_path):
    assert baton("run", scenario, "--out", "q").returncode == 0
    process = baton("run", scenario, "--out", "q/../q", "--seed", 2, "--force")
    assert process.returncode == 0, process.stderr
    assert json.loads((tmp_path / "q" / "manifest.json").read_text())["seed"] == 2
    assert {path.name for path in tmp_path.iterdir()} == {"q", "short.toml"}
    shutil.rmtree(tmp_path / "q")
