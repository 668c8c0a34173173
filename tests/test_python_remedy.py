"""Remedies and handover decisions that are classes in Python: like the engine's own, and what they may do wrong."""

import re
import traceback
from pathlib import Path

import pyarrow as pa
import pytest

import baton
import baton.crosslayer

PAGE = Path(__file__).resolve().parent.parent / "docs" / "how-to" / "write-a-remedy-or-a-decision.md"
FREEZE = re.search(r"```python\n(from baton.crosslayer.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
CLASSES = (
    FREEZE
    + '''
from baton.crosslayer import Decision


class Repeating:
    """Three acknowledgments after reconnection, at either end of the data's way."""

    def on_signal(self, signal, transport):
        if not isinstance(signal, Signal.Connected):
            return None
        if not transport.sends:
            return [Control.Acknowledge(3)]
        half = transport.congestion_window // 2
        return (Control.NewPath(half, half), Control.ResendOutstanding())


class Timer:
    place = "correspondent"

    def on_signal(self, signal, transport):
        match signal:
            case Signal.PeerMoved(delay=delay):
                return [Control.RestartTiming(2 * delay)]
        return []


class Polite:
    """Half of the flight once the queue at the link's entrance is more than half full."""

    def on_signal(self, signal, transport):
        if isinstance(signal, Signal.QueueStatus) and signal.packets > signal.capacity_packets // 2:
            return [Control.LimitFlight(transport.bytes_in_flight // 2)]
        return []


class Careful:
    """Leaves a link whose backbone fails or is slow for the one with the highest rate, as the point of service says."""

    def on_event(self, event, mobile):
        slow = event.name == "Link_Parameters_Report" and event.rate_bps == 500_000
        if not (event.remote and event.link == "west-wire" and (slow or event.name == "Link_Down")):
            return None
        rates = {name: link.network_rate_bps for name, link in mobile.links.items() if name != mobile.in_use}
        return Decision.Use(max(rates, key=rates.get))


class Announcer:
    """Study T's option, with the number of the handover."""

    def __init__(self):
        self.number = 0

    def on_signal(self, signal, transport):
        if not isinstance(signal, Signal.Connected):
            return []
        self.number += 1
        return [Control.Notice(self.number, 3), Control.Acknowledge(1)]


class Resetter:
    place = "correspondent"

    def __init__(self):
        self.last = 0

    def on_signal(self, signal, transport):
        match signal:
            case Signal.Noticed(number=number) if number != self.last:
                self.last = number
                return [Control.RestartTiming()]
        return []


class Failback:
    """The engine's failback of two links, with its default times."""

    def __init__(self):
        self.up_since, self.down_since = 0.0, None

    def on_event(self, event, mobile):
        if event.link == "good":
            if event.name == "Link_Up":
                self.up_since, self.down_since = mobile.now, None
            if event.name == "Link_Down":
                self.up_since, self.down_since = None, mobile.now
        if mobile.in_use is None:
            return Decision.Use("good") if mobile.links["good"].up else None
        if mobile.in_use == "good" and self.down_since is not None:
            return self.after(mobile, self.down_since + 0.1, "spare")
        if mobile.in_use == "spare" and self.up_since is not None:
            return self.after(mobile, self.up_since + 5, "good")
        return None

    def after(self, mobile, time, link):
        if mobile.now >= time:
            return Decision.Use(link)
        return Decision.AskAgain(time - mobile.now)


class Everywhere:
    place = "everywhere"

    def on_signal(self, signal, transport):
        return []


class Flaky(Freeze):
    def on_signal(self, signal, transport):
        raise RuntimeError(f"no idea what to do about {type(signal).__name__}")


class Unready(Freeze):
    def __init__(self):
        raise RuntimeError("not ready")


class Lonely(Freeze):
    def on_signal(self, signal, transport):
        return Control.Freeze()


class Wordy(Freeze):
    def on_signal(self, signal, transport):
        return ["freeze"]


class Backwards(Freeze):
    def on_signal(self, signal, transport):
        return [Control.RestartTiming(-1.0)]


class Lost:
    def on_event(self, event, mobile):
        return Decision.Use("nowhere")


class Hasty:
    def on_event(self, event, mobile):
        return Decision.AskAgain(0)


class Speechless:
    def on_event(self, event, mobile):
        return "good"


class Broken:
    def __init__(self):
        raise RuntimeError("no decision")

    def on_event(self, event, mobile):
        return None


class Restless:
    """Asks as often as it may."""

    def on_event(self, event, mobile):
        return Decision.AskAgain(1e-12)
'''
)

LINKS = """\
name = "short"
duration = "30 s"

[links.wire]
between = ["server", "router"]
kind = "wired"
rate = "100 Mbit/s"

[links.good]
between = ["router", "laptop"]
kind = "wired"
rate = "2 Mbit/s"
delay = "10 ms"

[links.spare]
between = ["router", "laptop"]
kind = "wired"
rate = "1 Mbit/s"
delay = "250 ms"
"""
TIMETABLE = """
[mobiles.laptop]
timetable = [
  { at = "0 s", attach = "good" },
  { at = "10 s", attach = "spare", handover = "hard", outage = "3 s", announced = "300 ms" },
]
"""
MOBILE_IPV6 = """
[home_agents.router]
prefix = "2001:db8:1::/64"

[mobiles.laptop.mobility]
protocol = "mobile-ipv6"
home_agent = "router"
route_optimization = true
"""
CHANGES = """
[[changes]]
at = "5 s"
link = "good"
state = "down"

[[changes]]
at = "12 s"
link = "good"
state = "up"
"""


def flow(remedies, up=False):
    ends = ("laptop", "server") if up else ("server", "laptop")
    return f"""
[[flows]]
name = "download"
from = "{ends[0]}"
to = "{ends[1]}"
transport.congestion = "reno"
remedies = {remedies}
"""


def mobile(how):
    return f"[mobiles.laptop]\n{how}\n"


def decided(name):
    return mobile(f'decision = {{ class = "python:mine.{name}", links = ["good", "spare"] }}')


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.py").write_text(CLASSES)
    return tmp_path


def run(folder, *parts):
    return run_text(folder, "".join((LINKS, *parts)))


def run_text(folder, text):
    return baton.Scenario.parse(text, folder).run()


def assert_same(mine, built_in):
    assert pa.table(mine.series).equals(pa.table(built_in.series))
    assert pa.table(mine.packets).equals(pa.table(built_in.packets))


@pytest.mark.parametrize("up", [False, True], ids=["down", "up"])
@pytest.mark.parametrize(("mine", "built_in"), [("Freeze", "freeze-tcp"), ("Repeating", "duplicate-acks")])
def test_a_remedy_in_python_is_the_built_in_one(folder, mine, built_in, up):
    if up and mine == "Freeze":
        pytest.skip("acts when the mobile receives")
    results = {name: run(folder, TIMETABLE, flow(f'"{name}"', up)) for name in (f"python:mine.{mine}", built_in)}
    assert_same(*results.values())
    nothing = run(folder, TIMETABLE, flow('"none"', up))
    assert not pa.table(nothing.packets).equals(pa.table(results[built_in].packets))


def test_one_at_the_correspondent_hears_of_binding_updates(folder):
    results = [
        run(folder, TIMETABLE, MOBILE_IPV6, flow(f'"{name}"')) for name in ("python:mine.Timer", "adaptive-timer")
    ]
    assert_same(*results)


def test_two_classes_are_a_remedy_at_both_ends(folder):
    both = '["python:mine.Announcer", "python:mine.Resetter"]'
    results = [run(folder, TIMETABLE, flow(names)) for names in (both, '"timeout-reset"')]
    assert_same(*results)


def test_a_decision_in_python_is_the_built_in_failback(folder):
    policy = mobile('failback = { prefer = ["good", "spare"] }')
    results = [run(folder, how, CHANGES, flow('"none"')) for how in (decided("Failback"), policy)]
    assert [handover["kind"] for handover in results[0].summary["handovers"]] == ["hard", "soft"]
    assert results[0].summary["handovers"] == results[1].summary["handovers"]
    assert_same(*results)


def test_a_remedy_hears_of_its_queue(folder):
    """With a bucket of 1 Mbit/s before a link of 2 Mbit/s, slow start fills the bucket's queue; a remedy that hears of
    that loses nothing."""
    bucket = 'shapers = [{ flows = ["download"], rate = "1 Mbit/s", burst = "1500 B", queue = "60 packets", %s }]'
    full = {}
    for remedy in ("none", "python:mine.Polite"):
        links = LINKS.replace('rate = "2 Mbit/s"', 'rate = "2 Mbit/s"\n' + bucket % 'direction = "up", reports = true')
        timetable = mobile('timetable = [{ at = "0 s", attach = "good" }]')
        results = run_text(folder, "".join((links, timetable, MOBILE_IPV6, flow(f'"{remedy}"', up=True))))
        full[remedy] = pa.table(results.packets)["fate"].to_pylist().count("queue full")
        told = [row for row in pa.table(results.signals).to_pylist() if row["name"] == "SI-C-QUEUE_STATUS"]
        assert told[0]["details"] == "QID 1, 1 of 60 packets"
        # Packets sent at one moment are told of together.
        waiting = [int(row["details"].split()[2]) for row in told]
        assert 0 in waiting
        assert 30 < max(waiting) <= 60
        assert {row["link"] for row in told} == {"good"}
    assert full["none"] > 0
    assert full["python:mine.Polite"] == 0


ELSEWHERE = """
name = "elsewhere"
duration = "30 s"

[links.west-wire]
between = ["server", "west"]
kind = "wired"
rate = "100 Mbit/s"

[links.east-wire]
between = ["server", "east"]
kind = "wired"
rate = "100 Mbit/s"

[links.first]
between = ["west", "laptop"]
kind = "wired"
rate = "2 Mbit/s"
delay = "20 ms"

[links.slow]
between = ["east", "laptop"]
kind = "wired"
rate = "100 kbit/s"

[links.fast]
between = ["east", "laptop"]
kind = "wired"
rate = "1 Mbit/s"

[home_agents.server]
prefix = "2001:db8:1::/64"

[mobiles.laptop]
decision = { class = "python:mine.Careful", links = ["first", "slow", "fast"] }

[mobiles.laptop.mobility]
protocol = "mobile-ipv6"
home_agent = "server"
mih = { point_of_service = "west", information_service = true, remote_events = true }

[[changes]]
at = "10 s"
link = "west-wire"
state = "down"
"""


def test_a_decision_hears_of_links_elsewhere(folder):
    """The backbone fails at 10 s; the event takes 20 ms over the first link. Its own links tell the mobile nothing."""
    results = run_text(folder, ELSEWHERE)
    (handover,) = results.summary["handovers"]
    assert (handover["from"], handover["to"]) == ("first", "fast")
    # 76 B of message and headers at 2 Mbit/s take less than a millisecond.
    assert 10.02 < handover["at_s"] < 10.021
    names = pa.table(results.signals)["name"].to_pylist()
    assert names.count("MIH_Link_Down indication") == names.count("MIH acknowledgement") == 1
    slow = ELSEWHERE.replace('state = "down"', 'rate = "500 kbit/s"')
    slow = slow.replace("events = true", 'events = true, rate_threshold = "1 Mbit/s"')
    (handover,) = run_text(folder, slow).summary["handovers"]
    assert 10.02 < handover["at_s"] < 10.021
    deaf = run_text(folder, ELSEWHERE.replace("remote_events = true", "remote_events = false"))
    assert deaf.summary["handovers"] == []


def test_the_same_seed_gives_the_same_run(folder):
    parts = (decided("Failback"), CHANGES, flow('"python:mine.Repeating"'))
    assert_same(run(folder, *parts), run(folder, *parts))


def test_one_that_always_asks_comes_to_an_end(folder):
    assert run(folder, decided("Restless"), CHANGES, flow('"none"')).complete


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("Flaky", RuntimeError, "no idea what to do about Begun"),
        ("Unready", RuntimeError, "not ready"),
        ("Lonely", TypeError, r"Lonely.on_signal returned .*; expected a list of Control"),
        ("Wordy", TypeError, r"Wordy.on_signal returned 'freeze'; expected a list of Control"),
        (
            "Backwards",
            ValueError,
            "Backwards.on_signal returned a time of -1 s; expected a number above zero",
        ),
    ],
)
def test_a_remedy_that_fails_ends_the_run(folder, name, error, message):
    with pytest.raises(error, match=message) as raised:
        run(folder, TIMETABLE, flow(f'"python:mine.{name}"'))
    if error is RuntimeError:
        last = traceback.extract_tb(raised.value.__traceback__)[-1]
        assert Path(last.filename).name == "mine.py"
    # Its leftovers do not reach the next run.
    assert run(folder, TIMETABLE, flow('"python:mine.Freeze"')).complete


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("Lost", ValueError, 'Lost.on_event returned the link "nowhere"; expected one of: good, spare'),
        ("Hasty", ValueError, "Hasty.on_event returned a wait of 0 s"),
        ("Speechless", TypeError, "Speechless.on_event returned 'good'; expected a Decision"),
        ("Broken", RuntimeError, "no decision"),
    ],
)
def test_a_decision_that_fails_ends_the_run(folder, name, error, message):
    with pytest.raises(error, match=message):
        run(folder, decided(name), CHANGES, flow('"none"'))
    assert run(folder, decided("Failback"), CHANGES, flow('"none"')).complete


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            (TIMETABLE, flow('"python:mine.Frieze"')),
            '"python:mine.Frieze" cannot be found: mine has no class `Frieze`; did you mean `Freeze`?',
        ),
        ((TIMETABLE, flow('"python:mine.Lost"')), '"python:mine.Lost" is not a remedy: it lacks on_signal'),
        (
            (TIMETABLE, flow('"python:mine.Everywhere"')),
            'has the place \'everywhere\'; expected "mobile" or "correspondent"',
        ),
        ((TIMETABLE, flow('"python:mine.Timer"')), "learns of a handover from a binding update; expected mobility"),
        ((TIMETABLE, flow('["freeze"]')), 'unknown remedies "freeze"'),
        ((decided("Freeze"), flow('"none"')), '"python:mine.Freeze" is not a decision: it lacks on_event'),
        (
            (mobile('decision = { class = "python:mine.Lost", links = ["wire"] }'), flow('"none"')),
            'link "wire" does not end at "laptop"',
        ),
        (
            (mobile('failback = { prefer = ["good"] }\ndecision = { class = "python:mine.Lost", links = ["good"] }'),),
            "decision: is set beside failback; expected only one of them",
        ),
        ((mobile(""), flow('"none"')), "has no timetable, failback or decision; expected one of them"),
    ],
)
def test_what_is_wrong_is_said_before_a_run(folder, parts, message):
    with pytest.raises(baton.ScenarioError) as raised:
        run(folder, *parts)
    assert message in str(raised.value)
