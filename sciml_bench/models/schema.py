"""The JSON Schema of files of models, built from the loader's own tables, for editors and their completion."""

from __future__ import annotations

from sciml_bench.models.data_table import OF_CATALOG, SYNTHETIC
from sciml_bench.models.layer import KINDS
from sciml_bench.models.load import LOSS, MAX_BATCH, SPEC, SUITE, TOP_KEYS, TRAINING, WEIGHTS
from sciml_bench.spec.keys import Key, Schema, Table
from sciml_bench.spec.tables.identity import IDENTITY

_COUNT: Schema = {"type": "integer", "minimum": 1}
_BATCH: Schema = {**_COUNT, "maximum": MAX_BATCH}
_LAYERS: Schema = {"type": "array", "items": {"$ref": "#/$defs/layer"}, "minItems": 1}
_OF_LAYERS: dict[str, Schema] = {
    "padding": {"type": "integer", "minimum": 0}, "causal": {"type": "boolean"}, "layers": _LAYERS, "shortcut": _LAYERS,
}  # fmt: skip
# Every other key of a layer has to be there.
_OPTIONAL = ("stride", "padding", "causal", "shortcut")


def model_schema() -> Schema:
    """The schema as plain JSON values."""
    tables: dict[str, Schema] = {
        **IDENTITY.schema["properties"],
        "spec": {"const": SPEC},
        "suite": {"const": SUITE},
        "data": {"anyOf": [OF_CATALOG.schema, SYNTHETIC.schema]},
        "weights": WEIGHTS.schema,
        "layers": _LAYERS,
        "loss": LOSS.schema,
        "batches": {"type": "array", "items": _BATCH, "minItems": 1},
        "training": TRAINING.schema,
    }
    required = {"spec", "name", "title", "suite", "data", "layers", "loss"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "sciml-bench model",
        "description": "A model of the conventional track, declared once for every framework.",
        **Table(*(Key(key, tables[key], required=key in required) for key in TOP_KEYS)).schema,
        "$defs": {"layer": {"oneOf": [_layer(kind) for kind in KINDS]}},
    }


def _layer(kind: str) -> Schema:
    keys = (Key(key, _OF_LAYERS.get(key, _COUNT), required=key not in _OPTIONAL) for key in KINDS[kind])
    return Table(Key("kind", {"const": kind}, required=True), *keys).schema
