"""Typesets expressions as presentation MathML, which browsers draw themselves: no library, no font, no network.

SymPy prints the algebra; this module prints operators that it has no sign for, or would print ambiguously. Every name
that comes from a problem file becomes a separate text node, which is escaped when it is written.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from decimal import Context, Decimal, Inexact
from typing import Any
from xml.dom.minidom import Document

import sympy
from markupsafe import Markup
from sympy.printing.mathml import MathMLPresentationPrinter
from sympy.printing.precedence import PRECEDENCE, precedence_traditional
from sympy.printing.pretty.pretty_symbology import greek_unicode

from sciml_bench.spec.language import operators
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import Problem

# Expressions with more nodes than this are shown as they are written in the file.
MAX_NODES = 3_000

# Python takes the name of this letter for itself, so problems spell it otherwise; the other is a common short form.
_GREEK = {**greek_unicode, "lam": "λ", "eps": "ε"}

_ADD, _MUL, _POW, _ATOM = (PRECEDENCE[name] for name in ("Add", "Mul", "Pow", "Atom"))

# The binding strength of the operators as they are printed here; one that is looser than its place gets brackets.
_HOLDS: dict[type, int] = {
    operators.Laplacian: _POW, operators.Difference: _POW, operators.Shift: _ATOM, operators.Item: _ATOM,
    operators.At: _ATOM, operators.Total: _ADD, operators.IndexedSum: _ADD, operators.MatrixProduct: _MUL,
    operators.Dot: _MUL, operators.TridiagonalSolve: _MUL, operators.Where: _ADD, sympy.exp: _POW,
}  # fmt: skip

_TIMES, _INVISIBLE_TIMES, _MINUS, _PLUS = "×", "\u2062", "−", "+"

# Numbers of more digits than this are written as fractions of integers.
_MOST_DIGITS = 20

Element = Any
"""A node of the document; Python's ``minidom`` has no types that say which."""


def equation(problem: Problem, state: str) -> Markup | None:
    """``d state / dt = …``, or ``0 = …`` of an algebraic one; ``None`` when it is too long to be read as a formula."""
    rhs = problem.algebraic.get(state, problem.equations[state])
    if _too_long(rhs):
        return None
    to = _Printer([grid.name for grid in problem.grids], problem.matrices)
    if state in problem.algebraic:
        return to.math(to.leaf("mn", "0"), rhs)
    return to.math(to.derivative("∂" if problem.grids else "d", state), rhs)


def definition(problem: Problem, name: str, expression: Node) -> Markup | None:
    """``name = …``, or for a name such as ``x(0)`` its value at the start; ``None`` when it is too long."""
    if _too_long(expression):
        return None
    to = _Printer([grid.name for grid in problem.grids], problem.matrices)
    left = to.name(name.removesuffix("(0)"))
    if name.endswith("(0)"):
        left = to.box("mrow", left, to.fence(to.leaf("mn", "0")))
    return to.math(left, expression)


def value(label: str, number: Node) -> Markup:
    """``label = number``, the number exactly, or to 12 digits if it has no finite form.

    A label may name a component and the start, as ``x[3](0)``.
    """
    to = _Printer()
    name, start = (label.removesuffix("(0)"), label.endswith("(0)"))
    name, _, index = name.removesuffix("]").partition("[")
    left = to.box("msub", to.name(name), to.leaf("mn", index)) if index else to.name(name)
    if start:
        left = to.box("mrow", left, to.fence(to.leaf("mn", "0")))
    return to.math(left, number if number.is_Rational or number == sympy.pi else number.evalf(12))


def symbol(name: str) -> Markup:
    """A name as mathematics: Greek letters, and trailing digits as an index."""
    return Markup(_Printer().name(name).toxml())


def _too_long(expression: Node) -> bool:
    return any(count > MAX_NODES for count, _ in enumerate(sympy.preorder_traversal(expression)))


def _decimal(number: Node) -> str | None:
    """The number without its sign in decimals, as ``0.04`` or ``3e7``; ``None`` if they do not end soon."""
    exactly = Context(prec=60, traps=[Inexact])
    try:
        exact = exactly.divide(Decimal(abs(int(number.p))), Decimal(int(number.q))).normalize(exactly)
    except Inexact:
        return str(abs(number.p)) if number.q == 1 else None
    digits = len(exact.as_tuple().digits)
    if digits > _MOST_DIGITS:
        return str(abs(number.p)) if number.q == 1 else None
    return f"{exact:f}" if -4 <= exact.adjusted() <= 5 else f"{exact:.{digits - 1}e}".replace("+", "")


class _Printer(MathMLPresentationPrinter):
    """Prints the expressions of one problem, whose grids name the axes."""

    def __init__(self, axes: Iterable[str] = (), matrices: Mapping[str, sympy.ImmutableDenseMatrix] | None = None):
        super().__init__({"fold_frac_powers": True})
        self._axes = tuple(axes)
        self._unnamed = {name: matrix for name, matrix in (matrices or {}).items() if name.startswith("_")}
        # SymPy hands over entities that XML does not know, and asks that no text be escaped: here every text is.
        self.dom.createTextNode = lambda data: self._text(_MINUS if data == "-" else html.unescape(data))

    def _text(self, text: str) -> Element:
        return Document.createTextNode(self.dom, text)

    def leaf(self, tag: str, text: str) -> Element:
        return self.box(tag, self._text(text))

    def box(self, tag: str, *parts: Element) -> Element:
        element = self.dom.createElement(tag)
        for part in parts:
            element.appendChild(part)
        return element

    def sign(self, text: str) -> Element:
        return self.leaf("mo", text)

    def fence(self, content: Element) -> Element:
        return self.box("mrow", self._l_paren(), content, self._r_paren())

    def name(self, name: str) -> Element:
        """A name, what follows its first underscore and its last digits as an index."""
        stem = name.rstrip("0123456789")
        index = name[len(stem) :]
        stem, _, rest = stem.partition("_") if "_" in stem.strip("_") else (stem, "", "")
        if not stem:
            stem, index = name, ""
        # A name of several letters is upright: else it reads as a product.
        base, *below = (self.leaf("mi", _GREEK.get(part, part)) for part in (stem, rest) if part)
        if index:
            below.append(self.leaf("mn", index))
        return self.box("msub", base, below[0] if len(below) == 1 else self.box("mrow", *below)) if below else base

    def derivative(self, d: str, state: str) -> Element:
        return self.box("mfrac", *(self.box("mrow", self._d(d), self.name(name)) for name in (state, "t")))

    def _d(self, d: str) -> Element:
        # Operators keep a distance from the next term; this one does not.
        sign = self.sign(d)
        sign.setAttribute("lspace", "0em")
        sign.setAttribute("rspace", "0em")
        return sign

    def math(self, left: Element, right: Node) -> Markup:
        """``left = right``, alone on a line."""
        root = self.box("math", self.box("mrow", left, self.sign("="), self._print(right)))
        root.setAttribute("display", "block")
        return Markup(root.toxml())

    def parenthesize(self, item: Node, level: int, strict: bool = False) -> Element:
        """In brackets if it binds more loosely than its place requires."""
        holds = _HOLDS.get(type(item)) or precedence_traditional(item)
        if item.is_Rational and item >= 0:
            text = _decimal(item)
            holds = _POW if text is None else _MUL if "e" in text else _ATOM
        printed = self._print(item)
        return self.fence(printed) if holds < level or (not strict and holds == level) else printed

    def _print_Symbol(self, sym: Node, style: str = "plain") -> Element:
        return self.name(sym.name)

    def _print_Rational(self, e: Node) -> Element:
        """A number as a reader writes it: an integer, a short decimal, a power of ten, or a fraction."""
        if e < 0:
            return self.box("mrow", self.sign(_MINUS), self._print_Rational(-e))
        text = _decimal(e)
        if text is None:
            return self.box("mfrac", self.leaf("mn", str(e.p)), self.leaf("mn", str(e.q)))
        mantissa, _, exponent = text.partition("e")
        if not exponent:
            return self.leaf("mn", text)
        power = self.box("msup", self.leaf("mn", "10"), self._print(sympy.Integer(exponent)))
        return power if mantissa == "1" else self.box("mrow", self.leaf("mn", mantissa), self.sign(_TIMES), power)

    def _get_printed_Rational(self, e: Node, folded: bool | None = None) -> Element:
        return self.leaf("mn", f"{e.p}/{e.q}") if folded else self._print_Rational(e)

    def _print_Exp1(self, e: Node) -> Element:
        return self.leaf("mi", "e")

    def _print_Add(self, expr: Node, order: str | None = None) -> Element:
        """A sum that does not start with a minus sign unless it must, and keeps the brackets of the file."""
        terms = self._as_ordered_terms(expr, order=order)
        first = next((i for i, term in enumerate(terms) if not term.could_extract_minus_sign()), 0)
        row = self.box("mrow")
        for term in (terms[first], *terms[:first], *terms[first + 1 :]):
            negative = term.could_extract_minus_sign()
            if negative or row.childNodes:
                row.appendChild(self.sign(_MINUS if negative else _PLUS))
            row.appendChild(self.parenthesize(-term if negative else term, _MUL, strict=True))
        return row

    def _print_Mul(self, expr: Node) -> Element:
        if expr.could_extract_minus_sign():
            return self.box("mrow", self.sign(_MINUS), self.parenthesize(-expr, _MUL, strict=True))
        number, rest = expr.as_coeff_Mul()
        # 2.5 x, not 5 x / 2; but a half and a quarter stay fractions, and so does a fraction with more in its
        # denominator.
        in_decimals = number.q not in (1, 2, 4) and _decimal(number) is not None
        if not in_decimals or not sympy.fraction(expr)[1].is_Number:
            return super()._print_Mul(expr)
        times = self.sign(self.mathml_tag(expr))
        return self.box("mrow", self._print(number), times, self.parenthesize(rest, _MUL, strict=True))

    def mathml_tag(self, e: Node) -> str:
        """The sign of a product, by which two numbers side by side are not read as one, and SymPy's for all else."""
        if isinstance(e, sympy.Mul):
            return _INVISIBLE_TIMES if sum(factor.as_base_exp()[0].is_Number for factor in e.args) < 2 else _TIMES
        return super().mathml_tag(e)

    def _axis(self, e: Node) -> Element:
        return self.name(self._axes[int(e)] if int(e) < len(self._axes) else "i")

    def _between(self, items: Iterable[Node], sign: str) -> Element:
        row = self.box("mrow")
        for item in items:
            if row.childNodes:
                row.appendChild(self.sign(sign))
            row.appendChild(self._print(item))
        return row

    def _print_NetworkOutput(self, e: Node) -> Element:
        network, *inputs = e.args
        return self.box("mrow", self._print(network), self.sign("\u2061"), self._paren_comma_separated(*inputs))

    def _print_NetworkGradient(self, e: Node) -> Element:
        return self.box("mrow", self.sign("∇"), self._print_NetworkOutput(e))

    def _print_NetworkDivergence(self, e: Node) -> Element:
        return self.box("mrow", self.sign("∇"), self.sign("·"), self._print_NetworkOutput(e))

    def _print_Laplacian(self, expr: Node) -> Element:
        nabla = self.box("msup", self.sign("∇"), self.leaf("mn", "2"))
        return self.box("mrow", nabla, self.parenthesize(expr.args[0], _MUL))

    def _print_Difference(self, e: Node) -> Element:
        bottom = self.box("mrow", self._d("∂"), self._axis(e.args[1]))
        if e.args[0].is_Symbol:
            return self.box("mfrac", self.box("mrow", self._d("∂"), self._print(e.args[0])), bottom)
        return self.box("mrow", self.box("mfrac", self.sign("∂"), bottom), self.parenthesize(e.args[0], _MUL))

    def _print_Shift(self, e: Node) -> Element:
        places = int(e.args[1])
        far = self.leaf("mn", str(abs(places)))
        index = self.box("mrow", self.leaf("mi", "i"), self.sign(_PLUS if places > 0 else _MINUS), far)
        return self.box("msub", self.parenthesize(e.args[0], _POW), index)

    def _print_Total(self, e: Node) -> Element:
        return self.box("mrow", self.sign("∑"), self.parenthesize(e.args[0], _MUL, strict=True))

    def _print_IndexedSum(self, e: Node) -> Element:
        body, j, excluded, _ = e.args
        below = self._print(j) if excluded == j else self._between((j, excluded), "≠")
        return self.box("mrow", self.box("munder", self.sign("∑"), below), self.parenthesize(body, _MUL, strict=True))

    def _print_Item(self, e: Node) -> Element:
        array, *indices = e.args
        return self.box("msub", self.parenthesize(array, _POW), self._between(indices, ","))

    _print_At = _print_Item

    def _print_MatrixProduct(self, e: Node) -> Element:
        matrix, vector = e.args
        unnamed = self._unnamed.get(matrix.name)
        left = self._print(matrix) if unnamed is None else self._entries(unnamed)
        return self.box("mrow", left, self.sign(_INVISIBLE_TIMES), self.parenthesize(vector, _MUL))

    def _entries(self, matrix: sympy.ImmutableDenseMatrix) -> Element:
        rows = [[self.box("mtd", self._print(matrix[i, j])) for j in range(matrix.cols)] for i in range(matrix.rows)]
        return self.fence(self.box("mtable", *(self.box("mtr", *row) for row in rows)))

    def _print_Dot(self, expr: Node) -> Element:
        a, b = expr.args
        return self.box("mrow", self.parenthesize(a, _MUL), self.sign("·"), self.parenthesize(b, _MUL))

    def _print_TridiagonalSolve(self, e: Node) -> Element:
        *bands, right = e.args
        matrix = self.box("mrow", self.leaf("mi", "tridiag"), self.sign("\u2061"), self._paren_comma_separated(*bands))
        inverse = self.box("msup", matrix, self.box("mrow", self.sign(_MINUS), self.leaf("mn", "1")))
        return self.box("mrow", inverse, self.sign(_INVISIBLE_TIMES), self.fence(self._print(right)))

    def _print_Where(self, e: Node) -> Element:
        test, yes, no = e.args
        condition = self.box("mrow", self.leaf("mtext", "if\u00a0"), self._print(test))
        cases = ((self._print(yes), condition), (self._print(no), self.leaf("mtext", "otherwise")))
        table = self.box("mtable", *(self.box("mtr", *(self.box("mtd", cell) for cell in case)) for case in cases))
        return self.box("mrow", self.sign("{"), table)
