"""Loads a model of the conventional track: every table in order, everything checked, nothing guessed."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

from sciml_bench.models.building import Builder
from sciml_bench.models.data_table import load_data
from sciml_bench.models.layer import Layer, walk
from sciml_bench.models.model import Model
from sciml_bench.models.weights import drawn_weights, read_weights
from sciml_bench.record.jsonl import leads_outside
from sciml_bench.record.model_task import LOSSES, DataSet, Slot
from sciml_bench.record.task import CONVENTIONAL as SUITE
from sciml_bench.record.task import Training
from sciml_bench.spec.document import MAX_BYTES, Document
from sciml_bench.spec.initial_weights import hash_of
from sciml_bench.spec.keys import SHA256, Choice, Key, Table, Text, Whole, number_key, seed_key
from sciml_bench.spec.model import to_double
from sciml_bench.spec.reader import Reader
from sciml_bench.spec.tables.identity import load_identity
from sciml_bench.spec.tables.training import MAX_TRAINING_STEPS, OF_OPTIMISERS, OPTIMISER, STEPS, load_optimiser

SPEC = 1
MAX_BATCH = 65_536
TOP_KEYS = (
    "spec", "name", "title", "suite", "tags", "tier", "description", "source", "data", "weights", "layers", "loss",
    "batches", "training",
)  # fmt: skip
LOSS = Table(Choice("kind", LOSSES, "loss of a model", required=True))
_FILE = Text(
    "file", "", r"[^/\\]+\.npz", "a file of weights", "Name a .npz file in the folder of this file, without any path."
)
WEIGHTS = Table(seed_key(), _FILE, Key("sha256", SHA256))
_EVERY = Whole("every", 1, MAX_TRAINING_STEPS, 10)
TRAINING = Table(
    OPTIMISER, number_key("learning_rate", required=True), *map(number_key, OF_OPTIMISERS), STEPS,
    Whole("batch", 1, MAX_BATCH, required=True), seed_key(), _EVERY, number_key("target"), number_key("accuracy"),
)  # fmt: skip
_MATHEMATICAL = ("spec", "layers", "loss")


def load_model(path: Path | str) -> Model:
    """Load and check the file of a model.

    Raises:
        ProblemError: anything about the file is wrong; the message says what, in which line, and how to fix it.
    """
    document = Document.read(Path(path))
    document.known_keys(document.data, TOP_KEYS, "")
    if document.data.get("spec") != SPEC:
        raise document.error(f"'spec' must be {SPEC}.", "", "spec", f"Write `spec = {SPEC}` in the first line.")
    identity, data = load_identity(document), load_data(document)
    builder = Builder(document, data.classes if data.kind == "text" else 0)
    layers = builder.layers(document.data.get("layers"), data.input_shape, top=True)
    loss = _loss(document, data, layers)
    slots = tuple(slot for layer in walk(layers) for slot in layer.slots)
    weights = _weights(document, slots)
    return Model(
        **identity, suite=SUITE, data=data, layers=layers, weights=weights, loss=loss,
        batches=_batches(document, data), training=_training(document, data),
        spec_hash=_spec_hash(document, data, weights), path=str(path),
    )  # fmt: skip


def is_model_file(path: Path) -> bool:
    """Return whether a file declares a model of this track; a file that cannot be read does not."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return False
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return re.search(rf"""(?m)^\s*suite\s*=\s*["']{SUITE}["']""", text) is not None


def _loss(document: Document, data: DataSet, layers: tuple[Layer, ...]) -> str:
    table = document.table("loss", required=True)
    kind = LOSS.read(document, table, "loss")["kind"]
    if not layers:
        raise document.error("there are no layers.", "", "layers", "Add [[layers]] tables.")
    output = layers[-1].output
    wanted = (*data.input_shape, data.classes) if data.kind == "text" else (data.classes,)
    if kind == "cross_entropy" and output != wanted:
        shapes = f"shape {output}, the cross entropy of this data set needs logits of shape {wanted}"
        raise document.error(f"the last layer's output has {shapes}.", "loss", "kind", "Change the last layer.")
    return kind


def _weights(document: Document, slots: tuple[Slot, ...]) -> tuple[float, ...]:
    table = document.table("weights")
    values = WEIGHTS.read(document, table, "weights")
    file, stated = values["file"], document.string(table, "sha256", "weights", "")
    weights = _from_file(document, file, slots) if file else drawn_weights(slots, values["seed"])
    found = hash_of(weights)
    if stated and stated != found:
        cure = "If the layers, the file or the seed were changed on purpose, put in the new hash."
        raise document.error(f"the weights have the hash {found}, not the one stated.", "weights", "sha256", cure)
    return weights


def _from_file(document: Document, name: str, slots: tuple[Slot, ...]) -> tuple[float, ...]:
    path = document.path.parent / name
    if leads_outside(path, document.path):
        cure = "Put the file itself there."
        raise document.error(f"{name} is a link out of the folder of this file.", "weights", "file", cure)
    try:
        return read_weights(path, slots)
    except OSError as error:
        raise document.error(f"{path} cannot be read: {error.strerror or error}.", "weights", "file") from None
    except ValueError as error:
        cure = "Save it with numpy.savez, one array for each of the model's weights."
        raise document.error(f"{path} does not fit the model: {error}.", "weights", "file", cure) from None


def _batches(document: Document, data: DataSet) -> tuple[int, ...]:
    sizes = document.data.get("batches", [1])
    most = min(MAX_BATCH, data.size - data.held_out)
    if not isinstance(sizes, list) or not sizes:
        raise document.error("'batches' must be a list of sizes.", "", "batches", "As in [1, 64].")
    whole = [Whole("batches", 1, most).read(document, {"batches": size}, "") for size in sizes]
    if any(a >= b for a, b in pairwise(whole)):
        raise document.error("'batches' must increase.", "", "batches")
    return tuple(whole)


def _training(document: Document, data: DataSet) -> Training | None:
    if "training" not in document.data:
        return None
    table, reader = document.table("training"), Reader(document)
    TRAINING.check(document, table, "training")
    most = min(MAX_BATCH, data.size - data.held_out)
    targets = {key: _positive(reader, table, key) for key in ("target", "accuracy") if key in table}
    if targets.get("accuracy", 0.0) > 1:
        raise document.error("'accuracy' is a share, at most 1.", "training", "accuracy")
    return Training(
        steps=STEPS.read(document, table, "training"), rtol=0.0, atol=0.0,
        batch=Whole("batch", 1, most).read(document, table, "training"),
        batch_seed=seed_key().read(document, table, "training"), every=_EVERY.read(document, table, "training"),
        **targets,
        **load_optimiser(reader, table),
    )  # fmt: skip


def _positive(reader: Reader, table: dict[str, Any], key: str) -> float:
    value = to_double(reader.constant(table[key], "training", key))
    if not value > 0:
        raise reader.document.error(f"'{key}' must be positive.", "training", key)
    return value


def _spec_hash(document: Document, data: DataSet, weights: tuple[float, ...]) -> str:
    """SHA-256 of what decides outputs, loss and gradient: layers, data with their split, and weights."""
    of_data = {
        key: value for key, value in dataclasses.asdict(data).items() if key not in ("path", "source", "licence")
    }
    content = {
        **{key: document.data[key] for key in _MATHEMATICAL if key in document.data},
        "data": of_data,
        "weights": hash_of(weights),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()
