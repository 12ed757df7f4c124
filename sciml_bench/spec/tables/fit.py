"""The loss of observables: squares over sigmas, or the negative logarithm of a likelihood."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

import sympy
from sympy import Symbol

from sciml_bench.spec.given import Given
from sciml_bench.spec.language.operators import Item, Node, Stack
from sciml_bench.spec.model import Loss, symbol, to_double
from sciml_bench.spec.quantities import State
from sciml_bench.spec.reader import Reader
from sciml_bench.spec.tables.loss_at_start import at_start, with_start
from sciml_bench.spec.tables.observables import LIKELIHOOD, Measurement, Observable

SQUARES = "sum_of_squares"
_TIME = symbol("t")
_MEASURED = "measured"


def loss_of(
    reader: Reader,
    observables: Sequence[Observable],
    states: tuple[State, ...],
    times: tuple[Node, ...],
    n_conditions: int,
    base: Loss,
) -> tuple[Loss, tuple[Given, ...]]:
    """The loss of all measurements, and the data that it reads.

    ``base`` has its kind, weight and penalty; ``times`` are t0 and the saved times, of every condition. If a sigma has
    a formula, or noise is not normal, the loss is a likelihood: squares over such sigmas are least for infinite ones.
    """
    if any(item.needs_likelihood for item in observables):
        base = replace(base, kind=LIKELIHOOD)
    of = ", ".join(item.text for item in observables)
    base = replace(base, texts={"of": of, "kind": base.kind, **base.texts})
    if base.kind == SQUARES and n_conditions == 1 and all(map(_is_plain, observables)):
        return _squares(reader, observables, states, times[1:], base), ()
    numbers = _Numbers(times, n_conditions, _free(reader))
    return _summed(reader, observables, states, numbers, base)


def _is_plain(observable: Observable) -> bool:
    """Return whether it does not depend on the time, and has one measurement at each time at most."""
    times = [item.time for item in observable.measurements]
    return _TIME not in observable.of.free_symbols and len(set(times)) == len(times)


def _squares(
    reader: Reader, observables: Sequence[Observable], states: tuple[State, ...], times: tuple[Node, ...], base: Loss
) -> Loss:
    """The sum of squares of all differences over their sigmas, which are numbers."""
    scalars = {symbol(state.name): place for place, state in enumerate(states)}
    plain = all(state.shape == () for state in states) and len({item.of for item in observables}) == len(observables)
    if plain and all(item.of in scalars for item in observables):
        of, width, places = None, len(states), [scalars[item.of] for item in observables]
    else:
        of, width, places = Stack(*(item.of for item in observables)), len(observables), range(len(observables))
    rows = {time: k for k, time in enumerate(times)}
    data, weights = ([[0.0] * width for _ in times] for _ in range(2))
    start: Node = sympy.S.Zero
    for item, place in zip(observables, places, strict=True):
        for time, value, sigma in ((m.time, m.value, m.sigma) for m in item.measurements):
            assert sigma is not None
            if time in rows:
                data[rows[time]][place], weights[rows[time]][place] = to_double(value), to_double(1 / sigma)
            else:
                start += ((at_start(reader, item.of, states) - value) / sigma) ** 2
    penalty = with_start(reader, base, start)
    return replace(
        base, of=of, data=tuple(map(tuple, data)), weights=tuple(map(tuple, weights)), penalty=penalty,
        target=(0.0,) * width, scale=(1.0,) * width,
    )  # fmt: skip


def _summed(
    reader: Reader, observables: Sequence[Observable], states: tuple[State, ...], numbers: _Numbers, base: Loss
) -> tuple[Loss, tuple[Given, ...]]:
    """The sum of a term for each measurement; the numbers that differ between times are rows of a series."""
    later, first = list[Node](), list[Node]()
    names = {symbol(state.name) for state in states}
    for observable in observables:
        for term in _terms(observable, numbers, base.kind, names):
            later.append(term)
            if any(item.time == numbers.start for item in observable.measurements):
                first.append(at_start(reader, term, states))
    series, start = numbers.given()
    penalty = with_start(
        reader, base, sympy.Add(*first).xreplace({numbers.row: symbol(start.name)}), keeps=base.kind == LIKELIHOOD
    )
    given = (series, start) if penalty is not None and symbol(start.name) in penalty.free_symbols else (series,)
    loss = replace(
        base, kind="sum", of=sympy.Add(*later), reads=series.name, penalty=penalty, target=(0.0,), scale=(1.0,)
    )
    return loss, given


def _free(reader: Reader) -> str:
    """A name for the measured numbers that the file does not use."""
    name = _MEASURED
    while any(known.startswith(name) for known in reader.declared_in):
        name += "_values"
    return name


class _Numbers:
    """The measured numbers of each condition: a row for t0 and each saved time, a channel for numbers that differ."""

    def __init__(self, times: tuple[Node, ...], n_conditions: int, name: str):
        #: The times of the rows, condition by condition.
        self.times = times * n_conditions
        self.start = times[0]
        self._places = {time: k for k, time in enumerate(times)}
        self._name, self._channels = name, list[list[float]]()

    def place(self, item: Measurement) -> int:
        """The row of a measurement."""
        return item.condition * len(self._places) + self._places[item.time]

    @property
    def row(self) -> Symbol:
        """The symbol of the row at one time."""
        return symbol(f"{self._name}_row")

    def read(self, values: Sequence[float | None], filler: float = 0.0) -> Node:
        """The number that has these values, one for each row; missing ones are filled."""
        known = {value for value in values if value is not None}
        if len(known) == 1:
            return sympy.Rational(repr(known.pop()))
        channel = [filler if value is None else value for value in values]
        if channel not in self._channels:
            self._channels.append(channel)
        return Item(self.row, sympy.Integer(self._channels.index(channel)))

    def given(self) -> tuple[Given, Given]:
        """The series at the saved times, and its row at the start."""
        rows = list(zip(*self._channels, strict=True)) or [(0.0,)] * len(self.times)
        n, width = len(self._places), len(rows[0])
        of_each = [rows[i : i + n] for i in range(0, len(rows), n)]
        series = tuple(tuple(chain.from_iterable(rows[1:])) for rows in of_each)
        start = tuple(rows[0] for rows in of_each)
        return Given(self._name, (n - 1, width), series), Given(f"{self._name}_at_start", (width,), start)


def _terms(observable: Observable, numbers: _Numbers, kind: str, states: set[Node]) -> Iterator[Node]:
    """A term for the first measurement at each time, one for the second, and so on."""
    at: list[list[Measurement]] = [[] for _ in numbers.times]
    for item in observable.measurements:
        at[numbers.place(item)].append(item)
    starts = any(item.time == numbers.start for item in observable.measurements)
    time = numbers.read([to_double(time) for time in numbers.times])
    of = observable.of.xreplace({_TIME: time})
    for k in range(max(map(len, at))):
        found = [items[k] if k < len(items) else None for items in at]
        # A start at which nothing is measured has no term, so nothing is missing there.
        rows = zip(found, numbers.times, strict=True)
        counted = numbers.read(
            [float(item is not None or (time == numbers.start and not starts)) for item, time in rows]
        )
        value = numbers.read([None if item is None else _seen(observable, item.value) for item in found])
        sigma = observable.sigma
        if sigma is None:
            sigma = numbers.read([None if item is None else to_double(item.sigma) for item in found], 1.0)
        yield _term(observable, of, value, sigma.xreplace({_TIME: time}), counted, kind, states)


def _seen(observable: Observable, value: Node) -> float:
    """A measured value on the scale of its noise."""
    seen = to_double(value)
    if not observable.is_logarithmic:
        return seen
    return math.log10(seen) if observable.distribution.startswith("log10") else math.log(seen)


def _term(
    observable: Observable, of: Node, value: Node, sigma: Node, counted: Node, kind: str, states: set[Node]
) -> Node:
    """The term of one measurement; 0 times a finite number if the measurement is missing."""
    scale, _, noise = observable.distribution.rpartition("-")
    rest: Node = sympy.S.Zero
    if scale:
        # A formula of the state may have no logarithm at a time without a measurement.
        of = sympy.log(of if counted == 1 else of * counted + 1 - counted)
        rest = value
    if scale == "log10":
        of, rest = of / sympy.log(10), value * sympy.log(10) + sympy.log(sympy.log(10))
    if counted != 1 and sigma.free_symbols & states:
        sigma = sigma * counted + 1 - counted
    distance = (of - value) / sigma
    if kind == SQUARES:
        return counted * distance**2
    if noise == "laplace":
        return counted * (sympy.Abs(distance) + sympy.log(2 * sigma) + rest)
    return counted * (distance**2 / 2 + sympy.log(sigma) + sympy.log(2 * sympy.pi) / 2 + rest)
