"""What to take for problems of a kind."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from stubs.reported import plan, point, record, summarise

from sciml_bench.analysis.advice.advice import Advice, advice, kind_of, unadvised
from sciml_bench.analysis.analysis import Analysis
from sciml_bench.analysis.ranking import Lead
from sciml_bench.analysis.row_tables import tables
from sciml_bench.analysis.rows import compare
from sciml_bench.analysis.summary import RunSummary
from sciml_bench.analysis.tables.advice import CAPTION, advice_table, silence
from sciml_bench.planning.written_plan import WrittenProblem
from sciml_bench.record.task import Cell
from sciml_bench.render.document import run_document
from sciml_bench.render.terminal import console_for, print_run

SIZES = {
    "spiral": {"n_states": 2, "n_theta": 252, "batch": 1, "stiff": False},
    "swing": {"n_states": 4, "n_theta": 292, "batch": 1, "stiff": False},
    "noise": {"n_states": 2, "n_theta": 150, "batch": 4, "stiff": False},
    "crowd": {"n_states": 4, "n_theta": 292, "batch": 64, "stiff": False},
    **{f"small-{number}": {"n_states": 2, "n_theta": 4, "batch": 1, "stiff": False} for number in range(6)},
    "flame": {"n_states": 3, "n_theta": 113, "batch": 1, "stiff": True},
}

Costs = dict[tuple[str, str], tuple[float, float] | None]
"""Seconds to the first gradient and milliseconds per gradient, by problem and method; ``None`` fails."""


def summary(costs: Costs, *, blocks: int = 5, profile: str = "quick") -> RunSummary:
    cells = {key: _cell(*key) for key in costs}
    made = plan(list(cells.values()), profile=profile)
    for entry in made["problems"]:
        entry |= SIZES[entry["name"]]
    records = [
        record(
            cells[key],
            [point(1e-4, gradient_ms=cost[1] * (1 + 0.1 * block))],
            block=block,
            time_to_first_gradient_ns={"process": round(cost[0] * 1e9), "built": 1},
        )
        for key, cost in costs.items()
        if cost is not None
        for block in range(blocks)
    ]
    return summarise(made, records)


def _cell(problem: str, method: str) -> Cell:
    """The cell of a method; names before a colon are those of another library."""
    library, _, name = method.rpartition(":")
    return Cell(problem, library or "diffrax", name, "checkpointed", "compiled")


def advised(made: RunSummary) -> dict[tuple[str, int], Advice]:
    shown = [table for name in made.problems for table in tables(compare(name, made.of_problem(name)))]
    return {(item.kind, item.gradients): item for item in advice(made.plan, shown, fewest=1)}


BOTH: Costs = {
    ("spiral", "quick"): (1.0, 100.0),
    ("spiral", "steady"): (20.0, 1.0),
    ("swing", "quick"): (2.0, 100.0),
    ("swing", "steady"): (20.0, 4.0),
}


SMALL = [name for name in SIZES if name.startswith("small-")]
BOTH_WAYS = {"quick": (1.0, 100.0), "steady": (20.0, 1.0)}


def many(ways: dict[str, tuple[float, float]]) -> Costs:
    """The same ways on six problems that differ in size by up to 1.5, and in the ratio of the ways by little."""
    return {
        (name, method): (first * (1 + 0.1 * place), each * (1 + 0.1 * place + 0.01 * (place % 3) * (number % 2)))
        for place, name in enumerate(SMALL)
        for number, (method, (first, each)) in enumerate(ways.items())
    }


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({}, "small"),
        ({"batch": 4}, "large"),
        ({"n_theta": 1000}, "large"),
        ({"n_states": 1000}, "large"),
        ({"stiff": True, "n_theta": 5000}, "stiff"),
    ],
)
def test_kinds(changes, kind):
    assert (
        kind_of(
            WrittenProblem(**{"name": "spiral", "title": "", "spec_hash": "", "file": None} | SIZES["spiral"] | changes)
        )
        == kind
    )


def test_plans_that_do_not_tell_have_no_kinds():
    assert kind_of(WrittenProblem("spiral", "", "", None)) == ""
    assert kind_of(WrittenProblem("spiral", "", "", None, stiff=False, n_states=2, batch=1)) == ""


def test_a_quick_start_is_advised_for_few_gradients_and_a_quick_gradient_for_many():
    found = advised(summary(BOTH))
    assert {key: item.solver.split()[1] for key, item in found.items()} == {
        ("small", 10): "quick",
        ("small", 1000): "steady",
        ("small", 100_000): "steady",
    }
    few = found["small", 10]
    assert few.problems == ("spiral", "swing")
    assert few.factor == pytest.approx(1.0)
    # At the medians: 1 + 9·0.12 and 2 + 9·0.12 against 20 + 9·0.0012 and 20 + 9·0.0048 seconds. That is a factor of 8,
    # but two problems that are this far apart from each other say little of a third.
    (rival,) = few.even
    assert rival.judgement.ratio.estimate == pytest.approx((20.01 * 20.04 / (2.08 * 3.08)) ** 0.5, rel=0.02)
    assert rival.judgement.ratio.n == 2
    assert (few.lead, few.next) == (Lead.UNDECIDED, None)


def test_many_problems_that_agree_name_the_one_to_take():
    for item in advised(summary(many(BOTH_WAYS))).values():
        assert (item.lead, item.even) == (Lead.CLEAR, ())
        assert item.next is not None
        assert item.next.judgement.ratio.n == len(SMALL)


def test_problems_that_disagree_leave_it_undecided_however_many_blocks_there_are():
    """Each problem is decided with ten blocks and without noise; the mean over the problems is not."""
    ways = {"a": (1.0, 100.0), "b": (1.3, 130.0)}
    costs = many(ways)
    for place, name in enumerate(SMALL):
        if place % 2:
            costs[name, "a"], costs[name, "b"] = costs[name, "b"], costs[name, "a"]
    made = summary(costs, blocks=10)
    for item in advised(made).values():
        assert (item.lead, len(item.even), item.next) == (Lead.UNDECIDED, 1, None)
        ratio = item.even[0].judgement.ratio
        assert ratio.low < 1 < ratio.high
    assert "undecided: diffrax" in printed(made)


def test_one_problem_says_nothing_of_others():
    made = summary(BOTH | {("flame", "quick"): (1.0, 1.0), ("flame", "steady"): (90.0, 9.0)}, blocks=10)
    stiff = advised(made)["stiff", 1000]
    assert stiff.lead is Lead.UNDECIDED
    assert CAPTION not in printed(made)
    assert Analysis(made).advice == ()


def test_the_mean_is_geometric_and_the_factor_says_what_one_answer_costs():
    costs: Costs = {
        ("spiral", "a"): (1.0, 1.0),
        ("spiral", "b"): (3.0, 3.0),
        ("swing", "a"): (20.0, 20.0),
        ("swing", "b"): (10.0, 10.0),
    }
    best = advised(summary(costs))["small", 10]
    assert best.solver.split()[1] == "a"
    assert best.factor == pytest.approx(2**0.5, rel=1e-6)


def test_one_that_fails_on_a_problem_of_the_kind_is_left_out_and_named():
    costs = BOTH | {("spiral", "fails"): (0.1, 0.1), ("swing", "fails"): None}
    for item in advised(summary(costs)).values():
        assert item.solver.split()[1] != "fails"
        assert [(solver.split()[1], problems) for solver, problems in item.missed.items()] == [("fails", ("swing",))]
    assert "is left out: no gradient of that accuracy on swing" in noted(summary(costs))


def test_a_problem_that_one_library_alone_can_run_is_no_contest():
    costs = BOTH | {("spiral", "torch:other"): (0.5, 50.0)}
    costs |= {("noise", "quick"): (1.0, 1.0), ("noise", "steady"): (9.0, 1.0)}
    for item in advised(summary(costs)).values():
        # One that runs few of them is no rival.
        assert (item.problems, item.alone) == (("spiral", "swing", "noise"), {})
    costs |= {("swing", "torch:other"): (0.5, 50.0)}
    few = advised(summary(costs))["small", 10]
    assert few.solver.startswith("torch other ")
    assert (few.problems, few.alone) == (("spiral", "swing"), {"noise": "diffrax"})
    assert "noise is left out: only diffrax runs it" in noted(summary(costs))


def test_a_library_that_failed_on_a_problem_is_no_reason_to_drop_it():
    costs = BOTH | {("spiral", "torch:other"): (0.5, 50.0), ("swing", "torch:other"): None}
    few = advised(summary(costs))["small", 10]
    assert few.problems == ("spiral", "swing")
    assert [(solver.split()[1], problems) for solver, problems in few.missed.items()] == [("other", ("swing",))]


def test_a_kind_of_which_nothing_can_be_said_is_told_with_the_reason():
    costs = BOTH | {("flame", "stalls"): None, ("flame", "fails"): None}
    made = summary(costs)
    assert unadvised(made.plan, tuple(advised(made).values()), fewest=1) == {"stiff": ("flame",)}
    text = " ".join(noted(made).split())
    assert "stiff: nothing to advise, as no way has a gradient of that accuracy on all" in text
    assert "large: nothing" not in text


def test_the_only_way_that_works_is_the_one_to_take():
    made = summary(BOTH | {("flame", "steady"): (1.0, 1.0), ("flame", "fails"): None})
    only = advised(made)["stiff", 1000]
    assert (only.solver.split()[1], only.factor, only.even, only.next) == ("steady", 1.0, (), None)
    assert [(solver.split()[1], problems) for solver, problems in only.missed.items()] == [("fails", ("flame",))]
    assert unadvised(made.plan, tuple(advised(made).values()), fewest=1) == {}
    assert "diffrax fails checkpointed compiled is left out: no gradient of that accuracy on flame" in noted(made)


def test_a_problem_on_which_everything_failed_is_left_out_and_named():
    costs = BOTH | {("noise", "quick"): None, ("noise", "steady"): None}
    for item in advised(summary(costs)).values():
        assert (item.problems, item.failed) == (("spiral", "swing"), ("noise",))
    assert "noise is left out: nothing has a gradient of that accuracy there" in noted(summary(costs))


def test_rivals_within_the_band_are_not_told_apart():
    costs = many(BOTH_WAYS | {"alike": (1.01, 100.0)})
    item = advised(summary(costs))["small", 10]
    assert item.lead is Lead.SAME
    assert [rival.solver.split()[1] for rival in item.even] == ["alike"]
    assert item.next is not None
    assert item.next.solver.split()[1] == "steady"


def test_kinds_are_not_mixed_and_one_without_a_contest_is_silent():
    costs = BOTH | {
        ("crowd", "quick"): (5.0, 1000.0),
        ("crowd", "steady"): (6.0, 1.0),
        ("flame", "steady"): (1.0, 1.0),
    }
    assert {kind for kind, _ in advised(summary(costs))} == {"small", "large"}
    assert advised(summary(costs))["large", 10].solver.split()[1] == "steady"


def printed(made: RunSummary) -> str:
    stream = io.StringIO()
    print_run(Analysis(made, Path("results/x")), console_for(stream))
    return stream.getvalue()


def noted(made: RunSummary) -> str:
    """What is said of kinds of any number of problems."""
    found = tuple(advised(made).values())
    silent = silence(unadvised(made.plan, found, fewest=1))
    return "\n".join([*advice_table(found).notes, *silent])


def test_the_table_stands_below_five_problems_of_a_kind_and_more():
    text = printed(summary(many(BOTH_WAYS)))
    assert CAPTION in text
    assert f"small: {', '.join(SMALL)}" in text
    assert CAPTION not in printed(summary(many(BOTH_WAYS), profile="smoke", blocks=1))
    assert CAPTION not in printed(summary(BOTH))


def test_it_is_in_the_json_document():
    told = run_document(Analysis(summary(many(BOTH_WAYS)), Path("results/x")))["advice"]
    assert [item["gradients"] for item in told] == [10, 1000, 100_000]
    assert told[0]["take"] == "diffrax quick checkpointed compiled"
    assert told[0]["verdict"] == "cheapest"
    assert told[0]["next"]["verdict"] == "slower"
