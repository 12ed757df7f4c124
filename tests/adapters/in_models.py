"""Run in a process of its own: how the framework MODELS_ADAPTER runs models, as one JSON object of findings.

With MODELS_ALL also what takes long. Each finding is the point, the training or the end that a worker tells of a cell.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from stubs.models import model

from sciml_bench.adapters.base import calls_of
from sciml_bench.adapters.registry import adapter
from sciml_bench.host.processes.process import Clock
from sciml_bench.measure.protocol import End, Event, PointDone, TrainingDone
from sciml_bench.measure.worker import measure
from sciml_bench.models import truth
from sciml_bench.models.emit import source_of
from sciml_bench.models.model import Model
from sciml_bench.record.codec import encode
from sciml_bench.record.task import Cell, Sampling, Task

CELLS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "torch": (
        ("every-kind", "eager", "float64"), ("flat", "eager", "float64"), ("text", "eager", "float64"),
        ("small-images", "eager", "float64"),
    ),
    "jax": (("every-kind", "jit", "float64"), ("flat", "jit", "float64"), ("text", "jit", "float64")),
    "keras": (("every-kind", "graph", "float64"), ("flat", "eager", "float64"), ("text", "eager", "float64")),
    "onnxruntime": (("every-kind", "graph", "float32"), ("flat", "graph", "float32"), ("text", "graph", "float32")),
}  # fmt: skip


def task(found: Model, name: str, mode: str, precision: str, device: str = "cpu") -> Task:
    """A short task of a model, with its reference."""
    declared = adapter(name)
    cell = Cell(found.name, name, "network", declared.sensitivities[0], mode, precision, device)
    return Task(
        cell=cell,
        program=declared.program,
        source=source_of(found, declared.target),
        numbers=found.numbers(),
        points=found.points,
        sampling=Sampling(1, 3, 0.0, 3, 1e-6),
        seed=3,
        threads=1,
        error_bound=0.0,
        gradient_error_bound=0.0,
        training=found.training if declared.sensitivities[0] == "reverse" else None,
        learning=found.learning(truth.compute(found)),
        calls=calls_of(cell),
    )


def told(work: Task) -> dict[str, Any]:
    """What a worker tells of a task that has travelled as JSON."""
    found: dict[str, Any] = {"points": [], "training": None}

    def keep(event: Event) -> None:
        if isinstance(event, PointDone) and event.complete:
            found["points"].append(encode(event.result))
        elif isinstance(event, TrainingDone) and event.complete:
            found["training"] = encode(event.result)
        elif isinstance(event, End):
            found["end"] = dataclasses.asdict(event)

    measure(Task.from_json(work.to_json()), keep, Clock(), 300.0)
    return found


def main(name: str) -> None:
    """Print the findings of one adapter."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        # What JAX compiles takes long: by default one model with nearly every kind of layer.
        cells = CELLS[name][:1] if name == "jax" and "MODELS_ALL" not in os.environ else CELLS[name]
        for what, mode, precision in cells:
            found[what] = told(task(model(Path(folder), what), name, mode, precision))
        flat = model(Path(folder), "flat")
        found["gpu"] = told(task(flat, name, CELLS[name][1][1], "float32", "gpu"))
        if name in ("jax", "keras"):
            # The gate is one for all; what these compile takes long.
            print(json.dumps(found))
            return
        other = model(Path(folder), "flat", ("seed = 2", "seed = 5"))
        wrong = task(flat, name, CELLS[name][1][1], "float32")
        found["wrong"] = told(dataclasses.replace(wrong, learning=flat.learning(truth.compute(other))))
    print(json.dumps(found))


if __name__ == "__main__":
    main(os.environ["MODELS_ADAPTER"])
