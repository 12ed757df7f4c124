"""Loads what a problem's gradients are of: its loss, and the data that it is held against."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

from sciml_bench.problem.model import Loss, State, labels, to_double
from sciml_bench.problem.operators import Node
from sciml_bench.problem.reader import Reader

LOSS_KEYS = ("kind", "target", "data", "weight", "at")
KINDS = ("sum_of_squares", "sum_of_magnitudes", "sum")
MAX_DATA_BYTES = 10_000_000
_SAME_TIME = 1e-9


def load_loss(reader: Reader, states: tuple[State, ...], save_times: tuple[Node, ...]) -> Loss:
    """The declared loss; without one the sum of squares of the states over their scales."""
    document, data = reader.document, reader.document.table("loss")
    document.known_keys(data, LOSS_KEYS, "loss")
    kind = document.string(data, "kind", "loss", "sum_of_squares")
    if kind not in KINDS:
        raise document.error(f"'{kind}' is no kind of loss.", "loss", "kind", f"One of {', '.join(KINDS)}.")
    at = document.string(data, "at", "loss", "saved")
    if at not in ("saved", "end"):
        raise document.error("'at' must be saved or end.", "loss", "at")
    if "data" in data and "target" in data:
        raise document.error("a loss has a target or data, not both.", "loss", "target")
    weight = to_double(reader.constant(data.get("weight", 1), "loss", "weight"))
    if not weight > 0:
        raise document.error("'weight' must be positive.", "loss", "weight")
    return Loss(
        target=_target(reader, data, sum(state.size for state in states)),
        scale=tuple(value for state in states for value in state.scale),
        weight=weight,
        at=at,
        kind=kind,
        data=_data(reader, data, states, save_times) if "data" in data else (),
    )


def _target(reader: Reader, data: dict[str, Any], n_states: int) -> tuple[float, ...]:
    given = data.get("target", 0)
    target = reader.constants(given if isinstance(given, list) else [given], "loss", "target")
    if len(target) not in (1, n_states):
        raise reader.document.error(f"'target' must be one number, or {n_states}.", "loss", "target")
    values = tuple(to_double(value) for value in target)
    return values if len(values) == n_states else values * n_states


def _data(
    reader: Reader, data: dict[str, Any], states: tuple[State, ...], save_times: tuple[Node, ...]
) -> tuple[tuple[float, ...], ...]:
    """The rows of the data file beside the problem: a column for the time and one for each component of the state."""
    document = reader.document
    name = document.string(data, "data", "loss")
    if Path(name).name != name or not name.endswith(".csv"):
        cure = "Name a .csv file in the folder of the problem file, without any path."
        raise document.error(f"'{name}' cannot be a data file.", "loss", "data", cure)
    header, rows = _read(reader, document.path.with_name(name))
    wanted = ["t", *(label for state in states for label in labels(state.name, state.shape))]
    if header != wanted:
        shown = ", ".join(wanted[:8]) + (", …" if len(wanted) > 8 else "")
        raise document.error(f"the columns of {name} are {', '.join(header[:8])}; wanted: {shown}.", "loss", "data")
    if len(rows) != len(save_times):
        cure = "It has a row for each saved time, in order; the initial state is not among them."
        raise document.error(f"{name} has {len(rows)} rows for {len(save_times)} saved times.", "loss", "data", cure)
    for line, (row, time) in enumerate(zip(rows, save_times, strict=True), start=2):
        expected = to_double(time)
        if abs(row[0] - expected) > _SAME_TIME * max(abs(expected), 1e-300):
            raise document.error(f"{name}, line {line}: t is {row[0]!r}, the saved time {expected!r}.", "loss", "data")
    return tuple(row[1:] for row in rows)


def _read(reader: Reader, path: Path) -> tuple[list[str], list[tuple[float, ...]]]:
    document = reader.document
    try:
        if path.stat().st_size > MAX_DATA_BYTES:
            raise document.error(f"{path.name} is larger than {MAX_DATA_BYTES} bytes.", "loss", "data")
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise document.error(f"{path.name} cannot be read: {error.strerror}.", "loss", "data") from None
    except UnicodeDecodeError as error:
        raise document.error(f"{path.name} is not UTF-8 text (byte {error.start}).", "loss", "data") from None
    table = [[cell.strip() for cell in row] for row in csv.reader(lines)]
    if not table:
        raise document.error(f"{path.name} is empty.", "loss", "data", "Its first line names the columns: t, ….")
    header, rows = table[0], []
    for line, cells in enumerate(table[1:], start=2):
        if len(cells) != len(header):
            raise document.error(
                f"{path.name}, line {line}: {len(cells)} values for {len(header)} columns.", "loss", "data"
            )
        rows.append(tuple(_number(reader, path.name, line, *pair) for pair in zip(header, cells, strict=True)))
    return header, rows


def _number(reader: Reader, name: str, line: int, column: str, text: str) -> float:
    if not text:
        cure = "Data must have no gaps: leave the row and its saved time out, or fill it in."
        raise reader.document.error(f"{name}, line {line}: '{column}' has no value.", "loss", "data", cure)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise reader.document.error(
            f"{name}, line {line}: '{column}' is '{text[:40]}', not a finite number.", "loss", "data"
        )
    return value
