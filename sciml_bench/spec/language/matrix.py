"""Products with matrices: a matrix of numbers has a name, a matrix with parameters is split into such matrices."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import sympy

from sciml_bench.spec.language.expression import Call, ExpressionError, Parser, Typed
from sciml_bench.spec.language.operators import MatrixProduct, Node
from sciml_bench.spec.language.shapes import describe
from sciml_bench.spec.model import symbol

#: More entries than this that are no numbers, and differ, would be as many products in every evaluation.
MAX_FACTORS = 64

Matrix = sympy.ImmutableDenseMatrix


class Matrices:
    """The matrices of a problem by name: its constants, and its definitions, whose entries are expressions.

    ``[[0, 1], [-k, 0]] @ y`` is ``[[0, 1], [0, 0]] @ y + k*([[0, 0], [-1, 0]] @ y)``: a sum of products with constant
    matrices, so that derivatives and every target know of constant matrices only. Those without a name get one that no
    problem file can contain.
    """

    def __init__(self, constants: dict[str, Matrix]):
        self.constants = constants
        self.defined: dict[str, Matrix] = {}

    def define(self, name: str, rows: Sequence[Sequence[Typed]]) -> None:
        """Give a matrix of expressions a name.

        Raises:
            ExpressionError: the rows have different lengths, or an entry is not a single number.
        """
        self.defined[name] = _matrix(rows)

    def product(self, call: Call) -> Typed:
        """The product of a matrix, by name or written out, and a vector.

        Raises:
            ExpressionError: the first operand is not a matrix, or the second not a vector as long as its rows.
        """
        if len(call.arguments) != 2 or call.keywords:
            raise ExpressionError(f"{call.name} takes 2 arguments, a matrix and a vector")
        first, second = call.arguments
        matrix = self._read(first, call.parser)
        operand = call.parser.visit(second)
        if operand.shape != (matrix.shape[1],):
            wanted = f"a {describe(matrix.shape)} matrix multiplies a vector of {matrix.shape[1]} elements"
            raise ExpressionError(f"{wanted}, not {'a scalar' if not operand.shape else describe(operand.shape)}")
        shape = (matrix.shape[0],)
        if isinstance(first, ast.Name) and first.id in self.constants:
            return Typed(MatrixProduct(symbol(first.id), operand.expr), shape)
        terms = [factor * self._constant(part, operand.expr) for factor, part in _parts(matrix)]
        return Typed(sympy.Add(*terms), shape)

    def _read(self, node: ast.expr, parser: Parser) -> Matrix:
        if isinstance(node, ast.List):
            return literal(node, parser)
        named = {**self.constants, **self.defined}
        if not isinstance(node, ast.Name) or node.id not in named:
            known = ", ".join(named) or "none has one"
            raise ExpressionError(f"the first operand is a matrix, as [[0, 1], [-k, 0]] or by its name ({known})")
        parser.scope.used.add(node.id)
        return named[node.id]

    def _constant(self, matrix: Matrix, operand: Node) -> Node:
        name = next((name for name, known in self.constants.items() if known == matrix), f"_M{len(self.constants) + 1}")
        self.constants[name] = matrix
        return MatrixProduct(symbol(name), operand)


def literal(node: ast.List, parser: Parser) -> Matrix:
    """The matrix that is written out, row by row, with single numbers as entries."""
    rows = [row.elts for row in node.elts if isinstance(row, ast.List)]
    if len(rows) != len(node.elts):
        raise ExpressionError("a matrix is written row by row, as [[0, 1], [-k, 0]]")
    return _matrix([[parser.visit(entry) for entry in row] for row in rows])


def _matrix(rows: Sequence[Sequence[Typed]]) -> Matrix:
    if not rows or not rows[0]:
        raise ExpressionError("the matrix is empty")
    if len({len(row) for row in rows}) != 1:
        raise ExpressionError("the rows of the matrix have different lengths")
    for row in rows:
        for entry in row:
            if entry.shape:
                raise ExpressionError(f"an entry of the matrix has {describe(entry.shape)} elements, not one")
    return Matrix([[entry.expr for entry in row] for row in rows])


def _parts(matrix: Matrix) -> list[tuple[Node, Matrix]]:
    """The matrix as a sum of constant matrices, each times one expression; entries that are numbers come first."""
    parts: dict[Node, dict[tuple[int, int], Node]] = {sympy.S.One: {}}
    rows, columns = matrix.shape
    for i in range(rows):
        for j in range(columns):
            entry: Node = matrix[i, j]
            number, factor = (entry, sympy.S.One) if entry.is_number else entry.as_coeff_Mul()
            if number != 0:
                parts.setdefault(factor, {})[i, j] = number
    if len(parts) - 1 > MAX_FACTORS:
        raise ExpressionError(
            f"the matrix has {len(parts) - 1} different entries that are not numbers, more than {MAX_FACTORS}: "
            "write each element as a separate state with its own equation"
        )
    if len(parts) > 1 and not parts[sympy.S.One]:
        del parts[sympy.S.One]
    return [(factor, Matrix(rows, columns, lambda i, j, at=at: at.get((i, j), 0))) for factor, at in parts.items()]
