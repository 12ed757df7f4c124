"""Runs that repeat a run, and what they take from its verdicts."""

from __future__ import annotations

import pytest
from stubs.compared import CELLS, MACHINE, run

from sciml_bench.analysis.analysis import Analysis
from sciml_bench.analysis.notes import family
from sciml_bench.analysis.repeats import repeats
from sciml_bench.analysis.summary import summarise
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
    assert list(repeats(first)) == []


def test_damaged_neighbours_are_left_out(tmp_path):
    first = made(tmp_path, "first", 1.2)
    made(tmp_path, "again", 1.2)
    damaged = made(tmp_path, "damaged", 1.2)
    (damaged.folder / "plan.json").write_text("{")
    (tmp_path / "no-run").mkdir()
    (without,) = [made(tmp_path, "without-records", 1.2)]
    without.records_path.unlink()
    assert len(list(repeats(first))) == 2
    assert judged(first).runs == {}
