"""Worker side: a function of JAX in the place of the emitted right-hand side of a Diffrax cell."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from sciml_bench.adapters.as_given.function import GivenFunction
from sciml_bench.adapters.diffrax.program import DiffraxProgram
from sciml_bench.record.task import Task


class GivenProgram(DiffraxProgram):
    """A cell whose right-hand side is the function."""

    def __init__(self, task: Task):
        super().__init__(task)
        given = GivenFunction(task)

        def rhs(t: Any, y: Any, p: Any) -> Any:
            return given.closed(p, jnp)(t, y)

        self.solve_for(rhs)
