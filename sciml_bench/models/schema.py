"""The JSON Schema of files of models, built from the loader's own tables, for editors and their completion."""

from __future__ import annotations

from typing import Any

from sciml_bench.models.data_table import MAX_SAMPLES, MAX_SEED, SET_KEYS, SYNTHETIC_KEYS
from sciml_bench.models.layer import KINDS
from sciml_bench.models.load import MAX_BATCH, SPEC, SUITE, TIERS, TOP_KEYS, TRAINING_KEYS, WEIGHT_KEYS
from sciml_bench.record.model_task import LOSSES
from sciml_bench.spec.tables.training import MAX_TRAINING_STEPS, OPTIMISERS

Schema = dict[str, Any]

_STRING: Schema = {"type": "string"}
_NUMBER: Schema = {"type": ["number", "string"], "description": "a number, or an expression in quotes"}
_COUNT: Schema = {"type": "integer", "minimum": 1}
_SEED: Schema = {"type": "integer", "minimum": 0, "maximum": MAX_SEED}
_SAMPLES: Schema = {**_COUNT, "maximum": MAX_SAMPLES}
_BATCH: Schema = {**_COUNT, "maximum": MAX_BATCH}
_LAYERS: Schema = {"type": "array", "items": {"$ref": "#/$defs/layer"}, "minItems": 1}
_OF_LAYERS: dict[str, Schema] = {
    "padding": {"type": "integer", "minimum": 0}, "causal": {"type": "boolean"}, "layers": _LAYERS, "shortcut": _LAYERS,
}  # fmt: skip
# Every other key of a layer has to be there.
_OPTIONAL = ("stride", "padding", "causal", "shortcut")
_OF_DATA: dict[str, Schema] = {
    "set": _STRING, "held_out": _COUNT, "seed": _SEED, "positions": {"type": "integer", "minimum": 2},
    "shape": {"type": "array", "items": _COUNT, "minItems": 2, "maxItems": 3}, "classes": _COUNT, "size": _SAMPLES,
}  # fmt: skip
_OF_TRAINING: dict[str, Schema] = {
    "optimiser": {"enum": list(OPTIMISERS)}, "steps": {**_COUNT, "maximum": MAX_TRAINING_STEPS}, "batch": _BATCH,
    "seed": _SEED, "every": {**_COUNT, "maximum": MAX_TRAINING_STEPS},
}  # fmt: skip


def model_schema() -> Schema:
    """The schema as plain JSON values."""
    tables: dict[str, Schema] = {
        "spec": {"const": SPEC},
        "name": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,60}$"},
        "suite": {"const": SUITE},
        "tags": {"type": "array", "items": _STRING},
        "tier": {"enum": list(TIERS)},
        "source": _table(("citation", "url", "note"), {}),
        "data": {"anyOf": [_table(SET_KEYS, _OF_DATA, ("set",)), _table(SYNTHETIC_KEYS, _OF_DATA, ("shape",))]},
        "weights": _weights(),
        "layers": _LAYERS,
        "loss": _table(("kind",), {"kind": {"enum": list(LOSSES)}}, ("kind",)),
        "batches": {"type": "array", "items": _BATCH, "minItems": 1},
        "training": _table(
            TRAINING_KEYS,
            {key: _OF_TRAINING.get(key, _NUMBER) for key in TRAINING_KEYS},
            ("optimiser", "learning_rate", "steps", "batch"),
        ),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "sciml-bench model",
        "description": "A model of the conventional track, declared once for every framework.",
        **_table(TOP_KEYS, tables, ("spec", "name", "title", "suite", "data", "layers", "loss")),
        "$defs": {"layer": {"oneOf": [_layer(kind) for kind in KINDS]}},
    }


def _layer(kind: str) -> Schema:
    keys = KINDS[kind]
    known = {"kind": {"const": kind}, **{key: _OF_LAYERS.get(key, _COUNT) for key in keys}}
    return _table(("kind", *keys), known, ("kind", *(key for key in keys if key not in _OPTIONAL)))


def _weights() -> Schema:
    sha256 = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
    return _table(WEIGHT_KEYS, {"seed": _SEED, "file": {"type": "string", "pattern": r"\.npz$"}, "sha256": sha256})


def _table(keys: tuple[str, ...], known: dict[str, Schema], required: tuple[str, ...] = ()) -> Schema:
    """A table of these keys; a key without a schema is a text."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": {key: known.get(key, _STRING) for key in keys},
    }
