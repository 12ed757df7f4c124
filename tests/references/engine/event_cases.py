"""Problems with events, and their certificates, for tests of the reference engine."""

from __future__ import annotations

from typing import Any

import mpmath
from stubs.small_problems import Load

from sciml_bench.references.certificate import Certified, certify
from sciml_bench.references.engine.case import Case
from sciml_bench.spec.model import Problem

Real = Any
"""A number of mpmath."""

OSCILLATOR = """\
spec = 1
name = "oscillator"
title = "An oscillator and a counter"
[time]
t1 = {t1}
save = {{ times = [{times}] }}
[parameters]
level = {level}
kick = 0.25
[states]
x = 0
v = 1
n = 0
[equations]
x = "v"
v = "-x"
n = "0*level*kick"
[events.crossing]
when = "{when}"
direction = "{direction}"
reset = {{ {reset} }}
"""


def oscillator(
    load: Load, *, level: str = "0.5", when: str = "x - level", direction: str = "rising",
    reset: str = 'n = "n + kick"', t1: str = "10", times: str = "1, 10",
) -> Problem:  # fmt: skip
    return load(OSCILLATOR.format(level=level, when=when, direction=direction, reset=reset, t1=t1, times=times))


def certified(problem: Problem, gradients: bool = True) -> Certified:
    return certify(Case(problem), gradients=gradients)


def times(found: Certified) -> list[Real]:
    listed = found.evidence["events"]
    assert isinstance(listed, list)
    return [mpmath.mpf(item["t"]) for item in listed]


AT_ONE_TIME = """\
spec = 1
name = "at-one-time"
title = "Two events at one time, and one condition in both directions"
[time]
t1 = 3
save = {{ times = [0.5, 3] }}
[parameters]
k = 0.37
[states]
x = 1
n = 0
[equations]
x = "-k*x"
n = "0*k"
[events.first]
at = [1]
reset = {{ x = "{first}" }}
[events.second]
at = [1]
reset = {{ x = "x + 1" }}
[events.fall]
when = "x - {level}"
direction = "falling"
reset = {{ x = "x + 1" }}
[events.rise]
when = "x - {level}"
direction = "rising"
reset = {{ n = "n + 1" }}
"""
