"""Loads a model of the conventional track: every table in order, everything checked, nothing guessed."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sciml_bench.errors import StoreError
from sciml_bench.models import weights as initial
from sciml_bench.models.building import Builder
from sciml_bench.models.model import Layer, Model, walk
from sciml_bench.record.jsonl import leads_outside
from sciml_bench.record.model_task import LOSSES, DataSet, Slot
from sciml_bench.record.task import CONVENTIONAL as SUITE
from sciml_bench.record.task import Training
from sciml_bench.record.text import printable
from sciml_bench.spec import catalog
from sciml_bench.spec.literature import Source
from sciml_bench.spec.model import to_double
from sciml_bench.spec.network import hash_of
from sciml_bench.spec.reader import MAX_BYTES, Document, Reader
from sciml_bench.spec.tables.training import MAX_TRAINING_STEPS, load_optimiser

if TYPE_CHECKING:
    from sciml_bench.spec.model import Problem


# The ``[data]`` table: a data set of the catalog with its split, or synthetic tensors of a stated shape.

SET_KEYS = ("set", "held_out", "seed", "positions")
SYNTHETIC_KEYS = ("shape", "classes", "size", "held_out", "seed")
MAX_SAMPLES = 1_000_000
MAX_SEED = 2**32 - 1
_TABLE = "data"


def load_data(document: Document) -> DataSet:
    """The data set that the ``[data]`` table names, with its split."""
    data = document.table(_TABLE, required=True)
    if "set" not in data:
        return _synthetic(document, data)
    document.known_keys(data, SET_KEYS, _TABLE)
    told, folder = _told(document, document.string(data, "set", _TABLE))
    size, shape, classes = told.get("size", 0), tuple(told.get("shape", ())), told.get("classes", 0)
    if told["kind"] == "text":
        positions = document.integer(data, "positions", _TABLE, 2, 65_536)
        shape, classes = (positions,), len(told["characters"])
        size = (told["size"] - 1) // positions
    elif "positions" in data:
        raise document.error("'positions' belongs to data sets of text.", _TABLE, "positions", "Remove it.")
    held_out = document.integer(data, "held_out", _TABLE, 1, size - 1)
    return DataSet(
        name=told["name"], kind=told["kind"], path=str(folder / told["file"]), sha256=told["sha256"],
        version=told["version"], source=told["source"], licence=told["licence"], input_shape=shape, classes=classes,
        scale=float(told.get("scale", 1)), size=size, held_out=held_out, seed=_seed(document, data),
    )  # fmt: skip


def _told(document: Document, name: str) -> tuple[dict[str, Any], Path]:
    """The catalog's entry of a data set, and the folder of its file."""
    folder = catalog.folder() / "data"
    known = {path.stem: path for path in sorted(folder.glob("*.json"))}
    if name not in known:
        raise document.error(f"unknown data set '{name}'.", _TABLE, "set", f"One of {', '.join(known)}.")
    try:
        return json.loads(known[name].read_text(encoding="utf-8")), folder
    except (OSError, ValueError) as error:
        raise StoreError(f"{known[name]} cannot be read: {error}; reinstall sciml-bench") from None


def _synthetic(document: Document, data: dict[str, Any]) -> DataSet:
    document.known_keys(data, SYNTHETIC_KEYS, _TABLE)
    shape = data.get("shape")
    if not isinstance(shape, list) or len(shape) not in (2, 3):
        cure = "As in [3, 32, 32] for images, [64, 128] for tokens."
        raise document.error("'shape' must be a list of two or three sizes.", _TABLE, "shape", cure)
    sizes = tuple(document.integer({"shape": size}, "shape", _TABLE, 1, 65_536) for size in shape)
    size = document.integer(data, "size", _TABLE, 2, MAX_SAMPLES)
    return DataSet(
        name="synthetic", kind="synthetic", path="", sha256="", version="NumPy's RandomState, standard normal",
        source="drawn from the seed", licence="none needed", input_shape=sizes,
        classes=document.integer({"classes": 0, **data}, "classes", _TABLE, 0, 65_536), scale=1.0, size=size,
        held_out=document.integer({"held_out": 1, **data}, "held_out", _TABLE, 1, size - 1),
        seed=_seed(document, data),
    )  # fmt: skip


def _seed(document: Document, data: dict[str, Any]) -> int:
    return document.integer({"seed": 0, **data}, "seed", _TABLE, 0, MAX_SEED)


SPEC = 1
TIERS = ("smoke", "quick", "standard", "rigorous", "heavy")
TOP_KEYS = (
    "spec", "name", "title", "suite", "tags", "tier", "description", "source", "data", "weights", "layers", "loss",
    "batches", "training",
)  # fmt: skip
WEIGHT_KEYS = ("seed", "file", "sha256")
TRAINING_KEYS = (
    "optimiser", "learning_rate", "beta1", "beta2", "epsilon", "decay", "weight_decay", "steps", "batch", "seed",
    "every", "target", "accuracy",
)  # fmt: skip
MAX_BATCH = 65_536
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
    name, tier = _identity(document)
    data = load_data(document)
    builder = Builder(document, data.classes if data.kind == "text" else 0)
    layers = builder.layers(document.data.get("layers"), data.input_shape, top=True)
    loss = _loss(document, data, layers)
    slots = tuple(slot for layer in walk(layers) for slot in layer.slots)
    weights = _weights(document, slots)
    return Model(
        name=name, title=document.string(document.data, "title", ""), suite=SUITE, tier=tier,
        tags=_strings(document, "tags"), description=document.string(document.data, "description", "", "").strip(),
        source=_source(document), data=data, layers=layers, weights=weights, loss=loss,
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


def _identity(document: Document) -> tuple[str, str]:
    name = document.string(document.data, "name", "")
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,60}", name):
        raise document.error(f"'{name}' cannot be a problem's name.", "", "name", "Use a-z, 0-9 and hyphens.")
    tier = document.string(document.data, "tier", "", "standard")
    if tier not in TIERS:
        raise document.error(f"'{tier}' is not a tier.", "", "tier", f"One of {', '.join(TIERS)}.")
    return name, tier


def _strings(document: Document, key: str) -> tuple[str, ...]:
    values = document.data.get(key, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise document.error(f"'{key}' must be a list of strings.", "", key)
    return tuple(map(printable, values))


def _source(document: Document) -> Source:
    data = document.table("source")
    document.known_keys(data, ("citation", "url", "note"), "source")
    return Source(*(document.string(data, key, "source", "") for key in ("citation", "url", "note")))


def _loss(document: Document, data: DataSet, layers: tuple[Layer, ...]) -> str:
    table = document.table("loss", required=True)
    document.known_keys(table, ("kind",), "loss")
    kind = document.string(table, "kind", "loss")
    if kind not in LOSSES:
        raise document.error(f"'{kind}' is not a loss of a model.", "loss", "kind", f"One of {', '.join(LOSSES)}.")
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
    document.known_keys(table, WEIGHT_KEYS, "weights")
    if "file" in table:
        weights = _from_file(document, document.string(table, "file", "weights"), slots)
    else:
        weights = initial.drawn(slots, document.integer({"seed": 0, **table}, "seed", "weights", 0, 2**32 - 1))
    found, stated = hash_of(weights), document.string(table, "sha256", "weights", "")
    if stated and stated != found:
        cure = "If the layers, the file or the seed were changed on purpose, put in the new hash."
        raise document.error(f"the weights have the hash {found}, not the one stated.", "weights", "sha256", cure)
    return weights


def _from_file(document: Document, name: str, slots: tuple[Slot, ...]) -> tuple[float, ...]:
    if Path(name).name != name or not name.endswith(".npz"):
        cure = "Name a .npz file in the folder of this file, without any path."
        raise document.error(f"'{name}' cannot be a file of weights.", "weights", "file", cure)
    path = document.path.parent / name
    if leads_outside(path, document.path):
        cure = "Put the file itself there."
        raise document.error(f"{name} is a link out of the folder of this file.", "weights", "file", cure)
    try:
        return initial.read(path, slots)
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
    whole = [document.integer({"batches": size}, "batches", "", 1, most) for size in sizes]
    if any(a >= b for a, b in pairwise(whole)):
        raise document.error("'batches' must increase.", "", "batches")
    return tuple(whole)


def _training(document: Document, data: DataSet) -> Training | None:
    if "training" not in document.data:
        return None
    table, reader = document.table("training"), Reader(document)
    document.known_keys(table, TRAINING_KEYS, "training")
    most = data.size - data.held_out
    targets = {key: _positive(reader, table, key) for key in ("target", "accuracy") if key in table}
    if targets.get("accuracy", 0.0) > 1:
        raise document.error("'accuracy' is a share, at most 1.", "training", "accuracy")
    return Training(
        steps=document.integer(table, "steps", "training", 1, MAX_TRAINING_STEPS), rtol=0.0, atol=0.0,
        batch=document.integer(table, "batch", "training", 1, min(MAX_BATCH, most)),
        batch_seed=document.integer({"seed": 0, **table}, "seed", "training", 0, 2**32 - 1),
        every=document.integer({"every": 10, **table}, "every", "training", 1, MAX_TRAINING_STEPS),
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


# Whatever a file declares: an equation or a model, each by its own loader.


def load_declared(path: Path) -> Problem | Model:
    """Load and check a file.

    Raises:
        ProblemError: anything about the file is wrong; the message says what, in which line, and how to fix it.
    """
    from sciml_bench.spec.load import load_problem

    return load_model(path) if is_model_file(path) else load_problem(path)
