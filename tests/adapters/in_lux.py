"""Run in a process of its own: how the adapter of Lux runs models, as one JSON object of findings."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

# Julia comes before NumPy and all else.
import juliacall
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from adapters.in_models import task, told
from adapters.trainings import OPTIMISERS, first_theta, gradients
from stubs.models import TEXTS, model

from sciml_bench.adapters.julia.training import optimiser_numbers
from sciml_bench.models import truth

# Brings the module SciMLBenchLux.
from sciml_bench.models.emit import source_of
from sciml_bench.models.model import Model

julia: Any = juliacall.__dict__["Main"]

# One window, whose largest number comes last and is ≈ all others in single precision.
MAXIMA = """
source -> begin
    emitted = Base.include_string(SciMLBenchLux, "module Maxima $source\\nend\\n")
    x = reshape(Float32[0.9999, 0.99995, 0.9998, 1.0], 2, 2, 1, 1)
    Base.invokelatest() do
        _, back = emitted.ChainRulesCore.rrule(emitted.window_maxima, x, 2)
        vec(back(fill(3.0f0, 1, 1, 1, 1))[2])
    end
end
"""
STEPPED = """
(name, numbers, theta, gradients) -> begin
    package = SciMLBenchLux.Optimisers
    values = collect(Float64, theta)
    state = package.setup(SciMLBenchLux.rule_of(package, string(name), numbers), values)
    for gradient in gradients
        state, values = package.update!(state, values, collect(Float64, gradient))
    end
    values
end
"""


def formulas() -> dict[str, list[float]]:
    """Theta after steps of each optimiser with made-up gradients."""
    stepped = julia.seval(STEPPED)
    return {
        name: np.array(stepped(known.optimiser, optimiser_numbers(known), first_theta(), gradients())).tolist()
        for name, known in OPTIMISERS.items()
    }


def wrong(flat: Model, folder: Path) -> dict[str, Any]:
    """A model against another's reference, with another's source, and with source that is none."""
    work = task(flat, "lux", "compiled", "float32")
    other = model(folder, "flat", ("seed = 2", "seed = 5"))
    shorter = source_of(flat, "lux").replace("Dense(48 => 4),", "")
    return {
        "reference": told(dataclasses.replace(work, learning=flat.learning(truth.compute(other)))),
        "layers": told(dataclasses.replace(work, source=shorter)),
        "source": told(dataclasses.replace(work, source="build_model() = Chain(")),
    }


def main() -> None:
    """Print the findings."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what in TEXTS:
            found[what] = told(task(model(folder, what), "lux", "compiled", "float64"))
        flat = model(folder, "flat")
        found["single"] = told(task(flat, "lux", "compiled", "float32"))
        found["wrong"] = wrong(flat, folder)
        text = source_of(model(folder, "every-kind"), "lux")
        found["maxima"] = np.array(julia.seval(MAXIMA)(text)).tolist()
    # Julia makes the pipe non-blocking, which takes 64 KiB at once.
    os.set_blocking(sys.stdout.fileno(), True)
    print(json.dumps(found | {"formulas": formulas()}))


if __name__ == "__main__":
    main()
