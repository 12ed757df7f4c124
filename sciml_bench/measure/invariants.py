"""How far a solution drifts from what the exact one keeps: energy, mass, momentum, as the problem declares them.

A framework may follow an orbit with small errors and yet gain energy step by step, which is what long simulations and
learned Hamiltonians are judged by (E. Hairer, C. Lubich and G. Wanner, Geometric Numerical Integration, 2nd ed., 2006,
chapter IX).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sciml_bench.adapters.base import FloatArray
from sciml_bench.measure.point import Drifts, finite
from sciml_bench.task import Task


class Invariants:
    """Evaluates the invariants of a task at the parameters of its problem."""

    def __init__(self, task: Task):
        self._numbers = numbers = task.numbers
        self._namespace: dict[str, Any] = {}
        # The text is printed from a checked expression tree; no string of a problem file reaches it.
        exec(compile(task.invariants, "<emitted invariants>", "exec"), self._namespace)
        p = np.array(numbers.p)
        arguments = self._namespace["arguments"](p) if "arguments" in self._namespace else (numbers.p,)
        function: Callable[..., FloatArray] = self._namespace["invariants"]
        self._at: Callable[[float, FloatArray], FloatArray] = lambda t, y: function(t, y, *arguments)

    def drifts(self, ys: FloatArray) -> Drifts:
        """Of each invariant its value at t0 and its largest change over the saved times, ys (n_times, n_states).

        Of a batch the value is that of the first trajectory, the change the largest of all.
        """
        numbers = self._numbers
        start = np.asarray(numbers.y0).reshape(numbers.batch, -1)
        saved = np.asarray(ys, dtype=np.float64).reshape(len(numbers.save_times), numbers.batch, -1)
        with np.errstate(all="ignore"):
            first = np.array([self._at(numbers.t0, y) for y in start])
            later = np.array([
                [self._at(t, y) for y in row] for t, row in zip(numbers.save_times, saved, strict=True)
            ])  # fmt: skip
            change = np.max(np.abs(later - first), axis=(0, 1))
        names: tuple[str, ...] = self._namespace["INVARIANTS"]
        return {
            name: {"initial": finite(value), "drift": finite(drift)}
            for name, value, drift in zip(names, first[0], change, strict=True)
        }
