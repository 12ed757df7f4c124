"""What a report shows of gradients that were not scored like the others."""

from __future__ import annotations

import json
from typing import Any

import pytest
from stubs.points import changed
from stubs.reported import cell, plan, point, record, summarise

from sciml_bench.analysis.rows import compare
from sciml_bench.analysis.summary import RunSummary
from sciml_bench.analysis.tables.scoring_notes import scoring
from sciml_bench.record.point import PointResult
from sciml_bench.record.record import Record
from sciml_bench.record.scoring_rules import BY_COMPONENT


def scored(**scores: Any) -> PointResult:
    made = point(1e-6)
    return changed(made, gradient={"scores": {**(made.gradient.scores or {}), **scores}})


def of(*records: Record) -> RunSummary:
    return summarise(plan([item.cell for item in records[:1]]), records)


def old(scores: dict[str, Any]) -> Record:
    data = json.loads(record(cell(), [scored()]).to_json())
    data["points"][0]["gradient"]["scores"] = scores
    return Record.from_dict(data | {"scoring_rules": BY_COMPONENT - 1})


def test_nothing_special_is_told_of_ordinary_scores():
    assert list(scoring(of(record(cell(), [scored()])))) == []


def test_components_that_are_not_judged_alike_are_named():
    names = [f"k{i}" for i in range(1, 8)]
    told = list(scoring(of(record(cell(), [scored(unresolved=["y2(0)"], uncertified=names)]))))
    assert told[0].startswith("robertson: components k1, k2, k3, k4, k5 and 2 more of the gradient: not certified")
    assert told[1].startswith("robertson: component y2(0) of the gradient: zero, or below what the arithmetic resolves")


def ladder(worst: list[float], headline: list[float]) -> Record:
    """Points at 1e-4, 1e-6 and 1e-8 with these errors of the worst component and of the whole gradient."""
    made = [
        changed(
            point(rtol, gradient_error=error),
            gradient={"scores": {"error": error, "worst_component": "k9", "worst_component_error": of_worst,
                                 "below_reference": False}},
        )
        for rtol, error, of_worst in zip((1e-4, 1e-6, 1e-8), headline, worst, strict=True)
    ]  # fmt: skip
    return record(cell(), made)


@pytest.mark.parametrize("loosest", [0.09, 0.3, 1e-4])
def test_a_component_that_stays_off_at_every_tolerance_is_named(loosest):
    """One small component is 9 % wrong, and the norm of the gradient hides it."""
    (told,) = scoring(of(ladder([loosest, 0.09, 0.09], [1e-3, 1e-5, 3.2e-7])))
    assert "component k9 of the gradient is off by 9" in told
    assert "at rtol 1e-08, and by 9.0e-02 at 1e-06; it may be wrong" in told


@pytest.mark.parametrize(
    ("worst", "headline"),
    [
        # Falls with the tolerance, at the largest ratio to the whole that right solvers show.
        ([5e-2, 1e-4, 6.4e-7], [6e-5, 1e-7, 2.7e-10]),
        # All of the gradient is off: its own error shows that.
        ([0.09, 0.09, 0.09], [0.02, 0.02, 0.02]),
        # Rounding ends the fall.
        ([1e-4, 1e-6, 2e-6], [1e-5, 1e-8, 1e-9]),
    ],
)
def test_ordinary_ladders_are_not_named(worst, headline):
    assert list(scoring(of(ladder(worst, headline)))) == []


def test_names_that_a_record_does_not_keep_are_not_counted_as_none():
    names = [f"f.weight1[{i},0]" for i in range(100)]
    (told,) = scoring(of(record(cell(), [scored(unresolved=names, unresolved_count=246)])))
    assert "f.weight1[4,0] and at least 95 more of the gradient" in told


def test_worst_component_of_the_best_point_is_in_its_row():
    made = record(cell(), [scored(worst_component="k2", worst_component_error=3e-5)])
    (row,) = compare("robertson", of(made).of_problem("robertson")).rows
    assert (row.worst_component, row.worst_component_error) == ("k2", 3e-5)


def test_points_of_earlier_rules_show_the_error_in_log_p_and_say_so():
    made = old({"norm_error": 1e-9, "error": 3e-4, "worst_component_error": 2e-3, "below_reference": False})
    summary = of(made)
    (told,) = scoring(summary)
    assert told.startswith("the gradients of 1 point were scored by earlier rules")
    (row,) = compare("robertson", summary.of_problem("robertson")).rows
    assert (row.gradient_error, row.worst_component, row.worst_component_error) == (3e-4, None, 2e-3)


def test_gradient_that_earlier_rules_let_pass_has_no_time():
    made = old({"norm_error": 2e-12, "error": 3.0, "worst_component_error": 4.0, "below_reference": False})
    (kept,) = of(made).of_problem("robertson")[0].points
    assert (kept.gradient_error, kept.gradient.seconds) == (None, None)
    assert kept.solve.seconds is not None
