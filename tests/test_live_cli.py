"""`baton live` and its relatives, against a daemon that only tells."""

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading

import pytest

from baton import cli
from baton.live import batond, control, owner
from baton.summary import LiveSummary
from fake_batond import FLOW, LIVE, PROGRAM, READY, SUMMARY, Fake


@pytest.fixture
def fake(tmp_path):
    return Fake(tmp_path)


@pytest.fixture
def command(fake, monkeypatch, capfd):
    """Runs the command line to its end, in this process since that is faster; the daemon is one of its own."""
    monkeypatch.chdir(fake.folder)
    monkeypatch.setattr(batond, "places", lambda: [fake.script])

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["baton", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capfd.readouterr()
        return subprocess.CompletedProcess(arguments, ended.value.code, captured.out, captured.err)

    return run


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


def test_the_daemon_is_told_everything(command, fake, scenario):
    fake.plan(summary=WITH_PROGRAM)
    options = ["--set", "links.lan.delay=7 ms", "--server", "serve it", "--force", "--pcap", "--ignore-unsupported"]
    process = command("live", scenario, "--out", "out", *options, "--", "prog", "--json", "-x", "--", "y")
    assert process.returncode == 0, process.stderr
    called = fake.called
    at = called.index("--")
    assert called[at:] == ["--", "prog", "--json", "-x", "--", "y"]
    assert called[:2] == ["world", str(scenario)]
    pairs = dict(itertools.pairwise(called))
    assert (pairs["--set"], pairs["--seed"], pairs["--out"]) == ("links.lan.delay=7 ms", "1", "out")
    assert (pairs["--server"], pairs["--program-output"]) == ("serve it", "inherit")
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
    assert summary.keys() == {*LiveSummary.__annotations__, "expectations", "not_checked", "report"}
    assert summary["expectations"][0]["holds"]
    assert summary["program"] == PROGRAM
    assert "the program speaks" in process.stderr


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
    assert 'failures="1"' in (tmp_path / "junit.xml").read_text()
    assert (tmp_path / "results" / "short-live-1" / "report.html").is_file()


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
    assert 'tests="3" failures="0"' in junit
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


def test_ctrl_c_reaches_the_daemon_whose_results_are_kept(fake, scenario, tmp_path):
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
    assert stderr == "baton: interrupted before there was anything to keep\n"


def test_a_daemon_that_is_killed_is_told(command, fake, scenario, tmp_path):
    fake.plan(killed_by=signal.SIGKILL)
    process = command("live", scenario, "--json")
    assert process.returncode == 1
    assert only_json(process)["error"]["exit_status"] == 1
    assert "batond was killed by SIGKILL" in process.stderr
    assert not (tmp_path / "results").exists()


def test_a_process_that_keeps_the_pipe_open_is_not_waited_for(command, fake, scenario, tmp_path):
    # As a server would that outlives the daemon.
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
        (["nonsense"], 1, "no event"),
        ([], 1, "ended with status 0 and told no reason"),
    ],
)
def test_what_the_daemon_cannot_do_is_told_in_its_words(command, fake, scenario, told, status, part):
    fake.plan(before=told, summary=None, status=status if told else 0)
    process = command("live", scenario)
    assert process.returncode == status
    assert part in process.stderr
    assert "Traceback" not in process.stderr


def test_the_daemons_warnings_are_passed_on(command, fake, scenario):
    fake.plan(before=[READY, {"event": "warning", "message": "no real-time priority"}])
    assert "baton: warning: no real-time priority" in command("live", scenario).stderr


def test_an_existing_folder_is_kept_without_force(command, scenario):
    assert command("live", scenario).returncode == 0
    process = command("live", scenario)
    assert process.returncode == 2
    assert "--force" in process.stderr
    assert command("live", scenario, "--force").returncode == 0


def test_without_the_daemon_it_says_how_to_get_it(command, fake, scenario):
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
    assert (process.returncode, process.stdout) == (0, "short: nothing is wrong\n")


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
    assert "does not hear" in process.stderr


def test_a_run_that_is_not_there_is_answered_with_those_that_are(baton, answering):
    answering(b'{"ok": true, "at_s": 0}\n')
    name = f"test-{os.getpid()}"
    process = baton("handover", name + "x", "lan")
    assert process.returncode == 2
    assert f"`{name}`" in process.stderr
    assert name in control.running()
    assert baton("handover", name, "lan").returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_results_of_sudo_belong_to_who_called_it(tmp_path, monkeypatch):
    monkeypatch.setenv("SUDO_UID", "1234")
    monkeypatch.setenv("SUDO_GID", "1235")
    before = tmp_path / "kept.txt"
    before.write_text("root's")
    out, junit = tmp_path / "results" / "run", tmp_path / "sub" / "junit.xml"
    with owner.given_to_invoker(out, junit, None):
        out.mkdir(parents=True)
        (out / "report.html").write_text("x")
        (out / "link").symlink_to(before)
        os.link(before, out / "second-name")
    owners = {path.name: path.lstat().st_uid for path in (out.parent, out, *out.iterdir(), before, tmp_path)}
    expected = {"results": 1234, "run": 1234, "report.html": 1234, "link": 0, "second-name": 0, "kept.txt": 0}
    assert owners == expected | {tmp_path.name: 0}
    assert (out / "report.html").lstat().st_gid == 1235


def test_without_sudo_nothing_changes_hands(monkeypatch):
    monkeypatch.delenv("SUDO_UID", raising=False)
    assert owner.invoking_user() is None
