"""Shapes of expressions: () for scalars, (n,) for vectors and fields in one dimension, (nx, ny) in two."""

from __future__ import annotations

from collections.abc import Mapping

from sympy import Symbol

from sciml_bench.spec.language.operators import (
    At,
    ControlSlope,
    Difference,
    Dot,
    IndexedSum,
    Item,
    Laplacian,
    MatrixOf,
    MatrixProduct,
    NetworkDivergence,
    NetworkGradient,
    NetworkOutput,
    Node,
    PairMatrix,
    Shift,
    Stack,
    Total,
    TridiagonalSolve,
)

Shape = tuple[int, ...]


def broadcast(a: Shape, b: Shape) -> Shape:
    """The common shape of two operands: equal shapes, or one of them a scalar.

    Raises:
        ValueError: the shapes do not fit.
    """
    if a == b or b == ():
        return a
    if a == ():
        return b
    raise ValueError(f"shapes {describe(a)} and {describe(b)} do not fit together")


def describe(shape: Shape) -> str:
    """A shape in words."""
    if shape == ():
        return "scalar"
    return "×".join(str(n) for n in shape)


def shape_of(expression: Node, shapes: Mapping[Symbol, Shape]) -> Shape:
    """The shape of an expression whose symbols have the given shapes (missing ones are scalars)."""
    match expression:
        case Symbol():
            return shapes.get(expression, ())
        case Total() | Dot() | Item() | NetworkDivergence():
            return ()
        case Stack():
            return (len(expression.args),)
        case Laplacian() | Difference() | Shift():
            return shape_of(expression.args[0], shapes)
        case MatrixProduct():
            return shapes[expression.args[0]][:1]
        case NetworkOutput():
            # A pointwise network has the shape of its arguments, any other the shape of its outputs.
            return shapes[expression.args[0]] or _common(expression.args[1:], shapes)
        case NetworkGradient():
            inputs = (shape_of(argument, shapes) for argument in expression.args[1:])
            return (sum(shape[0] if shape else 1 for shape in inputs),)
        case ControlSlope():
            return shapes[expression.args[0]]
        case MatrixOf():
            matrix, vector = (shape_of(argument, shapes) for argument in expression.args)
            return (matrix[0] // vector[0],)
        case TridiagonalSolve():
            return shape_of(expression.args[3], shapes)
        case PairMatrix():
            return (int(expression.args[3]),) * 2
        case At():
            return shape_of(expression.args[0], shapes)
        case IndexedSum():
            body, index, excluded, _size = expression.args
            free = {atom for atom in body.atoms(At) if atom.args[1] != index} or index != excluded
            return (int(expression.args[3]),) if free else ()
        case _:
            return _common(expression.args, shapes)


def _common(expressions: tuple[Node, ...], shapes: Mapping[Symbol, Shape]) -> Shape:
    shape: Shape = ()
    for expression in expressions:
        shape = broadcast(shape, shape_of(expression, shapes))
    return shape
