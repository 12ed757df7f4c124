"""The ``[data]`` table: a data set of the catalog with its split, or synthetic tensors of a stated shape."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from sciml_bench.errors import StoreError
from sciml_bench.record.model_task import DataSet
from sciml_bench.spec import catalog
from sciml_bench.spec.document import Document
from sciml_bench.spec.keys import Key, Schema, Table, Text, Whole, seed_key

MAX_SAMPLES = 1_000_000
MAX_SIZE = 65_536
_TABLE = "data"

_POSITIONS = Whole("positions", 2, MAX_SIZE)
_HELD_OUT = partial(Whole, "held_out", 1, MAX_SAMPLES)
_SIZES: Schema = {
    "type": "array", "items": {"type": "integer", "minimum": 1, "maximum": MAX_SIZE}, "minItems": 2, "maxItems": 3,
}  # fmt: skip
_SIZE = Whole("size", 2, MAX_SAMPLES, required=True)
_CLASSES = Whole("classes", 0, MAX_SIZE, 0)
OF_CATALOG = Table(Text("set"), _HELD_OUT(required=True), seed_key(), _POSITIONS)
SYNTHETIC = Table(Key("shape", _SIZES, required=True), _CLASSES, _SIZE, _HELD_OUT(), seed_key())


def load_data(document: Document) -> DataSet:
    """The data set that the ``[data]`` table names, with its split."""
    data = document.table(_TABLE, required=True)
    if "set" not in data:
        return _synthetic(document, data)
    OF_CATALOG.check(document, data, _TABLE)
    told, folder = _told(document, document.string(data, "set", _TABLE))
    size, shape, classes = told.get("size", 0), tuple(told.get("shape", ())), told.get("classes", 0)
    if told["kind"] == "text":
        positions = _POSITIONS.read(document, data, _TABLE)
        shape, classes = (positions,), len(told["characters"])
        size = (told["size"] - 1) // positions
    elif "positions" in data:
        raise document.error("'positions' belongs to data sets of text.", _TABLE, "positions", "Remove it.")
    held_out = Whole("held_out", 1, size - 1).read(document, data, _TABLE)
    return DataSet(
        name=told["name"], kind=told["kind"], path=str(folder / told["file"]), sha256=told["sha256"],
        version=told["version"], source=told["source"], licence=told["licence"], input_shape=shape, classes=classes,
        scale=float(told.get("scale", 1)), size=size, held_out=held_out, seed=seed_key().read(document, data, _TABLE),
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
    SYNTHETIC.check(document, data, _TABLE)
    shape = data.get("shape")
    if not isinstance(shape, list) or len(shape) not in (2, 3):
        cure = "As in [3, 32, 32] for images, [64, 128] for tokens."
        raise document.error("'shape' must be a list of two or three sizes.", _TABLE, "shape", cure)
    sizes = tuple(Whole("shape", 1, MAX_SIZE).read(document, {"shape": size}, _TABLE) for size in shape)
    size = _SIZE.read(document, data, _TABLE)
    return DataSet(
        name="synthetic", kind="synthetic", path="", sha256="", version="NumPy's RandomState, standard normal",
        source="drawn from the seed", licence="none needed", input_shape=sizes,
        classes=_CLASSES.read(document, data, _TABLE), scale=1.0, size=size,
        held_out=Whole("held_out", 1, size - 1, 1).read(document, data, _TABLE),
        seed=seed_key().read(document, data, _TABLE),
    )  # fmt: skip
