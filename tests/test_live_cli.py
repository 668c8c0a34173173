"""`baton live` and its relatives, against an emulator that only tells."""

import contextlib
import io
import itertools
import json
import os
import signal
import socket
import tempfile
import threading
from pathlib import Path
from xml.etree import ElementTree

import pytest

import baton.live
from baton.errors import InputError
from baton.live import attempts, control, emulator, owner
from baton.progress import lines_each_second
from baton.summary import LiveSummary
from fake_emulator import FLOW, LIVE, PROGRAM, READY, SUMMARY

WITH_PROGRAM = SUMMARY | {"program": PROGRAM}


def only_json(process):
    lines = process.stdout.splitlines()
    assert len(lines) == 1
    return json.loads(lines[0])


def test_a_live_run_ends_with_the_path_of_its_report(command, scenario, tmp_path):
    process = command("live", scenario, "--seed", 7)
    assert process.returncode == 0, process.stderr
    assert process.stdout.splitlines()[-1] == "results/short-live-7/report.html"
    assert (tmp_path / "results" / "short-live-7" / "report.html").is_file()
    for text in ("in real time", "tcp-8000-1", "modem", "6.18.44", "median 12 µs", "bound 1,000 µs"):
        assert text in process.stdout
    assert "short-1 has begun" in process.stderr


def test_the_emulator_is_told_everything(command, fake, scenario):
    fake.plan(summary=WITH_PROGRAM)
    options = ["--set", "links.lan.delay=7 ms", "--server", "serve it", "--force", "--pcap", "--ignore-unsupported"]
    options += ["--pcap-interface", "laptop-lan", "--snap-length", 128]
    process = command("live", scenario, "--out", "out", *options, "--", "prog", "--json", "-x", "--", "y")
    assert process.returncode == 0, process.stderr
    called = fake.called
    at = called.index("--")
    assert called[at:] == ["--", "prog", "--json", "-x", "--", "y"]
    assert called[:2] == ["world", str(scenario)]
    pairs = dict(itertools.pairwise(called))
    assert (pairs["--set"], pairs["--seed"], pairs["--out"]) == ("links.lan.delay=7 ms", "1", "out")
    assert (pairs["--server"], pairs["--program-output"]) == ("serve it", "inherit")
    assert (pairs["--pcap-interface"], pairs["--snap-length"]) == ("laptop-lan", "128")
    assert {"--force", "--pcap", "--ignore-unsupported"} < set(called[:at])


def test_a_programs_end_and_stall_are_told(command, fake, scenario):
    fake.plan(summary=WITH_PROGRAM)
    process = command("live", scenario, "--", "prog")
    assert process.returncode == 0, process.stderr
    assert process.stdout.startswith("the program speaks\n")
    assert "curl -s 'http://server:8000/a b': exit status 0 after 3.5 s; longest stall 1,250 ms" in process.stdout


def test_json_is_one_object_and_the_programs_output_goes_elsewhere(command, fake, scenario):
    fake.plan(summary=WITH_PROGRAM)
    process = command("live", scenario, "--json", "--expect", "program.status == 0", "--", "prog")
    summary = only_json(process)
    seldom = {"unlisted_handovers", "unlisted_flows", "cut"}
    assert {*summary, *seldom} == {*LiveSummary.__annotations__, "expectations", "not_checked", "report"}
    assert summary["expectations"][0]["holds"]
    assert summary["program"] == PROGRAM | {"reported": {}}
    assert "the program speaks" in process.stderr


def test_a_program_tells_its_own_numbers(command, fake, scenario, tmp_path):
    fake.plan(summary=WITH_PROGRAM, reported="longest_stall_s = 9\nfirst wait_s=2\nlongest_stall_s=1.0625\nshare=nan\n")
    told = ["--expect", "program.reported.longest_stall_s < 1", "--expect", "program.reported.frames > 1"]
    process = command("live", scenario, "--out", tmp_path / "out", *told, "--json", "--", "./client")
    assert process.returncode == 3
    summary = only_json(process)
    assert summary["program"]["reported"] == {"longest_stall_s": 1.0625}
    assert [each["measured"] for each in summary["expectations"][:2]] == [1.0625, None]
    assert "BATON_REPORT: line 2: is `first wait_s=2`; expected NAME=NUMBER" in process.stderr
    assert "BATON_REPORT: line 4: is `share=nan`" in process.stderr
    kept = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert kept["program"] == summary["program"]


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        ({"status": 7}, "exit status 7"),
        ({"status": None, "signal": 11}, "killed by SIGSEGV"),
    ],
)
def test_a_program_that_fails_ends_with_status_4_after_everything_else(
    command, fake, scenario, tmp_path, ending, words
):
    fake.plan(summary=SUMMARY | {"program": PROGRAM | ending}, status=4)
    arguments = ["--expect", "program.status == 0", "--junit", "junit.xml", "--", "prog"]
    process = command("live", scenario, *arguments)
    assert process.returncode == 4
    assert words in process.stdout
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()[0]
    failed = {case.get("name"): case[0].get("message") for case in suite if len(case)}
    assert failed.pop("program: curl -s 'http://server:8000/a b'") == f"{words} after 3.5 s"
    assert list(failed) == ["program.status == 0"]
    assert (tmp_path / "results" / "short-live-1" / "report.html").is_file()


EARLY = PROGRAM | {"wall_s": 1.2}
IDLE = [SUMMARY["handovers"][0] | {"active": False}]


@pytest.mark.parametrize(
    ("summary", "why"),
    [
        ({"program": EARLY, "handovers": []}, "0 of 1 while a flow was under way: the program ended after 1.2 s"),
        ({"program": PROGRAM, "handovers": IDLE}, "0 of 1 while a flow was under way"),
    ],
)
def test_a_run_without_its_handover_is_no_success(command, fake, scenario, tmp_path, summary, why):
    fake.plan(summary=SUMMARY | summary)
    process = command("live", scenario, "--junit", "junit.xml", "--", "prog")
    assert process.returncode == 3
    assert f"NO HANDOVER  {why}" in process.stdout
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()[0]
    failed = {case.get("name"): case[0].get("message") for case in suite if len(case)}
    assert failed == {"handovers.completed >= 1": "expected >= 1, measured 0"}
    # A user who wants it so says so.
    for options in (["--allow-no-handover"], ["--expect", "handovers.completed == 0"]):
        process = command("live", scenario, "--force", *options, "--", "prog")
        assert (process.returncode, "NO HANDOVER" in process.stdout) == (0, False)


def test_every_handover_of_the_timetable_is_wanted_that_the_run_has_time_for(command, fake, scenario):
    two = ["--handover", "1 s soft", "--handover", "2 s hard 1 s", "--handover", "3 s hard 1 s"]
    process = command("live", scenario, *two, "--json")
    assert process.returncode == 3
    (verdict,) = only_json(process)["expectations"]
    assert (verdict["expression"], verdict["measured"], verdict["holds"]) == ("handovers.completed >= 2", 1, False)
    assert command("live", scenario, *two, "--force", "--expect", "handovers.completed >= 1").returncode == 0


def test_an_expectation_on_a_conversation_is_checked_by_its_name(command, fake, scenario):
    fake.plan(summary=WITH_PROGRAM)
    holding = [
        "program.longest_stall_s < 2",
        "live.lateness.p99_us < 500",
        "live.trusted == 1",
        "flows.tcp-8000-1.goodput_bps > 1e6",
        "handovers[0].flows.tcp-8000-1.stall_s == 0.5",
        "flows.tcp-8000-1.reordered == 0",
    ]
    expect = [part for text in holding for part in ("--expect", text)]
    process = command("live", scenario, "--json", *expect, "--", "prog")
    assert process.returncode == 0, process.stdout
    assert all(entry["holds"] for entry in only_json(process)["expectations"])


def test_an_expectation_on_a_conversation_that_did_not_take_place_fails(command, fake, scenario):
    fake.plan(summary=WITH_PROGRAM)
    process = command("live", scenario, "--expect", "flows.udp-443-1.goodput_bps > 1", "--", "prog")
    assert process.returncode == 3
    assert "there is no `udp-443-1` in flows" in process.stdout


@pytest.mark.parametrize(
    ("expectation", "part"),
    [
        ("flows.tcp-8000-1.goodput > 1", "`goodput_bps`"),
        ("flows.uplaod.goodput_bps > 1", "no `uplaod` in flows"),
        ("program.status == 0", "there is no program without `-- PROGRAM`"),
        ("server.status == 0", "there is no server without `--server`"),
        ("live.lateness.p99 < 500", "`p99_us`"),
    ],
)
def test_an_expectation_that_nothing_can_fulfil_is_refused_before_the_run(
    command, scenario, tmp_path, expectation, part
):
    process = command("live", scenario, "--expect", expectation)
    assert process.returncode == 2
    assert part in process.stderr
    assert not (tmp_path / "results").exists()


def test_a_simulated_run_knows_no_conversations(baton, scenario):
    process = baton("run", scenario, "--expect", "flows.tcp-8000-1.goodput_bps > 1")
    assert process.returncode == 2


def test_expectations_on_flows_that_a_program_replaces_are_not_checked_and_that_is_said(
    command, fake, scenario, tmp_path
):
    own = ["flows.download.timeouts < 100", "flows[0].goodput_bps > 1", "handovers[0].lost_packets == 0"]
    scenario.write_text(f"expect = {json.dumps(own)}\n" + scenario.read_text())
    fake.plan(summary=WITH_PROGRAM)
    process = command("live", scenario, "--junit", "junit.xml", "--", "prog")
    assert process.returncode == 0, process.stdout
    assert process.stdout.count("Not checked") == 2
    junit = (tmp_path / "junit.xml").read_text()
    # The program, the expectation that is left, the handover, and two that were not checked.
    assert 'tests="5" failures="0"' in junit
    assert 'skipped="2"' in junit
    process = command("live", scenario, "--force", "--expect", "flows.voice.timeouts < 1", "--", "prog")
    assert process.returncode == 3
    assert "flow voice is not run beside a program" in process.stdout


def test_flows_of_simulated_hosts_are_checked_beside_a_program(command, fake, scenario):
    summary = WITH_PROGRAM | {"flows": [FLOW, FLOW | {"name": "download"}]}
    one_host = READY | {"hosts": {"laptop": READY["hosts"]["laptop"]}}
    fake.plan(summary=summary, before=[one_host])
    process = command("live", scenario, "--expect", "flows.download.timeouts == 2", "--", "prog")
    assert process.returncode == 0, process.stdout + process.stderr


def test_a_run_that_is_not_to_be_trusted_says_why(command, fake, scenario):
    doubt = "99 % of events were up to 4,000 µs late, above live.lateness_bound"
    live = LIVE | {"trusted": False, "doubts": [doubt], "ignored": ["flows.download.tick: has no equivalent"]}
    fake.plan(summary=SUMMARY | {"live": live | {"lost_rows": 12}}, complete=False)
    process = command("live", scenario)
    assert process.returncode == 0
    for text in (f"NOT TRUSTED  {doubt}", "flows.download.tick", "Lost rows    12", "The record is not complete"):
        assert text in process.stdout


@pytest.mark.parametrize(
    ("lost", "trust", "why"),
    [
        (12, "Trusted    yes, but for the gaps in the record (", "it could not be written as fast as the run went."),
        (0, "Trusted   yes (", "it ends at 3.999999453 s, before the scenario does."),
    ],
)
def test_a_record_that_is_not_complete_does_not_contradict_the_trust(command, fake, scenario, lost, trust, why):
    summary = SUMMARY | {"simulated_s": 3.999999453, "live": LIVE | {"lost_rows": lost}}
    fake.plan(summary=summary, complete=False)
    lines = command("live", scenario).stdout.splitlines()
    assert any(line.startswith(trust) for line in lines), lines
    assert f"The record is not complete: {why}" in lines


def test_ctrl_c_reaches_the_emulator_whose_results_are_kept(fake, scenario, tmp_path):
    fake.plan(until_interrupted=True, complete=False, status=130)
    process = fake.start("live", scenario, "--out", "out")
    assert "has begun" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "Interrupted" in stdout
    assert "Traceback" not in stderr
    assert (tmp_path / "out" / "report.html").is_file()


def test_ctrl_c_before_there_is_anything_to_keep(fake, scenario):
    fake.plan(until_interrupted=True, summary=None, status=130)
    process = fake.start("live", scenario)
    process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr == "baton: interrupted before there were results to keep\n"


def test_an_emulator_that_is_killed_is_told(command, fake, scenario, tmp_path):
    fake.plan(killed_by=signal.SIGKILL)
    process = command("live", scenario, "--json")
    assert process.returncode == 1
    assert only_json(process)["error"]["exit_status"] == 1
    assert "baton-emulator was killed by SIGKILL" in process.stderr
    assert not (tmp_path / "results").exists()


def test_a_process_that_keeps_the_pipe_open_is_not_waited_for(command, fake, scenario, tmp_path):
    # As a server would that outlives the emulator.
    leave = 'left = subprocess.Popen(["sleep", "60"], close_fds=False, stdout=2, stderr=subprocess.DEVNULL)'
    note = '(here / "left.json").write_text(str(left.pid))'
    text = fake.script.read_text().replace(
        '    for event in plan["before"]:', f'    {leave}\n    {note}\n    for event in plan["before"]:'
    )
    fake.script.write_text(text.replace("stdout=2", "stdout=subprocess.DEVNULL"))
    process = command("live", scenario)
    assert process.returncode == 0, process.stderr
    os.kill(int((fake.script.parent / "left.json").read_text()), signal.SIGKILL)  # it was still there


@pytest.mark.parametrize(
    ("told", "status", "part"),
    [
        ([{"event": "error", "message": "no TUN device: modprobe tun", "exit_status": 2}], 2, "modprobe tun"),
        ([{"event": "error", "message": "the link process died", "exit_status": 1}], 1, "link process died"),
        (["nonsense"], 1, "not an event"),
        ([], 1, "ended with status 0 and gave no reason"),
    ],
)
def test_what_the_emulator_cannot_do_is_told_in_its_words(command, fake, scenario, told, status, part):
    fake.plan(before=told, summary=None, status=status if told else 0)
    process = command("live", scenario)
    assert process.returncode == status
    assert part in process.stderr
    assert "Traceback" not in process.stderr


def test_the_emulators_warnings_are_passed_on(command, fake, scenario):
    fake.plan(before=[READY, {"event": "warning", "message": "no real-time priority"}])
    assert "baton: warning: no real-time priority" in command("live", scenario).stderr


def test_an_existing_folder_is_kept_without_force(command, scenario):
    assert command("live", scenario, "--out", "mine").returncode == 0
    process = command("live", scenario, "--out", "mine")
    assert process.returncode == 2
    assert "--force" in process.stderr
    assert command("live", scenario, "--out", "mine", "--force").returncode == 0


def test_without_the_emulator_it_says_how_to_get_it(command, fake, scenario):
    fake.script.unlink()
    process = command("live", scenario)
    assert process.returncode == 2
    assert "make build" in process.stderr


def test_live_needs_a_scenario_or_check(command, scenario):
    assert "SCENARIO is missing" in command("live").stderr
    assert "without a scenario" in command("live", scenario, "--check").stderr


MACHINE = {
    "ok": False,
    "problems": ["/dev/net/tun cannot be opened: modprobe tun"],
    "rights": "none",
    "kernel": "6.18.44",
    "congestion": ["reno", "cubic"],
    "tun": False,
    "priority": False,
}


def test_the_machine_is_tested(command, fake):
    fake.plan(answer=MACHINE, status=1)
    process = command("live", "--check")
    assert process.returncode == 1
    for text in ("/dev/net/tun cannot be opened", "modprobe tun", "reno, cubic", "NOT possible"):
        assert text in process.stdout
    assert only_json(command("live", "--check", "--json")) == MACHINE
    fake.plan(answer=MACHINE | {"ok": True, "problems": []}, status=0)
    process = command("live", "--check")
    assert (process.returncode, process.stdout.splitlines()[-1]) == (0, "live runs are possible here")


def test_what_the_kernel_cannot_do_of_a_scenario_is_told_in_advance(command, fake, scenario):
    refused = {"key": "flows.download.tick", "message": "the kernel has no such setting", "nearest": "linux-6"}
    fake.plan(answer={"refused": [refused]}, status=2)
    process = command("check", "--live", scenario, "--set", "links.lan.delay=7 ms")
    assert process.returncode == 2
    assert process.stdout == "flows.download.tick: the kernel has no such setting; nearest: linux-6\n"
    assert fake.called == ["check", str(scenario), "--set", "links.lan.delay=7 ms"]
    fake.plan(answer={"refused": []}, status=0)
    process = command("check", "--live", scenario)
    assert (process.returncode, process.stdout) == (0, "short: no mistakes found\n")


def test_a_live_run_cannot_be_repeated(command, baton, scenario, tmp_path):
    assert command("live", scenario, "--out", "out").returncode == 0
    manifest = tmp_path / "out" / "manifest.json"
    rest = {"format": 1, "simulated_s": 4, "origin": "", "seed": 1, "traces": {}, "results": {}}
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | rest))
    process = baton("rerun", "out")
    assert process.returncode == 2
    assert "a live run cannot be repeated" in process.stderr


class Answering:
    """A run's control socket that gives one answer."""

    def __init__(self, name, answer):
        self.heard, self.answer = [], answer
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.bind(f"\0baton/{name}")
        self.socket.listen()
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        connection, _ = self.socket.accept()
        with connection, connection.makefile("rb") as reading:
            self.heard.append(json.loads(reading.readline()))
            connection.sendall(self.answer)

    def close(self):
        self.thread.join(timeout=10)
        self.socket.close()


@pytest.fixture
def answering(tmp_path):
    made = []

    def make(answer):
        made.append(Answering(f"test-{os.getpid()}", answer))
        return made[0]

    yield make
    made[0].close()


def test_a_handover_is_asked_of_a_run(baton, answering):
    run = answering(b'{"ok": true, "at_s": 12.3}\n')
    process = baton("handover", f"test-{os.getpid()}", "tunnel", "--hard", "1500 ms")
    assert process.returncode == 0, process.stderr
    assert process.stdout.endswith("to tunnel at 12.300 s\n")
    assert run.heard == [{"handover": "tunnel", "kind": "hard", "outage_s": 1.5}]


def test_what_a_run_refuses_is_told(baton, answering):
    run = answering(b'{"error": "train has no link `moon`"}\n')
    process = baton("handover", f"test-{os.getpid()}", "moon")
    assert process.returncode == 2
    assert "train has no link `moon`" in process.stderr
    assert run.heard == [{"handover": "moon", "kind": "soft"}]


def test_a_run_that_does_not_hear_is_told(baton, answering):
    answering(b"")
    process = baton("handover", f"test-{os.getpid()}", "lan")
    assert process.returncode == 1
    assert "cannot be reached" in process.stderr


def test_a_run_that_is_not_there_is_answered_with_those_that_are(baton, answering):
    answering(b'{"ok": true, "at_s": 0}\n')
    name = f"test-{os.getpid()}"
    process = baton("handover", name + "x", "lan")
    assert process.returncode == 2
    assert f"`{name}`" in process.stderr
    assert name in control.running()
    assert baton("handover", name, "lan").returncode == 0


@pytest.fixture
def under_sudo(monkeypatch):
    """A folder of a user who has called sudo."""
    if os.geteuid() != 0:
        pytest.skip("only root can be called by sudo")
    monkeypatch.setenv("SUDO_UID", "1234")
    monkeypatch.setenv("SUDO_GID", "1235")
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, 1234, 1235)
        yield Path(folder)


def test_results_of_sudo_belong_to_who_called_it(under_sudo):
    file = under_sudo / "sub" / "junit.xml"
    with owner.as_invoker(file):
        file.parent.mkdir()
        file.write_text("x")
    assert {(path.stat().st_uid, path.stat().st_gid) for path in (file, file.parent)} == {(1234, 1235)}
    assert (os.geteuid(), os.getegid()) == (0, 0)


def test_under_sudo_nothing_is_written_through_a_link(under_sudo, tmp_path):
    secret = tmp_path / "root's"
    secret.write_text("secret")
    secret.chmod(0o600)
    link = under_sudo / "junit.xml"
    link.symlink_to(secret)
    with pytest.raises(InputError, match="is a link"), owner.as_invoker(link):
        link.write_text("overwritten")
    # Nor through a folder, where only the right to write decides.
    (under_sudo / "folder").symlink_to(tmp_path)
    with pytest.raises(PermissionError), owner.as_invoker(under_sudo / "folder" / "new"):
        (under_sudo / "folder" / "new").write_text("x")
    assert secret.read_text() == "secret"


def test_an_emulator_is_roots_while_results_are_written_as_who_called_sudo(under_sudo, monkeypatch):
    # Two namespaces of ids: what the emulator is started with, and what the thread that starts it may write.
    program = under_sudo / "baton-emulator"
    program.write_text('#!/bin/sh\nid -u > "$2"\n')
    program.chmod(0o755)
    under_sudo.chmod(0o755)
    monkeypatch.setattr(emulator, "find", lambda: program)
    with owner.as_invoker():
        (under_sudo / "kept").mkdir()
        started = emulator.Emulator([str(under_sudo / "who")], [])
        assert started.wait() == 0
        started.close()
    assert (under_sudo / "who").read_text() == "0\n"
    assert (under_sudo / "kept").stat().st_uid == 1234


def test_results_do_not_tell_whose_folder_a_program_lay_in(monkeypatch):
    monkeypatch.delenv("SUDO_UID", raising=False)
    monkeypatch.setenv("HOME", "/home/ada")
    assert owner.without_home("/home/ada/bin/client --log=/home/ada/x.log") == "~/bin/client --log=~/x.log"
    assert owner.without_home("cd /home/ada && ls") == "cd ~ && ls"
    for other in ("/home/adam/client", "/srv/home/ada/client", "client"):
        assert owner.without_home(other) == other


def test_without_sudo_nothing_changes_hands(monkeypatch):
    monkeypatch.delenv("SUDO_UID", raising=False)
    assert owner.invoking_user() is None


STALLS = [0.3, 0.5, 0.4, 0.6, 0.9]


def stalled(stall_s):
    return WITH_PROGRAM | {"program": PROGRAM | {"longest_stall_s": stall_s}}


@pytest.fixture
def repeated(command, fake, scenario, tmp_path):
    """Runs five repetitions, whose stalls are `STALLS`; the emulator tells the one of its seed."""
    fake.plan(by_seed={seed: [{"summary": stalled(stall)}] for seed, stall in enumerate(STALLS, start=7)})

    def run(*options):
        common = ["--seed", 7, "--repeat", 5, "--out", "out", "--force", "--junit", "junit.xml"]
        process = command("live", scenario, *common, *options, "--", "prog")
        if process.returncode == 2:
            return process, {}
        return process, json.loads((tmp_path / "out" / "repetitions.json").read_text())

    return run


@pytest.mark.parametrize(
    ("options", "status", "measured"),
    [
        # By numpy's `quantile` with its default, and by hand: 0.6 + 0.8 * 0.3.
        (["--expect", "p95(program.longest_stall_s) < 0.85"], 0, 0.84),
        (["--expect", "p95(program.longest_stall_s) < 0.8"], 3, 0.84),
        (["--expect", "p50(program.longest_stall_s) == 0.5"], 0, 0.5),
        (["--expect", "mean(program.longest_stall_s) < 0.55"], 0, 0.54),
        (["--expect", "max(program.longest_stall_s) < 0.9"], 3, 0.9),
        (["--expect", "min(program.longest_stall_s) >= 0.3"], 0, 0.3),
        (["--expect", "share(program.longest_stall_s < 0.55) >= 0.6"], 0, 0.6),
        (["--expect", "share(program.longest_stall_s < 0.55) >= 0.61"], 3, 0.6),
    ],
)
def test_repetitions_are_judged_together(repeated, options, status, measured):
    process, found = repeated(*options)
    assert process.returncode == status, process.stderr
    passing, over = found["expectations"]
    assert (passing["expression"], passing["measured"]) == ("share(passed) >= 1", 1.0)
    assert over["measured"] == pytest.approx(measured)
    assert over["expression"] == options[-1]


@pytest.mark.parametrize(("least", "status"), [("80 %", 0), ("0.8", 0), ("81 %", 3), (None, 3)])
def test_a_share_of_the_repetitions_has_to_pass(repeated, tmp_path, least, status):
    options = ["--pass", least] if least else []
    process, found = repeated("--expect", "program.longest_stall_s < 0.7", *options)
    assert process.returncode == status, process.stderr
    assert [each["passed"] for each in found["repetitions"]] == [True, True, True, True, False]
    assert found["expectations"][0]["measured"] == 0.8
    assert found["statistics"]["program.longest_stall_s"]["mean"] == pytest.approx(0.54)
    assert "repetition 5, seed 11: FAILED: program.longest_stall_s < 0.7 (measured 0.9)" in process.stdout
    # A suite for all together, and one a repetition: the program, the expectation, the handover.
    root = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert [suite.get("tests") for suite in root] == ["1", *["3"] * 5]
    assert [suite.get("failures") for suite in root] == [str(int(status == 3)), "0", "0", "0", "0", "1"]
    page = (tmp_path / "out" / "report.html").read_text()
    for text in ("4 of 5 repetitions passed", 'href="5/report.html"', "FAILED: program.longest_stall_s &lt; 0.7"):
        assert text in page
    assert (tmp_path / "out" / "5" / "report.html").is_file()


def test_a_repetition_that_is_never_punctual_is_not_counted_and_said(repeated, fake):
    late = {9: LIVE | {"doubts": ["too late"]}}
    seeds = enumerate(STALLS, start=7)
    plans = {seed: [{"summary": stalled(stall) | {"live": late.get(seed, LIVE)}}] for seed, stall in seeds}
    fake.plan(by_seed=plans)
    process, found = repeated("--expect", "p50(program.longest_stall_s) > 0.54")
    assert process.returncode == 1
    assert found["repetitions"][2]["doubts"] == ["too late"] * attempts.MOST_TRIES
    assert found["expectations"][1]["measured"] == pytest.approx(0.55)
    assert "repetition 3, seed 9: not to be trusted: too late" in process.stdout


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--expect", "p95(program.longest_stall) < 1"], "`longest_stall_s`"),
        (["--expect", "median(program.longest_stall_s) < 1"], "is not an expectation over repetitions"),
        (["--pass", "many"], "--pass `many`: expected a share"),
    ],
)
def test_what_no_repetitions_can_fulfil_is_refused_before_the_first(repeated, tmp_path, options, part):
    process, _ = repeated(*options)
    assert process.returncode == 2
    assert part in process.stderr
    assert not (tmp_path / "out").exists()


def test_a_run_beside_a_program_tells_a_line_a_second_on_a_terminal(command, fake, scenario, monkeypatch):
    news = [{"event": "progress", "at_s": at, "news": f"laptop on lan, at {at}"} for at in (0.0, 0.8, 1.0, 1.6, 2.2)]
    fake.plan(summary=WITH_PROGRAM, before=[READY, *news])
    assert "baton: 1 s" not in command("live", scenario, "--", "prog").stderr
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with lines_each_second() as tell:
        told = io.StringIO()
        with contextlib.redirect_stderr(told):
            for event in news:
                tell(event["at_s"], event["news"])
    assert told.getvalue() == "baton: 1 s: laptop on lan, at 1.0\nbaton: 2 s: laptop on lan, at 2.2\n"


def test_a_live_run_is_one_call(fake, scenario, tmp_path, monkeypatch):
    monkeypatch.setattr(emulator, "places", lambda: [fake.script])
    fake.plan(summary=WITH_PROGRAM)
    expect = ["program.longest_stall_s < 2"]
    result = baton.live.run(scenario, ["prog", "x"], server="serve it", expect=expect, out=tmp_path / "out")
    assert (result.passed, result.failures) == (True, [])
    assert result.summary["program"]["longest_stall_s"] == 1.25
    assert fake.called[-3:] == ["--", "prog", "x"]
    assert (tmp_path / "out" / "report.html").is_file()
    with pytest.raises(InputError, match="already exists"):
        baton.live.run(scenario, ["prog"], out=tmp_path / "out")
    fake.plan(summary=SUMMARY | {"program": EARLY | {"status": 7}, "handovers": []}, status=4)
    result = baton.live.run(scenario, ["prog"], expect=expect, out=tmp_path / "out", force=True)
    told = ["the program: exit status 7", "handovers.completed >= 1: measured 0"]
    assert (result.passed, result.failures) == (False, told)


def test_why_a_machine_cannot_run_anything_live(fake, monkeypatch):
    monkeypatch.setattr(emulator, "places", lambda: [fake.script])
    fake.plan(answer=MACHINE, status=1)
    assert baton.live.why_not() == "/dev/net/tun cannot be opened: modprobe tun"
    fake.plan(answer=MACHINE | {"ok": True, "problems": []}, status=0)
    assert baton.live.why_not() is None
