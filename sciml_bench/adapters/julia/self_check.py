"""Tries the parts of a Julia installation: a solve and (except for SUNDIALS) a gradient each, in a separate process.

Optional parts are tried once they were added, adapters of models by the gradient of a small model.

As a module it is that process: a task as JSON on standard input, one JSON object on standard output.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sciml_bench.adapters.julia.optional_parts import present
from sciml_bench.host.processes.parent import end_with_parent

if TYPE_CHECKING:
    from typing import Any

    from sciml_bench.adapters.julia.installation import Installation
    from sciml_bench.record.task import Task


# Each part and the cell that shows whether it works. ``forward`` is what everything else builds on.
PARTS = {
    "forward": ("rodas5p", "forward", "compiled"),
    "adjoint": ("tsit5", "gauss-reversediff", "compiled"),
    "zygote": ("tsit5", "gauss-zygote", "compiled"),
    "sundials": ("cvode_bdf", "gauss-reversediff", "in-place"),
    "enzyme": ("tsit5", "gauss-enzyme", "compiled"),
}
# Of packages that users may add.
OPTIONAL_PARTS = {"mooncake": ("rodas5p", "gauss-mooncake", "compiled")}
REQUIRED = "forward"
# The model by which optional parts are tried.
MODEL = "matrix-exponential"
# Its solves are of use where SciMLSensitivity's adjoints of them fail, which depends on the versions of both.
SOLVES_ONLY = ("sundials",)
TIMEOUT_S = 900.0
_LONGEST_MESSAGE = 300


def parts(installation: Installation, environment: Mapping[str, str], say: Callable[[str], None]) -> dict[str, str]:
    """Result of each part: empty if it works, otherwise a message. Ends early if the required part fails."""
    found: dict[str, str] = {}
    there = present(Path(installation.project))
    added = {part: cell for part, cell in OPTIONAL_PARTS.items() if part in there}
    for part, cell in {**PARTS, **added, **dict.fromkeys(_models(there))}.items():
        say(f"trying {part}: {'/'.join(cell or (MODEL,))} …")
        task = _task(cell, part not in SOLVES_ONLY) if cell else _model_task(part)
        found[part], seconds = _try(task, installation, environment)
        say(f"  {found[part] or f'works; its first calls took {seconds:.1f} s'}")
        if found[part] and part == REQUIRED:
            break
    return found


def _task(cell: tuple[str, str, str], gradient: bool) -> str:
    """A small problem with a known answer, as a worker takes it, and whether its gradient is taken, too."""
    from sciml_bench.adapters.conformance.suite import known_task
    from sciml_bench.adapters.julia import ADAPTER
    from sciml_bench.record.task import Cell

    # A part that did not work at the last trial is refused, and tried again.
    task = known_task(ADAPTER, Cell("trial", ADAPTER.name, *cell))
    return dataclasses.replace(task, options={"gradient": gradient}).to_json()


def _models(parts: Iterable[str]) -> tuple[str, ...]:
    """The optional parts that are adapters of models."""
    from sciml_bench.adapters.registry import adapter, names
    from sciml_bench.record.task import CONVENTIONAL

    return tuple(part for part in parts if part in names() and adapter(part).track == CONVENTIONAL)


def _model_task(part: str) -> str:
    """A small model, with its reference, for the adapter that has the part's name."""
    from sciml_bench.adapters.registry import adapter
    from sciml_bench.models.emit import architecture_source
    from sciml_bench.models.load import load_model
    from sciml_bench.models.truth import known_or_computed
    from sciml_bench.record.task import Cell, Sampling, Task
    from sciml_bench.spec import catalog

    declared, model = adapter(part), load_model(catalog.path(MODEL))
    way = (declared.methods[0].name, declared.sensitivities[0], declared.modes[0])
    return Task(
        cell=Cell(MODEL, part, *way, "float32", "cpu"),
        program=declared.program,
        source=architecture_source(model, declared.target),
        numbers=model.numbers(),
        points=model.points,
        sampling=Sampling(warm_up_calls=1, steady_calls=3, steady_s=0.0, max_steady_calls=3, perturbation=0.0),
        seed=0,
        threads=1,
        error_bound=0.0,
        gradient_error_bound=0.0,
        learning=model.learning(known_or_computed(model, lambda _line: None)),
        options={"gradient": True},
    ).to_json()


def _try(task: str, installation: Installation, environment: Mapping[str, str]) -> tuple[str, float]:
    from sciml_bench.adapters.julia.installation import worker_variables

    root = str(Path(__file__).resolve().parents[3])
    path = os.pathsep.join(filter(None, (root, environment.get("PYTHONPATH", ""))))
    variables = {**environment, **worker_variables(installation), "PYTHONPATH": path}
    command = [sys.executable, "-m", "sciml_bench.adapters.julia.self_check"]
    try:
        done = subprocess.run(
            command, input=task, capture_output=True, text=True, errors="replace", env=variables, timeout=TIMEOUT_S,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"no answer within {TIMEOUT_S:g} s", TIMEOUT_S
    if done.returncode < 0:
        return f"Julia was ended by signal {signal.Signals(-done.returncode).name}", 0.0
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        return readable(last[0]), 0.0
    told = json.loads(done.stdout.splitlines()[-1])
    return told["message"], told["seconds"]


def readable(message: str) -> str:
    """The first line of Julia's message in whole words; the types of a MethodError's arguments can fill a page."""
    line = message.splitlines()[0]
    if "MethodError" in line:
        line = re.sub(r"\(::.*", "(…)", line)
    return line if len(line) <= _LONGEST_MESSAGE else f"{line[:_LONGEST_MESSAGE].rsplit(' ', 1)[0]} …"


def main() -> None:
    """Build the task's program, solve and differentiate once, and report the result."""
    text = sys.stdin.read()
    # Julia comes before NumPy and all else.
    module, _, name = json.loads(text)["program"].partition(":")
    program = getattr(importlib.import_module(module), name)
    import numpy as np

    from sciml_bench.record.task import Task

    task = Task.from_json(text)
    start = time.perf_counter()
    try:
        built = program(task)
        point = task.points[-1]
        if task.learning is None:
            inputs = built.prepare(np.array(task.numbers.theta), point)
        else:
            inputs = built.prepare_samples(np.arange(point.batch or 1), point)
        built.read_solution(built.solve(inputs))
        message = ""
        if task.options["gradient"]:
            message = _compared(built.read_gradient(built.gradient(inputs)).gradient, task)
    # Whatever Julia raises is the answer to the question.
    except Exception as error:
        message = readable(f"{type(error).__name__}: {error}")
    print(json.dumps({"message": message, "seconds": time.perf_counter() - start}))


def _compared(found: Any, task: Task) -> str:
    """Empty when the gradient is the expected one."""
    import numpy as np

    if task.learning is not None:
        found, expected = _slopes(found, task)
    else:
        assert task.reference is not None
        expected = np.array(task.reference.gradient)
    error = float(np.linalg.norm(found - expected) / np.linalg.norm(expected))
    return "" if error < 1e-3 else f"the gradient is off by {error:.1e}"


def _slopes(gradient: Any, task: Task) -> tuple[Any, Any]:
    """A model's gradient, and its reference's slopes of the loss along the reference's directions."""
    import numpy as np

    from sciml_bench.models.directions import directions

    assert task.learning is not None
    truth = task.learning.truth
    assert truth is not None
    found = [gradient @ direction for direction in directions(len(gradient), truth.direction_seed)]
    return np.array(found), np.array(truth.slopes)[:, : task.points[-1].batch].mean(axis=1)


if __name__ == "__main__":
    end_with_parent()
    main()
