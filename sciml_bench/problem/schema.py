"""The JSON Schema of problem files, built from the loader's own tables, for editors and their completion."""

from __future__ import annotations

from typing import Any

from sciml_bench.problem.batch import MAX_BATCH
from sciml_bench.problem.batches import BATCH_KEYS
from sciml_bench.problem.control import BROWNIAN_KEYS, CONTROL_KEYS, INTERPOLATIONS
from sciml_bench.problem.latent import DATA_KEYS
from sciml_bench.problem.load import SOURCE_KEYS, SPEC, SUITES, TIERS, TIME_KEYS, TOP_KEYS
from sciml_bench.problem.loss import GRADIENT_KEYS, KINDS, LOSS_KEYS, PUBLISHED_KEYS
from sciml_bench.problem.network import ACTIVATIONS, DRAWS
from sciml_bench.problem.networks import DRAW_KEYS, MAX_WIDTH, NETWORK_KEYS, NETWORK_KINDS
from sciml_bench.problem.quantities import BOUNDARIES, GRID_KEYS, STATE_KEYS
from sciml_bench.problem.training import MAX_TRAINING_STEPS, OPTIMISERS, REQUIRED_KEYS, TRAINING_KEYS

Schema = dict[str, Any]

_NUMBER: Schema = {"type": ["number", "string"], "description": "a number, or an expression in quotes"}
_NUMBERS: Schema = {"anyOf": [_NUMBER, {"type": "array", "items": _NUMBER, "minItems": 1}]}
_EXPRESSION: Schema = {"type": ["number", "string"], "description": "an expression of names declared above"}
_STRING: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 1}
_SAVE: Schema = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "spacing": {"enum": ["linear", "log"]},
        "first": _NUMBER,
        "count": {"type": "integer", "minimum": 2},
        "times": {"type": "array", "items": _NUMBER, "minItems": 1},
    },
}
_DRAW: Schema = {
    "type": "object",
    "additionalProperties": False,
    "required": ["draw"],
    "properties": dict(zip(DRAW_KEYS, ({"enum": list(DRAWS)}, _NUMBER), strict=True)),
}
_WIDTH: Schema = {"type": "integer", "minimum": 1, "maximum": MAX_WIDTH}
_KINDS: dict[str, Schema] = {
    "spec": {"const": SPEC}, "suite": {"enum": list(SUITES)}, "tier": {"enum": list(TIERS)},
    "tags": {"type": "array", "items": _STRING}, "name": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,60}$"},
    "title": _STRING, "heavy": _STRING, "description": _STRING, "citation": _STRING, "url": _STRING, "note": _STRING,
    "t0": _NUMBER, "t1": _NUMBER, "save": _SAVE, "breakpoints": {"type": "array", "items": _NUMBER},
    "points": {"type": "integer", "minimum": 3}, "first": _NUMBER, "last": _NUMBER, "step": _NUMBER,
    "boundary": {"enum": list(BOUNDARIES)}, "boundary_value": _EXPRESSION,
    "initial": _NUMBERS, "size": _COUNT, "grid": {"type": "array", "items": _STRING}, "scale": _NUMBERS,
    "atol_scale": _NUMBERS, "kind": {"enum": list(KINDS)},
    "data": {"type": "string", "pattern": "\\.csv$"}, "target": _NUMBERS, "weight": _NUMBER,
    "at": {"enum": ["saved", "end"]}, "t": _NUMBER, "of": _STRING,
    "values": {"type": "object", "additionalProperties": _NUMBER, "minProperties": 1},
    "digits": {"anyOf": [_COUNT, {"type": "object", "additionalProperties": _COUNT}]}, "source": _STRING,
    "inputs": _WIDTH, "layers": {"type": "array", "items": _WIDTH, "minItems": 1},
    "activation": {"enum": list(ACTIVATIONS)}, "last_activation": {"enum": list(ACTIVATIONS)}, "weights": _DRAW,
    "biases": _DRAW, "seed": {"type": "integer", "minimum": 0},
    "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    "pointwise": {"type": "boolean"}, "reverse": {"type": "boolean"}, "label": _STRING, "penalty": _EXPRESSION,
    "file": {"type": "string", "pattern": "\\.csv$"}, "columns": {"type": "array", "items": _STRING},
    "optimiser": {"enum": list(OPTIMISERS)},
    "steps": {"type": "integer", "minimum": 1, "maximum": MAX_TRAINING_STEPS},
    **dict.fromkeys(("learning_rate", "beta1", "beta2", "epsilon", "decay", "weight_decay", "rtol", "atol"), _NUMBER),
}  # fmt: skip


def schema() -> Schema:
    """The schema as a JSON-serialisable value."""
    state = {"anyOf": [_NUMBER, _object(STATE_KEYS, required=("initial",))]}
    tables: dict[str, Schema] = {
        "source": _object(SOURCE_KEYS),
        "time": _object(TIME_KEYS, required=("t1",)),
        "constants": _open({"anyOf": [_NUMBERS, {"type": "array", "items": {"type": "array", "items": _NUMBER}}]}),
        "parameters": _open(_NUMBERS),
        "grids": _open(_object(GRID_KEYS, required=("points", "first", "last", "boundary"))),
        "networks": _open(_network()),
        "data": _object(DATA_KEYS, required=("file",)),
        "encoding": _open(_EXPRESSION),
        "control": _open(_control()),
        "states": {**_open(state), "minProperties": 1},
        "definitions": _open(_EXPRESSION),
        "equations": {**_open(_EXPRESSION), "minProperties": 1},
        "implicit": _open(_EXPRESSION),
        "invariants": _open(_EXPRESSION),
        "exact": _open(_EXPRESSION),
        "loss": _object(LOSS_KEYS),
        "batch": _batch(),
        "training": _training(),
        "published": {"type": "array", "items": _object(PUBLISHED_KEYS, required=PUBLISHED_KEYS)},
        "published_gradient": {"type": "array", "items": _object(GRADIENT_KEYS, required=GRADIENT_KEYS)},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "sciml-bench problem",
        "description": "A differential equation, written once for every framework.",
        "type": "object",
        "additionalProperties": False,
        "required": ["spec", "name", "title", "time", "states", "equations"],
        "properties": {key: tables.get(key, _KINDS.get(key, _STRING)) for key in TOP_KEYS},
    }


def _training() -> Schema:
    """The target of a training is one loss, where that of a loss is one number or as many as the state has."""
    table = _object(TRAINING_KEYS, required=REQUIRED_KEYS)
    return {**table, "properties": {**table["properties"], "target": _NUMBER}}


def _network() -> Schema:
    """The kind of a network is another word than that of a loss."""
    table = _object(NETWORK_KEYS, required=("inputs", "layers"))
    return {**table, "properties": {**table["properties"], "kind": {"enum": list(NETWORK_KINDS)}}}


def _control() -> Schema:
    """Its data are a series, not a file; a Brownian motion is drawn and has none."""
    interpolation = {"enum": list(INTERPOLATIONS)}
    numbers = dict(zip(BROWNIAN_KEYS, (_COUNT, {"type": "integer", "minimum": 2}, _KINDS["seed"]), strict=True))
    motion = {"type": "object", "additionalProperties": False, "properties": numbers}
    motion["required"] = ["channels", "steps"]
    times = {"type": "array", "items": _NUMBER}
    kinds = dict(zip(CONTROL_KEYS, (_STRING, times, interpolation, motion, _KINDS["sha256"]), strict=True))
    either = [{"required": ["data", "times"]}, {"required": ["brownian"]}]
    return {"type": "object", "additionalProperties": False, "properties": kinds, "oneOf": either}


def _batch() -> Schema:
    """A table of its own: its size is a number of trajectories."""
    size = {"type": "integer", "minimum": 1, "maximum": MAX_BATCH}
    kinds = dict(zip(BATCH_KEYS, (size, _NUMBER, _KINDS["seed"], _KINDS["tags"]), strict=True))
    return {"type": "object", "additionalProperties": False, "properties": kinds, "required": ["size"]}


def _object(keys: tuple[str, ...], required: tuple[str, ...] = ()) -> Schema:
    value: Schema = {"type": "object", "additionalProperties": False, "properties": {key: _KINDS[key] for key in keys}}
    return {**value, "required": list(required)} if required else value


def _open(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}
