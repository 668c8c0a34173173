"""Study A: what must come out of one seed, and how it is measured."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from baton.reproduce import STUDIES, study_a
from baton.reproduce.checks import Check, Reproduced, load_expected, load_notes
from baton.reproduce.cli_reproduce import SHOWN, write_study
from baton.reproduce.study_a_run import RATE, made, stream_delay

#: Checks that must come out of any seed, or their mechanism is not there. A1.f is the mean of few losses.
MECHANISMS = (
    "A1.a A1.b A1.c A1.d A1.i A2.a A2.b A2.c A2.d A2.e A4.b A4.c A5.a A5.b A5.c A5.d A5.e A5.g A5.h A5.i A5.j "
    "A5.l A5.m A5.n A5.o A5.p A6.a A6.b A6.d A6.e A6.f A6.g A6.h A6.i A6.j A6.k A12.a A12.b A12.c A12.d A12.e A12.f "
    "A12.g A13.a A13.b A14.h"
)
#: Least and greatest values that the text's words ask of the variations: packets of 184 B, and errors by the byte.
VARIATIONS = {
    "A2.h": (1.0, 1.0),
    "A2.i": (0.0, 0.5),
    "A2.j": (0.95, 1.0),
    "A3.f": (0.0, 1.0),
    "A14.a": (1.0, 1.0),
    "A14.c": (0.95, 1.0),
    "A14.d": (1.0, np.inf),
    "A14.f": (0.0, 1.0),
}


@pytest.fixture(scope="module")
def found() -> Reproduced:
    return study_a.reproduce(STUDIES / "A", seeds=1)


@pytest.fixture(scope="module")
def checks(found: Reproduced) -> dict[str, Check]:
    return {check.id: check for check in found.checks}


def test_the_mechanism_of_the_study(checks: dict[str, Check]) -> None:
    assert [name for name in MECHANISMS.split() if checks[name].verdict not in ("agrees", "holds")] == []


def test_the_variations_do_as_the_words_of_the_text(checks: dict[str, Check]) -> None:
    found = {name: checks[name].measured or 0.0 for name in VARIATIONS}
    assert [name for name, (least, most) in VARIATIONS.items() if not least <= found[name] <= most] == []


def test_every_check_is_measured(checks: dict[str, Check]) -> None:
    # A spread needs more than one seed.
    assert [name for name, check in checks.items() if check.measured is None] == ["A2.f"]


def test_notes_are_of_checks() -> None:
    known = {check.id for check in load_expected(STUDIES / "A" / "expected.toml")}
    assert set(load_notes(STUDIES / "A" / "notes.toml")) <= known


def test_the_page_has_the_figures_and_whole_runs(found: Reproduced, tmp_path: Path) -> None:
    here = Path.cwd()
    try:
        os.chdir(tmp_path)
        page = write_study("A", found).read_text(encoding="utf-8")
    finally:
        os.chdir(here)
    for number in range(12, 25):
        assert f"Figure {number}:" in page
    for run in SHOWN["A"]:
        assert (tmp_path / "results/reproduce-A" / run / "report.html").is_file()


def test_delay_counts_from_when_a_byte_is_made() -> None:
    interval = 8 * 1000 / RATE
    assert made(np.array([0.0, 999.0, 1000.0, 2500.0]), 1000).tolist() == [0.0, 0.0, interval, 2 * interval]
    # The first block is delivered 1 s after the start, the second 3 s: 1 s and 3 s less an interval.
    delay = stream_delay(np.array([1.0, 3.0]), np.array([1000.0, 2000.0]), 1000)
    assert delay == pytest.approx((1 + 3 - interval) / 2)


def test_a_code_of_one_bit_a_word_by_hand() -> None:
    # One word over 1450 B: 11,600 bits with the words left out; P(at most one wrong) = e^-m (1 + m), m = 1.16.
    assert study_a.one_bit_a_word(1, 1e-4) == pytest.approx(1 - np.exp(-1.16) * 2.16, rel=1e-3)
