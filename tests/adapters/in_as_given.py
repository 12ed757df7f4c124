"""Run in a process of its own: gradients of functions as they were given, beside the emitted code's by SciPy.

Prints one JSON object: for each function and recommended way the relative error of the gradient.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

from sciml_bench.adapters.as_given import adapter_of
from sciml_bench.adapters.base import Adapter
from sciml_bench.adapters.scipy import ADAPTER as SCIPY
from sciml_bench.emit import source
from sciml_bench.importing.importer import library_of, of_source
from sciml_bench.planning.problems import PlannedProblem, entry_named
from sciml_bench.record.task import Cell, Point, Sampling, Task

FUNCTIONS = {
    "numpy": {
        "dict": "p = {'b': 2.0, 'a': 1.5, 'unused': 7.0}\ny0 = [1.0, 0.5]\n\n"
        "def f(t, y, p):\n    return [-p['a']*y[0], p['a']*y[0] - p['b']*y[1]*np.cos(t)]\n",
        "vector": "p = [1.5, 2.0]\ny0 = np.array([1.0, 0.5])\n\n"
        "def f(y, t, p):\n    return np.array([-p[0]*y[0], p @ y - 3*y[1]])\n",
        "one in a vector": "p = (0.7,)\ny0 = [1.0, 0.5]\n\n"
        "def rate(k, x):\n    return k*x\n\n"
        "def f(t, y, k):\n    print('called')\n    return np.array([-rate(k, y[0]), rate(k, y[0]) - y[1]])\n",
        "matrix": "p = (0.5,)\ny0 = np.array([[1.0, 0.5], [0.2, 0.1]])\n\ndef f(t, y, a):\n    return -a*y @ y\n",
        "no parameters": "y0 = [1.0, 0.5]\n\n"
        "def f(t, y):\n    u, v = y\n    return {'u': -u, 'v': u**2 - v}\n",
    },
    "jax": {
        "vector": "p = [1.5, 2.0]\ny0 = [1.0, 0.5]\n\n"
        "def f(t, y, args):\n    return jnp.stack([-args[0]*y[0], jnp.dot(args, y) - 3*y[1]])\n",
        "tuple": "p = (1.5, 2.0)\ny0 = [1.0, 0.5]\n\n"
        "def f(t, y, args):\n    a, b = args\n    u, v = y\n    return jnp.array([-a*u, a*u - b*jnp.sin(t)*v])\n",
    },
    "torch": {
        "vector": "p = [1.5, 2.0]\ny0 = [1.0, 0.5]\n\n"
        "def f(t, y, p):\n    return torch.stack([-p[0]*y[0], p[0]*y[0] - p[1]*y[1]])\n",
        "separate": "p = (1.5, 2.0)\ny0 = torch.tensor([1.0, 0.5])\n\n"
        "def f(t, y, a, b):\n    return torch.stack([-a*y[0], a*y[0] - b*y[1]*torch.cos(t)])\n",
        "dict": "p = {'a': 1.5, 'b': 2.0}\ny0 = [1.0, 0.5]\n\n"
        "def f(t, y, p):\n    u, v = y\n    return torch.stack([-p['a']*u, u*v - p['b']*v])\n",
    },
}  # fmt: skip
IMPORTS = {"numpy": "import numpy as np", "jax": "import jax.numpy as jnp", "torch": "import torch"}


def gradient(entry: PlannedProblem, adapter: Adapter, cell: Cell, rtol: float) -> np.ndarray:
    problem, point = entry.problem, Point(rtol, rtol)
    task = Task(
        cell=cell, program=adapter.program, source=source(problem, adapter.target_of(cell)), numbers=problem.numbers(),
        points=(point,), sampling=Sampling(1, 1, 1, 1, 0.0), seed=0, threads=1, error_bound=1, gradient_error_bound=1,
        theta=problem.theta, options=dict(adapter.options),
    )  # fmt: skip
    module, _, build = adapter.program.partition(":")
    program = getattr(importlib.import_module(module), build)(task)
    output = program.gradient(program.prepare(np.array(task.numbers.theta), point))
    program.synchronise(output)
    return program.read_gradient(output).gradient


def main(library: str) -> None:
    errors: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FUNCTIONS[library].items():
            path = Path(folder) / f"{name.replace(' ', '_')}.py"
            path.write_text(f"{IMPORTS[library]}\n\nt_span = (0, 2)\n{text}", encoding="utf-8")
            named = f"{path}:f"
            problem = path.with_suffix(".toml")
            problem.write_text(of_source(named), encoding="utf-8")
            entry = entry_named(str(problem))
            adapter = adapter_of(str(path), "f", library_of(named))
            cells = [
                Cell(entry.name, adapter.name, way.method, way.sensitivity, way.mode, saving=way.saving)
                for way in adapter.recipes(entry.facts)
            ]
            tight = Cell(entry.name, "scipy", "dop853", "forward", "eager")
            truth = gradient(entry, SCIPY, tight, 1e-11)
            for cell in dict.fromkeys(cells):
                assert adapter.why_not(cell, entry.facts) is None or cell.saving != "default"
                found = gradient(entry, adapter, cell, 1e-10)
                errors[f"{name}: {cell.solver}"] = float(np.linalg.norm(found - truth) / np.linalg.norm(truth))
    print(json.dumps(errors))


if __name__ == "__main__":
    main(sys.argv[1])
