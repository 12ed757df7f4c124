"""Blocks that resemble their neighbours."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sciml_bench.stats import autocorrelation
from sciml_bench.stats.ratio import Ratio, paired_ratio, with_fixed
from sciml_bench.stats.verdict import Held, Verdict, judge


def series(random: np.random.Generator, coefficient: float, shape: tuple[int, ...]) -> np.ndarray:
    """First-order autoregressions of standard deviation 1, along the last axis."""
    found = random.normal(size=shape)
    for place in range(1, shape[-1]):
        found[..., place] *= math.sqrt(1 - coefficient**2)
        found[..., place] += coefficient * found[..., place - 1]
    return found


def test_alternating_and_drifting():
    assert autocorrelation.autocorrelation([1, -1, 1, -1, 1, -1]) == pytest.approx(-5 / 6)
    drifting = autocorrelation.autocorrelation(list(range(20)))
    assert drifting is not None
    assert drifting > 0.8


@pytest.mark.parametrize("values", [[1, 2, 3, 4], [2.0] * 9, [0.1 + 1e-16] * 4 + [0.1] * 4])
def test_what_tells_nothing(values):
    assert autocorrelation.autocorrelation(values) is None


@pytest.mark.parametrize("n", [10, 20])
@pytest.mark.parametrize("coefficient", [0.0, 0.5])
def test_the_estimate_is_right_on_average(n, coefficient):
    random = np.random.default_rng([n, int(10 * coefficient)])
    found = [autocorrelation.autocorrelation(each) for each in series(random, coefficient, (4000, n)).tolist()]
    known = [(r, n) for r in found if r is not None]
    assert autocorrelation.central(known) == pytest.approx(coefficient, abs=0.04)
    assert np.std([r for r, _ in known]) == pytest.approx(autocorrelation.error(n), rel=0.12)


@pytest.mark.parametrize("n", [5, 10, 20, 30])
@pytest.mark.parametrize("coefficient", [0.0, 0.5, 0.9])
def test_the_widening_holds_the_level(n, coefficient):
    random = np.random.default_rng([n, int(10 * coefficient), 1])
    found = series(random, coefficient, (3000, n)).tolist()
    ratios = [paired_ratio([1.0] * n, np.exp(each).tolist()) for each in found]
    t = [abs(math.log(ratio.estimate)) / ratio.error for ratio in ratios if ratio.error]
    limit = {5: 2.776, 10: 2.262, 20: 2.093, 30: 2.045}[n] * autocorrelation.widening(coefficient)
    assert np.mean(np.array(t) > limit) == pytest.approx(0.05, abs=0.018)


def test_many_series_tell_what_one_does_not():
    random = np.random.default_rng(3)
    independent = [
        (autocorrelation.autocorrelation(each) or 0.0, 10) for each in series(random, 0.0, (40, 10)).tolist()
    ]
    alike = [(autocorrelation.autocorrelation(each) or 0.0, 10) for each in series(random, 0.9, (40, 10)).tolist()]
    assert max(autocorrelation.allowed([(-0.1, 10)], 1)) > 0.4
    assert float(np.median(autocorrelation.allowed(independent, 40))) < 0.2
    assert set(autocorrelation.allowed(alike, 40)) == {autocorrelation.WORST}


def test_one_that_drifts_among_many_that_do_not_is_held_by_itself():
    random = np.random.default_rng(4)
    family: dict[int, Ratio] = {
        key: paired_ratio([1.0] * 10, np.exp(0.03 * each).tolist())
        for key, each in enumerate(series(random, 0.0, (30, 10)))
    }
    drift = [0.01 * place for place in range(1, 11)]
    family[99] = paired_ratio([1.0] * 10, np.exp(drift).tolist())
    assert family[99].p < 1e-3
    found = judge(family)[99]
    assert (found.verdict, found.held) == (Verdict.UNDECIDED, Held.ALIKE)


def test_a_factor_of_two_needs_p_alone():
    drift = [1.0 + 0.03 * place for place in range(10)]
    assert judge({0: paired_ratio([1.0] * 10, np.exp(drift).tolist())})[0].verdict is Verdict.SLOWER


def test_no_pairs_have_no_order_when_they_are_said_to_have_none():
    values = np.exp(np.linspace(0.1, 0.4, 10)).tolist()
    assert paired_ratio([1.0] * 10, values).serial is not None
    assert paired_ratio([1.0] * 10, values, ordered=False).serial is None
    assert judge({0: paired_ratio([1.0] * 10, values, ordered=False)})[0].verdict is Verdict.SLOWER


def test_a_fixed_error_is_not_lessened_by_processes():
    random = np.random.default_rng(5)
    ratio = paired_ratio([1.0] * 400, np.exp(random.normal(0.1, 0.02, 400)).tolist())
    wide = with_fixed(ratio, 0.08, 1e9)
    assert wide.estimate == pytest.approx(ratio.estimate)
    assert math.log(wide.high / wide.estimate) == pytest.approx(1.96 * 0.08, rel=0.02)
    assert wide.p > 0.1
    assert judge({0: wide})[0].verdict is Verdict.UNDECIDED
    assert judge({0: ratio})[0].verdict is Verdict.SLOWER
    assert judge({0: wide})[0].more_processes is None


def test_a_fixed_error_keeps_its_level():
    """The sd of the fixed error known from 4 values, that of the processes from 5."""
    random = np.random.default_rng(6)
    outside = 0
    for _ in range(3000):
        known = math.sqrt(random.chisquare(4) / 4) * 0.05
        ratio = paired_ratio([1.0] * 5, np.exp(random.normal(random.normal(0, 0.05), 0.06, 5)).tolist())
        wide = with_fixed(ratio, known, 4)
        outside += not wide.low <= 1 <= wide.high
    assert outside / 3000 == pytest.approx(0.045, abs=0.02)


@pytest.mark.parametrize(("sd", "df"), [(-0.1, 3), (math.inf, 3), (0.1, 0)])
def test_what_is_no_fixed_error(sd, df):
    with pytest.raises(ValueError, match="error"):
        with_fixed(paired_ratio([1.0] * 3, [1.0, 1.1, 1.2]), sd, df)


def test_one_process_stays_unknown_with_a_fixed_error():
    ratio = paired_ratio([1.0], [2.0])
    assert with_fixed(ratio, 0.1, 5) == ratio


def test_intervals_of_judgements_allow_for_what_blocks_have_in_common():
    """A true ratio at the edge of the band is not called the same more often than the level says, whatever drifts."""
    for coefficient in (0.0, 0.5, 0.9):
        random = np.random.default_rng([7, int(10 * coefficient)])
        said = 0
        for _ in range(60):
            logs = math.log(1.055) + 0.02 * series(random, coefficient, (12, 10))
            family = {i: paired_ratio([1.0] * 10, np.exp(each).tolist()) for i, each in enumerate(logs)}
            said += sum(judged.verdict is Verdict.SAME for judged in judge(family).values())
        assert said / (60 * 12) <= 0.05, coefficient


def test_a_judgement_keeps_the_p_of_its_ratio():
    random = np.random.default_rng(8)
    ratio = paired_ratio([1.0] * 5, np.exp(random.normal(0.4, 0.05, 5)).tolist())
    found = judge({0: ratio})[0].ratio
    assert found.p == ratio.p
    assert found.low < ratio.low < ratio.high < found.high


EARLIER = autocorrelation.Earlier(0.05, 0.1)


def test_two_cells_with_five_processes_are_told_apart_once_the_machine_is_known():
    """Where the processes of two cells spread by 6 %, a factor of 1.5 is seen, and no winner where there is none."""
    random = np.random.default_rng(9)
    told = {True: 0, False: 0}
    for there in (True, False):
        for _ in range(400):
            logs = math.log(1.5) * there + 0.06 * series(random, 0.05, (1, 5))
            found = judge({0: paired_ratio([1.0] * 5, np.exp(logs[0]).tolist())}, independent=1, earlier=EARLIER)
            told[there] += found[0].verdict in (Verdict.FASTER, Verdict.SLOWER)
    assert told[True] >= 0.95 * 400
    assert told[False] <= 0.05 * 400


@pytest.mark.parametrize("coefficient", [0.5, 0.9])
def test_a_machine_that_drifts_more_than_before_names_no_winners(coefficient: float):
    random = np.random.default_rng([10, int(10 * coefficient)])
    named = 0
    for _ in range(100):
        family = {
            i: paired_ratio([1.0] * 10, np.exp(0.06 * each).tolist())
            for i, each in enumerate(series(random, coefficient, (8, 10)))
        }
        named += any(
            item.verdict in (Verdict.FASTER, Verdict.SLOWER) for item in judge(family, earlier=EARLIER).values()
        )
    assert named <= 0.1 * 100


def test_earlier_series_weigh_by_their_error():
    own = 0.3, 0.33
    assert autocorrelation.common(*own, None) == pytest.approx(0.63)
    assert autocorrelation.common(*own, autocorrelation.Earlier(0.05, 1e-6)) == pytest.approx(0.05, abs=1e-4)
    assert autocorrelation.common(*own, autocorrelation.Earlier(0.05, 1e6)) == pytest.approx(0.63, abs=1e-3)
    far = autocorrelation.common(0.9, 0.11, autocorrelation.Earlier(0.05, 0.01))
    assert far == pytest.approx(1.01), "the machine is another now"
