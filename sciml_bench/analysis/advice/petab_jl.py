"""The defaults of PEtab.jl for a problem, compared with the ways that were measured.

Source: https://sebapersson.github.io/PEtab.jl/dev/configuration/default_options.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sciml_bench.adapters.registry import adapters
from sciml_bench.analysis.advice.recommendation import Recommendation
from sciml_bench.analysis.advice.way import Way
from sciml_bench.analysis.tables import formatting
from sciml_bench.spec.model import Problem

JULIA = "julia"
_ONE_STEP = ("rosenbrock", "esdirk", "radau")
_MULTISTEP = ("bdf", "multistep")


@dataclass(frozen=True)
class Defaults:
    """The words of the defaults, our method and kind of gradient of the same, and families of methods like it."""

    words: str
    method: str
    sensitivity: str
    families: tuple[str, ...]


_SMALL = Defaults("Rodas5P with forward-mode differentiation", "rodas5p", "forward", _ONE_STEP)
_MEDIUM = Defaults("QNDF with forward-mode differentiation", "qndf", "forward", _MULTISTEP)
_LARGE = Defaults("CVODE_BDF with an adjoint", "cvode_bdf", "gauss", _MULTISTEP)


def defaults(problem: Problem) -> Defaults:
    """The defaults for a problem: small ones have up to 20 parameters and 15 states, medium ones up to 75 of each."""
    n_states = sum(equation != 0 for equation in problem.equations.values())
    for most_parameters, most_states, found in ((20, 15, _SMALL), (75, 75, _MEDIUM)):
        if problem.n_parameters <= most_parameters and n_states <= most_states:
            return found
    return _LARGE


def compared(found: Recommendation, problem: Problem) -> str:
    """One line: the cost of PEtab.jl's defaults, or, where Julia was not measured, of the nearest way that was."""
    wanted = defaults(problem)
    head = f"PEtab.jl takes {wanted.words} by default"
    own = next((way for way in (*found.ways, *found.failed) if _is_julia(way, wanted)), None)
    if own is not None:
        return f"{head}: {_cost(own, found) if own.cost else f'{own.name} fails: {own.reason}'}."
    nearest = next(_alike(found, wanted), None)
    julia = "; Julia is not set up" if JULIA in found.absent else "; it was not tried"
    return f"{head}{julia}" + (f". The most similar way here: {_cost(nearest, found)}." if nearest else ".")


def _is_julia(way: Way, wanted: Defaults) -> bool:
    cell = way.cell
    return cell.adapter == JULIA and cell.method == wanted.method and cell.sensitivity.startswith(wanted.sensitivity)


def _alike(found: Recommendation, wanted: Defaults) -> Iterator[Way]:
    """The ways with a method of such a family and the same kind of gradient, the cheapest first."""
    known = adapters()
    is_forward = wanted.sensitivity == "forward"
    for way in found.ways:
        family = known[way.cell.adapter].method(way.cell.method).family if way.cell.adapter in known else ""
        if family in wanted.families and (way.cell.sensitivity == "forward") == is_forward:
            yield way


def _cost(way: Way, found: Recommendation) -> str:
    each = formatting.duration(way.each.median if way.each else None)
    factor = "the first way" if way is found.ways[0] else f"{way.factor_text} times as long as the first way in all"
    return f"{way.name}, {each} per {found.advised.call}, {factor}"
