"""What is recommended of two stored runs: ways that were looked at, and those that competed."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable, Mapping

import pytest
from stubs.reported import cell, plan, point, record, summarise

from sciml_bench.analysis.advice.call_cost import ladder as usable
from sciml_bench.analysis.advice.call_cost import tolerances
from sciml_bench.analysis.advice.competitors import MOST, nearest, replayed, within_reach
from sciml_bench.analysis.advice.recommendation import of_problem, recommendation
from sciml_bench.analysis.process_summary import reduce_record
from sciml_bench.planning.purpose import RACE, Advised
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import PointResult
from sciml_bench.record.task import WARM, Cell, Point
from sciml_bench.render.recommendation import print_recommendation, recommendation_document

ADVISED = Advised(RACE, "gradient", 1000, 1e-6)
FAST, SLOW, FAR = cell("tsit5"), cell("kvaerno5"), cell("rk45", "scipy")


def ladder(ms: float):
    """Gradients of 1e-5, 1e-7 and 1e-8 at tolerances of 1e-4, 1e-6 and 1e-8; the asked accuracy lies in between."""
    errors = {1e-4: 1e-5, 1e-6: 1e-7, 1e-8: 1e-8}
    return [
        point(rtol, solve_ms=ms, gradient_ms=ms * (1 + 0.1 * k), gradient_error=error)
        for k, (rtol, error) in enumerate(errors.items())
    ]


def cells_of(*records, untried=(), best=()):
    known = list(dict.fromkeys([*(item.cell for item in records), *untried]))
    summary = summarise(plan(known), records)
    for item in summary.cells.values():
        item.role = "best" if item.cell in best else ""
    return list(summary.cells.values())


def looked(costs, **extra):
    return cells_of(*(record(which, ladder(ms)) for which, ms in costs.items()), **extra)


def raced(costs: Mapping[Cell, float | Callable[[int], float]], blocks: int):
    """Costs in ms, or functions of the block."""
    return cells_of(
        *(
            record(which, ladder(ms(block) if callable(ms) else ms), block=block)
            for which, ms in costs.items()
            for block in range(blocks)
        )
    )


def test_a_decided_race_names_one_way_with_its_cost_and_the_next():
    screened = looked({FAST: 1, SLOW: 2.5, FAR: 50})
    found = recommendation("robertson", ADVISED, screened, raced({FAST: 1, SLOW: 2.5}, 6))
    first = next(iter(found.sentences))
    assert first.startswith(f"Take {FAST.solver}: ")
    # 1 ms at an error of 1e-5 and 1.1 ms at 1e-7: in between at the asked one.
    assert "1.05 ms per gradient at a relative error of 1e-6" in first
    assert "rtol 1e-6 reaches 1.0e-07 in 1.10 ms" in first
    assert f"Next is {SLOW.solver}, " in first
    assert [way.cell for way in found.ways] == [FAST, SLOW, FAR]
    assert found.standing.decided
    (_, _, far) = found.ways
    assert far.raced == 0
    assert far.interval is None


def test_ways_without_a_reference_are_named_with_their_times_and_no_winner():
    def unknown(ms: float):
        return [point(rtol, gradient_ms=ms, gradient_error=None) for rtol in (1e-4, 1e-6)]

    records = [record(FAST, unknown(3)), record(SLOW, unknown(1)), record(FAR, [point(1e-4, outcome=Outcome.TIMEOUT)])]
    found = recommendation("mine", ADVISED, cells_of(*records, best=(FAST,)))
    first, second, third = found.sentences
    assert first == "No winner: mine has no reference, so the error of a gradient is unknown."
    assert f"agree with differences of the loss: {SLOW.solver}, 1.00 ms at rtol 1e-6; {FAST.solver}, 3.00 ms" in second
    assert FAR.solver not in second
    assert "reference compute" in third
    # It works: only its error is unknown.
    assert not list(found.cured)


def accurate(ms: float):
    """Gradients that are better than asked for at the loosest tolerance that was tried."""
    return [point(1e-4, gradient_ms=ms, gradient_error=1e-7), point(1e-6, gradient_ms=2 * ms, gradient_error=1e-9)]


@pytest.mark.parametrize(("first_s", "decided"), [(0.5, False), (60.0, True)])
def test_what_is_known_from_above_only_is_not_beaten(first_s, decided):
    """A looser tolerance, which nobody tried, could be cheaper than the leader; unless its first call is not."""
    ns = {"process": round(first_s * 1e9), "built": 10**8}
    blocks = [
        item
        for block in range(6)
        for item in (
            record(FAST, ladder(2), block=block, time_to_first_gradient_ns={"process": 10**9, "built": 10**8}),
            record(SLOW, accurate(100), block=block, time_to_first_gradient_ns=ns),
        )
    ]
    found = of_problem("robertson", cells_of(*blocks), ADVISED)
    assert found.ways[0].cell == FAST
    assert found.ways[1].at_most
    assert found.standing.decided is decided
    if not decided:
        assert f"{SLOW.solver}, " in " ".join(found.sentences)
        assert "(known from above only)" in " ".join(found.sentences)


def test_a_looser_tolerance_that_was_tried_and_is_slower_bounds_nothing():
    """An explicit method limited by stability: its loosest tolerance takes longest, so nothing looser is cheaper."""
    stable = [
        point(1e-2, gradient_ms=502, gradient_error=3e-5),
        point(1e-4, gradient_ms=500, gradient_error=6e-7),
        point(1e-6, gradient_ms=499, gradient_error=1e-8),
    ]
    blocks = [
        item for block in range(6) for item in (record(FAST, ladder(2), block=block), record(SLOW, stable, block=block))
    ]
    found = of_problem("robertson", cells_of(*blocks), ADVISED)
    assert not found.ways[1].at_most
    assert found.standing.decided


def test_where_no_winner_may_be_named_it_says_why():
    found = of_problem("robertson", raced({FAST: 1, SLOW: 400}, 8), ADVISED, "one process of each")
    assert not found.standing.decided
    assert "This names no winner: one process of each." in next(iter(found.sentences))


def test_a_filled_compile_cache_competes_with_nothing():
    warm = dataclasses.replace(FAST, mode=f"{FAST.mode}{WARM}")
    found = of_problem("robertson", raced({FAST: 2, SLOW: 3, warm: 1}, 6), ADVISED)
    assert [way.cell for way in found.ways] == [FAST, SLOW]


def test_the_cost_is_read_at_the_asked_accuracy():
    (way,) = recommendation("robertson", ADVISED, looked({FAST: 1})).ways
    assert way.cost is not None
    # Half way, in digits, between 1.0 and 1.1 ms.
    assert way.cost.each_s == pytest.approx((1.0 * 1.1) ** 0.5 * 1e-3)


def test_a_loosest_tolerance_that_is_too_loose_ends_no_way():
    """Its first gradient is wrong; the first right one takes as long."""
    wrong = point(1e-2, gradient_ms=1, gradient_error=0.5)
    (way,) = recommendation("robertson", ADVISED, cells_of(record(FAST, [wrong, *ladder(1)]))).ways
    assert way.cost is not None
    assert way.cost.first_s == 8.0


def test_a_loosest_tolerance_that_fails_ends_no_way():
    """How long that one compiled is unknown, so that all but the loops counts: never less than it took."""
    failed = PointResult.failed(Point(1e-2, 1e-2), Outcome.NONFINITE, "gradient", "not finite")
    phases = {"spawn": 10**6, "import": 10**8, "warm_up": 10**8, "steady": 4 * 10**8}
    item = record(FAST, [failed, *ladder(1)], time_to_first_gradient_ns={}, phases_ns=phases, wall_s=12.0)
    (way,) = recommendation("robertson", ADVISED, cells_of(item)).ways
    assert way.cost is not None
    assert way.cost.first_s == pytest.approx(11.5)


def test_what_is_not_decided_is_for_now():
    uneven = {FAST: lambda block: 1.0 + 0.3 * (block % 2), SLOW: lambda block: 1.3 - 0.3 * (block % 2)}
    found = recommendation("robertson", ADVISED, looked({FAST: 1, SLOW: 1.1}), raced(uneven, 4))
    text = " ".join(found.sentences)
    assert "for now" in text
    assert "Undecided after 4 blocks" in text
    assert {way.cell for way in found.tied} == {FAST, SLOW}


def test_equal_costs_are_a_group():
    found = recommendation("robertson", ADVISED, looked({FAST: 1, SLOW: 1}), raced({FAST: 1, SLOW: 1}, 40))
    assert found.standing.decided
    assert "they cost the same within 5 %" in next(iter(found.sentences))


def test_without_a_race_it_is_provisional():
    assert "Nothing was repeated, so this is provisional" in " ".join(
        recommendation("robertson", ADVISED, looked({FAST: 1, SLOW: 2})).sentences
    )


def test_one_way_is_the_only_one():
    assert "the only way that reaches a relative error of 1e-6 here" in " ".join(
        recommendation("robertson", ADVISED, looked({FAST: 1})).sentences
    )


def test_nothing_that_works_says_what_to_do():
    assert list(recommendation("robertson", ADVISED, cells_of(untried=[FAST])).sentences) == [
        "No way computes a gradient at a relative error of 1e-6 here.",
        "None was looked at: give it more time, --within.",
    ]


def test_an_accuracy_out_of_reach_gives_way_to_the_best_one_in_reach():
    """No way has more than eight digits: the answer is of eight, and says so."""
    screened = looked({FAST: 1, SLOW: 2.5})
    asked = dataclasses.replace(ADVISED, accuracy=1e-10)
    assert within_reach(screened, ADVISED) is ADVISED
    reached = within_reach(screened, asked)
    assert (reached.accuracy, reached.requested) == (1e-8, 1e-10)
    found = recommendation("robertson", reached, screened)
    first, second, *_ = found.sentences
    assert first == "No way computes a gradient at a relative error of 1e-10 here, but some at 1e-8."
    assert second.startswith(f"Take {FAST.solver}")
    assert nearest(screened, asked) == []
    assert [item.cell for item in nearest(screened, reached)] == [FAST, SLOW]


def test_ways_that_come_near_are_counted_if_they_are_many():
    """One reaches 1e-9, and two have the eight digits that are a digit less; the fourth has five."""
    better = point(1e-9, solve_ms=3, gradient_ms=3, gradient_error=1e-9)
    rough = point(1e-4, solve_ms=1, gradient_ms=1, gradient_error=1e-5)
    screened = cells_of(
        record(FAST, [*ladder(1), better]), record(SLOW, ladder(1)), record(FAR, ladder(1)),
        record(cell("dopri5"), [rough]),
    )  # fmt: skip
    found = recommendation("robertson", dataclasses.replace(ADVISED, accuracy=1e-9), screened)
    assert list(found.sentences)[-1] == "2 other ways reach 1e-8: see --accuracy."
    assert "see --accuracy" not in " ".join(recommendation("robertson", ADVISED, screened).sentences)


def test_a_way_that_was_too_slow_says_so_and_not_that_it_was_rough_before():
    slow = dataclasses.replace(
        point(1e-6, solve_ms=1, gradient_ms=1, gradient_error=0.01), outcome=Outcome.SLOW, message="takes 2 s"
    )
    slow = dataclasses.replace(slow, gradient=dataclasses.replace(slow.gradient, outcome=Outcome.SLOW))
    rough = point(1e-4, solve_ms=1, gradient_ms=1, gradient_error=0.5)
    found = recommendation("robertson", ADVISED, cells_of(record(FAST, ladder(1)), record(SLOW, [rough, slow])))
    assert [way.reason for way in found.failed] == ["slow: takes 2 s"]


def test_an_accuracy_of_one_digit_is_no_answer():
    rough = cells_of(record(FAST, [point(1e-4, solve_ms=1, gradient_ms=1, gradient_error=0.05)]))
    assert within_reach(rough, ADVISED) is ADVISED
    assert within_reach([], ADVISED) is ADVISED


def test_a_recommended_way_that_fails_has_its_cure():
    failed = record(
        FAST,
        [PointResult.failed(Point(rtol, rtol), Outcome.NONFINITE, "gradient", "not finite") for rtol in (1e-4, 1e-8)],
        outcome=Outcome.NONFINITE,
        message="not finite",
    )
    screened = cells_of(failed, record(SLOW, ladder(2)), best=[FAST])
    found = recommendation("robertson", ADVISED, screened)
    (line,) = found.cured
    assert line.startswith(f"{FAST.solver}, usually the best way in diffrax, fails: nonfinite")
    assert "kvaerno5" in line.partition(";")[2]
    shown = io.StringIO()
    print_recommendation(found, shown)
    assert "kvaerno5 instead of tsit5 works there" in " ".join(shown.getvalue().split())
    assert recommendation_document(found, [])["cured"] == [line]


def test_a_way_that_was_ended_as_it_took_far_longer_needs_no_cure():
    ended = record(
        FAST,
        [PointResult.failed(Point(1e-4, 1e-4), Outcome.TIMEOUT, "first_gradient", "ran past 4.7 s")],
        outcome=Outcome.TIMEOUT,
        message="ran past 4.7 s",
    )
    found = recommendation("robertson", ADVISED, cells_of(ended, record(SLOW, ladder(2)), best=[FAST]))
    assert list(found.cured) == []
    alone = recommendation("robertson", ADVISED, cells_of(ended, best=[FAST]))
    assert len(list(alone.cured)) == 1, "nothing else works, so the limit may be the reason"


def test_a_looser_tolerance_that_missed_the_accuracy_when_ways_were_looked_at_bounds_a_raced_one():
    def tuned(ms: float):
        return [point(2e-6, gradient_ms=ms, gradient_error=9e-7), point(5e-7, gradient_ms=2 * ms, gradient_error=1e-7)]

    blocks = [record(which, tuned(ms), block=block) for which, ms in ((FAST, 1), (SLOW, 3)) for block in range(8)]
    missing = [point(3e-5, gradient_ms=2.5, gradient_error=2e-5), point(1e-6, gradient_ms=3, gradient_error=8e-7)]
    for first, bound in ((missing, False), (tuned(3), True)):
        screened = cells_of(record(FAST, ladder(1)), record(SLOW, first))
        found = recommendation("mine", ADVISED, screened, cells_of(*blocks))
        (slow,) = [way for way in found.ways if way.cell == SLOW]
        assert slow.at_most is bound


def test_those_that_compete_are_near_the_best_and_few():
    many = {cell(f"m{k}"): 1 + 0.01 * k for k in range(20)}
    best = nearest(looked({**many, FAR: 1000}), ADVISED)
    assert len(best) == MOST
    assert [item.cell.method for item in best[:2]] == ["m0", "m1"]
    # Costs hold the time to the first gradient, too, which is the same here.
    assert FAR not in {item.cell for item in nearest(looked({FAST: 1, FAR: 1000}), ADVISED)}


def test_a_race_is_replayed_as_it_was_run():
    race = replayed(raced({FAST: 1, SLOW: 400}, 3), ADVISED)
    assert SLOW in race.left
    assert race.left[SLOW].by == FAST


def test_tolerances_lie_about_the_one_that_gives_the_accuracy():
    process = reduce_record(record(FAST, ladder(1)))
    loose, middle, tight = (item.rtol for item in tolerances(process, "gradient", 6.0))
    assert middle == pytest.approx(1e-5)
    # Nothing that means nothing: a tolerance of more than a tenth, or below rounding.
    assert [item.rtol for item in usable(3.0, 0.2, 1e-15)] == [0.1, 1e-13]
    assert (loose, tight) == (pytest.approx(4e-5), pytest.approx(2.5e-6))
    # The loosest that was tried is better than asked for: looser ones are tried as well.
    assert [item.rtol for item in tolerances(process, "gradient", 4.0)] == pytest.approx([1.6e-3, 4e-4, 1e-4])
    with pytest.raises(ValueError, match="never has 12 digits"):
        tolerances(process, "gradient", 12.0)


def test_of_solves_the_first_one_counts_from_the_start_of_the_process():
    solves = dataclasses.replace(ADVISED, call="solve", accuracy=1e-4)
    points = [point(1e-4, solve_ms=1, mescd=4.0), point(1e-6, solve_ms=2, mescd=6.0)]
    phases = {"spawn": 10**6, "interpreter": 10**7, "import": 10**8, "build": 10**7, "first_solve": 3 * 10**6}
    (way,) = recommendation("robertson", solves, cells_of(record(FAST, points, phases_ns=phases))).ways
    assert way.cost is not None
    assert way.cost.first_s == pytest.approx(0.124)
