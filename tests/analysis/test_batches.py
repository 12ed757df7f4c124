"""What each library does with a batch."""

from __future__ import annotations

from stubs.reported import cell, plan, point, record, summarise

from sciml_bench.analysis.batch_outcomes import batch_lines
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.trajectories import Trajectories


def lines(*points):
    which = cell()
    return list(batch_lines(summarise(plan([which]), [record(which, list(points))]).of_problem("robertson")))


def test_own_steps_are_told_with_their_spread_at_the_tightest_tolerance():
    loose, tight = Trajectories(3, False, (4, 5, 6)), Trajectories(3, False, (7, 9, 14))
    *_, told = lines(point(1e-4, solve={"trajectories": loose}), point(1e-8, solve={"trajectories": tight}))
    assert told == "  diffrax kvaerno5 discrete jit at rtol 1e-8: own steps, 7 to 14, median 9, 30 in all 3"


def test_shared_steps_are_one_number():
    (_, _, told) = lines(point(1e-8, solve={"trajectories": Trajectories.as_one_system(64, 31.0)}))
    assert told.endswith("31 steps shared by all 64")
    assert lines(point(1e-8, solve={"trajectories": Trajectories.as_one_system(64, None)}))[-1].endswith(
        "steps not counted"
    )


def test_a_tolerance_at_which_some_failed_is_told_too():
    some = Trajectories(3, False, (4, 5, 4096), ((2, Outcome.MAX_STEPS),))
    told = lines(
        point(1e-4, outcome=Outcome.MAX_STEPS, solve={"trajectories": some}),
        point(1e-8, solve={"trajectories": Trajectories(3, False, (7, 9, 14))}),
    )
    assert "failed: 1 max_steps" in told[-1]
    assert "1e-4" in told[-1]


def test_single_trajectories_need_no_line():
    assert Trajectories.as_one_system(1, 31.0) is None
    assert lines(point(1e-8)) == []
