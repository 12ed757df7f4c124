"""Typesets expressions as presentation MathML, which browsers draw themselves: no library, no font, no network.

Every name that comes from a problem file is escaped; elements are only those that are written here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import sympy
from markupsafe import Markup, escape

from sciml_bench.problem import operators as op
from sciml_bench.problem.model import Problem
from sciml_bench.problem.operators import Node

# Expressions with more nodes than this are shown as they are written in the file.
MAX_NODES = 3_000

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eps": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "kappa": "κ", "lam": "λ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ",
    "sigma": "σ", "tau": "τ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ",
    "Theta": "Θ", "Lambda": "Λ", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
}  # fmt: skip

_RELATIONS = {
    sympy.StrictLessThan: "<", sympy.LessThan: "≤", sympy.StrictGreaterThan: ">", sympy.GreaterThan: "≥",
}  # fmt: skip

# How tightly an expression holds together; one that is looser than its place asks for gets brackets.
_SUM, _PRODUCT, _POWER, _ATOM = range(4)


def equation(problem: Problem, state: str) -> Markup | None:
    """``d state / dt = …``; ``None`` when the right-hand side is too long to be read as a formula."""
    rhs = problem.equations[state]
    if _too_long(rhs):
        return None
    d = "∂" if problem.grids else "d"
    name = symbol(state)
    left = _frac(_row(_mo(d), name), _row(_mo(d), symbol("t")))
    return _math(_row(left, _mo("="), _Printer(problem).at(rhs, _SUM)))


def definition(problem: Problem, name: str, expression: Node) -> Markup | None:
    """``name = …``; ``None`` when it is too long."""
    if _too_long(expression):
        return None
    return _math(_row(symbol(name), _mo("="), _Printer(problem).at(expression, _SUM)))


def value(label: str, number: Node) -> Markup:
    """``label = number``, the number exactly, or to 12 digits where it is none that can be written.

    A label may name a component and the start, as ``x[3](0)``.
    """
    name, start = (label.removesuffix("(0)"), label.endswith("(0)"))
    name, _, index = name.removesuffix("]").partition("[")
    left = _wrap("msub", symbol(name), _mn(index)) if index else symbol(name)
    return _math(_row(left, *([_fence(_mn("0"))] if start else []), _mo("="), _number(number)))


def symbol(name: str) -> Markup:
    """A name as mathematics: Greek letters, and trailing digits as an index."""
    stem = name.rstrip("0123456789")
    index = name[len(stem) :]
    stem, _, rest = stem.partition("_") if "_" in stem.strip("_") else (stem, "", "")
    if not stem:
        stem, index = name, ""
    subscripts = [part for part in (rest, index) if part]
    base = _mi(_GREEK.get(stem, stem))
    if not subscripts:
        return base
    return _wrap("msub", base, _row(*(_mn(p) if p.isdigit() else _mi(_GREEK.get(p, p)) for p in subscripts)))


def _too_long(expression: Node) -> bool:
    for count, _ in enumerate(sympy.preorder_traversal(expression)):
        if count > MAX_NODES:
            return True
    return False


def _wrap(tag: str, *parts: Markup | str) -> Markup:
    return Markup("<{0}>{1}</{0}>").format(Markup(tag), Markup("").join(parts))


def _math(content: Markup) -> Markup:
    return Markup('<math display="block">{}</math>').format(content)


def _row(*parts: Markup) -> Markup:
    return parts[0] if len(parts) == 1 else _wrap("mrow", *parts)


def _mi(text: str) -> Markup:
    # A name of several letters is upright: else it reads as a product.
    return Markup("<mi>{}</mi>").format(escape(text))


def _mn(text: str) -> Markup:
    return Markup("<mn>{}</mn>").format(escape(text))


def _mo(text: str) -> Markup:
    return Markup("<mo>{}</mo>").format(escape(text))


def _fence(content: Markup, left: str = "(", right: str = ")") -> Markup:
    return _wrap("mrow", _mo(left), content, _mo(right))


def _frac(above: Markup, below: Markup) -> Markup:
    return _wrap("mfrac", above, below)


def _number(number: Node) -> Markup:
    """A number as a reader writes it: an integer, a short decimal, a power of ten, or a fraction."""
    if number.is_Rational:
        if number < 0:
            return _row(_mo("−"), _number(-number))
        text = _decimal(number)
        if text is None:
            return _frac(_mn(str(number.p)), _mn(str(number.q)))
        mantissa, _, exponent = text.partition("e")
        if not exponent:
            return _mn(mantissa)
        power = _wrap("msup", _mn("10"), _row(*([_mo("−")] if exponent[0] == "-" else []), _mn(exponent.lstrip("-"))))
        return power if mantissa == "1" else _row(_mn(mantissa), _mo("×"), power)
    if number == sympy.pi:
        return _mi("π")
    return _mn(str(number.evalf(12)))


def _decimal(number: Node) -> str | None:
    """The number in decimals, as ``0.04`` or ``3e7``; ``None`` where they do not end soon."""
    p, q = int(number.p), int(number.q)
    rest = q
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1:
        return None
    places = 0
    while p * 10**places % q:
        places += 1
        if places > 60:
            return None
    digits = str(p * 10**places // q)
    exponent = len(digits) - 1 - places
    significant = digits.rstrip("0") or "0"
    if len(significant) > 20:
        return None
    if -4 <= exponent <= 5:
        padded = digits.zfill(places + 1)
        whole, part = padded[: len(padded) - places], padded[len(padded) - places :]
        return f"{whole}.{part}".rstrip("0").rstrip(".") if places else whole
    return f"{significant[0]}{'.' if len(significant) > 1 else ''}{significant[1:]}e{exponent}"


class _Printer:
    """Prints the expressions of one problem, whose grids name the axes."""

    def __init__(self, problem: Problem):
        self._axes = [grid.name for grid in problem.grids]

    def at(self, expression: Node, place: int) -> Markup:
        """The expression, in brackets where its place needs them."""
        printed, holds = self._print(expression)
        return printed if holds >= place else _fence(printed)

    def _print(self, e: Node) -> tuple[Markup, int]:
        if e.is_Symbol:
            return symbol(e.name), _ATOM
        if e.is_Number or e == sympy.pi:
            written = not e.is_Rational or _decimal(e) is not None
            return _number(e), _SUM if e.is_negative else _ATOM if written else _POWER
        if e.is_Add:
            return self._sum(e), _SUM
        if e.is_Mul:
            return self._product(e)
        if e.is_Pow:
            return self._power(e)
        printed = _OPERATORS.get(type(e))
        if printed is not None:
            return printed(self, e)
        if type(e) in _RELATIONS:
            return self._infix(e.args, _RELATIONS[type(e)]), _PRODUCT
        if isinstance(e, sympy.And | sympy.Or):
            word = "and" if isinstance(e, sympy.And) else "or"
            return self._infix(e.args, f" {word} "), _SUM
        return self._call(e), _ATOM

    def _sum(self, e: Node) -> Markup:
        parts: list[Markup] = []
        terms = e.as_ordered_terms()
        # A sum does not start with a minus sign where it need not.
        first = next((i for i, term in enumerate(terms) if not term.could_extract_minus_sign()), 0)
        for term in (terms[first], *terms[:first], *terms[first + 1 :]):
            negative = term.could_extract_minus_sign()
            if negative or parts:
                parts.append(_mo("−" if negative else "+"))
            parts.append(self.at(-term if negative else term, _PRODUCT))
        return _row(*parts)

    def _product(self, e: Node) -> tuple[Markup, int]:
        if e.could_extract_minus_sign():
            return _row(_mo("−"), self.at(-e, _PRODUCT)), _SUM
        above, below = sympy.fraction(e)
        if below != 1 and not (below.is_Number and _decimal_number(e)):
            return _frac(self.at(above, _SUM), self.at(below, _SUM)), _POWER
        factors = e.as_ordered_factors()
        printed: list[Markup] = []
        for index, factor in enumerate(factors):
            if index:
                # Two numbers side by side would be read as one.
                printed.append(_mo("×" if factor.is_Number else "\u2062"))
            printed.append(self.at(factor, _SUM if len(factors) == 1 else _POWER if not factor.is_Number else _SUM))
        return _row(*printed), _PRODUCT

    def _power(self, e: Node) -> tuple[Markup, int]:
        base, exponent = e.base, e.exp
        if exponent == sympy.S.Half:
            return _wrap("msqrt", self.at(base, _SUM)), _ATOM
        if exponent.is_number and exponent.is_negative:
            return _frac(_mn("1"), self.at(base**-exponent, _SUM)), _POWER
        above = (
            _mn(f"{exponent.p}/{exponent.q}") if exponent.is_Rational and exponent.q != 1 else self.at(exponent, _SUM)
        )
        return _wrap("msup", self.at(base, _ATOM), above), _POWER

    def _infix(self, args: Iterable[Node], word: str) -> Markup:
        parts: list[Markup] = []
        for argument in args:
            if parts:
                parts.append(Markup("<mtext>{}</mtext>").format(word) if word.strip().isalpha() else _mo(word))
            parts.append(self.at(argument, _PRODUCT if word.strip().isalpha() else _SUM))
        return _row(*parts)

    def _call(self, e: Node, name: str | None = None) -> Markup:
        if isinstance(e, sympy.Abs):
            return _fence(self.at(e.args[0], _SUM), "|", "|")
        if isinstance(e, sympy.exp):
            return _wrap("msup", _mi("e"), self.at(e.args[0], _SUM))
        arguments: list[Markup] = []
        for argument in e.args:
            arguments += [_mo(",")] if arguments else []
            arguments.append(self.at(argument, _SUM))
        return _row(_mi(name or type(e).__name__), _mo("\u2061"), _fence(_row(*arguments)))

    def _axis(self, e: Node) -> Markup:
        index = int(e)
        return symbol(self._axes[index]) if index < len(self._axes) else _mi("i")

    def _laplacian(self, e: Node) -> tuple[Markup, int]:
        return _row(_wrap("msup", _mo("∇"), _mn("2")), self.at(e.args[0], _POWER)), _POWER

    def _difference(self, e: Node) -> tuple[Markup, int]:
        bottom = _row(_mo("∂"), self._axis(e.args[1]))
        if e.args[0].is_Symbol:
            return _frac(_row(_mo("∂"), self.at(e.args[0], _ATOM)), bottom), _POWER
        return _row(_frac(_mo("∂"), bottom), self.at(e.args[0], _POWER)), _POWER

    def _shift(self, e: Node) -> tuple[Markup, int]:
        places = int(e.args[1])
        index = _row(_mi("i"), _mo("+" if places > 0 else "−"), _mn(str(abs(places))))
        return _wrap("msub", self.at(e.args[0], _ATOM), index), _ATOM

    def _total(self, e: Node) -> tuple[Markup, int]:
        return _row(_mo("∑"), self.at(e.args[0], _PRODUCT)), _SUM

    def _indexed_sum(self, e: Node) -> tuple[Markup, int]:
        body, j, excluded, _ = e.args
        below = symbol(j.name) if excluded == j else _row(symbol(j.name), _mo("≠"), symbol(excluded.name))
        return _row(_wrap("munder", _mo("∑"), below), self.at(body, _PRODUCT)), _SUM

    def _element(self, e: Node) -> tuple[Markup, int]:
        array, *indices = e.args
        parts: list[Markup] = []
        for index in indices:
            parts += [_mo(",")] if parts else []
            parts.append(self.at(index, _SUM))
        return _wrap("msub", self.at(array, _ATOM), _row(*parts)), _ATOM

    def _matrix_product(self, e: Node) -> tuple[Markup, int]:
        return _row(self.at(e.args[0], _ATOM), _mo("\u2062"), self.at(e.args[1], _POWER)), _PRODUCT

    def _dot(self, e: Node) -> tuple[Markup, int]:
        return _row(self.at(e.args[0], _POWER), _mo("·"), self.at(e.args[1], _POWER)), _PRODUCT

    def _tridiagonal(self, e: Node) -> tuple[Markup, int]:
        lower, diagonal, upper, rhs = (self.at(argument, _SUM) for argument in e.args)
        band = _fence(_row(lower, _mo(","), diagonal, _mo(","), upper))
        inverse = _wrap("msup", _row(_mi("tridiag"), _mo("\u2061"), band), _row(_mo("−"), _mn("1")))
        return _row(inverse, _mo("\u2062"), _fence(rhs)), _PRODUCT

    def _where(self, e: Node) -> tuple[Markup, int]:
        test, yes, no = e.args
        rows = (
            (self.at(yes, _SUM), _row(Markup("<mtext>if&nbsp;</mtext>"), self.at(test, _SUM))),
            (self.at(no, _SUM), Markup("<mtext>otherwise</mtext>")),
        )
        table = _wrap("mtable", *(_wrap("mtr", *(_wrap("mtd", cell) for cell in row)) for row in rows))
        return _wrap("mrow", _mo("{"), table), _SUM


def _decimal_number(e: Node) -> bool:
    """Whether the number in front of a product is written in decimals rather than as a fraction."""
    number, _ = e.as_coeff_Mul()
    return number.is_Rational and _decimal(number) is not None and number.q not in (2, 4)


_OPERATORS: dict[type, Callable[[Any, Node], tuple[Markup, int]]] = {
    op.Laplacian: _Printer._laplacian,
    op.Difference: _Printer._difference,
    op.Shift: _Printer._shift,
    op.Total: _Printer._total,
    op.IndexedSum: _Printer._indexed_sum,
    op.Item: _Printer._element,
    op.At: _Printer._element,
    op.MatrixProduct: _Printer._matrix_product,
    op.Dot: _Printer._dot,
    op.TridiagonalSolve: _Printer._tridiagonal,
    op.Where: _Printer._where,
}
