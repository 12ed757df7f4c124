"""The drift of a solution from invariants of the exact one: energy, mass, momentum, as the problem declares them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sciml_bench.adapters.program import FloatArray
from sciml_bench.record.point import Drifts, finite
from sciml_bench.record.task import Task


class Invariants:
    """Evaluates the invariants of a task at the parameters of its problem."""

    def __init__(self, task: Task):
        self._numbers = numbers = task.numbers
        self._namespace: dict[str, Any] = {}
        # The text is printed from a checked expression tree; no string of a problem file reaches it.
        exec(compile(task.invariants, "<emitted invariants>", "exec"), self._namespace)
        self._names: tuple[str, ...] = self._namespace["INVARIANTS"]
        self._is_zero = np.array([name in self._namespace["ZERO"] for name in self._names])
        p = np.array(numbers.p)
        arguments = self._namespace["arguments"](p) if "arguments" in self._namespace else (numbers.p,)
        function: Callable[..., FloatArray] = self._namespace["invariants"]
        self._at: Callable[[float, FloatArray], FloatArray] = lambda t, y: function(t, y, *arguments)

    def drifts(self, ys: FloatArray) -> Drifts:
        """Of each invariant its value at t0 and its largest change over the saved times, ys (n_times, n_states).

        For a batch the value belongs to the first trajectory, and the change is the largest of all. The residual of an
        algebraic equation has the value 0.
        """
        numbers = self._numbers
        start = np.asarray(numbers.y0).reshape(numbers.batch, -1)
        saved = np.asarray(ys, dtype=np.float64).reshape(len(numbers.save_times), numbers.batch, -1)
        with np.errstate(all="ignore"):
            first = np.where(self._is_zero, 0.0, [self._at(numbers.t0, y) for y in start])
            later = np.array([
                [self._at(t, y) for y in row] for t, row in zip(numbers.save_times, saved, strict=True)
            ])  # fmt: skip
            change = np.max(np.abs(later - first), axis=(0, 1))
        return {
            name: {"initial": finite(value), "drift": finite(drift)}
            for name, value, drift in zip(self._names, first[0], change, strict=True)
        }
