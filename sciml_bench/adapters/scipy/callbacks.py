"""Functions that a solver calls hundreds of times, of as few Python frames and new arrays as it allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sciml_bench.adapters.program import Vector
from sciml_bench.adapters.scipy.layout import Layout
from sciml_bench.adapters.scipy.newton import Fill

Function = Callable[..., Any]


def writing(kernel: Function, size: int, reuses: bool, *arguments: Any) -> Function:
    """A function of t and y that returns what the kernel writes, which takes one to three arguments after the array."""
    if not reuses:

        def made(t: float, y: Vector) -> Vector:
            out = np.empty(size)
            kernel(t, y, out, *arguments)
            return out

        return made
    kept = np.empty(size)
    # Arguments one by one: a star makes the call of a small kernel a twentieth longer.
    a, b, c = (*arguments, None, None)[:3]

    def with_one(t: float, y: Vector) -> Vector:
        kernel(t, y, kept, a)
        return kept

    def with_two(t: float, y: Vector) -> Vector:
        kernel(t, y, kept, a, b)
        return kept

    def with_three(t: float, y: Vector) -> Vector:
        kernel(t, y, kept, a, b, c)
        return kept

    return (with_one, with_two, with_three)[len(arguments) - 1]


def matrix(chosen: Layout, fill: Fill, reuses: bool) -> Function:
    """The matrix as a function of t and the flat Z."""
    if not reuses:

        def made(t: float, z: Vector) -> Any:
            numbers = np.zeros(chosen.stored)
            fill(t, z, numbers)
            return chosen.matrix(numbers)

        return made
    numbers = np.zeros(chosen.stored)
    kept = chosen.matrix(numbers)

    def evaluate(t: float, z: Vector) -> Any:
        fill(t, z, numbers)
        return kept

    return evaluate
