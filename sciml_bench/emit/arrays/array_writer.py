"""Writes a right-hand side in array operations."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence

import sympy
from sympy import Symbol

from sciml_bench.emit.arrays.prepared_functions import Item, function, given, prepared
from sciml_bench.emit.context import Context, parameter_symbols
from sciml_bench.emit.symbolic.forms import VALUE, Affine, Forms, NotArrays, Polynomial
from sciml_bench.emit.symbolic.rows import Common, Linear, Products, Way, best, is_all
from sciml_bench.emit.symbolic.statements import straight_line
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import symbol, to_double

_HELPERS = {
    "picked": '''\
def picked(entries, size):
    """The matrix that picks these entries of a vector of this size, and gives zero for ``None``."""
    return torch.tensor([[float(j == entry) for j in range(size)] for entry in entries], dtype=torch.float64)
''',
    "placed": '''\
def placed(values, places, shape):
    """The array that has these values in these places, given axis by axis, and is zero elsewhere."""
    return values.new_zeros(shape).index_put(tuple(torch.tensor(axis, device=values.device) for axis in places), values)
''',
}
_LONGEST_TEXT = 200
"""Of a unit in comments: texts of units inside each other would double from level to level."""

_FUNCTIONS = {"reciprocal": "torch.reciprocal({})", "sqrt": "torch.sqrt({})", "square": "torch.square({})"}


class ArrayWriter:
    """Writes one module's functions. Their names differ from the names of the problem."""

    def __init__(self, context: Context):
        self.context = context
        self._taken = {*context.names.values(), *(s.name for s in parameter_symbols(context.problem)), "t", "y", "p"}
        self._forms = Forms(
            (symbol(state.name) for state in context.problem.states), parameter_symbols(context.problem), symbol("t")
        )
        self._constants: list[str] = []
        self._prepared: list[Item] = []
        self._lines: list[str] = []
        self._entry_texts: dict[int, str] = {}
        self._transposed = ".T" if context.target.batched else ""
        self._order = parameter_symbols(context.problem)

    def text(self) -> str:
        rows = self._polynomials()
        entries = list(range(len(self._forms.states)))
        for i, state in enumerate(self._forms.states):
            self._entry_texts[i] = self.context.names[state]
        z = self._with_time("y", entries)
        level = max((unit.level for unit in self._forms.units.values()), default=0)
        needed = self._needed(rows)
        for k in range(1, level + 1):
            z = self._with_units(k, z, entries, needed)
        result = self._value(best(rows, entries, self._order), z, entries, "", keep=True)
        self._lines.append(f"    return {result}")
        return self._module()

    def _polynomials(self) -> list[Polynomial]:
        problem, forms = self.context.problem, self._forms
        states = set(forms.states)
        simple: dict[Symbol, Node] = {}
        for definition in problem.definitions:
            expr = self.context.resolve(definition.expr).xreplace(simple)
            if expr.free_symbols & (states | forms.names):
                forms.define(symbol(definition.name), expr)
            else:
                simple[symbol(definition.name)] = expr
        return [forms.of(self.context.resolve(expr).xreplace(simple)) for expr in problem.equations.values()]

    def _needed(self, rows: Sequence[Polynomial]) -> set[int]:
        """The units that the rows depend on, those inside others too."""
        found: set[int] = set()
        waiting = list(rows)
        while waiting:
            for factors in waiting.pop():
                for factor in factors:
                    for entry, _ in factor.weights:
                        if entry in self._forms.units and entry not in found:
                            found.add(entry)
                            waiting.append(self._forms.units[entry].argument)
        return found

    def _with_time(self, z: str, entries: list[int]) -> str:
        """The vector with what depends on the time alone."""
        of_time = self._forms.of_time
        if not of_time:
            return z
        if self.context.target.batched:
            raise NotArrays("numbers of the time would be the same for all trajectories")
        printer = self.context.printer()
        program = straight_line([], list(of_time.values()), self._taken)
        parameters = {s for s in program.symbols if s in set(self._order)}
        for parameter in sorted(parameters, key=lambda s: s.name):
            name = self.context.names.get(parameter, parameter.name)
            self._prepared.append(Item(name, "{}", [parameter]))
        if any(symbol("t") in expr.free_symbols for expr in of_time.values()):
            self._lines.append("    t = t.to(y.dtype)")
        self._lines += [f"    {printer.code(s.symbol)} = {printer.code(s.expr)}" for s in program.statements]
        codes = [printer.operand(expr) for expr in program.outputs]
        for entry, expr in of_time.items():
            entries.append(entry)
            self._entry_texts[entry] = printer.code(expr)
        name = self._fresh("z")
        stacked = f"({codes[0]}).reshape(1)" if len(codes) == 1 else f"torch.stack([{', '.join(codes)}])"
        self._lines.append(f"    {name} = torch.cat([{z}, {stacked}])")
        return name

    def _with_units(self, level: int, z: str, entries: list[int], needed: set[int]) -> str:
        """The vector with the units of a level; units of one kind are computed at once."""
        kinds: dict[str | Node, list[int]] = {}
        for entry, unit in self._forms.units.items():
            if unit.level == level and entry in needed:
                kinds.setdefault(unit.kind, []).append(entry)
        members = [entry for group in kinds.values() for entry in group]
        arguments = [self._forms.units[entry].argument for entry in members]
        prefix = "INNER_" if level == 1 else f"INNER_{level}_"
        value = self._value(best(arguments, entries, self._order), z, entries, prefix)
        if len(kinds) > 1:
            name = self._fresh("u")
            self._lines.append(f"    {name} = {value}")
            value = name
        parts, start = [z], 0
        for kind, group in kinds.items():
            part = value if len(kinds) == 1 else self._slice(value, start, start + len(group))
            parts.append(self._applied(kind, part))
            start += len(group)
        for entry in members:
            unit = self._forms.units[entry]
            inside = self._polynomial_text(unit.argument)
            if len(inside) > _LONGEST_TEXT:
                inside = "..."
            self._entry_texts[entry] = f"{'' if unit.kind == VALUE else _kind_text(unit.kind)}({inside})"
        entries += members
        name = self._fresh("z")
        self._lines.append(f"    {name} = {self.context.target.concatenate.format(', '.join(parts))}")
        return name

    def _applied(self, kind: str | Node, value: str) -> str:
        if kind == VALUE:
            return value
        if isinstance(kind, str):
            return _FUNCTIONS.get(kind, f"{self.context.target.functions.get(kind, '')}({{}})").format(value)
        if not kind.free_symbols:
            return f"torch.pow({value}, {float(kind)!r})"
        name = self._fresh("exponent")
        self._prepared.append(Item(name, "{}", [kind]))
        return f"torch.pow({value}, {name})"

    def _value(self, way: Way, z: str, entries: Sequence[int], prefix: str, keep: bool = False) -> str:
        """Code of the value of a way. ``keep``: it is a new array, no view of z and no constant."""
        match way:
            case Linear():
                return self._linear(way, z, entries, f"{prefix}WEIGHTS", f"{prefix}OFFSETS", keep)
            case Common(factors, rest):
                first = self._linear(factors, z, entries, f"{prefix}SHARED", f"{prefix}SHARED_OFFSETS")
                return f"{first}*{self._factor(self._value(rest, z, entries, prefix))}"
            case Products():
                return self._products(way, z, entries, prefix)

    @staticmethod
    def _factor(code: str) -> str:
        return f"({code})" if isinstance(ast.parse(code, mode="eval").body, ast.BinOp) else code

    def _linear(
        self, forms: Linear, z: str, entries: Sequence[int], matrix: str, offsets: str, keep: bool = False
    ) -> str:
        if is_all(forms, entries) and not keep:
            return z
        place = {entry: i for i, entry in enumerate(entries)}
        picked = [place[row.entry] if row.entry is not None else -1 for row in forms.rows]
        n = len(picked)
        if not keep and picked[0] >= 0 and picked == list(range(picked[0], picked[0] + n)):
            return self._slice(z, picked[0], picked[0] + n)
        constants = [row.constant for row in forms.rows]
        cells = [(i, place[entry], weight) for i, row in enumerate(forms.rows) for entry, weight in row.weights]
        if not cells:
            if keep:
                raise NotArrays("a right-hand side without a state")
            return self._vector(constants, offsets)
        if all(weight == 1 for *_, weight in cells) and len({i for i, *_ in cells}) == len(cells):
            chosen = {i: j for i, j, _ in cells}
            picks = tuple(chosen.get(i) for i in range(n))
            weights = self._fresh(matrix)
            self._constants.append(f"{weights} = picked({picks}, {len(entries)}){self._transposed}")
        else:
            weights = self._matrix(cells, (n, len(entries)), matrix)
        shift = self._vector(constants, offsets) if any(value != 0 for value in constants) else None
        return self._product(weights, z, shift)

    def _product(self, matrix: str, z: str, shift: str | None) -> str:
        if self.context.target.batched:
            return f"{z} @ {matrix}" if shift is None else f"torch.addmm({shift}, {z}, {matrix})"
        return f"torch.mv({matrix}, {z})" if shift is None else f"torch.addmv({shift}, {matrix}, {z})"

    def _products(self, way: Products, z: str, entries: Sequence[int], prefix: str) -> str:
        texts = ["*".join(self._form_text(position.rows[j]) for position in way.positions if position.rows[j].weights)
                 for j in range(len(way.coefficients))]  # fmt: skip
        self._constants += _comment("The products, one a column: ", texts)
        matrix = self._static([list(row) for row in way.matrix], f"{prefix}MATRIX", transposed=False)
        if any(coefficient != 1 for coefficient in way.coefficients):
            name = self._fresh("matrix")
            all_of_p = list(way.coefficients) == self._order
            code = f"{matrix}*p" if all_of_p else f"{matrix}*torch.stack([{{}}])"
            self._prepared.append(
                Item(name, f"({code}).T" if self._transposed else code, () if all_of_p else way.coefficients)
            )
            matrix = name
        elif self._transposed:
            matrix += ".T"
        factors = [
            self._linear(position, z, entries, f"{prefix}FACTORS_{k}", f"{prefix}FACTORS_{k}_OFFSETS")
            for k, position in enumerate(way.positions, start=1)
        ]
        shift = self._vector(way.constants, f"{prefix}CONSTANTS") if any(c != 0 for c in way.constants) else None
        product = self._fresh("products")
        parts = [self._factor(factor) for factor in factors]
        line = f"    {product} = {'*'.join(parts)}"
        if len(line) > 118:
            line = "\n".join(
                [f"    {product} = (", f"        {parts[0]}", *(f"        * {p}" for p in parts[1:]), "    )"]
            )
        self._lines.append(line)
        return self._product(matrix, product, shift)

    def _matrix(self, cells: list[tuple[int, int, Node]], shape: tuple[int, int], constant: str) -> str:
        if all(not weight.free_symbols for *_, weight in cells):
            rows = [[sympy.S.Zero] * shape[1] for _ in range(shape[0])]
            for i, j, weight in cells:
                rows[i][j] = weight
            return self._static(rows, constant)
        name = self._fresh("matrix")
        rows_of, columns = tuple(i for i, *_ in cells), tuple(j for _, j, _ in cells)
        code = f"placed(torch.stack([{{}}]), ({rows_of}, {columns}), {shape}){self._transposed}"
        self._prepared.append(Item(name, code, [weight for *_, weight in cells]))
        return name

    def _vector(self, values: Sequence[Node], constant: str) -> str:
        if all(not value.free_symbols for value in values):
            name = self._fresh(constant)
            self._constants.append(f"{name} = torch.tensor({_numbers(values)}, dtype=torch.float64)")
            return name
        name = self._fresh("offsets")
        places = tuple(i for i, value in enumerate(values) if value != 0)
        code = "torch.stack([{}])"
        if len(places) < len(values):
            code = f"placed({code}, ({places},), ({len(values)},))"
        self._prepared.append(Item(name, code, [values[i] for i in places]))
        return name

    def _static(self, rows: list[list[Node]], name: str, transposed: bool = True) -> str:
        """The name of a constant matrix; of a batch it is transposed, as states are rows there."""
        name = self._fresh(name)
        body = "".join(f"    {_numbers(row)},\n" for row in rows)
        turned = self._transposed if transposed else ""
        self._constants.append(f"{name} = torch.tensor([\n{body}], dtype=torch.float64){turned}")
        return name

    def _slice(self, z: str, start: int, stop: int) -> str:
        return f"{z}[{'..., ' if self.context.target.batched else ''}{start}:{stop}]"

    def _fresh(self, base: str) -> str:
        name, number = base, 2
        while name in self._taken:
            name, number = f"{base}{number}", number + 1
        self._taken.add(name)
        return name

    def _module(self) -> str:
        text = "\n".join(self._constants) + "\n" * bool(self._constants)
        codes = [text, *(item.code for item in self._prepared)]
        helpers = [body for name, body in _HELPERS.items() if any(f"{name}(" in code for code in codes)]
        lines = [*given([item.name for item in self._prepared]), *self._lines]
        functions = [prepared(self.context, self._prepared, self._taken), function("rhs(t, y, given)", lines)]
        return "\n\n".join([*helpers, *([text] if text else []), *functions])

    def _form_text(self, form: Affine) -> str:
        if form.entry is not None:
            return self._entry_texts[form.entry]
        terms = [f"{'' if w == 1 else '-' if w == -1 else f'{w}*'}{self._entry_texts[e]}" for e, w in form.weights]
        text = " + ".join([*terms, *([str(form.constant)] if form.constant != 0 else [])]).replace("+ -", "- ")
        return f"({text})"

    def _polynomial_text(self, polynomial: Polynomial) -> str:
        terms = [
            "*".join([*([str(c)] if c != 1 or not factors else []), *map(self._form_text, factors)])
            for factors, c in polynomial.items()
        ]
        return " + ".join(terms).replace("-1*", "-").replace("+ -", "- ")


def _kind_text(kind: str | Node) -> str:
    if isinstance(kind, str):
        return "1/" if kind == "reciprocal" else kind
    return f"power({kind})"


def _numbers(values: Sequence[Node]) -> str:
    """A list of doubles; small whole numbers without a point."""
    return f"[{', '.join(str(v) if v.is_Integer and abs(v) < 10**6 else repr(to_double(v)) for v in values)}]"


def _comment(head: str, items: Sequence[str]) -> list[str]:
    """A comment that lists the meaning of columns, in separate lines."""
    return textwrap.wrap(head + ", ".join(items) + ".", 118, initial_indent="# ", subsequent_indent="# ",
                         break_long_words=False, break_on_hyphens=False)  # fmt: skip
