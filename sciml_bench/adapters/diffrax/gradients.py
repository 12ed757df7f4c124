"""Gradients with a bound on the steps that holds for most problems, and a larger bound for the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax

Compiled = Callable[[jax.Array], jax.Array]


class Inputs(NamedTuple):
    """Theta, rtol and atol in one array, and the tolerance once more, where no array need be read for it."""

    values: jax.Array
    rtol: float


class Gradients:
    """The compiled gradients of a program, that with the smallest bound first.

    ``ran_out`` says whether the bound ended an output's solve. The first call at each tolerance asks it; later calls
    are checked when they are read, since another theta may need more steps.
    """

    def __init__(self, compiled: Sequence[Compiled], ran_out: Callable[[jax.Array], bool]):
        self._compiled = tuple(compiled)
        self._ran_out = ran_out
        self._taken: dict[float, Compiled] = {}
        self._last: tuple[Inputs, jax.Array] | None = None

    def __call__(self, inputs: Inputs) -> jax.Array:
        compiled = self._taken.get(inputs.rtol)
        output = self._first(inputs) if compiled is None else compiled(inputs.values)
        self._last = (inputs, output)
        return output

    def complete(self, output: jax.Array) -> jax.Array:
        """The output; the output with the large bound, if it is the last one and its bound ended the solve."""
        if self._last is None or output is not self._last[1] or not self._ran_out(output):
            return output
        inputs, largest = self._last[0], self._compiled[-1]
        if self._taken[inputs.rtol] is largest:
            return output
        self._taken[inputs.rtol] = largest
        return largest(inputs.values)

    def _first(self, inputs: Inputs) -> jax.Array:
        *bounded, largest = self._compiled
        for compiled in bounded:
            output = compiled(inputs.values)
            if not self._ran_out(output):
                self._taken[inputs.rtol] = compiled
                return output
        self._taken[inputs.rtol] = largest
        return largest(inputs.values)
