"""Loads observables: measured quantities, each with its own times and standard deviations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sciml_bench.spec.keys import A_NUMBER, CSV, NUMBERS, TEXT, Choice, Key, Table
from sciml_bench.spec.language.expression import Scope
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.language.rebuilding import Size
from sciml_bench.spec.model import symbol, to_double
from sciml_bench.spec.quantities import Definition
from sciml_bench.spec.reader import Reader
from sciml_bench.spec.tables.measurements import LongTable, Measurement, of_block

LIKELIHOOD = "negative_log_likelihood"
"""The kind of loss that is a likelihood of observables."""
DISTRIBUTIONS = ("normal", "laplace", "log-normal", "log-laplace", "log10-normal", "log10-laplace")
DISTRIBUTION = Choice("distribution", DISTRIBUTIONS, "distribution", "normal")
OBSERVABLE = Table(
    Key("name", TEXT), Key("of", TEXT, required=True), Key("times", NUMBERS), Key("values", NUMBERS),
    Key("sigma", {"anyOf": [A_NUMBER, {"type": "array", "items": A_NUMBER, "minItems": 1}]}), Key("data", CSV),
    DISTRIBUTION,
)  # fmt: skip
#: A definition that has more of them with its own definitions is too long for measurements.
_MOST_PARTS = 1_000_000
_TABLE = "observables"
_LEAST_SIGMA = 1e-300
_SAME_TIME = 1e-9
"""Times that are nearer to each other, of their size, are meant to be the same."""


@dataclass(frozen=True)
class Observable:
    """A number that the states, theta and the time give, and its measurements.

    ``sigma`` is the formula of the standard deviation of the noise, of the logarithm where the ``distribution`` starts
    with it; ``None`` if the measurements have numbers. Definitions are written out in both formulas.
    """

    of: Node
    text: str
    sigma: Node | None
    distribution: str
    measurements: tuple[Measurement, ...]

    @property
    def is_logarithmic(self) -> bool:
        """Return whether the noise is in the logarithm, so that the values are positive."""
        return self.distribution.startswith("log")

    @property
    def needs_likelihood(self) -> bool:
        """Return whether a sum of squares over its sigmas would not be a fit."""
        return self.sigma is not None or self.distribution != "normal"


def load_observables(
    reader: Reader, t0: Node, t1: Node, definitions: Sequence[Definition], conditions: Sequence[str]
) -> tuple[Observable, ...]:
    """The ``[[observables]]`` blocks, with measurements from the blocks or from ``[measurements]``."""
    document = reader.document
    blocks = document.data.get(_TABLE, [])
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise document.error("'observables' must be written as [[observables]].", "", _TABLE)
    if blocks and "save" in document.table("time"):
        raise document.error("the saved times come from [[observables]].", "time", "save", "Remove 'save'.")
    formulas = _Formulas(reader, definitions if blocks else ())
    table = None
    if "measurements" in document.data or (blocks and len(conditions) > 1):
        table = LongTable(reader, conditions)
    found = tuple(_observable(formulas, block, table, t0, t1) for block in blocks)
    if table is not None:
        table.refuse_unknown()
    return found


class _Formulas:
    """Reads formulas of states, parameters, definitions and the time."""

    def __init__(self, reader: Reader, definitions: Sequence[Definition]):
        self.reader = reader
        tables = {"constants", "parameters", "states", "algebraic", "conditions"}
        scalars = {definition.name for definition in definitions if definition.shape == ()}
        self._scope = Scope(
            {
                name: typed
                for name, typed in reader.scope.names.items()
                if reader.declared_in.get(name, "").partition(".")[0] in tables or name in scalars or name == "t"
            },
            reader.scope.operators,
            reader.scope.used,
        )
        self._written_out: dict[Node, Node] = {}
        size = Size({symbol(definition.name): definition.expr for definition in definitions})
        for definition in definitions:
            if definition.shape == ():
                if size.of(definition.expr) > _MOST_PARTS:
                    message = f"'{definition.name}' has more than {_MOST_PARTS} parts with its definitions written out."
                    raise reader.document.error(
                        message, "definitions", definition.name, "Write observables without it."
                    )
                self._written_out[symbol(definition.name)] = definition.expr.xreplace(self._written_out)
        named = {name for table in ("states", "algebraic", "parameters") for name in reader.document.table(table)}
        self._measurable = {symbol(name) for name in named}

    def number(self, text: Any, key: str) -> Node:
        """A number of the states, the parameters and the time, with the definitions written out."""
        typed = self.reader.expression(text, _TABLE, key, self._scope)
        if typed.shape:
            cure = 'Take a component, as in "x[0]", in a block for each.'
            raise self.reader.document.error(f"'{key}' must be a number, not a vector.", _TABLE, key, cure)
        return typed.expr.xreplace(self._written_out)

    def observed(self, text: str) -> Node:
        """The measured number; unless a likelihood is to be complete, it depends on a state or a parameter."""
        expr = self.number(text, "of")
        complete = self.reader.document.table("loss").get("kind") == LIKELIHOOD
        if not complete and not expr.free_symbols & self._measurable:
            cure = 'As in `of = "x + y"`, with x and y states.'
            raise self.reader.document.error("'of' must depend on a state or a parameter.", _TABLE, "of", cure)
        return expr

    def sigma(self, block: dict[str, Any]) -> Node | None:
        """The formula of the standard deviation; ``None`` if it is a number, or a list of them."""
        if not isinstance(block.get("sigma"), str):
            return None
        expr = self.number(block["sigma"], "sigma")
        return None if expr.is_number else expr


def _observable(formulas: _Formulas, block: dict[str, Any], table: LongTable | None, t0: Node, t1: Node) -> Observable:
    reader = formulas.reader
    document = reader.document
    OBSERVABLE.check(document, block, _TABLE)
    text = document.string(block, "of", _TABLE)
    sigma, distribution = formulas.sigma(block), DISTRIBUTION.read(document, block, _TABLE)
    if table is not None:
        measurements = table.of(block, sigma, t0, t1)
    else:
        measurements = of_block(reader, block, sigma)
        times = [item.time for item in measurements]
        if any(not a < b for a, b in pairwise(times)) or times[0] < t0 or times[-1] > t1:
            raise document.error(f"the times of '{text}' must increase and lie between t0 and t1.", _TABLE, "times")
    found = Observable(formulas.observed(text), text, sigma, distribution, measurements)
    sigmas = [to_double(item.sigma) for item in measurements if item.sigma is not None]
    if any(not _LEAST_SIGMA < value < 1 / _LEAST_SIGMA for value in sigmas):
        raise document.error(f"each sigma of '{text}' must be positive.", _TABLE, "sigma")
    if found.is_logarithmic and any(item.value <= 0 for item in measurements):
        cure = "Take the distribution normal, or leave them out."
        raise document.error(f"values of '{text}' must be positive to have a logarithm.", _TABLE, "distribution", cure)
    return found


def times_of(reader: Reader, observables: Sequence[Observable], t0: Node, t1: Node) -> tuple[Node, ...]:
    """The saved times: all at which something was measured after the start, and the end.

    Raises:
        ProblemError: two of them are the same except for rounding.
    """
    found = {item.time for observable in observables for item in observable.measurements} | {t1}
    times = tuple(sorted(found - {t0}, key=to_double))
    for a, b in pairwise(map(to_double, (t0, *times))):
        if b - a <= _SAME_TIME * max(abs(a), abs(b)):
            raise reader.document.error(
                f"the times {a!r} and {b!r} of observables are the same except for rounding.", _TABLE, "times",
                "Write them the same.",
            )  # fmt: skip
    return times
