"""Events of references that are refused, where they are not defined or could be missed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from references.engine.event_cases import AT_ONE_TIME, OSCILLATOR, certified, oscillator, times
from stubs.small_problems import Load

from sciml_bench.references.engine.events import Watcher
from sciml_bench.references.failures import ReferenceFailure
from sciml_bench.spec import catalog
from sciml_bench.spec.model import Problem


def test_a_jump_in_two_steps_over_another_zero_is_refused(load: Load):
    """The first of them ends exactly at the zero."""
    text = AT_ONE_TIME.format(first="1.1", level="1.1")
    problem = load(text.replace('when = "x - 1.1"\ndirection = "falling"', 'when = "x + 9"\ndirection = "falling"'))
    with pytest.raises(ReferenceFailure, match="'second' at t = 1 jumps over the zero of the condition of 'rise'"):
        certified(problem)


ZENO = catalog.path("bouncing-ball").read_text(encoding="utf-8").replace("t1 = 2.5", "t1 = 5")
REFUSED: dict[str, tuple[Callable[[Load], Problem], str]] = {
    "accumulation": (lambda load: load(ZENO), r"events accumulate near t = 4\.06"),
    "a zero at the start": (lambda load: oscillator(load, when="x"), "is zero at the start, t = 0"),
    "a touch": (lambda load: oscillator(load, when="x - 1"), "touches zero, or jumps, near t = 1.57"),
    "a touch to 1e-30": (lambda load: oscillator(load, when="x - 1 + 1e-30"), "touches zero, or jumps, near t = 1.57"),
    "an event at a saved time": (
        lambda load: oscillator(load, when="t - 1", times="1, 10"),
        "happens at t = 1, which is a saved time",
    ),
    "two at once": (
        lambda load: load(
            OSCILLATOR.format(
                level="0.5", when="x - level", direction="rising", reset='n = "n + kick"', t1="10", times="10"
            )
            + '[events.also]\nwhen = "x**3 - level**3"\nreset = { v = 2 }\n'
        ),
        "'crossing' and 'also' happen at once, at t = 0.523",
    ),
    "another condition put at zero": (
        lambda load: load(
            OSCILLATOR.format(
                level="0.5", when="x - level", direction="rising", reset='n = "1"', t1="10", times="10"
            ).replace('"1"', "1")
            + '[events.also]\nwhen = "n - 1"\nreset = { v = 2 }\n'
        ),
        "puts the condition of 'also' at zero",
    ),
    "another condition jumped over": (
        lambda load: load(
            OSCILLATOR.format(level="0.5", when="x - level", direction="rising", reset="n = 1", t1="10", times="10")
            + '[events.also]\nwhen = "n - 0.3"\nreset = { v = 2 }\n'
        ),
        "'crossing' at t = 0.523598775598 jumps over the zero of the condition of 'also'",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_events_that_are_not_defined_are_refused_with_their_time(load: Load, name: str):
    make, match = REFUSED[name]
    with pytest.raises(ReferenceFailure, match=match):
        certified(make(load))


def test_a_jump_against_the_direction_of_another_condition_is_no_event(load: Load):
    problem = load(
        OSCILLATOR.format(level="0.5", when="x - level", direction="rising", reset="n = 1", t1="3", times="3")
        + '[events.also]\nwhen = "n - 0.3"\ndirection = "falling"\nreset = { v = 2 }\n'
    )
    events: Any = certified(problem, gradients=False).evidence["events"]
    assert [event["name"] for event in events] == ["crossing"]


def test_a_perturbation_that_makes_an_event_leaves_the_solution_without_a_gradient(load: Load):
    """The level is passed by less than the perturbation of the differences."""
    problem = oscillator(load, level="0.999999999", reset='n = "n + kick"')
    with pytest.raises(ReferenceFailure, match="makes or removes an event"):
        certified(problem)


COUNTER = """\
spec = 1
name = "counter"
title = "A ramp that is watched"
[time]
t1 = {t1}
save = {{ times = [{t1}] }}
[parameters]
k = 1
[states]
x = {x}
n = 0
[equations]
x = "k"
n = 0
[events.e]
when = "{when}"
direction = "{direction}"
reset = {{ {reset} }}
"""


@pytest.mark.parametrize(
    ("when", "reset", "x", "t1", "expected"),
    [
        # The same event again within the first step after it.
        ("x - 1.1", "x = 0", 0, "150.25", 136),
        ("x - 1", 'x = "x - 0.0005"', 0.9, "0.1052", 11),
        # Conditions that turn, or branch, within a step.
        ("max(0.3 - x, x - 0.6)", 'n = "n + x"', 0, "1", 2),
        ("min(x - 0.4, 0.8 - x)", 'n = "n + x"', 0, "1", 2),
        ("abs(x - 0.5) - 0.1", 'n = "n + x"', 0, "1", 2),
        ("where(x > 0.6, x - 0.65, -0.05)", 'n = "n + x"', 0, "1", 1),
    ],
)
def test_no_event_is_missed(load: Load, when: str, reset: str, x: float, t1: str, expected: int):
    direction = "rising" if x or "where" in when or t1 == "150.25" else "both"
    found = certified(load(COUNTER.format(when=when, reset=reset, x=x, t1=t1, direction=direction)))
    assert len(times(found)) == expected


@pytest.mark.parametrize(
    ("when", "reset", "match"),
    [
        ("where(x > 0.5, 1, -1)", 'n = "n + x"', "touches zero, or jumps, near t = 0.5"),
        ("where(x > 0.5, x - 2, x + 1)", 'n = "n + x"', "touches zero, or jumps, near t = 0.5"),
        ("where(t > 0.7, x - 0.55, -1)", 'n = "n + x"', "touches zero, or jumps, near t = 0.7"),
        ("x - 0.3", 'n = "where(x < 0.3, 5*k, 7)"', "the reset of the event 'e' branches"),
        ("x - 0.3", 'n = "abs(x - 0.3)"', "the reset of the event 'e' branches"),
    ],
)
def test_branches_at_an_event_are_refused(load: Load, when: str, reset: str, match: str):
    with pytest.raises(ReferenceFailure, match=match):
        certified(load(COUNTER.format(when=when, reset=reset, x=0, t1="1", direction="both")))


def test_a_missed_event_is_found_by_another_method(load: Load, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Watcher, "cut", lambda *_: None)
    with pytest.raises(ReferenceFailure, match=r"has the event 'crossing' at t = 0\.523"):
        certified(oscillator(load))


def test_a_change_of_theta_that_takes_a_jump_past_a_zero_is_named(load: Load):
    """The velocities of block and belt are one number in the file; a derivative changes them one by one."""
    text = catalog.path("stick-slip").read_text(encoding="utf-8")
    problem = load(text.replace("(v - belt) + sticks", "(v - belt) - sticks"))
    with pytest.raises(ReferenceFailure, match=r"after a change of .* 'slip' at t = 5\.\d+ jumps over the zero"):
        certified(problem)
