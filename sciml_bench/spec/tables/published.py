"""Loads published digits of solutions and gradients."""

from __future__ import annotations

from typing import Any

from sciml_bench.spec.keys import A_NUMBER, TEXT, Key, Schema, Table, number_key
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.literature import Published, PublishedGradient
from sciml_bench.spec.model import Problem
from sciml_bench.spec.reader import Reader

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
