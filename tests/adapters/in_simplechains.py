"""Run in a process of its own: how the adapter of SimpleChains runs models, as one JSON object of findings."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

# Julia comes before NumPy and all else.
import juliacall  # noqa: F401

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from adapters.in_models import task, told
from stubs.models import SMALL, model

from sciml_bench.adapters.simplechains.program import SimpleChainsProgram
from sciml_bench.models import truth
from sciml_bench.models.emit import source_of
from sciml_bench.models.model import Model


def wrong(small: Model, folder: Path) -> dict[str, Any]:
    """A model against another's reference, with another's source, and with source that is none."""
    work = task(small, "simplechains", "compiled", "float64")
    other = model(folder, "perceptron", ("seed = 2", "seed = 5"))
    shorter = source_of(small, "simplechains").replace("TurboDense(identity, 3),", "TurboDense(identity, 4),")
    return {
        "reference": told(dataclasses.replace(work, learning=small.learning(truth.compute(other)))),
        "layers": told(dataclasses.replace(work, source=shorter)),
        "source": told(dataclasses.replace(work, source="build_model() = SimpleChain(")),
    }


def held(small: Model) -> dict[str, Any]:
    """Outputs of two calls, read after both: what SimpleChains returns lies in memory that it uses again."""
    program = SimpleChainsProgram(task(small, "simplechains", "compiled", "float64"))
    rows = program.samples.train
    one, other = (
        program.place(program.samples.inputs[part], program.samples.labels[part]) for part in (rows[:3], rows[3:])
    )
    first = program.solve(one)
    alone = program.outputs(first).tolist()
    program.solve(other)
    return {"alone": alone, "after": program.outputs(first).tolist()}


def main() -> None:
    """Print the findings."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what in SMALL:
            found[what] = told(task(model(folder, what), "simplechains", "compiled", "float64"))
        perceptron = model(folder, "perceptron")
        found["single"] = told(task(perceptron, "simplechains", "compiled", "float32"))
        found["wrong"] = wrong(perceptron, folder)
        found["held"] = held(perceptron)
    # Julia makes the pipe non-blocking, which takes 64 KiB at once.
    os.set_blocking(sys.stdout.fileno(), True)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
