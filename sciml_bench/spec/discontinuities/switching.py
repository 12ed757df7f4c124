"""Finds every time at which a problem's right-hand side is not smooth, and makes breakpoints of them."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import sympy

from sciml_bench.spec.discontinuities.canonical import canonical
from sciml_bench.spec.discontinuities.decision import OF_SIGNS, STEPPED, Decider, Moving, Switches
from sciml_bench.spec.discontinuities.roots import MAX_SWITCHES, Span, Undecided, approximately, same_time
from sciml_bench.spec.discontinuities.switch import Switch, Switching, Unsettled, shown
from sciml_bench.spec.document import Document
from sciml_bench.spec.language.elements import Elements
from sciml_bench.spec.language.operators import Floor, Node, Where, is_extremum
from sciml_bench.spec.model import Problem, symbol, to_double

#: A declared breakpoint that is so near to a switch, as a fraction of the span, was meant to be it; the second where
#: a condition that moves may have been meant.
_NEAR = 1e-3
_VERY_NEAR = 1e-6
_T = symbol("t")
_CURE = (
    "Write the condition so that its two sides cross, or with times (`t >= 5 and t < 7`); or take a time span in which"
    " it is defined and switches less often."
)


@dataclass(frozen=True)
class _Place:
    """An expression of the file: its table, its key, and its parts that are not smooth, the outermost of them."""

    table: str
    key: str
    pieces: tuple[Node, ...]


def with_switches(document: Document, problem: Problem, declared: tuple[Node, ...]) -> Problem:
    """The problem with the switches of its equations among its breakpoints, and its conditions written with them.

    ``declared`` are the breakpoints that the file declares; the problem's may include more for a driving path.

    Raises:
        ProblemError: a condition of the time cannot be decided, or a declared breakpoint lies beside a switch.
    """
    places = list(_places(problem))
    if not places:
        return problem if not declared else replace(problem, switching=Switching(declared))
    finder = _Finder(document, problem)
    for place in places:
        finder.search(place)
    times = _merged(document, problem, declared, finder)
    found = sorted(finder.found, key=lambda switch: approximately(switch.time))
    switching = Switching(declared, tuple(found), tuple(finder.unsettled))
    problem = replace(problem, breakpoints=times, switching=switching)
    return canonical(problem, finder.decider) if finder.found else problem


def _places(problem: Problem) -> Iterator[_Place]:
    expressions = [("definitions", item.name, item.expr) for item in problem.definitions]
    expressions += [("equations", name, expr) for name, expr in problem.equations.items()]
    expressions += [(f"grids.{grid.name}", "boundary_value", grid.boundary_value) for grid in problem.grids]
    for table, key, expr in expressions:
        pieces = tuple(_outermost(expr))
        if pieces:
            yield _Place(table, key, pieces)


def _outermost(expr: Node) -> Iterator[Node]:
    walk = sympy.preorder_traversal(expr)
    for node in walk:
        if isinstance(node, (Where, *STEPPED)):
            yield node
            walk.skip()


class _Finder:
    """Looks for switches one expression after the other."""

    def __init__(self, document: Document, problem: Problem):
        self.document, self.problem = document, problem
        self.span = Span(problem.t0, problem.t1)
        self.elements = Elements(problem)
        scalars = [parameter for parameter in problem.parameters if not parameter.shape]
        values = {symbol(parameter.name): parameter.values[0] for parameter in scalars}
        definitions = {symbol(item.name): item.expr for item in problem.definitions}
        self.decider = Decider(_T, values, definitions)
        self._of_states = {symbol(state.name) for state in problem.states}
        self.found: list[Switch] = []
        self._times = _Times(self.span)
        self.unsettled: list[Unsettled] = []

    def search(self, place: _Place) -> None:
        """Find the switches of one expression of the file."""
        for piece in place.pieces:
            self._search(place, piece)

    def _search(self, place: _Place, piece: Node) -> None:
        spans = [self.span]
        origin = f"{_called(piece)} of {place.key}"
        try:
            while spans:
                span = spans.pop()
                try:
                    self._walk(place, piece, span)
                except Switches as switches:
                    self._add([Switch(time, origin) for time in switches.times])
                    ends = (span.start, *switches.times, span.end)
                    spans += [Span(a, b) for a, b in pairwise(ends)]
        except Undecided as error:
            raise self.document.error(
                f"in '{place.key}': when '{_text(piece)}' switches cannot be decided: {error}.",
                place.table, place.key, _CURE,
            ) from None  # fmt: skip
        if len(self.found) > MAX_SWITCHES:
            message = f"in '{place.key}': with '{_text(piece)}' there are more than {MAX_SWITCHES} switches."
            raise self.document.error(message, place.table, place.key, "Take a shorter time span.")

    def _add(self, switches: list[Switch]) -> None:
        for switch in switches:
            if self._times.add(switch.time):
                self.found.append(switch)

    def _walk(self, place: _Place, expr: Node, span: Span) -> None:
        """Decide every part that is not smooth inside a span, but none in branches that are not taken there."""
        match expr:
            case Where():
                condition, a, b = expr.args
                held = self._decide(place, condition, span, jumps=not is_extremum(expr))
                for branch in (a, b) if held is None else (a,) if held else (b,):
                    self._walk(place, branch, span)
            case sympy.Abs() | sympy.sign() | Floor():
                self._decide(place, expr, span)
                self._walk(place, expr.args[0], span)
            case _:
                for piece in _outermost(expr):
                    self._walk(place, piece, span)

    def _decide(self, place: _Place, part: Node, span: Span, jumps: bool = True) -> bool | None:
        """Return whether a condition holds; ``None`` if its elements differ, if it moves, and for magnitudes."""
        answers: set[bool | None] = set()
        try:
            for element in self.elements.of(self.decider.expanded(part)):
                if isinstance(element, OF_SIGNS):
                    self.decider.sign(element.args[0], span)
                    answers.add(None)
                elif isinstance(element, Floor):
                    self.decider.floor(element.args[0], span)
                    answers.add(None)
                elif not isinstance(element, sympy.Expr):
                    answers.add(self.decider.holds(element, span))
        except Moving as error:
            self._note(place, part, error, jumps)
            return None
        except ValueError as error:
            if isinstance(error, Undecided):
                raise
            raise Undecided(str(error)) from None
        return answers.pop() if len(answers) == 1 else None

    def _note(self, place: _Place, part: Node, error: Moving, jumps: bool) -> None:
        free = self.decider.expanded(part).free_symbols
        of_states = bool(free & self._of_states)
        if isinstance(part, sympy.Abs):
            # Its kink makes no jump, so that solutions and gradients follow it wherever it moves.
            return
        line = self.document.line(place.table, place.key)
        text = self.document.table(place.table).get(place.key, part)
        at = f"{self.document.path}:{line}" if line else f"{self.document.path}"
        unsettled = Unsettled(at, str(text), error.names, of_states, jumps)
        if unsettled not in self.unsettled:
            self.unsettled.append(unsettled)


def _merged(document: Document, problem: Problem, declared: tuple[Node, ...], finder: _Finder) -> tuple[Node, ...]:
    """Declared and found times in order, each once; one that is both is written as declared."""
    span = finder.span
    known = _Times(span)
    for time in problem.breakpoints:
        known.add(time)
    near = _VERY_NEAR if finder.unsettled else _NEAR
    width = near * approximately(span.end - span.start)
    undeclared = [switch for switch in finder.found if known.add(switch.time)]
    switching = _Times(span)
    for switch in finder.found:
        switching.add(switch.time)
    for time in declared:
        if not switching.add(time):
            continue
        for switch in undeclared:
            if abs(approximately(switch.time) - approximately(time)) < width:
                raise document.error(
                    f"the breakpoint {shown(time)} is not the time {shown(switch.time)} at which {switch.origin}"
                    " switches.",
                    "time", "breakpoints", f'Write "{shown(switch.time)}", or leave it out: switches are found.',
                )  # fmt: skip
    times = known.times
    for a, b in pairwise((span.start, *times, span.end)):
        if to_double(a) == to_double(b):
            message = f"the breakpoints {shown(a)} and {shown(b)} are the same in double precision."
            raise document.error(message, "time", "breakpoints", "Let it switch at one of these times.")
    return tuple(times)


class _Times:
    """Exact times in order, each once."""

    def __init__(self, span: Span):
        self.times: list[Node] = []
        self._span = span

    def add(self, time: Node) -> bool:
        """Add a time; whether it is new."""
        at = approximately(time)
        margin = 1e-12 * abs(at)
        first = bisect.bisect_left(self.times, at - margin, key=approximately)
        last = bisect.bisect_right(self.times, at + margin, key=approximately)
        if any(same_time(other, time, self._span) for other in self.times[first:last]):
            return False
        self.times.insert(bisect.bisect_right(self.times, at, key=approximately), time)
        return True


def _called(piece: Node) -> str:
    """The file's name for a part that is not smooth."""
    if isinstance(piece, STEPPED):
        return f"{type(piece).__name__.lower()}(…)"
    condition, a, _ = piece.args
    if isinstance(condition, sympy.StrictLessThan) and is_extremum(piece):
        return "min(…)" if a == condition.lhs else "max(…)"
    return "where(…)"


def _text(piece: Node, width: int = 60) -> str:
    text = str(piece)
    return text if len(text) <= width else text[: width - 1] + "…"
