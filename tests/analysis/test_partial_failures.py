"""A way that works in some processes and crashes in others: nothing that names a winner passes over it."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Collection

import pytest
from stubs.reported import cell, plan, point, record, summarise

from sciml_bench.analysis.advice.break_even import find_break_even
from sciml_bench.analysis.advice.recommendation import Recommendation, of_problem
from sciml_bench.analysis.analysis import Analysis
from sciml_bench.analysis.comparison.compare import compare_runs
from sciml_bench.analysis.comparison.sides import Side
from sciml_bench.analysis.ranking import Lead
from sciml_bench.analysis.releases.releases import Found, changes
from sciml_bench.analysis.rows import compare
from sciml_bench.analysis.summary import RunSummary
from sciml_bench.analysis.tables.cells import cell_table
from sciml_bench.planning.purpose import RACE, Advised
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Record
from sciml_bench.record.task import Cell

QUICK, SLOW = cell("tsit5"), cell("kvaerno5")
ADVISED = Advised(RACE, "gradient", 1000, 1e-6)


def ladder(ms: float) -> list:
    errors = {1e-4: 1e-5, 1e-6: 1e-7, 1e-8: 1e-8}
    return [
        point(rtol, solve_ms=ms, gradient_ms=ms * (1 + 0.1 * place), gradient_error=error)
        for place, (rtol, error) in enumerate(errors.items())
    ]


def crashed(of: Record) -> Record:
    return dataclasses.replace(
        of, outcome=Outcome.CRASH, phase="import", message="killed by signal 11", points=(),
        time_to_first_gradient_ns={},
    )  # fmt: skip


def run(
    times_ms: dict[Cell, float], crashes: Collection[int] = (), blocks: int = 10, first_sd: float = 0.0
) -> RunSummary:
    """A run whose first cell crashes in some blocks."""
    noise, records = random.Random(1), []
    for block in range(blocks):
        for place, (which, ms) in enumerate(times_ms.items()):
            first = {"process": int(5e9 * noise.lognormvariate(0, first_sd)), "built": 10**8}
            made = record(
                which, ladder(ms * noise.lognormvariate(0, 0.02)), block=block, time_to_first_gradient_ns=first
            )
            records.append(crashed(made) if block in crashes and not place else made)
    return summarise(plan(list(times_ms)), records)


def recommended(made: RunSummary) -> Recommendation:
    return of_problem("robertson", list(made.cells.values()), ADVISED)


@pytest.mark.parametrize("block", [0, 7])
def test_a_way_that_crashed_once_is_not_recommended_and_named(block: int):
    found = recommended(run({QUICK: 1.0, SLOW: 10.0}, {block}))
    assert [way.cell for way in found.ways] == [SLOW]
    told = " ".join(found.sentences)
    assert told.startswith("Take diffrax kvaerno5")
    assert "in every block here" in told
    assert "Not to be relied on: diffrax tsit5 discrete jit, crash: killed by signal 11 (in 1 of 10 blocks)." in told


def test_where_every_way_crashed_there_is_none():
    found = recommended(run({QUICK: 1.0}, {3}))
    assert found.ways == ()
    assert " ".join(found.sentences).startswith("No way computes a gradient")


def test_equal_ways_are_not_told_apart_at_other_numbers_of_calls():
    for seed in range(40):
        noise, records = random.Random(seed), []
        for block in range(10):
            for which in (QUICK, SLOW):
                first = {"process": int(5e9 * noise.lognormvariate(0, 0.03)), "built": 10**8}
                made = ladder(10 * noise.lognormvariate(0, 0.02))
                records.append(record(which, made, block=block, time_to_first_gradient_ns=first))
        assert not recommended(summarise(plan([QUICK, SLOW]), records)).by_count


def test_the_answer_and_the_table_say_in_how_many_processes_it_crashed():
    (problem,) = Analysis(run({QUICK: 1.0, SLOW: 10.0}, {2, 5})).problems
    told = " ".join(problem.answer.sentences)
    assert told.startswith("Fastest gradient at a relative error of 1e-8: diffrax tsit5")
    assert "ms if it works, which it did not in 2 of 10 processes" in told
    (table,) = (cell_table(table) for table in problem.tables)
    texts = {entry.text for row in table.rows for entry in row}
    assert {"ok 24/30", "ok 30/30"} <= texts


def test_a_way_whose_gradients_fail_and_whose_solves_work_did_work():
    records = []
    for block in range(10):
        for which, ms in ((QUICK, 1.0), (SLOW, 10.0)):
            made = [
                dataclasses.replace(
                    one, outcome=Outcome.INACCURATE,
                    gradient=dataclasses.replace(one.gradient, outcome=Outcome.INACCURATE, ns=()),
                )
                for one in ladder(ms * (1 + 0.001 * block))
            ]  # fmt: skip
            records.append(dataclasses.replace(record(which, made, block=block), outcome=Outcome.INACCURATE))
    (problem,) = Analysis(summarise(plan([QUICK, SLOW]), records)).problems
    told = " ".join(problem.answer.sentences)
    assert told.startswith("Fastest solve")
    assert "did not" not in told


def test_a_row_that_only_has_the_fast_blocks_is_not_ahead_of_one_that_beats_it_in_all_of_these():
    noise, records = random.Random(0), []
    for block in range(12):
        host_ms = (1.0 if block < 5 else 1.6) * noise.lognormvariate(0, 0.01)
        records.append(record(QUICK, ladder(host_ms), block=block))
        made = record(SLOW, ladder(1.3 * host_ms), block=block)
        records.append(made if block < 5 else crashed(made))
    (problem,) = Analysis(summarise(plan([QUICK, SLOW]), records)).problems
    found = problem.answer.rankings["solve"]
    medians = [row.solve.seconds.median for row in found.rows if row.solve.seconds is not None]
    assert medians[0] > medians[1] * 1.01
    assert (found.fastest.summary.cell, found.lead) == (QUICK, Lead.CLEAR)


def test_an_overtaking_is_as_uncertain_as_its_blocks_are_alike():
    def width(rho: float) -> float:
        noise, records, state = random.Random(2), [], {QUICK: 0.0, SLOW: 0.0}
        for block in range(12):
            for which, ms, first_s in ((QUICK, 100.0, 1.0), (SLOW, 50.0, 11.0)):
                state[which] = rho * state[which] + math.sqrt(1 - rho**2) * noise.gauss(0, 1)
                made = ladder(ms * math.exp(0.02 * state[which]))
                start = {"process": int(first_s * 1e9), "built": 1}
                records.append(record(which, made, block=block, time_to_first_gradient_ns=start))
        made = summarise(plan([QUICK, SLOW]), records)
        found = find_break_even(compare("robertson", made.of_problem("robertson")).rows)
        assert found is not None
        (overtaking,) = found.overtakings
        assert overtaking.low is not None
        assert overtaking.high is not None
        return math.log(overtaking.high / overtaking.low)

    assert width(0.9) > 1.5 * width(0.0)


def test_when_a_way_is_overtaken_is_open_if_its_gradient_may_take_less():
    records = []
    for block in range(8):
        ms = 1 + 0.003 * ((7 * block) % 5)
        bounded = [point(1e-3, gradient_ms=100 * ms, gradient_error=1e-8)]
        known = [point(10.0**-k, gradient_ms=k * ms, gradient_error=10.0**-k) for k in (3, 5, 7)]
        for which, points, first_s in ((QUICK, bounded, 1), (SLOW, known, 11)):
            start = {"process": first_s * 10**9, "built": 1}
            records.append(record(which, points, block=block, time_to_first_gradient_ns=start))
    made = summarise(plan([QUICK, SLOW]), records)
    found = find_break_even(compare("robertson", made.of_problem("robertson")).rows)
    assert found is not None
    (overtaking,) = found.overtakings
    assert (overtaking.low, overtaking.high, overtaking.decided) == (1.0, math.inf, False)


def side(name: str, crashes: Collection[int], ms: float) -> Side:
    made = run({QUICK: ms}, crashes)
    return Side(name, made.plan, {}, made, {})


@pytest.mark.parametrize(
    ("crashes", "lost"),
    [
        (range(2, 10), ["8 of 10 processes", "solve at rtol 1e-4, 1e-6, 1e-8", "gradient at rtol 1e-4, 1e-6, 1e-8"]),
        (range(4, 8), ["4 of 10 processes"]),
        ([4], []),
    ],
)
def test_a_comparison_says_what_is_lost_in_most_processes_and_that_several_crash(
    crashes: Collection[int], lost: list[str]
):
    found = compare_runs(side("base", (), 1.0), side("new", crashes, 0.3), band=0.05)
    assert [change.what for change in found.lost] == lost
    assert found.worse == bool(lost)


def test_a_release_that_crashes_in_some_processes_is_broken():
    old, new = cell("tsit5", "diffrax@old"), cell("tsit5", "diffrax@new")
    (found,) = changes(Analysis(run({new: 0.4, old: 1.0}, {5, 6})), ("old", "new"))
    assert (found.found, found.outcome) == (Found.BROKEN, "crash in 2 of 10 processes")
