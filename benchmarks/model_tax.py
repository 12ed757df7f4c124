"""What a training step of our models costs over hand-written code of each framework, on the same losses.

    python benchmarks/model_tax.py                 LeNet and the GPT in PyTorch, JAX, Keras and, where it is, Lux
    python benchmarks/model_tax.py torch           only this

One process a framework and model. Both train from the same weights on the same batch, in turn and in random order, so
that the same steps are set against each other; the table shows the median ratio with its 95 % interval. Exit code 1
when a median is above the bound.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
from typing import Any

# Also makes the package of this checkout the one that is measured.
from adapter_tax import CLOCKS, compare, show

FRAMEWORKS = {"torch": "eager", "jax": "jit", "keras": "graph", "lux": "compiled"}
PROBLEMS = ("lenet-digits", "gpt-text")
COMPARED_STEPS = 3
# Single precision; what is computed in another order drifts apart, and Keras's own epsilon stands elsewhere.
AGREEMENT = 1e-3


def main() -> int:
    """Print the table; the exit code says whether every median is within the bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("frameworks", nargs="*", help=f"any of {', '.join(FRAMEWORKS)}")
    parser.add_argument("--problem", action="append", default=[], choices=PROBLEMS, help="only this; may be repeated")
    parser.add_argument("--pairs", type=int, default=60, help="pairs of samples (default 60)")
    parser.add_argument("--row-s", type=float, default=60.0, help="most seconds a row (default 60)")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu for a machine that is busy")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := set(options.frameworks) - set(FRAMEWORKS):
        parser.error(f"no such framework: {', '.join(sorted(unknown))}; there are {', '.join(FRAMEWORKS)}")
    if options.worker:
        # What a framework prints goes to standard error.
        sys.stdout = sys.stderr
        print(json.dumps(measure(options)), file=sys.__stdout__, flush=True)
        return 0
    print(f"{'framework':<12} {'problem':<16} {'call':<9} {'ours ms':>9} {'by hand ms':>11} {'ratio':>7}  interval")
    present = [name for name in options.frameworks or FRAMEWORKS if is_there(name)]
    pairs = [(name, problem) for name in present for problem in options.problem or PROBLEMS]
    within = [show(row_of(name, problem, options)) for name, problem in pairs]
    return 0 if all(within) else 1


def is_there(framework: str) -> bool:
    """Whether a framework can run here; a line says why not."""
    from sciml_bench.adapters import registry

    lacking = registry.missing(registry.adapter(framework))
    if lacking is not None:
        print(f"{framework:<12} skipped: {lacking.reason}")
    return lacking is None


def row_of(framework: str, problem: str, options: argparse.Namespace) -> dict[str, Any]:
    """The row of one framework and model, from a process of its own."""
    command = [sys.executable, __file__, framework, "--worker", f"--problem={problem}", f"--pairs={options.pairs}"]
    command += [f"--row-s={options.row_s}", f"--clock={options.clock}"]
    from sciml_bench.adapters import registry

    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **registry.adapter(framework).variables()}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=environment)
    if done.returncode:
        return {"framework": framework, "problem": problem, "error": f"its process died with code {done.returncode}"}
    return json.loads(done.stdout)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Worker side: both trainings step by step, on one batch."""
    (framework,), (problem,) = options.frameworks, options.problem
    program, training = ours(framework, problem)
    trainer = program.trainer(training)
    rows = next(program.samples.batches(training.batch, training.batch_seed))
    weights = [variable.numpy() for variable in program.variables] if framework == "keras" else [program.weights]
    by_hand = importlib.import_module(f"handwritten.models_{framework}")
    hand_step = by_hand.training(problem, weights, program.samples.inputs[rows], program.samples.labels[rows])
    trainer.feed()

    def our_step() -> Any:
        output = trainer.step()
        trainer.synchronise(output)
        return output

    def blocked() -> Any:
        output = hand_step()
        program.synchronise(output)
        return output

    name = {"framework": framework, "problem": problem}
    pairs = [(trainer.read_loss(our_step()), float(blocked())) for _ in range(COMPARED_STEPS)]
    if any(abs(mine - theirs) > AGREEMENT * abs(theirs) for mine, theirs in pairs):
        return {**name, "error": f"the losses differ: {pairs}"}
    return {**name, "call": "step", **compare(our_step, blocked, options)}


def ours(framework: str, problem: str) -> tuple[Any, Any]:
    """Our program of the cell, and its training."""
    # Julia comes before NumPy, which all else imports.
    importlib.import_module(f"sciml_bench.adapters.{framework}.program")
    from sciml_bench.adapters import registry
    from sciml_bench.emit import source
    from sciml_bench.models.load import load_model
    from sciml_bench.record.task import Cell, Sampling, Task
    from sciml_bench.spec import catalog

    adapter, model = registry.adapter(framework), load_model(catalog.path(problem))
    task = Task(
        cell=Cell(problem, framework, "network", "reverse", FRAMEWORKS[framework], "float32"),
        program=adapter.program,
        source=source(model, adapter.target),
        numbers=model.numbers(),
        points=model.points,
        sampling=Sampling(warm_up_calls=1, steady_calls=1, steady_s=0.0, max_steady_calls=1, perturbation=0.0),
        seed=0,
        threads=1,
        error_bound=0.0,
        gradient_error_bound=0.0,
        learning=model.learning(),
    )
    module, _, function = adapter.program.partition(":")
    return getattr(importlib.import_module(module), function)(task), model.training


if __name__ == "__main__":
    sys.exit(main())
