"""The comparison of remedies: measures, ranking and advice on numbers by hand, what is refused, and a small cross."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from baton import InputError, Scenario
from baton.progress import in_words
from baton.remedies import advice, cli, estimate, gains, measure, ranking
from baton.remedies.cells import Cells
from baton.remedies.cross import CrossPoint, load, points
from baton.remedies.facts import NOTHING, NOTHING_ROUTED, Network, Remedy, in_place, remedies, routed
from baton.remedies.narrow import narrowed
from baton.remedies.paths import read_path
from baton.remedies.reading import read, study_file
from baton.remedies.refusals import Refusal, find_unfit, refusals, sentences
from baton.remedies.study import Block, RemedyStudy, Situation, Stack
from baton.sweep import shards
from baton.sweep.engines import opened

STUDY = Path(__file__).parent.parent / "studies" / "remedies"
PATH = (STUDY / "wifi-satellite.toml").read_text()


@pytest.fixture
def standard():
    return read(study_file(str(STUDY)), full=False, own_path=None)


def make_path(folder: Path, *changes: tuple[str, str]) -> Path:
    text = PATH
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    file = folder / "mine.toml"
    file.write_text(text)
    return file


# --- what a run says ---


def handover(**other):
    flows = [
        {"name": "transfer", "delivered_bytes": 600, "stall_s": 2.0, "spurious_retransmissions": 3},
        {"name": "other", "delivered_bytes": 200, "stall_s": 1.0, "spurious_retransmissions": 9},
    ]
    told = {"at_s": 10.0, "announced_s": None, "completed_s": 12.0, "kind": "hard", "flows": flows}
    return told | {"old_rate_bps": 8_000, "new_rate_bps": 80} | other


@pytest.mark.parametrize(
    ("changes", "carried"),
    [
        # Hard, from 10 s: nothing until 12 s, then 18 s of 10 B/s.
        ({}, 180),
        # Announced at 9 s: a second of 1000 B/s more.
        ({"announced_s": 9.0}, 1_180),
        # Soft: the old link for the two seconds until the new one is in use.
        ({"kind": "soft"}, 2_180),
        # Never completed: nothing after the break.
        ({"completed_s": None}, 0),
    ],
)
def test_what_links_carry_at_a_handover(changes, carried):
    assert measure.carried(handover(**changes), 30.0) == carried


def test_a_row_holds_what_those_with_the_remedy_got_and_the_other_apart():
    flow = {"failure": None, "completion_s": None, "spurious_retransmitted": 0}
    flows = [flow | {"name": "transfer", "delivered_bytes": 1_000}, flow | {"name": "other", "delivered_bytes": 500}]
    later = handover(at_s=20.0, announced_s=19.0, completed_s=20.0)
    row = measure.row({"flows": flows, "handovers": [handover(), later], "simulated_s": 30.0})
    assert row["bytes"] == 1_000
    assert (row["handovers.0.bytes"], row["handovers.0.other_bytes"]) == (600, 200)
    # To the next one's announcement, at 19 s: 7 s of 10 B/s after the outage.
    assert row["handovers.0.carried"] == 70
    assert (row["handovers.0.stall_s"], row["handovers.0.spurious"]) == (2.0, 3)
    # (600 + 200)² / (2 · (600² + 200²)) = 0.8
    assert row["handovers.0.fair"] == pytest.approx(0.8)
    assert "page_load_s" not in row


def test_pages_that_are_not_finished_are_counted():
    flow = {"failure": None, "delivered_bytes": 0, "spurious_retransmitted": 0}
    done = [flow | {"name": f"page-{n}", "completion_s": float(n)} for n in (1, 3)]
    open_ = flow | {"name": "page-9", "completion_s": None}
    row = measure.row({"flows": [*done, open_], "handovers": [], "simulated_s": 9.0})
    assert (row["page_load_s"], row["pages_unfinished"]) == (2.0, 1)


def test_jains_index_is_one_for_equals_and_one_nth_for_one_alone():
    assert measure.jain([5, 5, 5]) == pytest.approx(1)
    assert measure.jain([7, 0, 0, 0]) == pytest.approx(1 / 4)
    assert measure.jain([0, 0]) is None


# --- ranking and advice on numbers made by hand ---

HARD, SOFT = (Situation("p", kind, "cubic", 0, "1", "download") for kind in ("hard", "soft"))
CELLS = [gains.Cell(HARD, 0), gains.Cell(SOFT, 0)]
CARRIED = 1_000.0


def known(name: str, *installed: str, own: bool = False) -> Remedy:
    return Remedy(name, "By hand.", installed, quic=True, ipsec=True, own=own)


def made(delivered: dict[str, dict[Situation, list[float]]]) -> gains.Runs:
    """Runs by remedy and situation: bytes delivered, for the seeds from 1 on."""

    def row(value: float) -> dict[str, float]:
        return {"bytes": value, "handovers.0.bytes": value, "handovers.0.carried": CARRIED}

    return gains.Runs(
        {
            (situation, remedy): {seed: row(value) for seed, value in enumerate(values, start=1)}
            for remedy, by_situation in delivered.items()
            for situation, values in by_situation.items()
        }
    )


NONE = {HARD: [100.0, 200.0, 300.0, 150.0], SOFT: [500.0, 480.0, 520.0, 510.0]}


def above(hard: list[float], soft: list[float]) -> dict[Situation, list[float]]:
    pairs = zip((HARD, SOFT), (hard, soft), strict=True)
    return {each: [base + more for base, more in zip(NONE[each], gained, strict=True)] for each, gained in pairs}


def with_a_fifth(delivered: dict[str, dict[Situation, list[float]]]) -> gains.Runs:
    """The same with one seed more, at which all have their mean: of fewer than five there is no advice."""
    return made(
        {
            remedy: {situation: [*values, sum(values) / len(values)] for situation, values in by_situation.items()}
            for remedy, by_situation in delivered.items()
        }
    )


def stand(runs: gains.Runs, *all_known: Remedy) -> list[ranking.Standing]:
    cells = Cells(CELLS, [], [], [], {}, {}, {}, {}, {}, {}, {})
    return [ranking.standing(each, runs, cells, []) for each in all_known]


def test_a_gain_is_the_paired_difference_as_a_share_with_students_interval():
    stats = pytest.importorskip("scipy.stats")
    hard, soft = [100.0, 140.0, 90.0, 130.0], [10.0, -20.0, 0.0, 30.0]
    runs = made({NOTHING: NONE, "better": above(hard, soft)})
    found = runs.over(CELLS, "better", gains.gain)
    by_seed = (np.array(hard) + np.array(soft)) / 2 / CARRIED
    expected = stats.t.interval(0.95, 3, loc=by_seed.mean(), scale=stats.sem(by_seed))
    assert found.mean == pytest.approx(by_seed.mean())
    assert (found.low, found.high) == pytest.approx(expected)
    # The spread between seeds, 100 to 300, is in both and so in no interval.
    paired = stats.ttest_rel(
        *(np.array([runs.of(HARD, name)[s]["bytes"] for s in range(1, 5)]) for name in ("better", NOTHING))
    )
    each = runs.over(CELLS[:1], "better", gains.gain)
    interval = paired.confidence_interval(0.95)
    assert (each.low, each.high) == pytest.approx((interval.low / CARRIED, interval.high / CARRIED))


def test_the_advice_is_the_best_whose_interval_is_above_zero_and_names_its_equals():
    runs = with_a_fifth(
        {
            NOTHING: NONE,
            "best": above([100, 110, 90, 100], [0, 0, 0, 0]),
            "as-good": above([95, 120, 70, 110], [0, 0, 0, 0]),
            "less": above([50, 60, 40, 50], [0, 0, 0, 0]),
            "by-chance": above([900, -300, 600, -200], [0, 0, 0, 0]),
            "harmful": above([-50, -60, -40, -50], [0, 0, 0, 0]),
            "both-ends": above([500, 500, 510, 490], [0, 0, 0, 0]),
        }
    )
    here = [known(name, "mobile") for name in ("best", "as-good", "less", "by-chance")]
    found = stand(runs, *here, known("harmful", "sender"), known("both-ends", "sender", "mobile"))
    mobile, sender, gateway = advice.advise(found, runs, CELLS)
    assert mobile.best is not None
    assert mobile.best.remedy.name == "best"
    assert [each.remedy.name for each in mobile.ties] == ["as-good"]
    assert "controls only the mobile should install best" in mobile.sentence
    assert "better than nothing at 1 of them and worse at 0" in mobile.sentence
    assert "as-good cannot be told from it" in mobile.sentence
    assert (sender.best, gateway.best) == (None, None)
    assert "controls only the sender should install nothing" in sender.sentence
    assert "controls only the gateway is not known: no remedy that needs" in gateway.sentence
    assert [each.to_json()["remedy"] for each in (mobile, sender, gateway)] == ["best", NOTHING, None]
    # No run without a handover was made, so nothing is said of one.
    assert mobile.sentence.endswith("worse at 0; as-good cannot be told from it at 95 %.")


def test_what_a_single_run_or_an_interrupted_comparison_leaves_open_is_not_called_nothing():
    one = {situation: values[:1] for situation, values in NONE.items()}
    better = {situation: [values[0] + 300] for situation, values in NONE.items()}
    runs = made({NOTHING: one, "better": better, "ours": better})
    found = stand(runs, known("better", "mobile"), known("ours", "mobile", own=True))
    mobile, *_ = advice.advise(found, runs, CELLS)
    assert "only the mobile is not known: 1 seed tells too little; --seeds 5" in mobile.sentence
    assert mobile.to_json()["remedy"] is None
    # Unknown, too, at how many handovers one of our own is better.
    [apart, _] = advice.distances(found, runs, CELLS)
    assert apart.sentence.endswith("for mobile alone: 0.0 % (one run: no interval).")
    worse = above([-50, -60, -40, -50], [0, 0, 0, 0])
    runs = with_a_fifth({NOTHING: NONE, "worse": worse})
    found = stand(runs, known("worse", "mobile"), known("not-yet", "sender"))
    mobile, sender, gateway = advice.advise(found, runs, CELLS, complete=False)
    for each in (mobile, sender):
        assert "is not known: the comparison was interrupted; --resume goes on with it" in each.sentence
    assert "no remedy that needs the gateway alone was run" in gateway.sentence
    assert "should install nothing" in advice.advise(found, runs, CELLS)[0].sentence


def test_four_seeds_make_no_advice_however_clear_they_are():
    runs = made({NOTHING: NONE, "better": above([900, 910, 890, 900], [300, 310, 300, 290])})
    mobile, *_ = advice.advise(stand(runs, known("better", "mobile")), runs, CELLS)
    assert mobile.best is None
    assert "is not known: 4 seeds tell too little; --seeds 5 or more make an advice" in mobile.sentence


def test_our_own_are_held_against_the_best_published_in_their_place_and_anywhere():
    runs = made(
        {
            NOTHING: NONE,
            "ours": above([100, 110, 90, 100], [-50, -52, -48, -50]),
            "theirs": above([40, 50, 30, 40], [0, 0, 0, 0]),
            "elsewhere": above([200, 210, 190, 200], [0, 0, 0, 0]),
        }
    )
    all_known = [known("ours", "mobile", own=True), known("theirs", "mobile"), known("elsewhere", "sender")]
    in_place_, anywhere = advice.distances(stand(runs, *all_known), runs, CELLS)
    assert (in_place_.published.remedy.name, anywhere.published.remedy.name) == ("theirs", "elsewhere")
    # 60 more at the hard one, 50 less at the soft one, of 1000: half a percent on average.
    assert in_place_.apart.mean == pytest.approx((0.060 - 0.050) / 2)
    assert (in_place_.better, in_place_.worse) == (1, 1)
    assert anywhere.apart.mean == pytest.approx((-0.100 - 0.050) / 2)
    assert "the best published for mobile alone" in in_place_.sentence


def test_where_the_engine_refuses_a_remedy_it_gains_nothing():
    runs = made({NOTHING: NONE, "half": {HARD: above([100] * 4, [0] * 4)[HARD]}})
    assert runs.over(CELLS, "half", gains.gain).mean == pytest.approx(0.05)
    [half] = stand(runs, known("half", "mobile"))
    assert not half.never_run
    [absent] = stand(runs, known("absent", "mobile"))
    assert absent.never_run


def test_no_remedy_alone_in_a_place_is_in_two():
    assert [each.name for each in in_place([known("a", "sender"), known("b", "sender", "mobile")], "sender")] == ["a"]


# --- what is crossed ---


def test_the_standard_cross_has_every_remedy_and_at_most_5000_runs(standard):
    there = [NOTHING_ROUTED, "ready-gateway, routed", "flow-control"]
    assert list(standard.remedies) == [*remedies(), *there, "shapers", "policers"]
    find_unfit(standard)
    assert not list(standard.fit()), "the file itself says how many seeds there are"
    assert standard.count() <= standard.most_runs == 5_000
    assert standard.headline == ["Linux 6 CUBIC", "Linux 6 BBR"]
    situations = standard.situations()
    assert {each.loss for each in situations} == {0, 1e-4, 1e-3, 1e-2}
    assert {each.load for each in situations} == {"1", "1 of 2", "100"}
    assert {each.direction for each in situations} == {"download", "upload"}
    mobile_ip = [path for path in standard.paths.values() if not path.repeating]
    assert len(mobile_ip) == 3
    for path in mobile_ip:
        kinds = {each.handover for each in situations if each.path == path.name and each.stack == "Linux 6 BBR"}
        assert kinds == {"hard", "announced", "soft", *(f"none on {link}" for link in path.links)}


def test_a_study_of_more_runs_takes_fewer_seeds_and_says_so(standard):
    standard.most_runs = standard.count() - 1
    assert ["fewer seeds" in note for note in standard.fit()] == [True]
    assert standard.count() <= standard.most_runs
    standard.most_runs = 10
    with pytest.raises(InputError, match="shorten a block"):
        list(standard.fit())


def test_every_point_is_a_scenario_with_its_remedy(standard):
    situation = Situation("wifi-satellite", "soft", "NewReno", 0.01, "1 of 2", "download")
    scenario = Scenario.load(*vars_of(standard, situation, "eclair"))
    assert scenario.flow_names == ["transfer", "other"]
    text = scenario.resolved
    assert text.count("packet_error_rate = 0.01") == 2
    assert text.count('remedies = "eclair"') == 1
    assert text.count('congestion = "newreno"') == 2
    assert "outage" not in text
    assert "announced" not in text
    assert 'handover = "soft"' in text
    crowded = Situation("satellite-wifi", "hard", "Linux 6 BBR", 0, "100", "download")
    crowd = Scenario.load(*vars_of(standard, crowded, "atcp"))
    assert len(crowd.flow_names) == 100
    assert crowd.resolved.count('remedies = "atcp"') == 90, "calls are datagrams"


def vars_of(study: RemedyStudy, situation: Situation, remedy: str) -> tuple[str, list[str]]:
    point = CrossPoint(study, situation, remedy)
    return str(point.path.file), point.overrides


def test_an_upload_is_the_download_turned_round_and_what_acts_on_downloads_alone_is_refused(standard):
    situation = Situation("wifi-satellite", "announced", "Linux 6 CUBIC", 0, "100", "upload")
    [flows] = [each for each in CrossPoint(standard, situation, "atcp").overrides if each.startswith("flows=")]
    assert flows.count('"from" = "mobile", "to" = "server"') == len(re.findall('"name" = ', flows)) == 100
    alone = Situation("wifi-satellite", "announced", "Linux 6 CUBIC", 0, "1", "upload")
    assert load(CrossPoint(standard, alone, "ready-mobile"))[1] is None
    _, reason = load(CrossPoint(standard, alone, "freeze-tcp"))
    assert "acts when the mobile receives" in reason


@pytest.mark.parametrize("name", ["shapers", "policers"])
def test_regulators_give_each_connection_its_part_of_what_a_link_carries(standard, name):
    shared = Situation("wifi-satellite", "announced", "Linux 6 CUBIC", 0, "1 of 2", "download")
    text = Scenario.load(*vars_of(standard, shared, name)).resolved
    # The path's file: WiFi 2 Mbit/s with room for 10 packets, the satellite 1 Mbit/s and 42, both without framing.
    assert text.count(f"links.wifi.{name}") == text.count(f"links.satellite.{name}") == 1
    wifi, satellite = text[text.index(f"[[links.wifi.{name}") :], text[text.index(f"[[links.satellite.{name}") :]
    for link, rate, room in ((wifi, 1_000_000, 10), (satellite, 500_000, 42)):
        table = link.partition("\n\n")[0]
        assert f'rate = "{rate} bit/s"' in table
        assert 'flows = ["transfer", "other"]' in " ".join(table.split()).replace("[ ", "[").replace(" ]", "]")
        assert 'direction = "down"' in table
        assert ("queue" in table) == (name == "shapers")
        assert (f'queue = "{room} packets"' in table) == (name == "shapers")
    other_way = Situation(**vars(shared) | {"direction": "upload"})
    assert 'direction = "up"' in Scenario.load(*vars_of(standard, other_way, name)).resolved
    crowd = Situation(**vars(shared) | {"load": "100"})
    assert "call-1" not in "".join(each for each in vars_of(standard, crowd, name)[1] if "links." in each)


def test_a_path_that_repeats_is_no_part_of_the_rank_unless_it_is_alone(standard):
    cells = Cells.of(standard)
    assert {cell.situation.path for cell in cells.headline} == {"wavelan-gsm", "satellite-wifi", "wifi-satellite"}
    assert {cell.situation.path for some in cells.repeating.values() for cell in some} == {"wavelan-radio"}
    still = [cell for some in cells.repeating_still.values() for cell in some]
    assert {cell.situation.handover for cell in still} == {"none on radio"}, "WaveLAN does not repeat"
    alone = Cells.of(narrowed(standard, ["path=wavelan-radio"], None))
    assert {cell.situation.path for cell in alone.headline} == {"wavelan-radio"}
    assert not alone.repeating


def test_ebsn_runs_over_a_link_that_repeats_and_is_refused_with_the_reason_elsewhere(standard):
    study = narrowed(standard, ["remedy=ebsn,atcp,method-2"], None)
    find_unfit(study)
    assert study.unfit["wavelan-radio", "Linux 6 CUBIC", "download"] == {"method-2"}
    assert study.unfit["wavelan-gsm", "Linux 6 CUBIC", "download"] == {"ebsn"}
    assert study.unfit["wavelan-gsm", "Linux 6 CUBIC", "upload"] == {"ebsn", "method-2"}
    refused = [(point, reason) for point in points(study) for reason in [load(point)[1]] if reason]
    found = refusals(study, refused)
    with_mobile_ip = "satellite-wifi, wavelan-gsm, wifi-satellite"
    assert {(each.remedy, each.where) for each in found} == {
        ("ebsn", with_mobile_ip), ("method-2", "wavelan-radio"), ("method-2", "uploads"),
    }  # fmt: skip
    assert f"ebsn ({with_mobile_ip}): needs a link with link-layer retransmission" in " ".join(sentences(found))


def test_snoop_takes_part_in_uploads_of_stacks_that_take_sack(standard):
    def reason(stack: str) -> str | None:
        situation = Situation("wifi-satellite", "announced", stack, 0, "1", "upload")
        return load(CrossPoint(standard, situation, "snoop"))[1]

    assert reason("Linux 6 CUBIC") is None
    assert "by selective acknowledgments" in reason("NewReno")


def test_what_is_refused_with_the_same_words_stands_in_one_line():
    found = [Refusal(name, "uploads", f'"{name}" acts elsewhere') for name in ("a", "b")]
    assert sentences([*found, Refusal("c", "p", "something else")]) == [
        "a, b (uploads): acts elsewhere",
        "c (p): something else",
    ]


def test_runs_that_the_engine_refuses_are_not_counted(standard):
    study = narrowed(standard, ["remedy=freeze-tcp", "direction=upload"], 2)
    assert study.count() == 2 * len(study.situations()) * 2
    find_unfit(study)
    assert study.count() == 1 * len(study.situations()) * 2


def test_what_is_run_without_mobile_ip_is_held_against_nothing_in_its_own_world():
    rows = {
        NOTHING: NONE,
        NOTHING_ROUTED: above([30, 30, 30, 30], [0, 0, 0, 0]),
        "flow-control": above([50, 60, 50, 60], [0, 0, 0, 0]),
    }
    network = Network({}, {}, routed=True)
    own_world = Remedy("flow-control", "By hand.", ("gateway",), quic=True, ipsec=True, own=False, network=network)
    runs = gains.Runs(made(rows)._rows, {"flow-control": own_world.base})
    # 25 more than nothing there, not 55 more than nothing with Mobile IP; half of that over both handovers.
    assert runs.over(CELLS, "flow-control", gains.gain).mean == pytest.approx(0.0125)
    assert own_world.shown.endswith("†")
    in_network = Network({}, {}, routed=False)
    assert Remedy("shapers", "By hand.", ("gateway",), True, False, False, in_network).base == NOTHING


def test_our_own_and_what_runs_without_mobile_ip_are_compared_where_both_run():
    rows = {
        NOTHING: NONE,
        NOTHING_ROUTED: above([30, 30, 30, 30], [0, 0, 0, 0]),
        "ours": above([90, 90, 90, 90], [0, 0, 0, 0]),
        "ours, routed": above([50, 50, 50, 50], [0, 0, 0, 0]),
        "flow-control": above([40, 40, 40, 40], [0, 0, 0, 0]),
    }
    bases = {"ours": NOTHING, "ours, routed": NOTHING_ROUTED, "flow-control": NOTHING_ROUTED}
    runs = gains.Runs(made(rows)._rows, bases)
    # 20 and 10 more than nothing there, of 1,000 at one of two handovers; not the 90 with Mobile IP.
    assert runs.apart(CELLS, "flow-control", "ours").mean == pytest.approx(0.005)
    assert routed(Remedy("ours", "By hand.", ("gateway",), False, False, own=True)).base == NOTHING_ROUTED


def test_an_estimate_is_the_mean_of_a_sample_times_all_runs(standard, monkeypatch):
    """64 runs in 32 s are half a second each."""
    study = narrowed(standard, ["remedy=atcp", "load=1", "loss=0", "path=wifi-satellite", "stack=NewReno"], 2)
    clock = iter([100.0, 132.0])
    monkeypatch.setattr(estimate.time, "monotonic", lambda: next(clock))
    crossed = points(study)
    assert estimate.SAMPLE == 64
    with opened(None, None) as engine:
        assert estimate.estimate_s(crossed, [50] * len(crossed), engine) == pytest.approx(0.5 * 50 * len(crossed))


def test_an_estimate_is_told_in_hours_when_it_is_long():
    assert (in_words(30), in_words(600), in_words(36_000)) == ("1 min", "10 min", "10 h")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("flows.download.transport.congestion=reno", "no such axis"),
        ("remedy=freeze", "did you mean `freeze-tcp`"),
        ("path=moon", "is not known"),
        ("load=7", "is not known"),
        ("loss=0.5", "is not known"),
    ],
)
def test_what_a_study_does_not_cross_is_refused(standard, override, message):
    with pytest.raises(InputError, match=message):
        narrowed(standard, [override], None)


def test_a_narrowed_study_has_what_was_asked_for(standard):
    found = narrowed(standard, ["remedy=atcp", "loss=0.01"], 2)
    assert list(found.remedies) == [NOTHING, "atcp"]
    assert {each.loss for each in found.situations()} == {0.01}
    assert set(found.situations().values()) == {2}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((', announced = "1.1 s"', ""), r"timetable\[2\].*with outage"),
        (('from = "server"\nto = "mobile"', 'from = "mobile"\nto = "server"'), "turns it round for uploads"),
        (('to = "mobile"\n', 'to = "mobile"\nremedies = "atcp"\n'), "remedies: is given"),
        (('to = "mobile"\n', 'to = "mobile"\ntransport.profile = "rfc"\n'), "profile: is given"),
        (("[[flows]]", '[[flows]]\nname = "two"\nfrom = "server"\nto = "mobile"\n\n[[flows]]'), "flows: has 2"),
    ],
)  # fmt: skip
def test_a_path_that_does_not_fit_is_refused_with_the_reason(tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        read_path(make_path(tmp_path, change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ('stacks = ["Linux 6 CUBIC", "Linux 7"]', "`Linux 7` is not known; did you mean `Linux 6"),
        ('handovers = ["hrad"]', "did you mean `hard`"),
        ("loss = [1.5]", "from 0 to below 1"),
        ("seed = 7", "expected directions, handovers, loads"),
    ],
)
def test_mistakes_in_a_study_are_told(tmp_path, change, message):
    key = change.partition(" =")[0]
    text = (STUDY / "study.toml").read_text()
    first, rest = text.split("[[blocks]]", 1)
    rest = re.sub(rf"(?m)^{key} = .*$", change, rest, count=1) if key != "seed" else rest.replace("seeds", "seed", 1)
    for path in STUDY.glob("*.toml"):
        (tmp_path / path.name).write_text(path.read_text())
    (tmp_path / "study.toml").write_text(first + "[[blocks]]" + rest)
    with pytest.raises(InputError, match=message):
        read(tmp_path / "study.toml", full=False, own_path=None)


def test_the_full_factorial_is_everything_with_everything():
    full = read(study_file(str(STUDY)), full=True, own_path=None)
    links = sum(len(path.links) for path in full.paths.values())
    assert len(full.situations()) == (3 * len(full.paths) + links) * len(full.stacks) * 4 * 3 * 2
    assert not list(full.fit())


def test_a_whole_cross_has_gains_by_level_over_what_the_engine_accepts(standard):
    """Gains by hand: 10 without losses and 4 with them, of downloads with one stack, at two handovers a run."""
    full = read(study_file(str(STUDY)), full=True, own_path=None)
    full = narrowed(full, ["path=wifi-satellite", "stack=Linux 6 CUBIC", "load=1", "remedy=atcp"], 2)
    rows = {}
    for each in full.situations():
        downloaded = 10.0 if not each.loss else 4.0
        for remedy, more in ((NOTHING, 0.0), *([("atcp", downloaded)] if each.direction == "download" else [])):
            numbers = {f"handovers.{number}": {"bytes": 500.0 + more, "carried": CARRIED} for number in (0, 1)}
            row = {f"{cell}.{key}": value for cell, told in numbers.items() for key, value in told.items()}
            rows[each, remedy] = {1: row, 2: row}
    [atcp] = [each for each in ranking.standings(full, gains.Runs(rows), []) if each.remedy.name == "atcp"]
    means = {level: found.mean and 100 * found.mean for level, found in atcp.whole.items()}
    assert means == {
        "all": pytest.approx((1.0 + 3 * 0.4) / 4),
        **{f"handover={kind}": pytest.approx((1.0 + 3 * 0.4) / 4) for kind in ("hard", "announced", "soft")},
        "loss=0": pytest.approx(1.0),
        **{f"loss={rate}": pytest.approx(0.4) for rate in (0.0001, 0.001, 0.01)},
        "direction=download": pytest.approx((1.0 + 3 * 0.4) / 4),
        "direction=upload": None,
    }
    assert Cells.of(standard).whole == {}


# --- pages of remedies ---

TWO_LINKS = """
name = "break"
duration = "60 s"
[links.old]
between = ["server", "mobile"]
kind = "wired"
rate = "{rate}"
delay = "{delay}"
queue = "20 packets"
[links.new]
between = ["server", "mobile"]
kind = "wired"
rate = "1 Mbit/s"
delay = "250 ms"
queue = "50 packets"
[mobiles.mobile]
timetable = [
  {{ at = "0 s", attach = "old" }},
  {{ at = "{at}", attach = "new", handover = "hard", outage = "4 s" }},
]
[[flows]]
name = "download"
from = "server"
to = "mobile"
transport.profile = "{profile}"
remedies = "{remedy}"
"""


@pytest.mark.parametrize(
    ("old", "profile", "has_news"),
    [
        ({"rate": "2 Mbit/s", "delay": "10 ms", "at": "30 s"}, "linux-6", True),
        ({"rate": "2 Mbit/s", "delay": "10 ms", "at": "30 s"}, "rfc", True),
        # A segment takes 47 ms, and at 30.036 s every acknowledgment has long arrived.
        ({"rate": "256 kbit/s", "delay": "2 ms", "at": "30036 ms"}, "rfc", False),
    ],
)
def test_copies_of_the_last_acknowledgment_help_a_sender_with_sack_where_it_was_lost(tmp_path, old, profile, has_news):
    """By RFC 6675 an acknowledgment without news is no duplicate for such a sender; one with news ends its backoff."""
    at_handover, lost = {}, {}
    for remedy in (NOTHING, "duplicate-acks"):
        file = tmp_path / f"{remedy}.toml"
        file.write_text(TWO_LINKS.format(**old, profile=profile, remedy=remedy))
        result = Scenario.load(file).run()
        [moved] = result.summary["handovers"]
        [at_handover[remedy]] = moved["flows"]
        sent = [each for each in pa.table(result.packets).to_pylist() if each["direction"] == "up"]
        told = max(
            each["acknowledgment"] or 0 for each in sent if each["link"] == "old" and each["fate"] == "delivered"
        )
        lost[remedy] = next(each for each in sent if each["link"] == "new")["acknowledgment"] - told
    without, with_copies = at_handover[NOTHING], at_handover["duplicate-acks"]
    assert (lost["duplicate-acks"] > 0) is has_news
    if has_news:
        assert with_copies["stall_s"] < without["stall_s"] - 1
        assert with_copies["delivered_bytes"] > 1.1 * without["delivered_bytes"]
    else:
        # The copies themselves are packets that come over the new link.
        assert with_copies | {"packet_interruption_s": without["packet_interruption_s"]} == without


# --- whole comparisons ---

SMALL = ("--set", "remedy=atcp,flow-control", "--set", "load=1", "--set", "loss=0", "--seeds", "2", "--out", "out")


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """A small comparison on a path of one's own, through the command line."""
    import subprocess
    import sys

    folder = tmp_path_factory.mktemp("compared")
    file = make_path(folder, ('name = "wifi-satellite"', 'name = "mine"'))
    command = [sys.executable, "-m", "baton", "sweep", str(STUDY), "--path", str(file), *SMALL]
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    return folder, process, command


def test_a_small_comparison_ranks_all_and_ends_in_advice(compared):
    folder, process, _ = compared
    assert process.returncode == 0, process.stderr
    lines = process.stdout.splitlines()
    assert lines[-1] == "out/report.html"
    text = " ".join(process.stdout.split())
    assert "an operator who controls only the mobile is not known: 2 seeds tell too little" in text
    found = json.loads((folder / "out" / "statistics.json").read_text())
    assert found["complete"] is True
    names = [each["remedy"]["name"] for each in found["remedies"]]
    assert sorted(names) == ["atcp", "flow-control", NOTHING]
    gained = [each["gain"]["mean"] for each in found["remedies"]]
    assert gained == sorted(gained, reverse=True)
    assert [each["place"] for each in found["advice"]] == ["mobile", "sender", "gateway"]


def test_the_gains_of_a_comparison_are_those_of_its_single_runs(compared):
    folder, _, _ = compared
    own = read(study_file(str(STUDY)), full=False, own_path=folder / "mine.toml")
    situation = Situation("mine", "announced", "Linux 6 CUBIC", 0, "1", "download")
    rows = pq.read_table(folder / "out" / "runs.parquet").to_pylist()
    for remedy in (NOTHING, "atcp"):
        scenario = Scenario.load(*vars_of(own, situation, remedy))
        [row] = [
            row
            for row in rows
            if row["set.remedy"] == remedy
            and row["seed"] == 2
            and all(row[f"set.{key}"] == str(value) for key, value in vars(situation).items() if f"set.{key}" in row)
        ]
        summary = scenario.run(seed=2).summary
        for number, handover_ in enumerate(summary["handovers"]):
            [flow] = handover_["flows"]
            assert row[f"handovers.{number}.bytes"] == flow["delivered_bytes"]
            assert row[f"handovers.{number}.stall_s"] == flow["stall_s"]


def test_the_page_stands_alone_and_ends_in_one_sentence_for_each_place(compared):
    folder, _, _ = compared
    page = (folder / "out" / "report.html").read_text()
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page)
    ending = page[page.index('class="advice"') :]
    assert [re.search(r"controls only the (\w+)", each)[1] for each in re.findall(r"<p>(.*?)</p>", ending)] == [
        "mobile", "sender", "gateway",
    ]  # fmt: skip
    assert ending.rstrip().endswith("</html>")


def test_an_interrupted_comparison_says_so_with_its_table(tmp_path, monkeypatch, capsys):
    """A remedy that had not begun is not called refused, and no advice is drawn from it."""

    def interrupt(folder, crossed, runs, *_, **__):
        """Leaves the first two points, nothing and ATCP, with a run each, as Ctrl-C would."""
        for point, each in list(zip(crossed, runs, strict=True))[:2]:
            scenario, _ = load(point)
            each.rows[1] = measure.row(scenario.run(seed=1).summary)
        return False

    monkeypatch.setattr(cli.batches, "run", interrupt)
    chosen = ["remedy=atcp,method-2", "stack=Linux 6 CUBIC", "handover=hard", "load=1", "loss=0", "direction=download"]
    given = {"file": study_file(str(STUDY)), "path": make_path(tmp_path), "out": tmp_path / "out", "overrides": chosen}
    engine = {"jobs": None, "executor": None, "shard": None}
    asked = cli.CompareOptions(**given, **engine, full=False, seeds=2, force=False, resume=False, json=False)
    assert cli.run(asked) == shards.INTERRUPTED
    text = " ".join(capsys.readouterr().out.split())
    assert re.search(
        r": 2 runs in \d+ s This comparison was interrupted: the results below are from the runs that", text
    )
    assert "method-2 sender yes yes no run" in text
    assert "REFUSED" not in text
    assert "should install nothing" not in text
    page = (tmp_path / "out" / "report.html").read_text()
    assert "no run has ended" in page
    assert "refused: " not in page
    assert "counts as nothing installed" in page


def test_a_comparison_goes_on_where_it_was_left(compared, baton):
    folder, _, command = compared
    runs = folder / "out" / "runs.jsonl"
    whole = sorted(runs.read_text().splitlines())
    before = json.loads((folder / "out" / "statistics.json").read_text())["remedies"]
    runs.write_text("\n".join(whole[:7]) + "\n")
    arguments = command[3:]
    process = baton(*arguments, "--resume", cwd=folder)
    assert process.returncode == 0, process.stderr
    assert {line.split(', "summary"')[0] for line in runs.read_text().splitlines()} == {
        line.split(', "summary"')[0] for line in whole
    }
    assert json.loads((folder / "out" / "statistics.json").read_text())["remedies"] == before


def test_only_scenarios_with_a_run_to_make_are_read(tmp_path, monkeypatch, capsys):
    """The full cross has a hundred thousand, and a shard or a resumed sweep needs a few of them."""
    read_ones = []
    monkeypatch.setattr(cli.batches, "load", lambda point: read_ones.append(point) or load(point))
    chosen = ["remedy=atcp,method-2", "stack=Linux 6 CUBIC", "handover=hard", "load=1", "loss=0", "direction=download"]
    given = {"file": study_file(str(STUDY)), "path": make_path(tmp_path), "overrides": chosen, "seeds": 1}
    options = {"jobs": None, "executor": None, "full": False, "force": False, "json": False} | given

    def reads(shard, resume):
        read_ones.clear()
        out = tmp_path / "out"
        assert cli.run(cli.CompareOptions(**options, out=out, shard=shard, resume=resume)) == 0
        return [point.remedy for point in read_ones]

    assert reads("2/3", resume=False) == ["atcp"]
    assert reads("2/3", resume=True) == []
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((str(STUDY), "--until-width", "5%"), "--until-width"),
        (("wavelan-to-gsm", "--full"), "belong to a study of remedies"),
        ((str(STUDY), "--path", "nowhere.toml"), "nowhere.toml"),
    ],
)
def test_options_that_do_not_fit_are_refused(baton, arguments, message):
    process = baton("sweep", *arguments)
    assert process.returncode == 2
    assert message in process.stderr


def test_a_remedy_that_the_engine_refuses_is_shown_with_its_reason(tmp_path, baton):
    """Without Mobile IPv6 no binding update tells the sender: its remedies are refused, and the others run."""
    file = make_path(
        tmp_path,
        (
            'mobility = { protocol = "mobile-ipv6", home_agent = "server",'
            ' duplicate_address_detection = "unique-prefix" }',
            "",
        ),
        ('[home_agents.server]\nprefix = "2001:db8:1::/64"\nduplicate_address_detection = "unique-prefix"\n', ""),
    )
    chosen = ("--set", "remedy=atcp,method-2", "--set", "stack=Linux 6 CUBIC", "--set", "handover=announced")
    chosen += ("--set", "load=1", "--set", "loss=0", "--seeds", "1", "--out", "out")
    process = baton("sweep", STUDY, "--path", file, *chosen)
    assert process.returncode == 0, process.stderr
    assert "REFUSED method-2" in process.stdout
    assert "binding update" in process.stdout
    page = (tmp_path / "out" / "report.html").read_text()
    assert "refused: &quot;method-2&quot; learns of a handover from a binding update" in page


def test_stacks_without_a_headline_are_ranked_by_themselves(standard):
    stack = Stack("only", False, {})
    block = Block("b", ["wifi-satellite"], ["hard"], ["only"], [0], ["1"], ["download"], 1)
    study = RemedyStudy("s", "S", STUDY, standard.paths, {"only": stack}, [block], standard.remedies, None)
    assert study.headline == ["only"]
    assert len(Cells.of(study).headline) == 2
