"""The JSON Schema of claim files, built from the loader's own tables, for editors and their completion."""

from __future__ import annotations

from collections.abc import Mapping

from sciml_bench.published_claims.claim import LATER, NO_FIGURE, ONE_SIDE, SIDES
from sciml_bench.published_claims.conditions import (
    CONDITION_KEYS,
    CONDITIONS,
    OF_FAIR,
    TABLE,
    UNKNOWN_FACTOR,
    Mark,
    further_keys,
)
from sciml_bench.published_claims.load import CLAIM, FIGURE, SETTING, SIDE
from sciml_bench.spec.keys import TEXT, Key, Schema, Table


def claim_schema() -> Schema:
    """The schema as plain JSON values."""
    none: Schema = {"properties": {"kind": {"const": NO_FIGURE}}, "required": ["kind"]}
    figure: Schema = {**FIGURE.schema, "oneOf": [{"required": ["ratio"]}, {"required": ["within"]}, none]}
    claim = CLAIM.schema
    claim["properties"]["figure"] = figure
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A published claim of sciml-bench",
        **claim,
        **_sides_of_the_figure(),
    }


def _conditions(sides: tuple[str, ...]) -> Schema:
    """Each with a mark; one that differs says how, what that does, and how it changes the ratio."""
    return Table(*(Key(name, _condition(further_keys(name, sides)), required=True) for name in CONDITIONS)).schema


def _condition(further: Mapping[str, tuple[str, ...]]) -> Schema:
    factor: Schema = {"anyOf": [{"type": "number", "exclusiveMinimum": 1}, {"const": UNKNOWN_FACTOR}]}
    known: Schema = {
        "mark": {"enum": [mark.value for mark in Mark]},
        "ratio": {"const": False},
        "larger": factor,
        "smaller": factor,
        **{key: {"enum": list(values)} for key, values in further.items() if values},
    }
    required = {"mark", *further}
    keys = (Key(key, known.get(key, TEXT), required=key in required) for key in (*CONDITION_KEYS, *further))
    effects = [{"required": [key]} for key in ("ratio", "larger", "smaller")]
    return {
        **Table(*keys).schema,
        "if": {"properties": {"mark": {"const": Mark.DIFFERS.value}}},
        "then": {"required": ["source", "ours", "effect"], "anyOf": effects},
        "else": {"not": {"anyOf": [{"required": ["effect"]}, *effects]}},
    }


def _sides_of_the_figure() -> Schema:
    """First calls that are claimed against later ones have one side, all else has two."""

    def settings(names: tuple[str, ...]) -> Schema:
        again = {"fair": [Key(TABLE, Table(*(Key(name, _condition({})) for name in OF_FAIR)).schema)]}
        tables = {
            setting: Table(
                *SETTING, *(Key(name, side.schema, required=True) for name in names), *again.get(setting, [])
            ).schema
            for setting, side in SIDE.items()
        }
        return {"properties": {**tables, TABLE: _conditions(names)}}

    of_one = settings(ONE_SIDE)
    of_one["properties"]["figure"] = {"properties": {"quantity": {"enum": list(LATER)}}}
    against = {"properties": {"figure": {"required": ["against"]}}}
    return {"if": against, "then": of_one, "else": settings(SIDES)}
