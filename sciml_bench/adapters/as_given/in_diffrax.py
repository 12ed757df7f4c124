"""Worker side: a function of JAX in the place of the emitted right-hand side of a Diffrax cell."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from sciml_bench.adapters.as_given.function import GivenFunction
from sciml_bench.adapters.base import Program
from sciml_bench.adapters.diffrax.program import DiffraxProgram
from sciml_bench.record.task import Task


def build(task: Task) -> Program:
    """The program of a cell."""
    program, given = DiffraxProgram(task), GivenFunction(task)

    def rhs(t: Any, y: Any, p: Any) -> Any:
        return given.closed(p, jnp)(t, y)

    program.solve_for(rhs)
    return program
