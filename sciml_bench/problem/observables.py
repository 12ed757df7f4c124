"""Loads observables: measured quantities, each with its own times and standard deviations, and their loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any

import sympy

from sciml_bench.problem.expression import Scope
from sciml_bench.problem.keys import CSV, NUMBERS, TEXT, Key, Table
from sciml_bench.problem.model import Loss, State, symbol, to_double
from sciml_bench.problem.operators import Item, Node, Stack
from sciml_bench.problem.reader import Reader
from sciml_bench.problem.table import read_table, table_name

OBSERVABLE = Table(
    Key("of", TEXT, required=True), Key("times", NUMBERS), Key("values", NUMBERS), Key("sigma", NUMBERS),
    Key("data", CSV),
)  # fmt: skip
_TABLE = "observables"
_LEAST_SIGMA = 1e-300
_SAME_TIME = 1e-9
"""Times that are nearer to each other, of their size, are meant to be the same."""
_COLUMNS = (["t", "value"], ["t", "value", "sigma"])


@dataclass(frozen=True)
class Observable:
    """A number that the states and theta give, with its measured values and their standard deviations."""

    of: Node
    text: str
    times: tuple[Node, ...]
    values: tuple[Node, ...]
    sigmas: tuple[Node, ...]


def load_observables(reader: Reader, t0: Node, t1: Node) -> tuple[Observable, ...]:
    """The ``[[observables]]`` blocks."""
    document = reader.document
    blocks = document.data.get(_TABLE, [])
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise document.error("'observables' must be written as [[observables]].", "", _TABLE)
    if blocks and "save" in document.table("time"):
        raise document.error("the saved times come from [[observables]].", "time", "save", "Remove 'save'.")
    return tuple(_observable(reader, block, t0, t1) for block in blocks)


def _observable(reader: Reader, block: dict[str, Any], t0: Node, t1: Node) -> Observable:
    document = reader.document
    OBSERVABLE.check(document, block, _TABLE)
    known = {"constants", "parameters", "states"}
    names = {name: typed for name, typed in reader.scope.names.items() if reader.declared_in.get(name) in known}
    text = document.string(block, "of", _TABLE)
    typed = reader.expression(text, _TABLE, "of", Scope(names, reader.scope.operators, reader.scope.used))
    states = {symbol(name) for name in reader.document.table("states")}
    if typed.shape or not typed.expr.free_symbols & states:
        cure = 'As in `of = "x + y"`, with x and y states; a vector has a block for each component, `of = "x[0]"`.'
        raise document.error("'of' must be a number that depends on the state.", _TABLE, "of", cure)
    times, values, sigmas = _measured(reader, block)
    if not len(times) == len(values) == len(sigmas) or not times:
        counts = f"{len(times)} times, {len(values)} values and {len(sigmas)} sigmas"
        raise document.error(
            f"'{text}' has {counts}.", _TABLE, "times", "Each time has a value; sigma may be one number."
        )
    if any(not a < b for a, b in pairwise(times)) or times[0] < t0 or times[-1] > t1:
        raise document.error(f"the times of '{text}' must increase and lie between t0 and t1.", _TABLE, "times")
    if any(not _LEAST_SIGMA < to_double(sigma) < 1 / _LEAST_SIGMA for sigma in sigmas):
        raise document.error(f"each sigma of '{text}' must be positive.", _TABLE, "sigma")
    return Observable(typed.expr, text, times, values, sigmas)


def _measured(reader: Reader, block: dict[str, Any]) -> tuple[tuple[Node, ...], tuple[Node, ...], tuple[Node, ...]]:
    """Times, values and sigmas."""
    document = reader.document
    if "data" not in block:
        times, values, sigmas = (_numbers(reader, block.get(key, default), key) for key, default in
                                 (("times", []), ("values", []), ("sigma", 1)))  # fmt: skip
        sigmas = sigmas * len(times) if len(sigmas) == 1 else sigmas
        return times, values, sigmas
    if {"times", "values"} & block.keys():
        raise document.error("an observable has data, or times and values, not both.", _TABLE, "data")
    name = table_name(reader, document.string(block, "data", _TABLE), _TABLE, "data")
    header, rows = read_table(reader, name, _TABLE, "data")
    if header not in _COLUMNS or (len(header) == 3 and "sigma" in block):
        cure = "Give 'sigma' either in the file or in the block." if header in _COLUMNS else ""
        message = f"the columns of {name} are {', '.join(header[:8])}; wanted: t, value, and if you like sigma."
        raise document.error(message, _TABLE, "data", cure)
    if not rows:
        raise document.error(f"{name} has no rows.", _TABLE, "data")
    # A double of a table means the decimal that it is written as.
    times, values, *further = (
        tuple(sympy.Rational(repr(value)) for value in column) for column in zip(*rows, strict=True)
    )
    sigmas = further[0] if further else _numbers(reader, block.get("sigma", 1), "sigma")
    return times, values, sigmas * len(rows) if len(sigmas) == 1 else sigmas


def _numbers(reader: Reader, value: Any, key: str) -> tuple[Node, ...]:
    return reader.constants(value if isinstance(value, list) else [value], _TABLE, key)


def times_of(reader: Reader, observables: Sequence[Observable], t0: Node, t1: Node) -> tuple[Node, ...]:
    """The saved times: all at which something was measured after the start, and the end.

    Raises:
        ProblemError: two of them are the same except for rounding.
    """
    found = {time for observable in observables for time in observable.times} | {t1}
    times = tuple(sorted(found - {t0}, key=to_double))
    for a, b in pairwise(map(to_double, (t0, *times))):
        if b - a <= _SAME_TIME * max(abs(a), abs(b)):
            raise reader.document.error(
                f"the times {a!r} and {b!r} of observables are the same except for rounding.", _TABLE, "times",
                "Write them the same.",
            )  # fmt: skip
    return times


def loss_of(
    reader: Reader, observables: Sequence[Observable], states: tuple[State, ...], times: tuple[Node, ...], base: Loss
) -> Loss:
    """The sum of squares of all differences over their sigmas; ``base`` has the weight and the penalty."""
    scalars = {symbol(state.name): place for place, state in enumerate(states)}
    plain = all(state.shape == () for state in states) and len({item.of for item in observables}) == len(observables)
    if plain and all(item.of in scalars for item in observables):
        of, width, places = None, len(states), [scalars[item.of] for item in observables]
    else:
        of, width, places = Stack(*(item.of for item in observables)), len(observables), range(len(observables))
    rows = {time: k for k, time in enumerate(times)}
    data, weights = ([[0.0] * width for _ in times] for _ in range(2))
    start: Node = sympy.S.Zero
    for item, place in zip(observables, places, strict=True):
        for time, value, sigma in zip(item.times, item.values, item.sigmas, strict=True):
            if time in rows:
                data[rows[time]][place], weights[rows[time]][place] = to_double(value), to_double(1 / sigma)
            else:
                start += ((_at_start(reader, item.of, states) - value) / sigma) ** 2
    penalty = with_start(reader, base, start)
    texts = {"of": ", ".join(item.text for item in observables), **base.texts}
    return replace(
        base, of=of, data=tuple(map(tuple, data)), weights=tuple(map(tuple, weights)), penalty=penalty, texts=texts,
        target=(0.0,) * width, scale=(1.0,) * width,
    )  # fmt: skip


def _at_start(reader: Reader, expr: Node, states: tuple[State, ...]) -> Node:
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
    """The contribution of t0 to a loss, less these targets, without its weight."""
    if loss.given or (loss.of is not None and len(loss.target) > 1):
        cure = "Take t0 out of the saved times."
        raise reader.document.error(
            "a loss over separate vectors, or over given data, cannot include t0.", "loss", cure=cure
        )
    seen = [entry for state in states for entry in _entries(state)] if loss.of is None else [loss.of]
    total: Node = sympy.S.Zero
    for expr, target, scale in zip(seen, targets, loss.scale, strict=True):
        residual = (_at_start(reader, expr, states) - sympy.Rational(repr(target))) / sympy.Rational(repr(scale))
        total += {"sum_of_squares": residual**2, "sum_of_magnitudes": sympy.Abs(residual), "sum": residual}[loss.kind]
    return total


def _entries(state: State) -> list[Node]:
    """The initial values of a state, one by one."""
    if state.start is None:
        return list(state.initial)
    return [Item(state.start, sympy.Integer(i)) for i in range(state.size)] if state.shape else [state.start]


def with_start(reader: Reader, loss: Loss, start: Node) -> Node | None:
    """The penalty with the loss at t0; if that is a number, no gradient depends on it.

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
    if reader.document.table("batch") and not reader.document.table("data"):
        raise reader.document.error("a batch draws its initial states, so a loss at t0 is not supported.", "loss")
    if not start.free_symbols:
        return loss.penalty
    weighted = sympy.Rational(loss.weight) * start
    return weighted if loss.penalty is None else weighted + loss.penalty
