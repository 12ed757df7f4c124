"""Functions of fields and vectors that Numba compiles: one loop over points, whatever their number.

The values of a point stand next to each other, and points are in whatever order the caller likes, one in which
neighbours are near: field s of the k-th point is ``y[SPECIES*k + s]``. Row k of the argument ``points`` is the number
of that point on the grid, and then, for each place of ``AT`` but the point itself, where the values of the point there
begin. Sensitivities follow as blocks of the size of the state, see :mod:`.scalars`.

``jacobian`` writes for point k and coupling q the number that belongs to entry ``len(COUPLED)*k + q``: the derivative
of field s here by field r at a place, for ``(s, r, place) = COUPLED[q]``. Where a step leaves the grid it is zero, and
``AT`` has the point itself. Numbers that are given the same place are added up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count

import sympy
from sympy import Symbol
from sympy.core.parameters import distribute

from sciml_bench.emit.context import Context, parameter_symbols
from sciml_bench.emit.symbolic.points import STEPPED, Points
from sciml_bench.emit.symbolic.statements import straight_line
from sciml_bench.emit.symbolic.variation import derivatives, fresh
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.language.rebuilding import rebuilt

_COMPILED = '@njit(error_model="numpy")'


def field_functions(context: Context) -> list[str]:
    """``derivative``, ``augmented``, ``jacobian`` and ``coupling``, with the tables that they need."""
    with distribute(False):
        writer = _Writer(context)
        functions = [writer.derivative(), writer.augmented(), writer.jacobian(), writer.coupling()]
    return [STEPPED, writer.constants(), *functions]


class _Writer:
    """Writes loops over points; only what a function uses is read."""

    def __init__(self, context: Context):
        self._context = context
        self._parameters = parameter_symbols(context.problem)
        self._theta = self._parameters if context.problem.wrt == "parameters" else []
        self._taken = {s.name for s in (*context.names, *self._parameters)} | set(context.names.values())
        self._taken |= {*context.target.reserved, "t", "y", "p"}
        self._points = points = Points(context, self._taken)
        self._species = len(points.equations)
        self._equations = points.equations
        self._of_point = {*points.variables, *points.fixed}
        self._begins = ["own", *(fresh(f"at_{k}", self._taken).name for k in range(1, points.n_places))]
        self._directions = {v: fresh(f"s_{v.name}", self._taken).name for v in points.variables}
        #: (equation, variable) → the derivative, and (equation, parameter's index) → the derivative.
        self._entries = self._by_variable(points.equations)
        self._forcing = derivatives(dict(enumerate(points.equations)), self._theta)

    def _by_variable(self, expressions: Iterable[Node]) -> dict[tuple[int, Symbol], Node]:
        """(index, variable) → derivative, without derivatives that are always zero."""
        variables = list(self._points.variables)
        found = derivatives(dict(enumerate(expressions)), variables)
        return {(index, variables[k]): entry for (index, k), entry in found.items()}

    def constants(self) -> str:
        """The tables of places and of the fixed values at each point."""
        points = self._points
        coupled = [(s, *points.variables[variable]) for s, variable in self._entries]
        lines = [
            f"SPECIES, POINTS = {self._species}, {points.size}",
            *(f"{name} = {value!r}" for name, value in points.spacings.items()),
            *points.lines,
            f"AT = np.stack([{', '.join(f'_AT_{k}' for k in range(points.n_places))}])",
            f"COUPLED = np.array({[list(item) for item in coupled]}, dtype=np.int64).reshape(-1, 3)",
        ]
        return "\n".join(lines) + "\n"

    def derivative(self) -> str:
        """The right-hand side, written into ``dy``."""
        before, inside, values = self._body(self._equations)
        inside += self._assigned("dy", "own", values)
        return _function("derivative(t, y, dy, p, points)", [*before, *_loop(inside)])

    def augmented(self) -> str:
        """The right-hand side and then its sensitivities, the first of them to theta's component ``first``."""
        slopes, rows = self._slopes()
        outputs = [*self._equations, *slopes, *self._forcing.values()]
        before, inside, values = self._body(outputs, [variable for _, variable in self._entries])
        n = self._species
        inside += self._assigned("out", "own", values[:n])
        named, forced = values[n : n + len(slopes)], values[n + len(slopes) :]
        names = self._names("by", len(named))
        printer = self._context.printer()
        inside += [f"{name} = {printer.operand(value)}" for name, value in zip(names, named, strict=True)]
        if self._entries:
            inside.append("for block in range(N_STATES, out.size, N_STATES):")
            inside += [f"    {line}" for line in self._along([variable for _, variable in self._entries], "block")]
            inside += [
                f"    out[block + {_after('own', s)}] = {self._tangent(row, names)}" for s, row in enumerate(rows)
            ]
        if self._theta:
            before.append("last = first + out.size//N_STATES - 1")
        if not self._entries:
            inside += ["for block in range(N_STATES, out.size, N_STATES):"]
            inside += [f"    out[block + {_after('own', s)}] = 0.0" for s in range(n)]
        inside += self._by_parameter({
            (j, f"out[N_STATES*({1 + j} - first) + {_after('own', s)}]"): value
            for (s, j), value in zip(self._forcing, forced, strict=True)
        })  # fmt: skip
        return _function("augmented(t, y, out, p, first, points)", [*before, *_loop(inside)])

    def jacobian(self) -> str:
        """The Jacobian, into the flat ``out`` where ``places[block, entry]`` says, the same in every block."""
        before, inside, values = self._body(list(self._entries.values()))
        names = self._names("by", len(values))
        printer = self._context.printer()
        inside += [f"{name} = {printer.operand(value)}" for name, value in zip(names, values, strict=True)]
        inside += [f"entry = {len(names)}*point", "for block in range(places.shape[0]):"]
        inside += [f"    out[places[block, {_after('entry', q)}]] += {name}" for q, name in enumerate(names)]
        body = [*before, *_loop(inside)] if values else []
        return _function("jacobian(t, y, out, p, points, places)", [*_CLEARED, *body])

    def coupling(self) -> str:
        """The coupling of sensitivity j with the state, into ``out`` at ``places[j, entry]``: the derivative of each
        entry of the Jacobian in the direction of that sensitivity, and by its parameter.
        """
        curved = self._by_variable(self._entries.values())
        mixed = derivatives(dict(enumerate(self._entries.values())), self._theta)
        before, inside, values = self._body([*curved.values(), *mixed.values()], [variable for _, variable in curved])
        names = self._names("by", len(curved))
        printer = self._context.printer()
        inside += [f"{name} = {printer.operand(value)}" for name, value in zip(names, values, strict=False)]
        inside.append(f"entry = {len(self._entries)}*point")
        if curved:
            inside.append("for block in range(places.shape[0]):")
            inside += [
                f"    {line}" for line in self._along([variable for _, variable in curved], "N_STATES*(1 + block)")
            ]
            for (q, variable), name in zip(curved, names, strict=True):
                inside.append(f"    out[places[block, {_after('entry', q)}]] += {name}*{self._directions[variable]}")
        if mixed:
            before.append("last = first + places.shape[0]")
        inside += self._by_parameter({
            (j, f"out[places[{j} - first, {_after('entry', q)}]]"): value
            for (q, j), value in zip(mixed, values[len(curved) :], strict=True)
        })  # fmt: skip
        body = [*before, *_loop(inside)] if curved or mixed else []
        return _function("coupling(t, y, out, p, first, points, places)", [*_CLEARED, *body])

    def _slopes(self) -> tuple[list[Node], list[list[tuple[int, int, Symbol]]]]:
        """The factors of the sensitivities, each once; and for each equation (index of a slope, sign, variable)."""
        slopes: dict[Node, int] = {}
        rows: list[list[tuple[int, int, Symbol]]] = [[] for _ in self._equations]
        for (s, variable), entry in self._entries.items():
            negative = entry.could_extract_minus_sign()
            index = slopes.setdefault(_negative(entry) if negative else entry, len(slopes))
            rows[s].append((index, -1 if negative else 1, variable))
        return list(slopes), rows

    def _tangent(self, row: Sequence[tuple[int, int, Symbol]], names: Sequence[str]) -> str:
        """J s of one equation; terms with the same factor are added up first."""
        groups: dict[int, list[tuple[int, str]]] = {}
        for index, sign, variable in row:
            groups.setdefault(index, []).append((sign, self._directions[variable]))
        terms: list[tuple[int, str]] = []
        for index, members in groups.items():
            if len(members) == 1:
                terms.append((members[0][0], f"{names[index]}*{members[0][1]}"))
            else:
                terms.append((1, f"{names[index]}*({_sum(members)})"))
        return _sum(terms) if terms else "0.0"

    def _along(self, variables: Iterable[Symbol], start: str) -> list[str]:
        """The sensitivities of one block at the point and at its places."""
        where = self._points.variables
        return [
            f"{self._directions[variable]} = y[{start} + {self._index(*where[variable])}]"
            for variable in dict.fromkeys(variables)
        ]

    def _index(self, species: int, place: int) -> str:
        return _after(self._begins[place], species)

    def _body(self, outputs: Sequence[Node], along: Iterable[Symbol] = ()) -> tuple[list[str], list[str], list[Node]]:
        """The lines before the loop, those in it, and the outputs; sensitivities along these variables are used."""
        invariants: dict[Node, Symbol] = {}
        inside = [self._without_invariants(expr, invariants) for expr in outputs]
        taken = self._taken | {s.name for s in invariants.values()}
        named = [(name, expr) for expr, name in invariants.items()]
        constant = straight_line(named, [name for name, _ in named], avoid=taken).without_aliases()
        taken |= {item.symbol.name for item in constant.statements}
        values = {name: value for (name, _), value in zip(named, constant.outputs, strict=True) if name != value}
        program = straight_line([], [expr.xreplace(values) for expr in inside], avoid=taken).needed().without_aliases()
        expressions = [*program.outputs, *(item.expr for item in program.statements)]
        used = {s for e in (*expressions, *(item.expr for item in constant.statements)) for s in e.free_symbols}
        printer = self._context.printer()
        names = self._context.names
        before = [f"{names.get(s, s.name)} = p[{i}]" for i, s in enumerate(self._parameters) if s in used]
        before += [f"{printer.code(item.symbol)} = {printer.code(item.expr)}" for item in constant.statements]
        lines = self._read(used, along)
        lines += [f"{printer.code(item.symbol)} = {printer.code(item.expr)}" for item in program.statements]
        return before, lines, list(program.outputs)

    def _read(self, used: set[Symbol], along: Iterable[Symbol]) -> list[str]:
        """Lines that give the places of values, and read the used ones."""
        points = self._points
        read = {variable: where for variable, where in points.variables.items() if variable in used}
        places = {place for _, place in read.values()} | {points.variables[variable][1] for variable in along}
        lines = [f"own = {self._species}*point"]
        lines += [f"{self._begins[place]} = points[point, {place}]" for place in sorted(places) if place]
        lines += [f"{variable} = y[{self._index(*where)}]" for variable, where in read.items()]
        fixed = [f"{name} = {array}[grid_point]" for name, array in points.fixed.items() if name in used]
        return [*lines, *(["grid_point = points[point, 0]", *fixed] if fixed else [])]

    def _without_invariants(self, expr: Node, invariants: dict[Node, Symbol]) -> Node:
        """The expression with parts that are the same for all points moved before the loop."""
        if expr.is_number or isinstance(expr, Symbol):
            return expr
        if expr.free_symbols.isdisjoint(self._of_point):
            return self._invariant(expr, invariants) if isinstance(expr, sympy.Expr) else expr
        arguments = list(expr.args)
        if isinstance(expr, sympy.Add | sympy.Mul):
            same = [a for a in arguments if a.free_symbols.isdisjoint(self._of_point)]
            if len(same) > 1 and any(not a.is_number for a in same):
                arguments = [a for a in arguments if a not in same]
                arguments.append(self._invariant(expr.func(*same), invariants))
        return rebuilt(expr, [self._without_invariants(argument, invariants) for argument in arguments])

    def _invariant(self, expr: Node, invariants: dict[Node, Symbol]) -> Node:
        """A name for it, or minus that."""
        if expr.is_number or isinstance(expr, Symbol):
            return expr
        negative = expr.could_extract_minus_sign()
        value = _negative(expr) if negative else expr
        if isinstance(value, Symbol):
            return -value if negative else value
        if value not in invariants:
            taken = self._taken | {s.name for s in invariants.values()}
            invariants[value] = fresh(f"same_{len(invariants)}", taken)
        return -invariants[value] if negative else invariants[value]

    def _by_parameter(self, added: Mapping[tuple[int, str], Node]) -> list[str]:
        """The additions for each component of theta, (its index, target) → value, if it has a block."""
        printer = self._context.printer()
        lines: list[str] = []
        for j in sorted({j for j, _ in added}):
            lines.append(f"if first <= {j} < last:")
            lines += [f"    {to} += {printer.operand(value)}" for (k, to), value in added.items() if k == j]
        return lines

    def _names(self, base: str, number: int) -> list[str]:
        """Names of this many values."""
        names = (f"{base}_{k}" for k in count())
        return [next(name for name in names if name not in self._taken) for _ in range(number)]

    def _assigned(self, array: str, start: str, values: Sequence[Node]) -> list[str]:
        printer = self._context.printer()
        return [f"{array}[{_after(start, s)}] = {printer.operand(value)}" for s, value in enumerate(values)]


_CLEARED = [
    "for block in range(places.shape[0]):",
    "    for entry in range(places.shape[1]):",
    "        out[places[block, entry]] = 0.0",
]


def _negative(expr: Node) -> Node:
    """The opposite, term by term."""
    return expr.func(*(-term for term in expr.args)) if isinstance(expr, sympy.Add) else -expr


def _sum(terms: Sequence[tuple[int, str]]) -> str:
    text = " + ".join(f"-{term}" if sign < 0 else term for sign, term in terms)
    return text.replace("+ -", "- ")


def _after(start: str, offset: int) -> str:
    return f"{start} + {offset}" if offset else start


def _loop(lines: Sequence[str]) -> list[str]:
    return ["for point in range(POINTS):", *(f"    {line}" for line in lines)]


def _function(head: str, lines: Sequence[str]) -> str:
    return "\n".join([_COMPILED, f"def {head}:", *(f"    {line}" for line in lines)]) + "\n"
