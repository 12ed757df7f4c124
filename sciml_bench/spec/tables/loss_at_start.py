"""The part of a loss at t0, where the states are known before the solve: a term of its penalty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import sympy

from sciml_bench.spec.language.operators import Item, Node
from sciml_bench.spec.model import Loss, symbol
from sciml_bench.spec.quantities import State
from sciml_bench.spec.reader import Reader


def at_start(reader: Reader, expr: Node, states: tuple[State, ...]) -> Node:
    """An expression of the states at t0, as one of theta."""
    document = reader.document
    values: dict[Node, Node] = {}
    for state in states:
        whole = symbol(state.name)
        if state.shape == ():
            values[whole] = state.initial[0] if state.start is None else state.start
        elif state.start is not None:
            values[whole] = state.start
        else:
            places = product(*map(range, state.shape))
            values |= {
                Item(whole, *map(sympy.Integer, place)): v for place, v in zip(places, state.initial, strict=True)
            }
    found = expr.xreplace(values)
    if found.free_symbols & {symbol(state.name) for state in states}:
        cure = "Take single components, x[0], or leave t0 out."
        raise document.error("what the loss looks at takes a vector as a whole, which has no part at t0.", cure=cure)
    return found


def term_at_start(reader: Reader, loss: Loss, states: tuple[State, ...], targets: Sequence[float]) -> Node:
    """The contribution of t0 to a loss, less these targets, without its weight; a target that is NaN is missing."""
    if loss.given or (loss.of is not None and len(loss.target) > 1):
        cure = "Take t0 out of the saved times."
        raise reader.document.error(
            "a loss over separate vectors, or over given data, cannot include t0.", "loss", cure=cure
        )
    seen = [entry for state in states for entry in _entries(state)] if loss.of is None else [loss.of]
    total: Node = sympy.S.Zero
    for expr, target, scale in zip(seen, targets, loss.scale, strict=True):
        if math.isnan(target):
            continue
        residual = (at_start(reader, expr, states) - sympy.Rational(repr(target))) / sympy.Rational(repr(scale))
        total += {"sum_of_squares": residual**2, "sum_of_magnitudes": sympy.Abs(residual), "sum": residual}[loss.kind]
    return total


def _entries(state: State) -> list[Node]:
    """The initial values of a state, one by one."""
    if state.start is None:
        return list(state.initial)
    return [Item(state.start, sympy.Integer(i)) for i in range(state.size)] if state.shape else [state.start]


def with_start(reader: Reader, loss: Loss, start: Node, *, keeps: bool = False) -> Node | None:
    """The penalty with the loss at t0; a number, on which no gradient depends, is left out unless it ``keeps`` it.

    Raises:
        ProblemError: gradients are with respect to the initial state.
    """
    if start.is_zero:
        return loss.penalty
    if not reader.document.table("parameters") and not reader.document.table("networks"):
        cure = 'Name the initial value as a parameter, x = { initial = "x0", scale = 1 }, or leave t0 out.'
        raise reader.document.error(
            "gradients with respect to the initial state do not support a loss at t0.", cure=cure
        )
    if reader.document.table("batch") and not {"data", "conditions"} & reader.document.data.keys():
        raise reader.document.error("a batch draws its initial states, so a loss at t0 is not supported.", "loss")
    if not start.free_symbols and not keeps:
        return loss.penalty
    weighted = sympy.Rational(loss.weight) * start
    return weighted if loss.penalty is None else weighted + loss.penalty
