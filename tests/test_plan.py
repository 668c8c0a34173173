"""`baton plan`: the studies' design equations, against geometry, printed figures and runs of the simulator."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

from baton import Scenario
from baton.plan import app
from baton.plan.coverage import EARTH_RADIUS_M, GEOSTATIONARY_M, Line, elevation_deg, extension, shadow_m
from baton.plan.window import Path, Segments, advise, advise_handover, compare_sizes

# Study S's figure 4: 0.16 of 200 m are 31.72 m, 0.357 s at 320 km/h.
STUDY = Line()


def shadow_by_vectors(obstacle_m: float, latitude_deg: float, altitude_m: float = GEOSTATIONARY_M) -> float:
    """Returns the reach of a pole's shadow on the flat ground of its place, by the ray from the satellite."""
    latitude = math.radians(latitude_deg)
    up = np.array([math.cos(latitude), math.sin(latitude)])
    satellite = np.array([EARTH_RADIUS_M + altitude_m, 0.0])
    ray = satellite - EARTH_RADIUS_M * up
    upwards = float(ray @ up)
    along = math.sqrt(float(ray @ ray) - upwards**2)
    return obstacle_m * along / upwards


@pytest.mark.parametrize("latitude", [0, 10, 45, 52.5, 70, 81, -33])
@pytest.mark.parametrize("altitude", [GEOSTATIONARY_M, 35_930e3])
def test_equation_1_is_the_geometry_of_a_shadow(latitude, altitude):
    assert shadow_m(100, latitude, altitude) == pytest.approx(shadow_by_vectors(100, latitude, altitude), abs=1e-4)


def test_a_satellite_far_away_shines_as_the_sun_at_an_equinox():
    # Parallel rays: the elevation is 90 degrees less the latitude.
    assert shadow_m(100, 60, 1e15) == pytest.approx(100 * math.tan(math.radians(60)), rel=1e-6)
    assert elevation_deg(60, 1e15) == pytest.approx(30, abs=1e-6)


def test_elevations_are_those_of_antenna_tables():
    # The horizon lies where the ray touches the sphere: cos = R / (R + H), 81.3 degrees.
    assert elevation_deg(0) == 90
    horizon = math.degrees(math.acos(EARTH_RADIUS_M / (EARTH_RADIUS_M + GEOSTATIONARY_M)))
    assert elevation_deg(horizon) == pytest.approx(0, abs=1e-9)
    assert elevation_deg(45) == pytest.approx(38.2, abs=0.05)


def test_equations_2_to_7_by_hand_for_figure_4():
    found = extension(STUDY, 45, 100)
    # 50 ms + twice 1.3 us + 357 ms + 10 ms + 290 ms, and 500 ms + 50 ms + 357 ms + 580 ms, at 88.89 m/s.
    assert found.before.handover_s == pytest.approx(0.7069, abs=1e-4)
    assert found.after.handover_s == pytest.approx(1.4869, abs=1e-4)
    assert found.before.extension_m == pytest.approx(shadow_by_vectors(100, 45) + 62.84, abs=0.02)
    assert found.after.extension_m == pytest.approx(132.17, abs=0.02)
    # The distance to decide does not depend on the speed: 0.16 of the coverage, as the text rounds it.
    for speed in (10, 100):
        assert Line(speed_mps=speed).decision_s * speed == pytest.approx(0.16 * 200, rel=0.01)


def test_before_the_tunnel_it_grows_with_height_and_latitude_and_after_it_is_flat():
    heights, latitudes = range(0, 201, 20), range(5, 80, 5)
    grown = [[extension(STUDY, at, height) for height in heights] for at in latitudes]
    before = np.array([[each.before.extension_m for each in row] for row in grown])
    after = np.array([[each.after.extension_m for each in row] for row in grown])
    assert (np.diff(before, axis=1) > 0).all()
    assert (np.diff(before[:, 1:], axis=0) > 0).all()
    assert np.ptp(after) == 0


def test_the_shadow_lies_away_from_the_equator():
    south = extension(STUDY, 45, 100)
    assert (south.before.shadow_m > 0, south.after.shadow_m) == (True, 0)
    for other in (extension(STUDY, 45, 100, southbound=False), extension(STUDY, -45, 100)):
        assert (other.before.shadow_m, other.after.shadow_m) == (0, south.before.shadow_m)


def test_the_last_of_acknowledgement_and_old_packet_ends_the_handover():
    # With a satellite faster than WiFi, the acknowledgement over WiFi is the later one.
    line = Line(satellite_rtt_s=0.02, wifi_rtt_s=0.1)
    assert line.to_wifi_s - line.decision_s == pytest.approx(0.05 + 0.1, abs=1e-5)


@pytest.mark.parametrize(("metres", "points"), [(0, 1), (200, 1), (200.1, 2), (600, 2), (601, 3)])
def test_access_points_reach_to_both_sides(metres, points):
    assert STUDY.access_points(metres) == points


# Study T: WaveLAN and GSM.
LAN, GSM = Path(2e6, 0.0035), Path(7680, 0.7)


def test_capacities_and_windows_are_study_t_s():
    assert advise(LAN, Segments(1460, 40)).capacity_bytes == 875
    # The text's 840 B are 9.6 kbit/s without start and stop bits.
    assert advise(GSM, Segments(1460, 40)).capacity_bytes == 672
    # The best window that the study measured.
    assert advise(GSM, Segments(1024, 40)).receive_window_bytes == 4096


def test_study_t_s_handover_times_out_three_times_and_sends_eleven_segments():
    moved = advise_handover(LAN, GSM, Segments(1420, 40), 16_384, 0.2)
    assert (moved.in_flight_segments, moved.early_timeouts) == (11, 3)
    # 26 s without new data were measured; once through the window is 17 s, twice 34 s.
    assert moved.window_s < 26 < moved.stall_s
    back = advise_handover(GSM, LAN, Segments(1420, 40), 16_384, 0.2)
    # The old queue drained for about 15 s, and no timer fired.
    assert back.old_drain_s == pytest.approx(15, rel=0.15)
    assert back.early_timeouts == 0
    assert back.old_timeout_ratio > 250


@pytest.mark.parametrize("first", [0.1, 0.2, 0.3, 0.7, 1.4, 1.5, 20])
def test_early_timeouts_are_those_of_a_doubling_timer(first):
    cut = Segments(960, 0)
    new = Path(7680, first - 1) if first > 1 else Path(7.68e6 / first, first * 0.999)
    answer = new.rtt_s + advise(new, cut).segment_s
    fired, at = 0, 0.2
    while at < answer - 1e-12:
        fired, at = fired + 1, at + 0.2 * 2 ** (fired + 1)
    assert advise_handover(LAN, new, cut, 2000, 0.2).early_timeouts == fired


@pytest.mark.parametrize(("headers", "overheads"), [(67, (20.7, 11.6, 6.1)), (107, (29.5, 17.3, 9.5))])
def test_overheads_are_study_d_s_table_6(headers, overheads):
    sizes = {each.payload_bytes: 100 * each.overhead for each in compare_sizes(GSM, Segments(1460, headers))}
    assert [sizes[size] for size in (256, 512, 1024)] == pytest.approx(overheads, abs=0.1)


def test_study_s_window_on_wifi_is_at_most_45_packets():
    wifi = Path(5.4e6, 0.02, queue_bytes=35 * 1500)
    assert advise(wifi, Segments(1460, 40)).most_window_bytes == 45 * 1460


SCENARIO = """
name = "pipe"
duration = "60 s"
record = {{ series = false, packets = false }}
[links.pipe]
between = ["server", "client"]
kind = "wired"
down = {{ rate = "1 Mbit/s", delay = "50 ms", queue = "{queue} B" }}
up = {{ rate = "1 Gbit/s", delay = "50 ms" }}
[[flows]]
name = "download"
from = "server"
to = "client"
transport.profile = "rfc"
transport.receive_buffer = "{window} B"
transport.delayed_ack = "off"
"""


def goodput_and_losses(tmp_path, window: int, queue: int) -> tuple[float, int]:
    """Of a download through a pipe of 1 Mbit/s and 100 ms, by the simulator."""
    file = tmp_path / "pipe.toml"
    file.write_text(SCENARIO.format(window=window, queue=queue))
    flow = Scenario.load(file).run().summary["flows"][0]
    return flow["goodput_bps"], flow["retransmitted"]


def test_the_windows_fill_and_do_not_overflow_the_simulator_s_pipe(tmp_path):
    cut = Segments(1460, 40)
    pipe = advise(Path(1e6, 0.1, queue_bytes=15_000), cut)
    most_goodput = 1e6 * 1460 / 1500
    full, _ = goodput_and_losses(tmp_path, pipe.filling_window_bytes, 64_000)
    assert full > 0.99 * most_goodput
    less, _ = goodput_and_losses(tmp_path, pipe.filling_window_bytes - 2 * 1460, 64_000)
    assert less < 0.93 * most_goodput
    assert pipe.most_window_bytes is not None
    assert goodput_and_losses(tmp_path, pipe.most_window_bytes, 15_000)[1] == 0
    assert goodput_and_losses(tmp_path, pipe.most_window_bytes + 1460, 15_000)[1] > 0


def plan(*arguments: str) -> str:
    """Returns the output of a command."""
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_budget_of_study_d_is_the_default():
    found = json.loads(plan("link-budget", "--json"))
    forward, back = found["forward"], found["return"]
    printed = {"noise_dbm": (-111.03, -112.03), "sensitivity_dbm": (-102.33, -103.33)}
    for key, pair in printed.items():
        assert (forward[key], back[key]) == pytest.approx(pair, abs=0.005)
    # Equation 1 with its sign put right; what the study prints belongs to 208 km.
    assert (forward["received_dbm"], back["received_dbm"]) == pytest.approx((-95.93, -96.46), abs=0.005)
    near = json.loads(plan("link-budget", "--distance", "208 km", "--json"))
    assert near["forward"]["received_dbm"] == pytest.approx(-95.26, abs=0.02)
    # Twice the distance costs 6.02 dB, in free space.
    far = json.loads(plan("link-budget", "--distance", "450 km", "--json"))
    assert forward["received_dbm"] - far["forward"]["received_dbm"] == pytest.approx(6.0206, abs=1e-3)
    assert "does not close" in plan("link-budget", "--distance", "450 km")


@pytest.mark.parametrize(
    "arguments",
    [
        ("coverage", "--latitude", "45", "--latitude", "60", "--obstacle", "100 m"),
        ("window", "--rate", "1 Mbit/s", "--round-trip", "20 ms", "--queue", "16 kB"),
        ("window", "--rate", "1 Mbit/s", "--round-trip", "20 ms", "--new-rate", "1 kbit/s", "--new-round-trip", "1 s"),
        ("link-budget",),
    ],
)
def test_json_is_one_object_and_the_table_has_no_less(arguments):
    assert len(plan(*arguments, "--json").splitlines()) == 1
    assert isinstance(json.loads(plan(*arguments, "--json")), dict)
    assert len(plan(*arguments).splitlines()) > 5


def test_coverage_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "coverage.svg"
    printed = plan("coverage", "--latitude", "30", "--latitude", "60", "--obstacle", "100 m", "--plot", str(file))
    assert printed.splitlines()[-1] == str(file)
    drawn = file.read_text(encoding="utf-8")
    assert "height of the obstacle (m)" in drawn
    assert "before, 30°" in drawn


def test_a_plot_is_refused_for_its_ending_or_its_folder_and_nothing_is_written(tmp_path, baton):
    pytest.importorskip("matplotlib")
    (tmp_path / "folder.svg").mkdir()
    for name, message in (
        ("x.gif", "ends in .gif; expected a file that ends in .pdf, .svg or .png"),
        ("x", "has no ending; expected a file that ends in .pdf, .svg or .png"),
        ("nowhere/x.svg", "there is no folder nowhere; make it, or name another"),
        ("folder.svg", "Is a directory; expected a file that can be written"),
    ):
        process = baton("plan", "coverage", "--latitude", "45", "--obstacle", "1 m", "--plot", name, cwd=tmp_path)
        assert process.returncode == 2
        assert process.stderr == f"baton: --plot {name}: {message}\n"
    assert [each.name for each in tmp_path.iterdir()] == ["folder.svg"]
    process = baton("plan", "coverage", "--latitude", "45", "--obstacle", "1 m", "--plot", "X.PNG", cwd=tmp_path)
    assert process.returncode == 0, process.stderr
    assert (tmp_path / "X.PNG").read_bytes()[1:4] == b"PNG"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("coverage", "--latitude", "85", "--obstacle", "1 m"), "--latitude 85: from there the satellite is below the"),
        (("coverage", "--latitude", "nan", "--obstacle", "1 m"), "--latitude nan: expected -90 to 90 degrees"),
        (("coverage", "--latitude", "45", "--obstacle", "tall"), '--obstacle "tall" is not a distance; expected'),
        (("coverage", "--latitude", "45", "--obstacle", "1 m", "--speed", "0 km/h"), '--speed "0 km/h" is below 1 mm'),
        (("coverage", "--latitude", "45", "--obstacle", "1 m", "--coverage", "0 m"), "expected more than zero"),
        (("coverage", "--latitude", "45", "--obstacle", "1 m", "--plot", "x.doc"), "--plot x.doc: "),
        (("window", "--rate", "1 Mbit/s", "--round-trip", "0 s"), '--round-trip "0 s": expected more than zero'),
        (("window", "--rate", "fast", "--round-trip", "1 s"), '--rate "fast" is not a data rate; expected a number'),
        (("window", "--rate", "1 bit/s", "--round-trip", "1 s", "--new-rate", "1 bit/s"), "--new-round-trip is miss"),
        (("window", "--rate", "1 bit/s", "--round-trip", "1 s", "--in-flight", "1 kB"), "--new-rate is missing"),
        (("link-budget", "--snr", "nan"), "--snr nan: expected -50 to 100 dB"),
        (("link-budget", "--distance", "0 m"), '--distance "0 m": expected more than zero'),
        (
            ("link-budget", "--ground-power", "41"),
            '--ground-power "41" does not have the unit dBm; expected a number with dBm',
        ),
    ],
)
def test_bad_input_is_refused_with_the_reason(baton, arguments, message):
    process = baton("plan", *arguments, "--json")
    assert process.returncode == 2
    assert process.stderr.startswith("baton: ")
    assert message in process.stderr
    error = json.loads(process.stdout)["error"]
    assert (error["exit_status"], message in error["message"]) == (2, True)
