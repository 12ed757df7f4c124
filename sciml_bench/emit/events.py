"""Events as source text: what passes zero, the state after each event, and for NumPy their derivatives."""

from __future__ import annotations

from collections.abc import Sequence

import sympy

from sciml_bench.emit.context import Context, parameter_symbols
from sciml_bench.emit.values import values_body, values_function
from sciml_bench.errors import UsageError
from sciml_bench.spec.event import Event
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import symbol, to_double

TARGETS = ("numpy", "jax", "torch", "torch-arrays", "julia", "casadi")
"""Targets in which events are written; for Julia by :mod:`~sciml_bench.emit.julia.events`."""


def reset_name(event: str) -> str:
    """The name of the function that gives the state after an event."""
    return f"reset__{event}"


def event_sources(context: Context) -> list[str]:
    """``events(t, y, p)``, what passes zero for each event that a condition decides, (n,), and for each event NAME
    ``reset__NAME(t, y, p)``, the state after it.

    NumPy's have ``event_slopes(t, y, p)`` and ``reset_slopes__NAME(t, y, p)`` too: the derivatives by the state, by the
    time, and by the parameters, a row for each value. ``EVENTS`` lists name, direction and times of each event.

    Raises:
        UsageError: the target has no code for events.
    """
    problem, target = context.problem, context.target
    if target.name not in TARGETS:
        raise UsageError(f"events of '{problem.name}' are not emitted for {target.name}")
    listed = [
        (event.name, None if event.when is None else event.direction, tuple(map(to_double, event.at)))
        for event in problem.events
    ]
    conditions = [event.when for event in problem.events if event.when is not None]
    found = [f"EVENTS = {listed!r}\n", values_function(context, "events", conditions)]
    found += [values_function(context, reset_name(event.name), _after(context, event)) for event in problem.events]
    if not target.differentiates:
        found.append(_slopes(context, "event_slopes", conditions))
        found += [_slopes(context, f"reset_slopes__{event.name}", _after(context, event)) for event in problem.events]
    return found


def _after(context: Context, event: Event) -> list[Node]:
    return [event.reset.get(state.name, symbol(state.name)) for state in context.problem.states]


def _slopes(context: Context, name: str, outputs: Sequence[Node]) -> str:
    """Derivatives by the state, the time and the parameters, as three arrays."""
    problem, plain = context.problem, _without_definitions(context)
    states = [symbol(state.name) for state in problem.states]
    axes = (states, [symbol("t")], parameter_symbols(problem))
    values = [context.resolve(expr).xreplace(plain) for expr in outputs]
    entries = [[[_slope(context, value, x) for x in axis] for value in values] for axis in axes]
    lines, codes = values_body(context, [entry for table in entries for row in table for entry in row])
    returned: list[str] = []
    for table in entries:
        rows, codes = codes[: sum(map(len, table))], codes[sum(map(len, table)) :]
        width = len(table[0]) if table else 0
        texts = [f"[{', '.join(rows[i * width : (i + 1) * width])}]" for i in range(len(table))]
        returned.append(f"np.array([{', '.join(texts)}]).reshape({len(table)}, {width})")
    return "\n".join(
        [f"def {name}(t, y, p):", *lines, "    return (", *(f"        {x}," for x in returned), "    )", ""]
    )


def _without_definitions(context: Context) -> dict[Node, Node]:
    """Each definition in states, parameters and time alone."""
    found: dict[Node, Node] = {}
    for item in context.problem.definitions:
        found[symbol(item.name)] = context.resolve(item.expr).xreplace(found)
    return found


def _slope(context: Context, value: Node, by: Node) -> Node:
    try:
        found = sympy.diff(value, by)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise UsageError(f"an event of '{context.problem.name}' has no written derivative: {error}") from error
    if found.has(sympy.Derivative, sympy.Subs):
        raise UsageError(f"an event of '{context.problem.name}' has no written derivative by {by}: {value}")
    return found
