"""Data of the trajectories in emitted source: their names, and calls for each saved time."""

from __future__ import annotations

from sciml_bench.emit.context import Context
from sciml_bench.spec.model import symbol


def is_batch(context: Context) -> bool:
    return context.problem.batch.size > 1


def data_names(context: Context) -> list[str]:
    """The names of the data in the functions that take them."""
    return [context.names[symbol(given.name)] for given in context.problem.given]


def each_time(context: Context, function: str, times: str, rest: str = "p") -> str:
    """A loop of Python over the saved times, which calls a function of one of them."""
    loss = context.problem.loss
    if not loss.reads:
        return f"{function}(y, {rest}) for y in {times}"
    row, series = context.names[loss.row], context.names[symbol(loss.reads)]
    return f"{function}(y, {row}, {rest}) for y, {row} in zip({times}, {series}.tolist())"
