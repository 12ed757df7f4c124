"""How right Julia's gradients are at a tight tolerance, against the certified references.

    python benchmarks/julia_gradients.py                       every row
    python benchmarks/julia_gradients.py --problem pollution   only this problem
    python benchmarks/julia_gradients.py --sensitivity gauss-enzyme --sensitivity enzyme

Julia must be set up (`sciml-bench julia setup`). At rtol 1e-10 each kind of gradient is taken of Lotka-Volterra,
Robertson and POLLU, with the method that its cells are recommended with; the last column says how many seconds a second
call takes. Errors are those of the records: of the gradient, and of the derivative by the logarithm of each parameter,
which weighs parameters of every size alike. Exit code 1 when one of either kind is past 1e-6.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

RTOL, ATOL = 1e-10, 1e-12
BOUND = 1e-6
PROBLEMS = {"lotka-volterra": "vern9", "robertson": "rodas5p", "pollution": "rodas5p"}
SENSITIVITIES = ("forward", "interpolating-reversediff", "gauss-reversediff", "quadrature-reversediff")


def main() -> int:
    """Print the table; the exit code says whether every error is within the bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", action="append", choices=PROBLEMS, help="only this problem; may be repeated")
    parser.add_argument("--sensitivity", action="append", help="only this kind of gradient; may be repeated")
    parser.add_argument("--method", help="this method instead of the recommended one")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    problems, sensitivities = options.problem or list(PROBLEMS), options.sensitivity or list(SENSITIVITIES)
    rows = [(p, options.method or PROBLEMS[p], s) for p in problems for s in sensitivities]
    if options.worker:
        for row in rows:
            print(json.dumps(measured(*row)), file=sys.__stdout__, flush=True)
        return 0
    print(f"{'problem':<16} {'method':<10} {'gradient':<26} {'error':>9} {'log error':>9} {'steps':>7} {'seconds':>9}")
    within = [show(row) for row in worker_rows()]
    return 0 if len(within) == len(rows) and all(within) else 1


def worker_rows() -> Any:
    """What a process that starts with the Julia that is set up measures, row by row."""
    from sciml_bench.adapters.julia import installation

    reason = installation.lacking()
    if reason:
        sys.exit(f"ERROR: {reason}")
    command = [sys.executable, __file__, "--worker", *sys.argv[1:]]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **installation.variables()}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield from map(json.loads, process.stdout)
    if process.returncode:
        sys.exit(f"ERROR: the process that measures ended with code {process.returncode}")


def measured(problem: str, method: str, sensitivity: str) -> dict[str, Any]:
    """One row: the errors of a gradient, what its forward solve counted, and the seconds of a second call."""
    import numpy as np

    from sciml_bench.adapters import registry
    from sciml_bench.adapters.julia.bridge import JuliaException
    from sciml_bench.adapters.julia.program import JuliaProgram
    from sciml_bench.emit import source
    from sciml_bench.measure.scoring.gradient import gradient_scores
    from sciml_bench.record.outcome import SolverFailure
    from sciml_bench.record.task import Cell, Point, Sampling, Task
    from sciml_bench.references.truth import truth
    from sciml_bench.spec import catalog

    loaded, declared = catalog.load(problem), registry.adapter("julia")
    numbers, reference = loaded.numbers(), truth(loaded)
    assert reference is not None
    task = Task(
        cell=Cell(problem, "julia", method, sensitivity, "compiled"), program=declared.program,
        source=source(loaded, declared.target), numbers=numbers, points=(Point(RTOL, ATOL),),
        sampling=Sampling(1, 1, 0.0, 1, 0.0), seed=0, threads=1, error_bound=1e-3, gradient_error_bound=BOUND,
    )  # fmt: skip
    row: dict[str, Any] = {"problem": problem, "method": method, "sensitivity": sensitivity}
    try:
        program = JuliaProgram(task)
        inputs = program.prepare(np.array(numbers.theta), task.points[0])
        program.read_gradient(program.gradient(inputs))
        output = program.gradient(inputs)
        found = program.read_gradient(output)
    except SolverFailure as failed:
        return {**row, "failure": f"{failed.outcome}: {failed}"}
    except JuliaException as raised:
        return {**row, "failure": f"Julia raised {raised}"}
    scores, _ = gradient_scores(found.gradient, loaded.theta, reference, task.points[0], task.cell.precision, BOUND)
    inside = program.inside(output)
    assert scores is not None
    assert inside is not None
    return {**row, "scores": scores, "steps": found.statistics["n_steps"], "s": inside.ns / 1e9}


def show(row: dict[str, Any]) -> bool:
    """Print a row; whether it is within the bound."""
    start = f"{row['problem']:<16} {row['method']:<10} {row['sensitivity']:<26}"
    if "failure" in row:
        print(f"{start} {row['failure']}", flush=True)
        return False
    errors = [row["scores"]["norm_error"], row["scores"]["error"]]
    good = max(errors) <= BOUND
    print(f"{start} {errors[0]:9.1e} {errors[1]:9.1e} {row['steps']:7.0f} {row['s']:9.4f}"
          f"{'' if good else '  past the bound'}", flush=True)  # fmt: skip
    return good


if __name__ == "__main__":
    sys.exit(main())
