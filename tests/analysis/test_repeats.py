"""Runs that repeat a run, and what they take from its verdicts."""

from __future__ import annotations

import json
import shutil

import pytest
from stubs.compared import CELLS, MACHINE, run
from stubs.reported import summarise

from sciml_bench.analysis.analysis import Analysis
from sciml_bench.analysis.ranking import Lead
from sciml_bench.analysis.repeats import repeats
from sciml_bench.analysis.tables.footnotes import family
from sciml_bench.stats.ratio import Ratio
from sciml_bench.stats.run_spread import run_spreads
from sciml_bench.stats.verdict import Verdict

FAST, SLOW = CELLS[:2]
PLAN = {"hash": "the same"}


def made(folder, name, factor, *, changes=PLAN, environment=MACHINE, seed=1):
    """A run in which one cell takes ``factor`` times as long as the other."""
    return run(
        folder, name, factors={FAST: 1.0, SLOW: factor}, cells=(FAST, SLOW), changes=changes, environment=environment,
        seed=seed,
    )  # fmt: skip


def judged(stored):
    found = Analysis(summarise(stored.plan, stored.records()), stored.folder).judged
    assert found is not None
    return found


def verdict(stored):
    """The verdict on the gradients of the two cells."""
    analysis = Analysis(summarise(stored.plan, stored.records()), stored.folder)
    (comparison,) = analysis.comparisons.values()
    rows = {row.summary.cell.label: row for row in comparison.rows}
    found = judged(stored).between("gradient", rows[FAST.label], rows[SLOW.label])
    assert found is not None
    return found.verdict


def test_runs_that_disagree_take_a_verdict_back(tmp_path):
    first = made(tmp_path, "first", 1.2)
    assert verdict(first) is Verdict.SLOWER
    for number, factor in enumerate((0.9, 1.1)):
        made(tmp_path, f"again-{number}", factor, seed=number + 2)
    assert verdict(first) is Verdict.UNDECIDED


def test_runs_that_agree_leave_it_and_are_counted(tmp_path):
    first = made(tmp_path, "first", 1.2)
    for number in range(2):
        made(tmp_path, f"again-{number}", 1.2, seed=number + 2)
    assert verdict(first) is Verdict.SLOWER
    found = judged(first)
    assert {quantity: spread.runs for quantity, spread in found.runs.items()} == {"gradient": 3, "solve": 3}
    (text,) = filter(None, family(found))
    assert "They include the spread of ratios over 3 runs of this plan: gradient " in text
    assert "about this run" not in text


def test_one_repetition_says_nothing_of_runs(tmp_path):
    first = made(tmp_path, "first", 1.2)
    made(tmp_path, "again", 0.9)
    assert verdict(first) is Verdict.SLOWER
    (text,) = filter(None, family(judged(first)))
    assert "They are about this run" in text


@pytest.mark.parametrize(
    "other",
    [
        {"changes": {"hash": "another plan"}},
        {"changes": {}},
        {"environment": {**MACHINE, "packages": {"numpy": "0.1"}}},
    ],
)
def test_another_plan_or_environment_is_no_repetition(tmp_path, other):
    first = made(tmp_path, "first", 1.2)
    made(tmp_path, "other", 0.8, **other)
    assert repeats(first) == []


def test_runs_of_plans_without_a_hash_repeat_nothing(tmp_path):
    first = made(tmp_path, "first", 1.2, changes={})
    made(tmp_path, "again", 0.8, changes={}, seed=2)
    assert repeats(first) == []


def test_damaged_neighbours_are_left_out(tmp_path):
    first = made(tmp_path, "first", 1.2)
    for number, factor in enumerate((0.9, 1.1)):
        made(tmp_path, f"again-{number}", factor, seed=number + 2)
    for name, text in (("not-json", "{"), ("no-cells", json.dumps(first.plan | {"cells": 3})), ("a-list", "[]")):
        (made(tmp_path, name, 1.2).folder / "plan.json").write_text(text)
    (tmp_path / "no-run").mkdir()
    made(tmp_path, "without-records", 1.2).records_path.unlink()
    assert len(repeats(first)) == 2
    assert {spread.runs for spread in judged(first).runs.values()} == {3}
    assert verdict(first) is Verdict.UNDECIDED


def test_copies_repeat_nothing(tmp_path):
    first = made(tmp_path, "first", 1.2)
    for number in range(3):
        shutil.copytree(first.folder, tmp_path / f"2026-01-01T12-00-0{number}_copy")
    assert repeats(first) == []


def test_a_pair_that_a_repetition_lacks_keeps_its_own_spread(tmp_path):
    """The third repetition measured one of the cells alone."""
    first = made(tmp_path, "first", 1.2)
    for number, factor in enumerate((0.9, 1.1)):
        made(tmp_path, f"again-{number}", factor, seed=number + 2)
    run(tmp_path, "half", factors=1.0, cells=(FAST, SLOW), changes=PLAN, blocks=0)
    assert verdict(first) is Verdict.UNDECIDED


def test_an_unsteady_pair_is_judged_by_its_own_spread():
    """Of many pairs that agree over runs, one does not: the average would hide it."""
    steady = [{key: Ratio(1.2, 1.1, 1.3, 0.001, 10, 0.05, 9) for key in range(20)} for _ in range(5)]
    for place, estimate in enumerate((1.0, 1.5, 0.8, 1.3, 0.9)):
        steady[place][20] = Ratio(estimate, 0.9 * estimate, 1.1 * estimate, 0.001, 10, 0.05, 9)
    found = run_spreads(steady)
    assert found[20].sd > 0.2
    assert found[0].sd < 0.1


def test_the_cheapest_allows_for_runs_too(tmp_path):
    first = made(tmp_path, "first", 1.2)
    for number, factor in enumerate((0.9, 1.1)):
        made(tmp_path, f"again-{number}", factor, seed=number + 2)
    (problem,) = Analysis(summarise(first.plan, first.records()), first.folder).problems
    assert problem.answer.choice is not None
    assert {best.lead for best in problem.answer.choice.best} == {Lead.UNDECIDED}
