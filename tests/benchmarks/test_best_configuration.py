"""How ``benchmarks/best_configuration.py`` reads off times at equal accuracy, on sides of known cost and error."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

pytestmark = pytest.mark.skipif(not BENCHMARKS.exists(), reason="the benchmarks are in a checkout only")


class FakeClock:
    """Seconds that only the sides spend."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The benchmark's modules, with a clock for all of them."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    ladder, timing, best = (importlib.import_module(name) for name in ("best.ladder", "best.timing", "best"))
    clock = FakeClock()
    monkeypatch.setattr(timing, "CLOCKS", (clock, clock))
    monkeypatch.setattr(ladder.time, "process_time", clock)
    yield SimpleNamespace(ladder=ladder, timing=timing, best=best, clock=clock)
    for name in [name for name in sys.modules if name == "best" or name.startswith("best.")]:
        del sys.modules[name]


def side(modules: SimpleNamespace, name: str, cost: Callable[[float], float], **changes: Any) -> Any:
    """A side that takes ``cost(rtol)`` seconds a call; its output is the tolerance."""

    def run(rtol: float) -> float:
        modules.clock.now += cost(rtol)
        return rtol

    made = modules.best.Expert(name, lambda theta, rtol: rtol, run, run, modules.best.computed, np.asarray, np.asarray)
    return made._replace(**changes)


def test_a_side_of_twice_the_cost_at_a_tenth_of_the_accuracy_is_slower_by_both(modules: SimpleNamespace) -> None:
    # Both cost 10 % more for each half decade; the second needs a tolerance that is ten times as tight.
    def growing(rtol: float) -> float:
        return 1e-3 * 1.1 ** (-2 * np.log10(rtol))

    one, other = side(modules, "one", growing), side(modules, "other", lambda rtol: 2 * growing(rtol))
    theta = np.ones(3)
    rungs, told = modules.ladder.climb(one, "solve", lambda rtol: -np.log10(rtol), theta)
    loose, _ = modules.ladder.climb(other, "solve", lambda rtol: -np.log10(rtol) - 1.0, theta)
    assert told == ""
    entrants = [
        modules.timing.Entrant(one, modules.ladder.between(rungs, 6.0)),
        modules.timing.Entrant(other, modules.ladder.between(loose, 6.0)),
    ]
    first, second = modules.timing.in_turn(entrants, "solve", theta, 0.0, seed=1)
    found, low, high = modules.timing.ratio(second.processor, first.processor)
    assert found == pytest.approx(2 * 1.1**2, rel=1e-6)
    assert low == pytest.approx(high)


def test_a_lucky_tolerance_decides_nothing(modules: SimpleNamespace) -> None:
    # A library whose steps jump by 40 % between neighbouring tolerances, lucky just at the rung that is read.
    def jumping(rtol: float) -> float:
        return 1e-3 * (1.0 if math.floor(-40 * np.log10(rtol) + 0.5) % 2 == 0 else 1.4)

    one, other = side(modules, "one", lambda _: 1.2e-3), side(modules, "other", jumping)
    rung = modules.ladder.Rung(1e-4, 4.0, 1e-3)
    where = modules.ladder.Between(rung, rung, 0.0)
    entrants = [modules.timing.Entrant(item, where) for item in (one, other)]
    first, second = modules.timing.in_turn(entrants, "solve", np.ones(3), 1.0, seed=2)
    found, low, high = modules.timing.ratio(first.processor, second.processor)
    assert jumping(1e-4) == 1e-3
    assert low < 0.9 < 1.15 < high
    assert found < 1.21


def test_time_is_read_off_between_two_tolerances(modules: SimpleNamespace) -> None:
    rung = modules.ladder.Rung
    found = modules.ladder.between([rung(1e-4, 3.0, 1.0), rung(1e-6, 5.0, 4.0)], 4.0)
    assert found.rtols == (1e-4, 1e-6)
    assert found.time({1e-4: 1.0, 1e-6: 4.0}.__getitem__) == pytest.approx(2.0)


def test_a_tighter_tolerance_that_costs_less_is_taken(modules: SimpleNamespace) -> None:
    # An explicit method at the bound of its stability: a loose tolerance only adds rejected steps.
    rung = modules.ladder.Rung
    found = modules.ladder.between([rung(1e-3, 4.1, 3.0), rung(1e-5, 6.0, 2.0), rung(1e-7, 8.0, 2.5)], 4.0)
    assert found.rtols == (1e-5,)


def test_nothing_is_extrapolated(modules: SimpleNamespace) -> None:
    rung = modules.ladder.Rung
    assert modules.ladder.between([rung(1e-3, 3.0, 1.0), rung(1e-9, 5.9, 9.0)], 6.0) is None
    assert modules.ladder.between([], 4.0) is None


def test_errors_that_are_no_numbers_reach_nothing(modules: SimpleNamespace) -> None:
    rung = modules.ladder.Rung
    assert modules.ladder.between([rung(1e-3, float("nan"), 1.0), rung(1e-4, float("inf"), 1.0)], 4.0) is None


def test_a_ladder_goes_on_past_tolerances_that_are_too_loose_and_ends_at_those_too_tight(
    modules: SimpleNamespace,
) -> None:
    def digits(rtol: float) -> float:
        if rtol > 1e-4 or rtol < 1e-7:
            raise modules.best.Unsolved("too many steps")
        return -np.log10(rtol)

    rungs, told = modules.ladder.climb(side(modules, "one", lambda _: 1e-3), "gradient", digits, np.ones(2))
    assert 1e-5 < rungs[0].rtol < 1.1e-4
    assert 1e-8 < rungs[-1].rtol < 1e-6
    assert "too many steps" in told


def test_one_lucky_tolerance_does_not_make_a_rung(modules: SimpleNamespace) -> None:
    def lucky(rtol: float) -> float:
        return 9.0 if np.log10(rtol) % 1 == 0 else 3.0

    rungs, _ = modules.ladder.climb(side(modules, "one", lambda _: 1e-3), "solve", lucky, np.ones(2))
    assert rungs[0].digits == pytest.approx(3.0 + 6.0 / 5)


def test_every_side_sees_the_same_varied_inputs(modules: SimpleNamespace) -> None:
    seen: dict[str, list[Any]] = {"one": [], "other": []}

    def watching(name: str) -> Any:
        def prepare(theta: Any, rtol: float) -> float:
            seen[name].append(theta)
            return rtol

        return side(modules, name, lambda _: 1e-2, prepare=prepare)

    where = modules.ladder.Between(modules.ladder.Rung(1e-4, 4.0, 1.0), modules.ladder.Rung(1e-4, 4.0, 1.0), 0.0)
    entrants = [modules.timing.Entrant(watching(name), where) for name in seen]
    modules.timing.in_turn(entrants, "solve", np.array([2.0, 3.0]), 0.0, seed=3)
    assert np.array_equal(seen["one"], seen["other"])
    rounds = {tuple(theta) for theta in seen["one"]}
    assert len(rounds) > 1
    assert all(np.allclose(theta, [2.0, 3.0], rtol=1e-6, atol=0) for theta in rounds)


def test_the_interval_of_many_equal_ratios_is_narrow_and_of_few_is_all(modules: SimpleNamespace) -> None:
    few = modules.timing.ratio(np.array([1.0, 2.0, 3.0]), np.ones(3))
    assert few == (2.0, 1.0, 3.0)
    many = np.concatenate([np.full(50, 1.2), [0.1, 9.0]])
    assert modules.timing.ratio(many, np.ones(52)) == (1.2, 1.2, 1.2)


def test_experts_share_no_code_with_the_adapters() -> None:
    driver = {"sides.py"}
    for path in sorted((BENCHMARKS / "best").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        if path.name not in driver:
            assert "sciml_bench.adapters" not in text, path.name
            assert "sciml_bench.emit" not in text, path.name
