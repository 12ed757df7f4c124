"""Arrays of numbers of a user's module, in which a function looks up a place that follows from conditions."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from sciml_bench.importing.python.refusals import DataDependent
from sciml_bench.importing.python.traced import Traced, where

_OF_PLACES: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "neg": operator.neg, "max": max, "min": min,
}  # fmt: skip


class Table(np.ndarray[Any, Any]):
    """An array of numbers, which a formula may index."""

    def __getitem__(self, index: Any) -> Any:
        return _looked_up(self, index) if isinstance(index, Traced) else super().__getitem__(index)


def _looked_up(table: Any, place: Any) -> Any:
    """The entry at a place, which is a number in each case of a condition."""
    if not isinstance(place, Traced):
        return table[int(place)]
    condition, *cases = _cases(place)
    return where(condition, *(_looked_up(table, each) for each in cases))


def _cases(place: Traced) -> tuple[Any, Any, Any]:
    """A condition, and the places if it holds and if not."""
    if place.op == "where":
        condition, a, b = place.args
        return condition, a, b
    for i, argument in enumerate(place.args):
        if place.op in _OF_PLACES and isinstance(argument, Traced):
            condition, *cases = _cases(argument)
            a, b = (_applied(place, i, case) for case in cases)
            return condition, a, b
    raise DataDependent()


def _applied(place: Traced, i: int, case: Any) -> Any:
    """A place with another operand, as a number if it is one."""
    operands = [*place.args[:i], case, *place.args[i + 1 :]]
    if any(isinstance(each, Traced) for each in operands):
        return Traced(place.op, *operands)
    return _OF_PLACES[place.op](*operands)
