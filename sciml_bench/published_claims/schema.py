"""The JSON Schema of claim files, built from the loader's own tables, for editors and their completion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sciml_bench.published_claims.claim import KINDS, LATER, NO_FIGURE, ONE_SIDE, QUANTITIES, SIDES
from sciml_bench.published_claims.conditions import (
    CONDITION_KEYS,
    CONDITIONS,
    TABLE,
    UNKNOWN_FACTOR,
    Mark,
    further_keys,
)
from sciml_bench.published_claims.load import (
    AGAINST,
    DEVICES,
    DRIFT_KEYS,
    FIGURE_KEYS,
    NEEDS_KEYS,
    SETTING_KEYS,
    SIDE_KEYS,
    SOURCE_KEYS,
    SPEC,
    TOP_KEYS,
)

Schema = dict[str, Any]

_STRING: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _STRING}
_RATIO: Schema = {"type": "number", "minimum": 1, "maximum": 1e9}
_TOLERANCE: Schema = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
_POSITIVE: Schema = {"type": "number", "exclusiveMinimum": 0}


def claim_schema() -> Schema:
    """The schema as plain JSON values."""
    tolerances: Schema = {"rtol": _TOLERANCE, "atol": _TOLERANCE}
    sides = {
        "published": _table(SIDE_KEYS, tolerances, SIDE_KEYS[:4]),
        "fair": _table(SIDE_KEYS, tolerances, SIDE_KEYS[:1]),
    }
    figure = _table(
        FIGURE_KEYS,
        {
            "quantity": {"enum": list(QUANTITIES)},
            "against": {"const": AGAINST},
            "ratio": _RATIO,
            "most": _RATIO,
            "within": _RATIO,
            "kind": {"enum": list(KINDS)},
            "factor": _RATIO,
            "digits": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 16},
            "derived": {"type": "boolean"},
        },
        ("says", "quantity"),
    )
    none: Schema = {"properties": {"kind": {"const": NO_FIGURE}}, "required": ["kind"]}
    figure["oneOf"] = [{"required": ["ratio"]}, {"required": ["within"]}, none]
    source = _table(SOURCE_KEYS, {"read": {"description": "the date on which the figure was read"}}, SOURCE_KEYS)
    needs = _table(
        NEEDS_KEYS,
        {"minutes": _POSITIVE, "memory_gib": _POSITIVE, "device": {"enum": list(DEVICES)}},
        ("minutes", "memory_gib"),
    )
    tables: Schema = {
        "claim": {"const": SPEC},
        "id": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9-]{0,40}$"},
        "traps": _TEXTS,
        "figure": figure,
        "source": source,
        "needs": needs,
        "environments": {"type": "object", "additionalProperties": _TEXTS},
        "published": {"type": "object"},
        "fair": {"type": "object"},
        TABLE: {"type": "object"},
        "drift": {"type": "array", "items": _table(DRIFT_KEYS, {}, DRIFT_KEYS)},
    }
    required = ("claim", "id", "title", "workload", "timed", "figure", "source", "needs", TABLE)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A published claim of sciml-bench",
        **_table(TOP_KEYS, tables, required),
        **_sides_of_the_figure(sides),
    }


def _conditions(sides: tuple[str, ...]) -> Schema:
    """Each with a mark; one that differs says how, what that does, and how it changes the ratio."""
    return _table(CONDITIONS, {name: _condition(further_keys(name, sides)) for name in CONDITIONS}, CONDITIONS)


def _condition(further: Mapping[str, tuple[str, ...]]) -> Schema:
    factor: Schema = {"anyOf": [{"type": "number", "exclusiveMinimum": 1}, {"const": UNKNOWN_FACTOR}]}
    known: Schema = {
        "mark": {"enum": [mark.value for mark in Mark]},
        "ratio": {"const": False},
        "larger": factor,
        "smaller": factor,
        **{key: {"enum": list(values)} if values else _STRING for key, values in further.items()},
    }
    effects = [{"required": [key]} for key in ("ratio", "larger", "smaller")]
    differs = {"properties": {"mark": {"const": Mark.DIFFERS.value}}}
    return {
        **_table((*CONDITION_KEYS, *further), known, ("mark", *further)),
        "if": differs,
        "then": {"required": ["source", "ours", "effect"], "anyOf": effects},
        "else": {"not": {"anyOf": [{"required": ["effect"]}, *effects]}},
    }


def _setting(side: Schema, names: tuple[str, ...]) -> Schema:
    known: Schema = {"set": {"type": "object"}, "notes": _TEXTS, **dict.fromkeys(names, side)}
    return _table((*SETTING_KEYS, *names), known, ("problem", *names))


def _sides_of_the_figure(sides: Mapping[str, Schema]) -> Schema:
    """First calls that are claimed against later ones have one side, all else has two."""

    def settings(names: tuple[str, ...]) -> Schema:
        found = {setting: _setting(side, names) for setting, side in sides.items()}
        return {"properties": {**found, TABLE: _conditions(names)}}

    quantity = {"quantity": {"enum": list(LATER)}}
    against = {"properties": {"figure": {"required": ["against"]}}}
    of_one = settings(ONE_SIDE)
    of_one["properties"]["figure"] = {"properties": quantity}
    return {"if": against, "then": of_one, "else": settings(SIDES)}


def _table(keys: tuple[str, ...], known: Schema, required: tuple[str, ...]) -> Schema:
    """A table of these keys; a key without a schema is a text."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": {key: known.get(key, _STRING) for key in keys},
    }
