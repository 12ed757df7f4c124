"""The tables of events: what they mean, and every mistake with its line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sympy import Rational

from sciml_bench.errors import ProblemError
from sciml_bench.spec.event import RUNNING
from sciml_bench.spec.model import Problem, symbol

EVENT = """
[events.hit]
when = "a - 0.5"
direction = "falling"
reset = { a = "1 + k", b = "b/2" }

[events.dose]
at = [0.55, "pi/2"]
reset = { b = "b + 1" }
"""


def test_events_are_read(load: Callable[[str], Problem], decay: str):
    problem = load(decay + EVENT)
    hit, dose = problem.events
    assert (hit.name, hit.direction, hit.way, hit.at) == ("hit", -1, "falling", ())
    assert hit.when == symbol("a") - Rational(1, 2)
    assert {name: str(value) for name, value in hit.reset.items()} == {"a": "k + 1", "b": "b/2"}
    assert (dose.when, [str(t) for t in dose.at]) == (None, ["11/20", "pi/2"])
    assert [str(t) for t in problem.breakpoints] == ["11/20", "pi/2"]
    assert problem.spec_hash != load(decay).spec_hash
    assert problem.spec_hash != load(decay + EVENT.replace("b/2", "b/3")).spec_hash


def test_a_direction_is_both_if_it_is_left_out(load: Callable[[str], Problem], decay: str):
    problem = load(decay + '[events.hit]\nwhen = "a - 0.5"\nreset = { a = 1 }\n')
    assert problem.events[0].way == "both"


def test_a_parameter_of_an_event_counts_as_used(load: Callable[[str], Problem], decay: str):
    text = decay.replace("k = 0.1", "k = 0.1\nlevel = 0.5")
    assert load(text + '[events.hit]\nwhen = "a - level"\nreset = { a = 1 }\n').n_parameters == 2


def test_an_event_that_ends_the_solve_freezes_all_else(load: Callable[[str], Problem], decay: str):
    problem = load(decay + EVENT.replace('direction = "falling"', "end = true"))
    hit, dose = problem.events
    running, a, b = symbol(RUNNING), symbol("a"), symbol("b")
    assert problem.states[-1].name == RUNNING
    assert all((slope.subs(running, 0)) == 0 for slope in problem.equations.values())
    assert hit.when is not None
    assert hit.when.subs(running, 0) == 1, "no sign changes any more"
    assert hit.when.subs(running, 1) == a - Rational(1, 2)
    assert hit.reset[RUNNING] == 0
    assert dose.reset["b"].subs(running, 0) == b
    assert dose.reset["b"].subs(running, 1).expand() == b + 1


def test_an_event_that_ends_the_solve_needs_no_reset(load: Callable[[str], Problem], decay: str):
    problem = load(decay + '[events.stop]\nwhen = "a - 0.5"\nend = true\n')
    assert dict(problem.events[0].reset) == {RUNNING: 0}


WRONG = {
    "an end that is no flag": ('[events.e]\nwhen = "a"\nend = 1\n', "'end' must be true or false"),
    "neither an end nor a reset": ('[events.e]\nwhen = "a"\nend = false\n', "'reset' must say the values"),
    "an end beside an exact solution": (
        '[events.e]\nwhen = "a"\nend = true\n[exact]\na = "exp(-k*t)"\nb = "1"\n',
        r"\[exact\] has no solution after it",
    ),
    "neither": ("[events.e]\nreset = { a = 1 }\n", "needs either 'when' or 'at'"),
    "both": ('[events.e]\nwhen = "a"\nat = [1]\nreset = { a = 1 }\n', "needs either 'when' or 'at'"),
    "no reset": ('[events.e]\nwhen = "a"\n', "'reset' must say the values"),
    "an empty reset": ('[events.e]\nwhen = "a"\nreset = {}\n', "'reset' must say the values"),
    "an unknown state": ('[events.e]\nwhen = "a"\nreset = { q = 1 }\n', "'q' is not a state"),
    "an unknown name": ('[events.e]\nwhen = "a - zz"\nreset = { a = 1 }\n', "zz"),
    "a constant condition": ('[events.e]\nwhen = "2"\nreset = { a = 1 }\n', "never passes zero"),
    "a wrong direction": ('[events.e]\nwhen = "a"\ndirection = "up"\nreset = { a = 1 }\n', "'up' is no direction"),
    "a direction of a time": ('[events.e]\nat = [1]\ndirection = "both"\nreset = { a = 1 }\n', "has no direction"),
    "times outside": ("[events.e]\nat = [3]\nreset = { a = 1 }\n", "must increase and lie inside"),
    "times that fall": ("[events.e]\nat = [1, 0.5]\nreset = { a = 1 }\n", "must increase and lie inside"),
    "an unknown key": ('[events.e]\nwhen = "a"\nrest = 1\nreset = { a = 1 }\n', "unknown key 'rest'"),
    "no table": ("events = 3\n", "must be a table"),
    "a name twice": ('[events.k]\nwhen = "a"\nreset = { a = 1 }\n', "already declared"),
    "a saved time": ("[events.e]\nat = [1]\nreset = { a = 1 }\n", "which is a saved time"),
    "an old word": ("[doses]\nx = 1\n", "a dose is a scheduled event"),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_named(load: Callable[[str], Problem], decay: str, name: str):
    text, match = WRONG[name]
    whole = text + decay if name == "no table" else decay + text
    with pytest.raises(ProblemError, match=match):
        load(whole.replace("t1 = 2\n", "t1 = 2\nsave = { times = [1, 2] }\n"))


def test_a_quantity_of_the_conditions_that_only_an_event_reads_is_a_state(
    load: Callable[[str], Problem], decay: str, tmp_path: Path
):
    (tmp_path / "conditions.csv").write_text("condition,dose,size\nlow,1,2\nhigh,2,3\n", encoding="utf-8")
    event = '[events.e]\nwhen = "a - size/10"\nreset = { a = "a + dose" }\n'
    problem = load(decay + event + '[conditions]\nfile = "conditions.csv"\n')
    assert problem.batch.size == 2
    assert [state.name for state in problem.states][-2:] == ["dose", "size"]


def test_events_and_batches_cannot_be_in_one_problem(load: Callable[[str], Problem], decay: str):
    with pytest.raises(ProblemError, match="events and a batch cannot be in one problem"):
        load(decay + EVENT + "[batch]\nsize = 3\nspread = 0.1\n")


BOTH = """
[events.first]
when = "a - level"
reset = { b = "b + 1" }

[events.second]
when = "2*level - 2*a"
direction = "DIRECTION"
priority = PRIORITY
reset = { b = "3*b + half", a = "a + b" }
"""


def at_once(load: Callable[[str], Problem], decay: str, priority: int = 0, direction: str = "both") -> Problem:
    definition = '[definitions]\nlevel = "0.5 + 0*k"\nhalf = "b/2"\n'
    return load(decay + definition + BOTH.replace("PRIORITY", str(priority)).replace("DIRECTION", direction))


def test_events_of_one_condition_are_one_in_the_order_of_the_file(load: Callable[[str], Problem], decay: str):
    (event,) = at_once(load, decay).events
    a, b = symbol("a"), symbol("b")
    assert event.name == "first__second"
    assert event.way == "both"
    assert (event.reset["b"] - (3 * (b + 1) + (b + 1) / 2)).expand() == 0
    assert (event.reset["a"] - (a + b + 1)).expand() == 0


def test_a_higher_priority_comes_first(load: Callable[[str], Problem], decay: str):
    (event,) = at_once(load, decay, priority=1).events
    a, b = symbol("a"), symbol("b")
    assert event.name == "second__first"
    assert (event.reset["b"] - (3 * b + b / 2 + 1)).expand() == 0
    assert (event.reset["a"] - (a + b)).expand() == 0


def test_events_of_one_condition_and_other_directions_meet_where_both_happen(
    load: Callable[[str], Problem], decay: str
):
    # The second condition has the other sign: it falls where the first rises.
    falling, rising = at_once(load, decay, direction="falling").events
    assert (falling.name, falling.way) == ("first", "falling")
    assert (rising.name, rising.way) == ("first__second", "rising")


def test_opposite_directions_of_one_condition_stay_two_events(load: Callable[[str], Problem], decay: str):
    text = BOTH.replace("PRIORITY", "0").replace('direction = "DIRECTION"', 'direction = "rising"')
    text = text.replace('when = "a - level"', 'when = "a - level"\ndirection = "rising"').replace("level", "0.5")
    text = text.replace(" + half", "")
    assert [event.name for event in load(decay + text).events] == ["first", "second"]


def test_nothing_happens_after_an_event_that_ends_the_solve(load: Callable[[str], Problem], decay: str):
    stop = '[events.stop]\nwhen = "a - 0.5"\nend = true\npriority = PRIORITY\n'
    hit = '[events.hit]\nwhen = "a - 0.5"\nreset = { b = 7 }\n'
    (before,) = load(decay + stop.replace("PRIORITY", "1") + hit).events
    (after,) = load(decay + stop.replace("PRIORITY", "-1") + hit).events
    assert set(before.reset) == {RUNNING}
    assert set(after.reset) == {RUNNING, "b"}


def test_conditions_that_are_zero_everywhere_are_not_joined(load: Callable[[str], Problem], decay: str):
    zero = "".join(f'[events.{x}{x}]\nwhen = "({x}+1)**2 - {x}**2 - 2*{x} - 1"\nreset = {{ a = 1 }}\n' for x in "ab")
    assert len(load(decay + zero).events) == 2


def test_scheduled_events_at_one_time_keep_their_priorities(load: Callable[[str], Problem], decay: str):
    text = "[events.low]\nat = [0.55]\nreset = { b = 1 }\n[events.high]\nat = [0.55]\npriority = 5\nreset = { b = 2 }\n"
    assert [event.name for event in load(decay + text).events] == ["high", "low"]


def test_a_priority_is_a_whole_number(load: Callable[[str], Problem], decay: str):
    with pytest.raises(ProblemError, match="'priority' must be"):
        load(decay + '[events.e]\nwhen = "a"\npriority = 0.5\nreset = { a = 1 }\n')
