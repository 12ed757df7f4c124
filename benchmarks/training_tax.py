"""What a step of our trainings costs over a hand-written training loop, and that both compute the same losses.

    python benchmarks/training_tax.py                  Diffrax with Optax, torchdiffeq with torch.optim
    python benchmarks/training_tax.py torchdiffeq      only this

One process a framework. Both train the problem spiral-node from the same weights, in turn and in random order, so that
the same steps are set against each other; the table shows the median ratio with its 95 % interval. Exit code 1 when a
median is above the bound.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
from typing import Any

# Also makes the package of this checkout the one that is measured.
from adapter_tax import CLOCKS, compare, show
from handwritten.training import ATOL, BETA1, BETA2, CASES, EPSILON, RATE, RTOL

PROBLEM = "spiral-node"
COMPARED_STEPS = 5
AGREEMENT = 1e-9


def main() -> int:
    """Print the table; the exit code says whether every median is within the bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("frameworks", nargs="*", help=f"any of {', '.join(CASES)}")
    parser.add_argument("--pairs", type=int, default=60, help="pairs of samples (default 60)")
    parser.add_argument("--row-s", type=float, default=60.0, help="most seconds a framework (default 60)")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu for a machine that is busy")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := set(options.frameworks) - set(CASES):
        parser.error(f"no such framework: {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    if options.worker:
        # What a framework prints goes to standard error.
        sys.stdout = sys.stderr
        print(json.dumps(measure(options)), file=sys.__stdout__, flush=True)
        return 0
    print(f"{'framework':<12} {'problem':<16} {'call':<9} {'ours ms':>9} {'by hand ms':>11} {'ratio':>7}  interval")
    within = [show(row_of(name, options)) for name in options.frameworks or CASES]
    return 0 if all(within) else 1


def row_of(framework: str, options: argparse.Namespace) -> dict[str, Any]:
    """The row of one framework, from a process of its own."""
    command = [sys.executable, __file__, framework, "--worker", f"--pairs={options.pairs}", f"--row-s={options.row_s}"]
    done = subprocess.run([*command, f"--clock={options.clock}"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return {"framework": framework, "error": f"its process died with code {done.returncode}"}
    return json.loads(done.stdout)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Worker side: both trainings step by step."""
    import numpy as np

    (framework,) = options.frameworks
    trainer, theta, data = ours(framework)
    by_hand = CASES[framework][3](np.asarray(theta), np.asarray(data))
    name = {"framework": framework, "problem": PROBLEM}

    def our_step() -> Any:
        output = trainer.step()
        trainer.synchronise(output)
        return output

    def hand_step() -> Any:
        return float(by_hand())

    pairs = [(trainer.read_loss(our_step()), hand_step()) for _ in range(COMPARED_STEPS)]
    if any(abs(mine - theirs) > AGREEMENT * abs(theirs) for mine, theirs in pairs):
        return {**name, "error": f"the losses differ: {pairs}"}
    return {**name, "call": "step", **compare(our_step, hand_step, options)}


def ours(framework: str) -> tuple[Any, tuple[float, ...], tuple[tuple[float, ...], ...]]:
    """Our trainer of the same cell, the weights that it starts from, and the data."""
    from sciml_bench.adapters import registry
    from sciml_bench.emit import source
    from sciml_bench.record.task import Cell, Sampling, Task, Training
    from sciml_bench.spec import catalog

    adapter, loaded = registry.adapter(framework), catalog.load(PROBLEM)
    training = Training("adam", RATE, 10**6, RTOL, ATOL, beta1=BETA1, beta2=BETA2, epsilon=EPSILON)
    task = Task(
        cell=Cell(PROBLEM, framework, *CASES[framework][:3]),
        program=adapter.program,
        source=source(loaded, adapter.target),
        numbers=loaded.numbers(),
        points=(training.point,),
        sampling=Sampling(warm_up_calls=1, steady_calls=1, steady_s=0.0, max_steady_calls=1, perturbation=0.0),
        seed=0,
        threads=1,
        error_bound=1.0,
        gradient_error_bound=1.0,
        training=training,
    )
    module, _, function = adapter.program.partition(":")
    program = getattr(importlib.import_module(module), function)(task)
    return program.trainer(training), task.numbers.theta, loaded.loss.data


if __name__ == "__main__":
    sys.exit(main())
