"""Another number of points on the grids of a problem, over the same stretch of space."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import sympy

from sciml_bench.errors import UsageError
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import Problem
from sciml_bench.spec.quantities import Grid

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


_KEYS = ("first", "last", "step")


def respaced(problem: Problem, data: TOMLDocument, points: int) -> None:
    """Put ``points`` on every grid of a parsed problem file.

    The stretch of space is kept: the period of a periodic grid, otherwise the distance of the walls, which lie one
    step beyond the outermost points if values there are given (dirichlet) and half a step beyond if slopes are zero
    (neumann).

    Raises:
        UsageError: a grid's step is not the distance of its points, or its numbers come from a constant that
            is no step and that equations use too; what the number of points changes can then not be told.
    """
    tables: Any = data["grids"]
    texts = [str(tables[grid.name][key]) for grid in problem.grids for key in _KEYS if key in tables[grid.name]]
    steps: dict[Node, Node] = {}
    for grid in problem.grids:
        first, last, step = _numbers(problem, grid, points)
        table = tables[grid.name]
        table["points"] = points
        table["first"], table["last"], table["step"] = str(first), str(last), str(step)
        steps[grid.step] = step
    _follow(problem, data, texts, steps)


def _numbers(problem: Problem, grid: Grid, points: int) -> tuple[Node, Node, Node]:
    """First and last coordinate and the step."""
    if sympy.simplify((grid.last - grid.first) / (grid.points - 1) - grid.step) != 0:
        raise UsageError(
            f"the step of grid '{grid.name}' of {problem.name} is not the distance of its points, so its meaning for "
            "another number of points is unknown; write the sizes as problem files and `sciml-bench run` them"
        )
    beyond = {"periodic": sympy.S.Zero, "dirichlet": sympy.S.One, "neumann": sympy.Rational(1, 2)}[grid.boundary]
    length = grid.last - grid.first + (2 * beyond or 1) * grid.step
    step = sympy.nsimplify(length / (points - 1 + (2 * beyond or 1)))
    first = grid.first - beyond * grid.step + beyond * step
    return first, first + (points - 1) * step, step


def _follow(problem: Problem, data: TOMLDocument, texts: list[str], steps: dict[Node, Node]) -> None:
    """Let the constants that the grids had used follow: one that is a step becomes the new one.

    Names that only the grids used are removed, since the loader refuses unused names.
    """
    constants: Any = data.get("constants", {})
    for name in [name for name in constants if any(_holds(text, name) for text in texts)]:
        rest = {key: value for key, value in data.unwrap().items() if key not in ("constants", "grids", "description")}
        others = [str(value) for key, value in constants.items() if key != name]
        value = _plain(str(constants[name]))
        if not any(_holds(str(item), name) for item in (*rest.values(), *others)):
            del constants[name]
        elif value in steps:
            constants[name] = str(steps[value])
        else:
            raise UsageError(
                f"the constant '{name}' of {problem.name} is used by its grid and elsewhere, so its value for "
                "another number of points is unknown; write the sizes as problem files and `sciml-bench run` them"
            )


def _plain(text: str) -> Node | None:
    """A number or a fraction of whole numbers; ``None`` for other expressions."""
    return sympy.Rational(text) if re.fullmatch(r"-?\d+(\.\d+)?(/\d+)?", text) else None


def _holds(text: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", text) is not None
