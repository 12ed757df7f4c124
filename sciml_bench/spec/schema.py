"""The JSON Schema of problem files for editors, assembled from the tables that the loader checks."""

from __future__ import annotations

from sciml_bench.spec.keys import A_NUMBER, EXPRESSION, NUMBERS, TEXT, Schema
from sciml_bench.spec.load import SPEC, SUITE, TIME, TOP_KEYS
from sciml_bench.spec.tables.algebraic import ALGEBRAIC
from sciml_bench.spec.tables.batch import BATCH
from sciml_bench.spec.tables.conditions import CONDITIONS
from sciml_bench.spec.tables.control import CONTROL
from sciml_bench.spec.tables.declarations import GRID, PARAMETER, STATE
from sciml_bench.spec.tables.events import EVENT
from sciml_bench.spec.tables.identity import IDENTITY
from sciml_bench.spec.tables.latent import DATA
from sciml_bench.spec.tables.loss import LOSS
from sciml_bench.spec.tables.measurements import MEASUREMENTS
from sciml_bench.spec.tables.networks import NETWORK
from sciml_bench.spec.tables.observables import OBSERVABLE
from sciml_bench.spec.tables.published import PUBLISHED, PUBLISHED_GRADIENT
from sciml_bench.spec.tables.training import TRAINING


def problem_schema() -> Schema:
    """The schema as a JSON-serialisable value."""
    either = [{"required": ["data", "times"]}, {"required": ["brownian"]}]
    known: dict[str, Schema] = {
        "spec": {"const": SPEC},
        **IDENTITY.schema["properties"],
        "suite": SUITE.schema,
        "time": TIME.schema,
        "constants": _each({"anyOf": [NUMBERS, _rows_of(A_NUMBER)]}),
        "parameters": _each({"anyOf": [NUMBERS, PARAMETER.schema]}),
        "grids": _each(GRID.schema),
        "networks": _each(NETWORK.schema),
        "data": DATA.schema,
        "encoding": _each(EXPRESSION),
        "conditions": CONDITIONS.schema,
        "control": _each({**CONTROL.schema, "oneOf": either}),
        "states": {**_each({"anyOf": [A_NUMBER, STATE.schema]}), "minProperties": 1},
        "definitions": _each({"anyOf": [EXPRESSION, _rows_of(EXPRESSION)]}),
        "equations": {**_each(EXPRESSION), "minProperties": 1},
        "algebraic": _each(ALGEBRAIC.schema),
        "events": _each(EVENT.schema),
        "implicit": _each(EXPRESSION),
        "invariants": _each(EXPRESSION),
        "exact": _each(EXPRESSION),
        "loss": LOSS.schema,
        "observables": {"type": "array", "items": OBSERVABLE.schema},
        "measurements": MEASUREMENTS.schema,
        "batch": BATCH.schema,
        "training": TRAINING.schema,
        "published": {"type": "array", "items": PUBLISHED.schema},
        "published_gradient": {"type": "array", "items": PUBLISHED_GRADIENT.schema},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "sciml-bench problem",
        "description": "A differential equation, written once for every framework.",
        "type": "object",
        "additionalProperties": False,
        "required": ["spec", "name", "title", "time", "states", "equations"],
        "properties": {key: known.get(key, TEXT) for key in TOP_KEYS},
    }


def _each(values: Schema) -> Schema:
    """A table whose keys are names of the file's own."""
    return {"type": "object", "additionalProperties": values}


def _rows_of(entry: Schema) -> Schema:
    """A matrix, row by row."""
    return {"type": "array", "items": {"type": "array", "items": entry}}
