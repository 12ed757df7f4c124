"""Tasks for the stub programs."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from stubs import programs, wrong_programs

from sciml_bench.record.task import Cell, Draw, Numbers, Point, Reference, Sampling, Task

TIMES = (0.5, 1.0, 2.0)
RATES = (0.5, 2.0)


def reference(digits: float = 15.0) -> Reference:
    """The exact solution and gradient of the decay problem."""
    solution = tuple(tuple(math.exp(-rate * t) for rate in RATES) for t in TIMES)
    gradient = tuple(sum(-2.0 * t * math.exp(-2.0 * rate * t) for t in TIMES) for rate in RATES)
    return Reference(
        kind="exact",
        rows=(0, 1, 2),
        solution=solution,
        solution_digits=(digits, digits),
        gradient=gradient,
        gradient_digits=(digits,) * len(gradient),
    )


def draw(*rates: float) -> Draw:
    """Perturbed rates with the exact solution that belongs to them."""
    solution = tuple(tuple(math.exp(-rate * t) for rate in rates) for t in TIMES)
    return Draw(rates, dataclasses.replace(reference(), solution=solution))


def stub_task(program: str = "good", **changes: Any) -> Task:
    """A task for a program of :mod:`stubs.programs` or :mod:`stubs.wrong_programs`, or for ``module:name``."""
    task = Task(
        cell=Cell("decay", "stub", "closed_form", "discrete", "eager"),
        program=program if ":" in program else f"stubs.{_module(program)}:{program}",
        source="",
        numbers=Numbers(
            y0=(1.0, 1.0),
            p=RATES,
            t0=0.0,
            t1=TIMES[-1],
            save_times=TIMES,
            breakpoints=(),
            atol_scale=(1.0, 1.0),
            wrt="parameters",
        ),
        points=(Point(1e-4, 1e-4), Point(1e-6, 1e-6), Point(1e-8, 1e-8)),
        sampling=Sampling(warm_up_calls=1, steady_calls=3, steady_s=0.0, max_steady_calls=50, perturbation=1e-6),
        seed=42,
        threads=1,
        error_bound=0.01,
        gradient_error_bound=0.1,
        reference=reference(),
    )
    return dataclasses.replace(task, **changes)


def _module(program: str) -> str:
    return "wrong_programs" if hasattr(wrong_programs, program) and not hasattr(programs, program) else "programs"
