"""Analytic Jacobians of problems with vectors and fields, as array operations.

The chain rule is applied to whole arrays: elementwise operations scale rows, linear operators are constant matrices,
sums are rows. A block of the Jacobian is a diagonal plus matrices, and stays that way until it is assembled.
"""

from __future__ import annotations

import sympy
from sympy import Symbol

from sciml_bench.emit.arrays.jacobian_block import Block, Variable
from sciml_bench.emit.context import Context, element_symbol, size_of
from sciml_bench.emit.operators import matrix_source
from sciml_bench.emit.symbolic.derivative import derivative
from sciml_bench.emit.symbolic.statements import straight_line
from sciml_bench.spec.language.operators import (
    ARRAY_OPERATORS,
    At,
    Difference,
    Dot,
    IndexedSum,
    Item,
    Laplacian,
    MatrixProduct,
    Node,
    PairMatrix,
    Shift,
    Total,
    TridiagonalSolve,
)
from sciml_bench.spec.language.shapes import Shape, shape_of
from sciml_bench.spec.model import symbol

#: Above this size a Jacobian made of local operators is sparse: dense factorisation costs more than it saves.
SPARSE_ABOVE = 200
_LOCAL = (Laplacian, Difference, Shift)


def array_jacobian_source(context: Context) -> str:
    """``jacobian(t, y, p)`` and ``parameter_jacobian(t, y, p)``."""
    problem = context.problem
    nodes = {type(node) for expr in context.all_expressions() for node in expr.atoms(*ARRAY_OPERATORS)}
    is_sparse = problem.n_states > SPARSE_ABOVE and nodes <= set(_LOCAL)
    if is_sparse:
        context.extra_imports.append("from scipy import sparse")
    states = [Variable(symbol(state.name), size_of(state.shape)) for state in problem.states]
    functions = [_Function(context, states, is_sparse).source("jacobian")]
    parameters: list[Variable] = []
    for parameter in problem.parameters:
        if parameter.name in context.itemised:
            parameters += [Variable(element_symbol(parameter.name, i), 1) for i in range(parameter.shape[0])]
        else:
            parameters.append(Variable(symbol(parameter.name), size_of(parameter.shape)))
    if parameters:
        functions.append(_Function(context, parameters, False).source("parameter_jacobian"))
    else:
        functions.append("def parameter_jacobian(t, y, p):\n    return np.empty((N_STATES, 0))\n")
    return "\n\n".join(functions)


class _Function:
    """One Jacobian function: collects coefficients as expressions and blocks as code over them."""

    def __init__(self, context: Context, variables: list[Variable], is_sparse: bool):
        self.context = context
        self.variables = variables
        self.is_sparse = is_sparse
        self.coefficients: list[Node] = []
        self.lines: list[str] = []
        self.definitions = {symbol(d.name): context.resolve(d.expr) for d in context.problem.definitions}
        self._memo: dict[tuple[Node, Symbol], Block] = {}

    def source(self, name: str) -> str:
        """The function's text."""
        blocks = self._blocks()
        body = self.lines + (self._assemble_sparse(blocks) if self.is_sparse else self._assemble_dense(blocks))
        program = straight_line(list(self.definitions.items()), self.coefficients)
        self.context.declare_tables(program.pair_tables)
        used = program.symbols
        printer = self.context.printer()
        lines = [f"def {name}(t, y, p):", *self.context.unpack_parameters(used), *self.context.unpack_state(used)]
        for statement in program.statements:
            if statement.symbol in used:
                printer.shapes[statement.symbol] = printer.shape(statement.expr)
                lines.append(f"    {printer.code(statement.symbol)} = {printer.code(statement.expr)}")
        codes = [printer.code(output) for output in program.outputs]
        for line in body:
            for index, code in enumerate(codes):
                line = line.replace(f"(«{index}»)*", f"{code}*" if code.isidentifier() else f"({code})*")
                line = line.replace(f"«{index}»", code)
            lines.append("    " + line)
        return "\n".join(lines) + "\n"

    def _blocks(self) -> list[tuple[int, int, int, int, Block]]:
        """(row, rows, column, columns, block) for every block that is not zero."""
        found: list[tuple[int, int, int, int, Block]] = []
        row = 0
        for state in self.context.problem.states:
            expr = self.context.resolve(self.context.problem.equations[state.name])
            column = 0
            for variable in self.variables:
                block = self._broadcast(self.derivative(expr, variable), expr, state.shape, variable)
                if not block.is_zero:
                    found.append((row, state.size, column, variable.size, block))
                column += variable.size
            row += state.size
        return found

    def _broadcast(self, block: Block, expr: Node, shape: Shape, variable: Variable) -> Block:
        """A scalar right-hand side of a vector state is repeated in every row."""
        if block.is_zero or self._shape(expr) == shape:
            return block
        matrices = [f"np.broadcast_to({code}, ({size_of(shape)}, {variable.size}))" for code in block.matrices]
        if block.diagonal != 0:
            matrices.append(f"np.full(({size_of(shape)}, 1), {self._coefficient(block.diagonal)})")
        return Block(sympy.S.Zero, matrices)

    def _shape(self, expr: Node) -> Shape:
        return shape_of(expr, self.context.shapes)

    def _size(self, expr: Node) -> int:
        return size_of(self._shape(expr))

    def _coefficient(self, expr: Node) -> str:
        """A placeholder that is replaced by the printed, shared expression."""
        if expr not in self.coefficients:
            self.coefficients.append(expr)
        return f"«{self.coefficients.index(expr)}»"

    def derivative(self, expr: Node, variable: Variable) -> Block:
        """The derivative of an expression with respect to a variable."""
        key = (expr, variable.symbol)
        if key not in self._memo:
            if expr == variable.symbol:
                block = Block(sympy.S.One, [])
            elif expr in self.definitions:
                block = self._named(expr, self.derivative(self.definitions[expr], variable), variable)
            elif isinstance(expr, Symbol) or not expr.args:
                block = Block(sympy.S.Zero, [])
            elif isinstance(expr, ARRAY_OPERATORS):
                block = self._operator(expr, variable)
            else:
                block = self._elementwise(expr, variable)
            self._memo[key] = block
        return self._memo[key]

    def _named(self, definition: Node, block: Block, variable: Variable) -> Block:
        """Give the matrix part of a definition's derivative a name, since it may be used many times."""
        if not block.matrices:
            return block
        name = f"d_{definition}_{variable.symbol}"
        self.lines.append(f"{name} = {' + '.join(block.matrices)}")
        return Block(block.diagonal, [name])

    def _elementwise(self, expr: Node, variable: Variable) -> Block:
        atoms = _array_atoms(expr)
        opaque = {atom: sympy.Dummy(f"a{i}", real=True) for i, atom in enumerate(atoms)}
        plain = expr.xreplace(opaque)
        back = {dummy: atom for atom, dummy in opaque.items()}
        diagonal: Node = sympy.S.Zero
        matrices: list[str] = []
        for atom in sorted(plain.free_symbols, key=lambda s: s.name):
            inner = self.derivative(back.get(atom, atom), variable)
            if inner.is_zero:
                continue
            factor = derivative(plain, atom).xreplace(back)
            if factor == 0:
                continue
            spread = self._size(back.get(atom, atom)) == 1 and self._size(expr) > 1
            if spread:
                matrices += self._spread(factor, inner, self._size(expr))
            else:
                diagonal += factor * inner.diagonal
                matrices += [self._scaled(factor, code) for code in inner.matrices]
        return Block(diagonal, matrices)

    def _spread(self, factor: Node, inner: Block, rows: int) -> list[str]:
        """A scalar inside an array: its derivative is one row, which every row takes times its own factor."""
        columns: list[str] = []
        if inner.diagonal != 0:
            columns.append(self._column(factor * inner.diagonal, rows))
        columns += [f"{self._column(factor, rows)}*{code}" for code in inner.matrices]
        return columns

    def _column(self, expr: Node, rows: int) -> str:
        if self._shape(expr) == ():
            return f"np.full(({rows}, 1), {self._coefficient(expr)})"
        return f"np.reshape({self._coefficient(expr)}, (-1, 1))"

    def _scaled(self, factor: Node, code: str) -> str:
        if factor == 1:
            return code
        if self._shape(factor) == ():
            return f"({self._coefficient(factor)})*{code}"
        if self.is_sparse:
            return f"sparse.diags_array(np.ravel({self._coefficient(factor)})) @ {_grouped(code)}"
        return f"np.reshape({self._coefficient(factor)}, (-1, 1))*{_grouped(code)}"

    def _operator(self, expr: Node, variable: Variable) -> Block:
        match expr:
            case Laplacian() | Difference() | Shift():
                return self._linear(expr, variable)
            case MatrixProduct():
                name = self.context.names[expr.args[0]]
                return Block(
                    sympy.S.Zero, self._multiplied(name, self.derivative(expr.args[1], variable), expr.args[1])
                )
            case Total():
                return Block(sympy.S.Zero, self._summed(self.derivative(expr.args[0], variable), expr.args[0]))
            case Dot():
                product = expr.args[0] * expr.args[1]
                return Block(sympy.S.Zero, self._summed(self.derivative(product, variable), product))
            case Item():
                return self._item(expr, variable)
            case TridiagonalSolve():
                return self._tridiagonal(expr, variable)
            case IndexedSum():
                return self._indexed_sum(expr, variable)
            case _:
                raise TypeError(f"{type(expr).__name__} has no derivative outside an indexed sum")

    def _linear(self, expr: Node, variable: Variable) -> Block:
        field = expr.args[0]
        inner = self.derivative(field, variable)
        matrix, columns = matrix_source(expr, self._shape(field), "numpy")
        matrices: list[str] = []
        if not inner.is_zero:
            matrices += self._multiplied(self.context.matrix(*matrix), inner, field)
        for name, definition, value in columns:
            outside = self.derivative(value, variable)
            if not outside.is_zero:
                column = self.context.matrix(name, f"{definition}.reshape(-1, 1)")
                row = [*outside.matrices, *([self._coefficient(outside.diagonal)] if outside.diagonal != 0 else [])]
                matrices += [f"{column}*({code})" for code in row]
        return Block(sympy.S.Zero, matrices)

    def _multiplied(self, matrix: str, inner: Block, field: Node) -> list[str]:
        codes = [f"{matrix} @ {_grouped(code)}" for code in inner.matrices]
        if inner.diagonal == 1:
            codes.append(matrix)
        elif inner.diagonal != 0:
            codes.append(self._columns_scaled(matrix, inner.diagonal, field))
        return codes

    def _columns_scaled(self, matrix: str, diagonal: Node, field: Node) -> str:
        if self._size(field) == 1 or self._shape(diagonal) == ():
            return f"({self._coefficient(diagonal)})*{matrix}"
        if self.is_sparse:
            return f"{matrix} @ sparse.diags_array(np.ravel({self._coefficient(diagonal)}))"
        return f"{matrix}*np.ravel({self._coefficient(diagonal)})"

    def _summed(self, inner: Block, operand: Node) -> list[str]:
        codes = [f"{_grouped(code)}.sum(axis=0, keepdims=True)" for code in inner.matrices]
        if inner.diagonal != 0:
            codes.append(self._row(inner.diagonal, self._size(operand)))
        return codes

    def _row(self, expr: Node, columns: int) -> str:
        if self._shape(expr) == ():
            return f"np.full((1, {columns}), {self._coefficient(expr)})"
        return f"np.reshape({self._coefficient(expr)}, (1, -1))"

    def _item(self, expr: Node, variable: Variable) -> Block:
        array, *indices = expr.args
        inner = self.derivative(array, variable)
        shape = self._shape(array)
        flat = int(indices[0]) if len(shape) == 1 else int(indices[0]) * shape[1] + int(indices[1])
        matrices = [f"{_grouped(code)}[{flat}:{flat + 1}]" for code in inner.matrices]
        if inner.diagonal != 0:
            row = self._row(inner.diagonal, size_of(shape))
            matrices.append(f"{row}*(np.arange({size_of(shape)}) == {flat})")
        return Block(sympy.S.Zero, matrices)

    def _tridiagonal(self, expr: Node, variable: Variable) -> Block:
        """T x = b gives T dx = db - dT x."""
        lower, diagonal, upper, b = expr.args
        zero, one = sympy.S.Zero, sympy.S.One
        before: Node = Shift(expr, -one, zero, zero)
        after: Node = Shift(expr, one, zero, zero)
        parts = [(b, one), (lower, -before), (diagonal, -expr), (upper, -after)]
        total: Node = sympy.S.Zero
        matrices: list[str] = []
        size = self._size(b)
        for operand, factor in parts:
            inner = self.derivative(operand, variable)
            if self._size(operand) == 1:
                matrices += self._spread(factor, inner, size)
            else:
                total += factor * inner.diagonal
                matrices += [self._scaled(factor, code) for code in inner.matrices]
        if total != 0:
            full = self._coefficient(total) if self._shape(total) else f"np.full({size}, {self._coefficient(total)})"
            matrices.append(f"np.diag({full})")
        if not matrices:
            return Block(sympy.S.Zero, [])
        bands = [
            self._coefficient(band) if self._shape(band) else f"np.full({size}, {self._coefficient(band)})"
            for band in (lower, diagonal, upper)
        ]
        return Block(sympy.S.Zero, [f"solve_tridiagonal({', '.join(bands)}, {' + '.join(matrices)})"])

    def _indexed_sum(self, expr: Node, variable: Variable) -> Block:
        body, j, excluded, size = expr.args
        diagonal: Node = sympy.S.Zero
        matrices: list[str] = []
        opaque = {atom: sympy.Dummy(f"e{i}", real=True) for i, atom in enumerate(sorted(body.atoms(At), key=str))}
        plain = body.xreplace(opaque)
        back = {dummy: atom for atom, dummy in opaque.items()}
        for atom in sorted(plain.free_symbols, key=lambda s: s.name):
            element = back.get(atom)
            array = atom if element is None else element.args[0]
            inner = self.derivative(array, variable)
            factor = derivative(plain, atom).xreplace(back)
            if inner.is_zero or factor == 0:
                continue
            if element is not None and element.args[1] == j:
                matrices += self._multiplied(self._coefficient(PairMatrix(factor, j, excluded, size)), inner, array)
                continue
            if element is None:
                matrices += self._spread(_pair_sum(factor, j, excluded, size), inner, int(size))
            else:
                total = _pair_sum(factor, j, excluded, size)
                diagonal += total * inner.diagonal
                matrices += [self._scaled(total, code) for code in inner.matrices]
        return Block(diagonal, matrices)

    def _assemble_dense(self, blocks: list[tuple[int, int, int, int, Block]]) -> list[str]:
        columns = sum(variable.size for variable in self.variables)
        lines = [f"J = np.zeros((N_STATES, {columns}))"]
        for row, rows, column, width, block in blocks:
            place = f"J[{row}:{row + rows}, {column}:{column + width}]"
            if block.matrices:
                lines.append(f"{place} = {' + '.join(block.matrices)}")
            if block.diagonal != 0:
                # The diagonal of a block of the row-major J: one row and one column further each time.
                start, stop = row * columns + column, (row + rows) * columns
                lines.append(f"J.reshape(-1)[{start}:{stop}:{columns + 1}] += {self._raveled(block.diagonal)}")
        return [*lines, "return J"]

    def _raveled(self, expr: Node) -> str:
        code = self._coefficient(expr)
        return f"np.ravel({code})" if len(self._shape(expr)) == 2 else code

    def _assemble_sparse(self, blocks: list[tuple[int, int, int, int, Block]]) -> list[str]:
        states = self.context.problem.states
        cells = {(row, column): (rows, width, block) for row, rows, column, width, block in blocks}
        rows_text: list[str] = []
        row = 0
        for state in states:
            column, entries = 0, []
            for variable in self.variables:
                entries.append(self._sparse_cell(cells.get((row, column)), state.size, variable.size))
                column += variable.size
            rows_text.append(f"    [{', '.join(entries)}],")
            row += state.size
        return ["return sparse.block_array([", *rows_text, '], format="csc")']

    def _sparse_cell(self, cell: tuple[int, int, Block] | None, rows: int, columns: int) -> str:
        if cell is None:
            return f"sparse.csc_array(({rows}, {columns}))"
        block = cell[2]
        parts = list(block.matrices)
        if block.diagonal != 0:
            code = self._coefficient(block.diagonal)
            full = f"np.ravel({code})" if self._shape(block.diagonal) else f"np.full({rows}, {code})"
            parts.append(f"sparse.diags_array({full})")
        return " + ".join(parts)


def _pair_sum(factor: Node, j: Symbol, excluded: Symbol, size: Node) -> Node:
    if not factor.atoms(At):
        return factor * (size - 1 if excluded != j else size)
    return IndexedSum(factor, j, excluded, size)


def _array_atoms(expr: Node) -> list[Node]:
    """The outermost array operators of an elementwise expression."""
    if isinstance(expr, ARRAY_OPERATORS):
        return [expr]
    found: list[Node] = []
    for argument in expr.args:
        found += [atom for atom in _array_atoms(argument) if atom not in found]
    return found


def _grouped(code: str) -> str:
    return code if code.isidentifier() else f"({code})"
