"""A search between a good release and a bad one finds the first bad one, whatever cannot be decided."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sciml_bench.analysis.releases.bisection import Bisection, bisected, is_bad, worst
from sciml_bench.analysis.releases.releases import Change, Found
from sciml_bench.record.task import Cell
from sciml_bench.stats.ratio import Ratio

RELEASES = tuple(f"1.{minor}" for minor in range(11))
CHANGE = Change(Cell("decay", "alpha", "euler", "forward", "eager"), "gradient", "older", "newer", Found.SAME)


def changed(found: Found, estimate: float | None = None) -> Change:
    ratio = None if estimate is None else Ratio(estimate, estimate / 1.1, estimate * 1.1, 0.01, 9)
    return replace(CHANGE, found=found, ratio=ratio)


@pytest.mark.parametrize("first_bad", range(1, 11))
def test_the_first_bad_release_is_found_in_few_steps(first_bad):
    tried: list[str] = []

    def bad(release: str) -> bool:
        tried.append(release)
        return RELEASES.index(release) >= first_bad

    assert bisected(RELEASES, bad) == Bisection(RELEASES[first_bad - 1], RELEASES[first_bad])
    assert len(tried) <= 4
    assert len(set(tried)) == len(tried)


@pytest.mark.parametrize("first_bad", range(1, 11))
@pytest.mark.parametrize("undecided", [{1}, {4, 5, 6}, {9}, set(range(1, 10))])
def test_what_cannot_be_decided_is_left_between(first_bad, undecided):
    def bad(release: str) -> bool | None:
        at = RELEASES.index(release)
        return None if at in undecided else at >= first_bad

    found = bisected(RELEASES, bad)
    good, wrong = RELEASES.index(found.good), RELEASES.index(found.bad)
    assert good < first_bad <= wrong
    assert set(range(good + 1, wrong)) <= undecided
    assert found.between == RELEASES[good + 1 : wrong]


def test_two_neighbours_need_no_measurement():
    assert bisected(("1.0", "1.1"), lambda release: pytest.fail(release)) == Bisection("1.0", "1.1")


def test_what_broke_is_searched_before_what_became_slowest():
    slower, slowest, broken = changed(Found.SLOWER, 1.5), changed(Found.SLOWER, 300.0), changed(Found.BROKEN)
    assert worst([changed(Found.SAME, 1.0), slower, slowest]) is slowest
    assert worst([slowest, broken]) is broken
    assert worst([changed(Found.FASTER, 0.5), changed(Found.UNDECIDED, 2.0)]) is None


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (Found.SLOWER, Found.SAME, True),
        (Found.BROKEN, Found.FAILS, True),
        # Half of the change came before, half after: the first half is enough.
        (Found.SLOWER, Found.SLOWER, True),
        (Found.SAME, Found.SLOWER, False),
        (Found.UNDECIDED, Found.BROKEN, False),
        (Found.FASTER, Found.UNDECIDED, False),
        (Found.UNDECIDED, Found.SAME, True),
        (Found.UNDECIDED, Found.UNDECIDED, None),
        (None, None, None),
    ],
)
def test_a_release_between_is_judged_by_both_ends(before, after, expected):
    given = [None if found is None else changed(found, 1.0) for found in (before, after)]
    assert is_bad(*given) is expected
