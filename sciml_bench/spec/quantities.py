"""Quantities of a problem: grids, parameters, states and definitions, as plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.language.shapes import Shape


@dataclass(frozen=True)
class Grid:
    """One axis. Point i has the coordinate ``first + (last - first) i / (points - 1)``; operators divide by ``step``.

    ``boundary`` is ``periodic``, ``neumann`` (the outermost value is repeated) or ``dirichlet`` (``boundary_value``).
    """

    name: str
    points: int
    first: Node
    last: Node
    step: Node
    boundary: str
    boundary_value: Node

    def coordinate(self, i: int) -> Node:
        """The exact coordinate of point i."""
        return self.first + (self.last - self.first) * sympy.Rational(i, max(self.points - 1, 1))


@dataclass(frozen=True)
class Parameter:
    """A named quantity with exact, flat values: a parameter, or a vector among the constants.

    A fit may take the logarithm of a parameter as its variable: ``scale`` is then ``log`` or ``log10``. Equations and
    gradients take the parameter itself.
    """

    name: str
    shape: Shape
    values: tuple[Node, ...]
    scale: str = "linear"


@dataclass(frozen=True)
class State:
    """One state: a scalar, a vector or a field. ``initial``, ``scale`` and ``atol_scale`` are flat, in C order.

    ``scale`` is the typical size, which the default loss divides by; the absolute tolerance of component i is the
    point's ``atol`` times ``atol_scale[i]``. Where the initial value follows from theta or from data of the trajectory,
    ``start`` is its expression, ``start_text`` as in the file, and ``initial`` holds zeros, or of an algebraic variable
    the value at the parameters of the file.
    """

    name: str
    shape: Shape
    grids: tuple[str, ...]
    initial: tuple[Node, ...]
    scale: tuple[float, ...]
    atol_scale: tuple[float, ...]
    start: Node | None = None
    start_text: str = ""

    @property
    def size(self) -> int:
        """Number of components."""
        return len(self.initial)


@dataclass(frozen=True)
class Definition:
    """An intermediate quantity, evaluated before the equations; ``text`` as in the file, if messages need it."""

    name: str
    shape: Shape
    expr: Node
    text: str = ""
