"""Dependence of a loss on theta, judged by the names in its expressions."""

from __future__ import annotations

from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import Problem, symbol


def depends_on_theta(problem: Problem) -> bool:
    """Return whether a parameter or a network stands anywhere in what the loss is computed from."""
    if not problem.n_parameters:
        return True
    theta = {symbol(item.name) for item in (*problem.parameters, *problem.networks)}
    read = {symbol(item.name): item.expr.free_symbols for item in (*problem.definitions, *problem.encoding)}
    for state in problem.states:
        started = set[Node]() if state.start is None else state.start.free_symbols
        read[symbol(state.name)] = problem.equations[state.name].free_symbols | started
    for event in problem.events:
        moving = set[Node]() if event.when is None else event.when.free_symbols
        for name, value in event.reset.items():
            read[symbol(name)] = read[symbol(name)] | value.free_symbols | moving
    added = set[Node]() if problem.loss.penalty is None else problem.loss.penalty.free_symbols
    known, waiting = set[Node](), [*_seen(problem), *added]
    while waiting:
        name = waiting.pop()
        if name not in known:
            known.add(name)
            waiting += read.get(name, ())
    return bool(known & theta)


def _seen(problem: Problem) -> set[Node]:
    """The observed names of a loss: names in its expression, or the states that have a weight."""
    loss = problem.loss
    if loss.of is not None:
        return loss.of.free_symbols
    seen, start = set[Node](), 0
    for state in problem.states:
        places = range(start, start + state.size)
        if not loss.weights or any(row[place] for row in loss.weights for place in places):
            seen.add(symbol(state.name))
        start += state.size
    return seen
