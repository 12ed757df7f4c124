"""What explains a gap: the factors of a ratio, what differs, and what is not known."""

from __future__ import annotations

import math
from typing import Any

import pytest
from stubs.reported import plan, point, record, summarise

from sciml_bench.analysis.explanation.slowdown import _ONE, explain_slowdown
from sciml_bench.analysis.explanation.solver_counts import COUNTS, work_of
from sciml_bench.analysis.rows import Comparison, Row, compare
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.task import Cell

FAST = Cell("robertson", "diffrax", "kvaerno5", "checkpointed", "compiled")


def points(ms: float, counts: dict[str, float], **options: Any) -> list[Any]:
    """Two tolerances: the tighter one takes four times the time and twice the counts."""
    return [
        point(
            10.0 ** -(4 + 2 * index),
            solve_ms=ms * 4**index,
            gradient_ms=2 * ms * 4**index,
            mescd=4.0 + 2 * index,
            gradient_error=10.0 ** -(3 + 2 * index),
            solve={"statistics": {name: count * 2**index for name, count in counts.items()}},
            gradient={"statistics": {name: count * 2**index for name, count in counts.items()}},
            **options,
        )
        for index in range(2)
    ]


def compared(*cells: tuple[Cell, list[Any]]) -> Comparison:
    """The comparison of these cells, each with its points in two equal blocks."""
    records = [record(cell, found, block=block) for cell, found in cells for block in range(2)]
    return compare("robertson", summarise(plan([cell for cell, _ in cells]), records).of_problem("robertson"))


def rows(comparison: Comparison) -> tuple[Row, ...]:
    return comparison.rows


def explained(slow: Cell, slow_points: list[Any], fast_points: list[Any]):
    comparison = compared((FAST, fast_points), (slow, slow_points))
    found = explain_slowdown(comparison.rows[0], comparison.rows[1], comparison.gradient_target, "gradient")
    assert found is not None
    return found


OTHER = Cell("robertson", "diffrax", "kvaerno3", "checkpointed", "compiled")


def test_more_steps_that_are_cheaper():
    found = explained(OTHER, points(4.5, {"n_steps": 63.0}), points(1.0, {"n_steps": 10.0}))
    assert found.ratio == pytest.approx(4.5)
    assert found.work_ratio == pytest.approx(6.3)
    assert found.sentences[0] == "It takes 6.30 times as many steps; per step it is 1.40 times faster."
    assert found.sentences[1] == "So the number of steps explains the gap."


def test_as_many_steps_that_cost_more():
    found = explained(OTHER, points(5.0, {"n_steps": 10.0}), points(1.0, {"n_steps": 10.0}))
    assert "about as many steps (20 against 20); each costs 5.00 times as much" in found.sentences[0]
    assert found.sentences[1] == "So the cost of one step explains the gap, not their number."


def test_both_factors_are_told_with_their_share():
    found = explained(OTHER, points(4.0, {"n_steps": 20.0}), points(1.0, {"n_steps": 10.0}))
    assert found.sentences[1] == "So the number of steps explains a part of the gap (50 % of it in logs)."


def test_counts_of_one_thing_under_two_names_are_compared():
    slow = Cell("robertson", "scipy", "bdf", "forward", "eager")
    found = explained(slow, points(3.0, {"n_lu": 30.0}), points(1.0, {"n_factorisations": 10.0}))
    assert found.counted == "factorisations"
    assert found.work_ratio == pytest.approx(3.0)


def test_libraries_that_count_nothing_in_common_leave_it_unexplained():
    slow = Cell("robertson", "scipy", "bdf", "forward", "eager")
    found = explained(slow, points(3.0, {"n_rhs_evaluations": 30.0}), points(1.0, {"n_steps": 10.0}))
    assert found.work_ratio is None
    assert found.sentences[0].startswith("The two libraries count nothing in common (the faster: steps; the slower:")
    told = {item.what: item for item in found.told}
    assert (told["steps"].fast, told["steps"].slow) == ("20", "not counted")
    assert "evaluations of the Jacobian" in {item.what for item in found.unknown}


def test_what_differs_is_named_before_frameworks_are():
    slow = Cell("robertson", "scipy", "bdf", "forward", "eager")
    found = explained(slow, points(3.0, {}), points(1.0, {}))
    differing = {item.what for item in found.differences if item.differs}
    assert {"method", "family of the method", "sensitivity", "mode"} <= differing
    assert found.sentences[-1] == (
        "Besides the framework there differ: family of the method, sensitivity and mode. The gap is one of "
        "combinations, not of frameworks."
    )


def test_within_a_library_nothing_is_said_of_frameworks():
    found = explained(OTHER, points(3.0, {"n_steps": 30.0}), points(1.0, {"n_steps": 10.0}))
    assert found.sentences[-1] == "Both are diffrax; what differs is order of the method."


def test_an_adapter_that_is_not_here_is_not_known():
    slow = Cell("robertson", "elsewhere", "bdf", "discrete", "eager")
    found = explained(slow, points(3.0, {}), points(1.0, {}))
    told = {item.what: item for item in found.differences}
    assert told["family of the method"].differs is None
    assert told["family of the method"].slow == "not known"
    assert "cannot be attributed to the frameworks" in found.sentences[-1]


def test_equal_times_are_no_gap():
    found = explained(OTHER, points(1.02, {"n_steps": 20.0}), points(1.0, {"n_steps": 10.0}))
    assert "no difference needs an explanation" in found.sentences[1]


def test_a_gradient_that_costs_more_than_its_solve_is_named():
    slow = [
        point(1e-4, solve_ms=1.0, gradient_ms=20.0, mescd=4.0, gradient_error=1e-3),
        point(1e-6, solve_ms=4.0, gradient_ms=80.0, mescd=6.0, gradient_error=1e-5),
    ]
    found = explained(OTHER, slow, points(1.0, {}))
    assert any("the way of taking the gradient is a part of the gap" in text for text in found.sentences)


def test_a_row_without_a_time_has_no_gap():
    comparison = compared((FAST, points(1.0, {})), (OTHER, [point(1e-4, gradient={"outcome": Outcome.NONFINITE})]))
    assert comparison.rows[1].gradient.seconds is None
    assert explain_slowdown(comparison.rows[0], comparison.rows[1], comparison.gradient_target, "gradient") is None


def test_counts_are_read_between_the_same_tolerances_as_the_time():
    """Half way between two tolerances in digits: the geometric mean of their counts."""
    cells = [(FAST, points(1.0, {"n_steps": 10.0})), (OTHER, points(1.0, {"n_steps": 10.0}))]
    comparison = compared(*cells)
    target = comparison.gradient_target.__class__(4.0, None)
    work = work_of(comparison.rows[0], target, "gradient")
    assert work is not None
    assert work.counts["steps"] == pytest.approx(10 * math.sqrt(2))


def test_without_a_reference_counts_are_those_at_the_equal_tolerance():
    bare = [
        point(rtol, mescd=None, gradient_error=None, gradient={"statistics": {"n_steps": steps}})
        for rtol, steps in ((1e-4, 10.0), (1e-6, 30.0))
    ]
    comparison = compared((FAST, bare), (OTHER, bare))
    work = work_of(comparison.rows[0], comparison.gradient_target, "gradient")
    assert work is not None
    assert comparison.gradient_target.rtol == 1e-6
    assert work.counts == {"steps": 30.0}
    assert work.rtol == 1e-6


def test_counts_that_are_no_numbers_are_not_counted():
    strange = points(1.0, {"n_steps": math.nan})
    comparison = compared((FAST, strange), (OTHER, strange))
    work = work_of(comparison.rows[0], comparison.gradient_target, "gradient")
    assert work is not None
    assert work.counts == {}


def test_accepted_steps_are_told_apart_from_steps():
    found = explained(OTHER, points(4.5, {"n_accepted": 63.0}), points(1.0, {"n_accepted": 10.0, "n_steps": 12.0}))
    assert (
        found.sentences[0] == "It takes 6.30 times as many accepted steps; per accepted step it is 1.40 times faster."
    )


def test_everything_that_is_counted_has_a_singular():
    assert set(_ONE) == set(COUNTS)
