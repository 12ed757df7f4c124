"""Which way is looked at next, and when looking ends: the order alone, without workers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sciml_bench.analysis.advice import experience
from sciml_bench.analysis.advice.call_cost import CallCost
from sciml_bench.analysis.advice.competitors import NEAR
from sciml_bench.analysis.advice.experience import Features, turns, way_of
from sciml_bench.execution.screening import Order
from sciml_bench.planning.purpose import SCREEN, Advised
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.task import Cell
from sciml_bench.stats.break_even import Cost

ADVISED = Advised(SCREEN, "gradient", 1000, 1e-6)


def known(total_s: float | None) -> CallCost:
    return CallCost(None if total_s is None else Cost(total_s, 0.0))


def cell_of(adapter: str, number: int) -> Cell:
    return Cell("decay", adapter, f"m{number}", "discrete", "eager")


def test_looking_ends_after_many_ways_in_a_row_that_are_far_from_the_best():
    """And not before every library was tried, nor while nothing works."""
    ways = [cell_of(name, k) for name in ("alpha", "beta") for k in range(30)]
    order = Order(ADVISED, dict.fromkeys(ways, 0.0))
    for way in ways[:20]:
        order.keep(way, known(None))
    assert not order.settled, "nothing works yet"
    order.keep(ways[20], known(1.0))
    for way in ways[21:30]:
        order.keep(way, known(3.5))
    order.keep(ways[30], known(2.9))
    for place, way in enumerate(ways[31:43]):
        assert not order.settled, place
        order.keep(way, known(3.5) if place % 2 else known(None))
    assert order.settled


def test_a_call_may_take_as_long_as_lets_its_way_compete():
    order = Order(ADVISED, {cell_of("alpha", 0): 0.0})
    assert order.most_call_s() is None, "nothing works yet"
    order.keep(cell_of("alpha", 0), known(2.0))
    assert order.most_call_s() == pytest.approx(NEAR * 2.0 / 1000)


def test_slow_calls_say_nothing_about_other_kinds_of_gradient():
    slow, other, last = (cell_of("alpha", 0), replace(cell_of("alpha", 0), sensitivity="forward"), cell_of("alpha", 1))
    order = Order(ADVISED, {slow: 0.0, other: 0.5, last: 1.0})
    order.keep(slow, CallCost(None, reason="slow: a gradient takes 2 s, more than 0.1 s"))
    assert order.next([other, last]) == other


def test_no_library_is_passed_over():
    """One that is expected to cost a hundred times as much has an early turn as well, and looking waits for it."""
    last = cell_of("beta", 0)
    left = [*(cell_of("alpha", k) for k in range(40)), last]
    order = Order(ADVISED, {cell: 2.0 if cell == last else 0.1 * k for k, cell in enumerate(left)})
    for number in range(20):
        assert not order.settled
        way = order.next(left)
        left.remove(way)
        order.keep(way, known(1.0 if number == 0 else 50.0))
        if way == last:
            break
    assert last not in left


@pytest.mark.parametrize(
    ("reason", "first"), [("nonfinite: the gradient is not finite", "forward"), ("max_steps: too many", "other")]
)
def test_where_a_gradient_failed_another_kind_is_tried_soon(reason, first):
    """Where the method itself got nowhere, another method is."""
    failed = replace(cell_of("alpha", 0), sensitivity="checkpointed")
    cure, other = replace(failed, sensitivity="forward"), cell_of("alpha", 1)
    order = Order(ADVISED, {failed: 0.0, cure: 0.5, other: 1.0})
    order.keep(failed, CallCost(None, reason=reason))
    assert order.next([cure, other]) == (cure if first == "forward" else other)


WRONG = CallCost(None, reason="inaccurate: the gradient error is 4.9, its bound 0.1")


def test_a_wrong_gradient_brings_the_other_kinds_of_the_method_forward():
    """Past a way that was expected to take an eighth, but not past one that was to take a twentieth."""
    wrong = replace(cell_of("alpha", 0), sensitivity="forward")
    fix = replace(wrong, sensitivity="backsolve")
    for turn, first in ((0.6, fix), (0.2, cell_of("alpha", 1))):
        other = cell_of("alpha", 1)
        order = Order(ADVISED, {wrong: 0.0, other: turn, fix: 1.5})
        order.keep(wrong, WRONG)
        assert order.next([fix, other]) == first


@pytest.mark.parametrize(
    ("reason", "call", "first"),
    [
        ("inaccurate: d loss / d log k: 2.5e+20, differences of the loss give 7.9e+05", "gradient", "fix"),
        ("nonfinite: Diffrax reports success, but the gradient is not finite", "gradient", "fix"),
        ("nonfinite: torchdiffeq stopped: non-finite values in state", "gradient", "other"),
        ("inaccurate: the gradient error is 4.9", "solve", "other"),
    ],
)
def test_only_a_wrong_gradient_brings_others_forward(reason, call, first):
    """With a reference or without one; a solve that failed, fails for all kinds of gradient."""
    wrong = replace(cell_of("alpha", 0), sensitivity="forward")
    fix, other = replace(wrong, sensitivity="backsolve"), cell_of("alpha", 1)
    order = Order(replace(ADVISED, call=call), {wrong: 0.0, other: 0.6, fix: 1.5})
    order.keep(wrong, CallCost(None, reason=reason))
    assert order.next([fix, other]) == (fix if first == "fix" else other)


def test_failed_solves_end_looking():
    ways = [cell_of("alpha", k) for k in range(20)]
    order = Order(ADVISED, dict.fromkeys(ways, 0.0))
    order.keep(ways[0], known(1.0))
    for way in ways[1:13]:
        order.keep(way, CallCost(None, reason="nonfinite: the step size became not-a-number"))
    assert order.settled


def test_the_same_wrong_gradient_in_another_mode_falls_back():
    wrong = replace(cell_of("alpha", 0), sensitivity="forward")
    again, other = replace(wrong, mode="compiled"), cell_of("alpha", 1)
    order = Order(ADVISED, {wrong: 0.0, again: 0.1, other: 2.0})
    order.keep(wrong, WRONG)
    assert order.next([again, other]) == other


def test_where_all_kinds_of_a_method_are_wrong_others_of_the_library_come_no_earlier():
    """Else a problem that is beyond a whole library takes all of the time."""
    first = [replace(cell_of("alpha", 0), sensitivity=name) for name in ("forward", "backsolve")]
    second = [replace(cell_of("alpha", 1), sensitivity=name) for name in ("forward", "backsolve")]
    works = cell_of("beta", 0)
    order = Order(ADVISED, {**dict.fromkeys([*first, second[0]], 0.0), works: 1.0, second[1]: 1.5})
    order.keep(cell_of("beta", 9), known(1.0))
    for way in (*first, second[0]):
        order.keep(way, WRONG)
    assert order.next([works, second[1]]) == works


def test_looking_goes_on_while_wrong_gradients_may_have_a_fix():
    ways = [replace(cell_of("alpha", k), sensitivity=name) for k in range(20) for name in ("forward", "backsolve")]
    order = Order(ADVISED, dict.fromkeys(ways, 0.0))
    order.keep(ways[0], known(1.0))
    for way in ways[2::2]:
        order.keep(way, WRONG)
    assert not order.settled
    order.keep(ways[3], WRONG)
    for way in ways[5::2]:
        order.keep(way, WRONG)
    assert order.settled, "all kinds of a method were wrong, so that more wrong ones end it"


def test_in_a_library_that_was_asked_for_looking_goes_on_until_something_works():
    ways = [cell_of(name, k) for name in ("alpha", "beta") for k in range(20)]
    for named, settled in (((), True), (("beta",), False), (("alpha",), True)):
        order = Order(ADVISED, dict.fromkeys(ways, 0.0), named)
        for way in [*ways[:5], *ways[20:35]]:
            order.keep(way, known(1.0 if way == ways[0] else None))
        assert order.settled is settled, named
    for way in ways[35:]:
        order.keep(way, known(None))
    assert order.settled, "nothing of it is left"


def test_what_was_measured_elsewhere_decides_what_is_tried_first():
    """Rules say alpha; on a problem just like this one beta was ten times cheaper. Far from it, rules count."""
    alpha, beta = cell_of("alpha", 0), cell_of("beta", 0)
    like = Features(2, 4, explicit=600, implicit=1900)
    ways = tuple(
        experience.Measured(way_of(cell), Outcome.OK, 1.0, ((6.0, each_s),))
        for cell, each_s in ((alpha, 1.0), (beta, 0.1))
    )
    seen = [experience.Known("other", "hash", like, ways)]
    tiers = {alpha: 0, beta: 1}
    assert list(turns(tiers, like, seen, digits=6.0, gradients=1000)) == [beta, alpha]
    far = Features(2000, 4, explicit=60000, implicit=19)
    assert list(turns(tiers, far, seen, digits=6.0, gradients=1000)) == [alpha, beta]
    assert list(turns(tiers, like, [], digits=6.0, gradients=1000)) == [alpha, beta]
