"""Loads what a problem's gradients are of: its loss, and the data that it is compared with."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from sciml_bench.spec.given import Given
from sciml_bench.spec.keys import CSV, EXPRESSION, NUMBERS, TEXT, Choice, Key, Table, number_key
from sciml_bench.spec.language.expression import Scope
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.language.shapes import Shape, describe
from sciml_bench.spec.model import Loss, labels, to_double
from sciml_bench.spec.quantities import State
from sciml_bench.spec.reader import Reader
from sciml_bench.spec.table import read_table, table_name
from sciml_bench.spec.tables.fit import SQUARES
from sciml_bench.spec.tables.loss_at_start import term_at_start, with_start
from sciml_bench.spec.tables.observables import LIKELIHOOD

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
    known = {"constants", "parameters", "states", "algebraic"}
    names = {
        name: typed
        for name, typed in reader.scope.names.items()
        if reader.declared_in.get(name, "").partition(".")[0] in known
    }
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
