"""Functions of scalar problems that Numba compiles: every value a number, every array written in place.

``derivative(t, y, dy, p)`` is what solvers in C call through a function pointer; ``rhs`` wraps it for SciPy. Division
by zero gives infinity, as in NumPy and in the solvers, not an exception.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sympy import Symbol

from sciml_bench.emit.context import Context, parameter_symbols
from sciml_bench.emit.derivative import derivative
from sciml_bench.emit.statements import straight_line
from sciml_bench.errors import UsageError
from sciml_bench.problem.model import Problem, symbol
from sciml_bench.problem.operators import Node

_COMPILED = '@njit(error_model="numpy")'


def refuse_arrays(problem: Problem, target: str = "numba") -> None:
    """Refuse a problem that is not written in numbers alone.

    Raises:
        UsageError: it has vectors, fields, networks, or something is computed around the solve.
    """
    if problem.all_scalar and not problem.networks and not problem.latent and not problem.controls:
        return
    raise UsageError(
        f"'{problem.name}' is not emitted for {target}, whose code is written number by number: it has vectors, "
        "fields, networks or paths"
    )


def numba_functions(context: Context) -> list[str]:
    """``derivative``, ``rhs``, ``jacobian``, ``parameter_jacobian`` and ``linearised``, see :mod:`.source`."""
    writer = _Writer(context)
    functions = [
        writer.derivative(),
        f"{_COMPILED}\ndef rhs(t, y, p):\n    dy = np.empty(N_STATES)\n    derivative(t, y, dy, p)\n    return dy\n",
        writer.matrix("jacobian", writer.states),
    ]
    if writer.parameters:
        functions.append(writer.matrix("parameter_jacobian", writer.parameters))
    return [*functions, writer.linearised()]


class _Writer:
    """Writes functions of the flat arrays y and p; only what a function uses is read from them."""

    def __init__(self, context: Context):
        self.context = context
        problem = context.problem
        self.states = [symbol(state.name) for state in problem.states]
        self.parameters = parameter_symbols(problem)
        self.named = [(symbol(item.name), context.resolve(item.expr)) for item in problem.definitions]
        values: dict[Symbol, Node] = {}
        for target, expr in self.named:
            values[target] = expr.xreplace(values)
        self.equations = [context.resolve(expr).xreplace(values) for expr in problem.equations.values()]

    def derivative(self) -> str:
        """The right-hand side, written into ``dy``."""
        outputs = [self.context.resolve(expr) for expr in self.context.problem.equations.values()]
        lines, codes = self._body(self.named, outputs)
        lines += [f"    dy[{i}] = {code}" for i, code in enumerate(codes)]
        return self._function("derivative(t, y, dy, p)", lines)

    def matrix(self, name: str, variables: Sequence[Symbol]) -> str:
        """The derivatives of all equations by these variables; entries that are always zero are not written."""
        entries = {
            (i, j): entry
            for i, equation in enumerate(self.equations)
            for j, variable in enumerate(variables)
            if (entry := derivative(equation, variable)) != 0
        }
        lines, codes = self._body([], list(entries.values()))
        lines.append(f"    out = np.zeros((N_STATES, {len(variables)}))")
        lines += [f"    out[{i}, {j}] = {code}" for (i, j), code in zip(entries, codes, strict=True)]
        return self._function(f"{name}(t, y, p)", [*lines, "    return out"])

    def linearised(self) -> str:
        """The right-hand side with both Jacobians, transposed; all that the sensitivity equations need."""
        places: list[tuple[str, Node]] = [(f"f[{i}]", equation) for i, equation in enumerate(self.equations)]
        for name, variables in (("j", self.states), ("f_p", self.parameters)):
            places += [
                (f"{name}[{row}, {i}]", entry)
                for row, variable in enumerate(variables)
                for i, equation in enumerate(self.equations)
                if (entry := derivative(equation, variable)) != 0
            ]
        lines, codes = self._body([], [entry for _, entry in places])
        lines += ["    f = np.empty(N_STATES)", "    j = np.zeros((N_STATES, N_STATES))"]
        lines += [f"    f_p = np.zeros(({len(self.parameters)}, N_STATES))"] if self.parameters else []
        lines += [f"    {place} = {code}" for (place, _), code in zip(places, codes, strict=True)]
        returned = "f, j, f_p" if self.parameters else "f, j, None"
        return self._function("linearised(t, y, p)", [*lines, f"    return {returned}"])

    def _body(self, named: Sequence[tuple[Symbol, Node]], outputs: Sequence[Node]) -> tuple[list[str], list[str]]:
        """The lines that compute what the outputs share, and the code of each output."""
        program = straight_line(named, outputs, avoid=("out",)).needed()
        used = {s for e in (*program.outputs, *(item.expr for item in program.statements)) for s in e.free_symbols}
        printer = self.context.printer()
        lines = [*self._read(self.parameters, "p", used), *self._read(self.states, "y", used)]
        lines += [f"    {printer.code(item.symbol)} = {printer.code(item.expr)}" for item in program.statements]
        return lines, [printer.operand(output) for output in program.outputs]

    def _read(self, symbols: Iterable[Symbol], array: str, used: set[Symbol]) -> list[str]:
        names = self.context.names
        return [f"    {names.get(s, s.name)} = {array}[{i}]" for i, s in enumerate(symbols) if s in used]

    def _function(self, head: str, lines: Sequence[str]) -> str:
        return "\n".join([_COMPILED, f"def {head}:", *lines]) + "\n"
