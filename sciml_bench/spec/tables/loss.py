"""Loads what a problem's gradients are of: its loss, and the data that it is compared with."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from sciml_bench.spec.batch import Given
from sciml_bench.spec.keys import A_NUMBER, CSV, EXPRESSION, NUMBERS, TEXT, Choice, Key, Schema, Table, number_key
from sciml_bench.spec.language.expression import Scope
from sciml_bench.spec.language.operators import Node, Shape, describe
from sciml_bench.spec.literature import Published, PublishedGradient
from sciml_bench.spec.model import Loss, Problem, State, labels, to_double
from sciml_bench.spec.reader import Reader
from sciml_bench.spec.table import read_table, table_name
from sciml_bench.spec.tables.fit import SQUARES
from sciml_bench.spec.tables.loss_at_start import term_at_start, with_start
from sciml_bench.spec.tables.observables import LIKELIHOOD

# Loads published digits of solutions and gradients.

MOST_DIGITS = 60
_COUNT: Schema = {"type": "integer", "minimum": 1, "maximum": MOST_DIGITS}
_T, _SOURCE = number_key("t", required=True), Key("source", TEXT, required=True)
_VALUES = Key("values", {"type": "object", "additionalProperties": A_NUMBER, "minProperties": 1}, required=True)
_DIGITS = Key("digits", {"anyOf": [_COUNT, {"type": "object", "additionalProperties": _COUNT}]}, required=True)
PUBLISHED = Table(_T, _VALUES, _DIGITS, _SOURCE)
PUBLISHED_GRADIENT = Table(_T, Key("of", TEXT, required=True), _VALUES, _DIGITS, _SOURCE)


def load_published(reader: Reader, problem: Problem) -> tuple[Published, ...]:
    """The ``[[published]]`` blocks."""
    blocks = []
    for block in _blocks(reader, "published", PUBLISHED):
        t, values, source = _block(reader, "published", block, problem.state_labels)
        blocks.append(Published(t, values, source))
    return tuple(blocks)


def load_published_gradients(reader: Reader, problem: Problem) -> tuple[PublishedGradient, ...]:
    """The ``[[published_gradient]]`` blocks; theta is a parameter ``k1`` or an initial value ``y1(0)``."""
    known = (*problem.parameter_labels, *(f"{label}(0)" for label in problem.state_labels))
    blocks = []
    for block in _blocks(reader, "published_gradient", PUBLISHED_GRADIENT):
        of = reader.document.string(block, "of", "published_gradient")
        if of not in problem.state_labels:
            raise reader.document.error(f"'{of}' is not a component of the state.", "published_gradient", "of")
        t, values, source = _block(reader, "published_gradient", block, known)
        blocks.append(PublishedGradient(t, of, values, source))
    return tuple(blocks)


def _blocks(reader: Reader, table: str, keys: Table) -> list[dict[str, Any]]:
    blocks = reader.document.data.get(table, [])
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise reader.document.error(f"'{table}' must be written as [[{table}]].", "", table)
    for block in blocks:
        keys.check(reader.document, block, table)
    return blocks


def _block(
    reader: Reader, table: str, block: dict[str, Any], known: tuple[str, ...]
) -> tuple[Node, dict[str, tuple[Node, float]], str]:
    document = reader.document
    t = reader.constant(block.get("t"), table, "t")
    given = block.get("values")
    if not isinstance(given, dict) or not given:
        raise document.error("'values' must be a table of component = number.", table, "values")
    values: dict[str, tuple[Node, float]] = {}
    for label, value in given.items():
        if label.replace(" ", "") not in known:
            raise document.error(f"'{label}' is not a component here.", table, "values")
        values[label.replace(" ", "")] = (reader.constant(value, table, "values"), _digits(reader, table, block, label))
    return t, values, document.string(block, "source", table)


def _digits(reader: Reader, table: str, block: dict[str, Any], label: str) -> float:
    digits = block.get("digits")
    if isinstance(digits, dict):
        digits = digits.get(label)
    if not isinstance(digits, int) or isinstance(digits, bool) or not 1 <= digits <= MOST_DIGITS:
        message = f"'digits' of '{label}' must be an integer from 1 to {MOST_DIGITS}."
        raise reader.document.error(message, table, "digits")
    return float(digits)


KINDS = (SQUARES, "sum_of_magnitudes", "sum", "cross_entropy", LIKELIHOOD)
KIND = Choice("kind", KINDS, "kind of loss", SQUARES)
LOSS = Table(
    KIND, Key("of", TEXT), Key("target", NUMBERS), Key("data", CSV), Key("label", TEXT), number_key("weight"),
    Key("at", {"enum": ["saved", "end"]}), Key("penalty", EXPRESSION),
)  # fmt: skip
_SAME_TIME = 1e-9
_Rows = tuple[tuple[float, ...], ...]


def load_loss(
    reader: Reader,
    states: tuple[State, ...],
    save_times: tuple[Node, ...],
    given: tuple[Given, ...] = (),
    observed: bool = False,
) -> Loss:
    """The declared loss; without one the sum of squares of the states over their scales.

    If it is of ``[[observables]]``, only its kind, weight and penalty are read.
    """
    document, data = reader.document, reader.document.table("loss")
    LOSS.check(document, data, "loss")
    kind = KIND.read(document, data, "loss")
    at = document.string(data, "at", "loss", "saved")
    if at not in ("saved", "end"):
        raise document.error("'at' must be saved or end.", "loss", "at")
    if "data" in data and "target" in data:
        raise document.error("a loss has a target or data, not both.", "loss", "target")
    weight = to_double(reader.constant(data.get("weight", 1), "loss", "weight"))
    if not weight > 0:
        raise document.error("'weight' must be positive.", "loss", "weight")
    if not observed and kind == LIKELIHOOD:
        raise document.error("a likelihood is of measurements: declare [[observables]].", "loss", "kind")
    for key in data if observed else ():
        if key not in ("weight", "penalty", "kind") or kind not in (SQUARES, LIKELIHOOD):
            cure = f"Remove '{key}'." if key != "kind" else f"Kinds are {SQUARES} and {LIKELIHOOD}."
            raise document.error("the loss is the sum of squares of [[observables]].", "loss", key, cure)
    if "of" in data and "data" in data:
        cure = "Name data of each trajectory as the target instead, see [data]."
        raise document.error("'data' is for losses of the states themselves.", "loss", "data", cure)
    start, rows, weights = _data(reader, data, states, save_times) if "data" in data else (None, (), ())
    shape, of = _observed(reader, data, states)
    n_observed = shape[0] if shape else 1
    target = _given_target(reader, data, given, shape, len(save_times) if at == "saved" else 0)
    loss = Loss(
        target=(0.0,) * n_observed if target else _target(reader, data, n_observed),
        scale=tuple(value for state in states for value in state.scale) if of is None else (1.0,) * n_observed,
        weight=weight,
        at=at,
        kind=kind,
        data=rows,
        weights=weights,
        of=of,
        given=target,
        label=_label(reader, data, kind, at, given, n_observed),
        penalty=_penalty(reader, data),
        texts={key: str(data[key]) for key in ("of", "penalty") if key in data},
    )
    if observed:
        return loss
    if at == "saved" and (start is not None or reader.saves_start):
        found = term_at_start(reader, loss, states, loss.target if start is None else start)
        loss = replace(loss, penalty=with_start(reader, loss, found))
    return loss


def _observed(reader: Reader, data: dict[str, Any], states: tuple[State, ...]) -> tuple[Shape, Node | None]:
    """The shape of what the loss looks at, and its expression; without one the flat state."""
    if "of" not in data:
        return (sum(state.size for state in states),), None
    known = {"constants", "parameters", "states"}
    names = {name: typed for name, typed in reader.scope.names.items() if reader.declared_in.get(name) in known}
    scope = Scope(names, reader.scope.operators, reader.scope.used)
    typed = reader.expression(data["of"], "loss", "of", scope)
    if len(typed.shape) > 1 or not typed.expr.free_symbols & {symbol for s in states for symbol in _symbols(s, reader)}:
        cure = 'As in `of = "decode(z)"`, with z a state.'
        raise reader.document.error("'of' must be a number or a vector that depends on the state.", "loss", "of", cure)
    return typed.shape, typed.expr


def _symbols(state: State, reader: Reader) -> set[Node]:
    return reader.scope.names[state.name].expr.free_symbols


def _given_target(reader: Reader, data: dict[str, Any], given: tuple[Given, ...], observed: Shape, n_times: int) -> str:
    """The name of the data of each trajectory that are the target; empty if the targets are numbers."""
    target = data.get("target")
    found = next((quantity for quantity in given if quantity.name == target), None)
    if found is None:
        return ""
    wanted = (n_times, *observed) if n_times else observed
    if found.shape != wanted:
        cure = f"The loss looks at {describe(observed)} {f'at {n_times} saved times' if n_times else 'at the end'}."
        message = f"'{found.name}' is a {describe(found.shape)}, but the target is a {describe(wanted)}."
        raise reader.document.error(message, "loss", "target", cure)
    return found.name


def _label(reader: Reader, data: dict[str, Any], kind: str, at: str, given: tuple[Given, ...], n_classes: int) -> str:
    document = reader.document
    if kind != "cross_entropy":
        if "label" in data:
            raise document.error("'label' belongs to the kind cross_entropy.", "loss", "label", "Remove it.")
        return ""
    if at != "end" or "target" in data or "data" in data:
        cure = 'Write `at = "end"` and `label = "…"`; a cross-entropy has neither target nor data.'
        raise document.error("cross_entropy is taken at the end, of a label.", "loss", "kind", cure)
    name = document.string(data, "label", "loss")
    found = next((quantity for quantity in given if quantity.name == name), None)
    if found is None or found.shape:
        known = ", ".join(quantity.name for quantity in given if not quantity.shape) or "nothing is declared"
        cure = f"Numbers of each trajectory: {known}."
        raise document.error(f"'{name}' is not a number among [data].", "loss", "label", cure)
    if n_classes < 2:
        raise document.error("a cross-entropy needs scores of two classes or more.", "loss", "of")
    for line, (value,) in enumerate(found.rows, start=2):
        if value != int(value) or not 0 <= value < n_classes:
            cure = f"Labels are whole numbers from 0 to {n_classes - 1}, as many as there are scores."
            raise document.error(f"line {line} of the data: the label is {value:g}.", "loss", "label", cure)
    reader.scope.used.add(name)
    return name


def _penalty(reader: Reader, data: dict[str, Any]) -> Node | None:
    if "penalty" not in data:
        return None
    typed = reader.expression(data["penalty"], "loss", "penalty", reader.outer_scope())
    if typed.shape or typed.expr.is_number:
        cure = "It is one number for each trajectory, which theta decides."
        raise reader.document.error("'penalty' must be a scalar that depends on theta.", "loss", "penalty", cure)
    return typed.expr


def _target(reader: Reader, data: dict[str, Any], n_observed: int) -> tuple[float, ...]:
    given = data.get("target", 0)
    target = reader.constants(given if isinstance(given, list) else [given], "loss", "target")
    if len(target) not in (1, n_observed):
        raise reader.document.error(f"'target' must be one number, or {n_observed}.", "loss", "target")
    values = tuple(to_double(value) for value in target)
    return values if len(values) == n_observed else values * n_observed


def _data(
    reader: Reader, data: dict[str, Any], states: tuple[State, ...], save_times: tuple[Node, ...]
) -> tuple[tuple[float, ...] | None, _Rows, _Rows]:
    """The rows of the data file next to the problem: a column for the time and one for each component of the state.
    The row of t0 is separate, ``None`` without one; last are the weights of the entries, 0 for empty cells.
    """
    document = reader.document
    name = table_name(reader, document.string(data, "data", "loss"), "loss", "data")
    header, rows = read_table(reader, name, "loss", "data", gaps=True)
    wanted = ["t", *(label for state in states for label in labels(state.name, state.shape))]
    if header != wanted:
        shown = ", ".join(wanted[:8]) + (", …" if len(wanted) > 8 else "")
        raise document.error(f"the columns of {name} are {', '.join(header[:8])}; wanted: {shown}.", "loss", "data")
    first = to_double(reader.constant(document.table("time").get("t0", 0), "time", "t0"))
    start = rows.pop(0)[1:] if len(rows) == len(save_times) + 1 and rows[0][0] == first else None
    if start is not None:
        # It goes into the penalty.
        reader.files["loss at t0"] = start
    if len(rows) != len(save_times):
        cure = "It has a row for each saved time, in order, and if you like one for t0 before them."
        raise document.error(f"{name} has {len(rows)} rows for {len(save_times)} saved times.", "loss", "data", cure)
    for line, (row, time) in enumerate(zip(rows, save_times, strict=True), start=2):
        expected = to_double(time)
        if abs(row[0] - expected) > _SAME_TIME * max(abs(expected), 1e-300):
            raise document.error(f"{name}, line {line}: t is {row[0]!r}, the saved time {expected!r}.", "loss", "data")
    values = [row[1:] for row in rows]
    weights = [tuple(float(not math.isnan(value)) for value in row) for row in values]
    targets = tuple(tuple(0.0 if math.isnan(value) else value for value in row) for row in values)
    return start, targets, () if all(map(all, weights)) else tuple(weights)
