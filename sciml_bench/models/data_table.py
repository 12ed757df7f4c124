"""The ``[data]`` table: a data set of the catalog with its split, or synthetic tensors of a stated shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sciml_bench.errors import StoreError
from sciml_bench.record.model_task import DataSet
from sciml_bench.spec import catalog
from sciml_bench.spec.document import Document

if TYPE_CHECKING:
    pass


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
