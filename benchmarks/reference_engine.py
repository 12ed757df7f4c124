"""The reference engine against mpmath's ``odefun`` and heyoka's Taylor integrator at quadruple precision.

    python benchmarks/reference_engine.py [--limit 120] [--heyoka-python PATH]

Every solver gets the same problem, on one thread and in a process of its own, and is asked for the state at the end
to the same number of digits. The processor time is that of the solution alone: imports, emission, and heyoka's
compilation are left out. Digits are those in common with the certified reference in the catalog. Solvers that do not
reach the end within the limit are reported with the time that they have reached.

heyoka is not a dependency; ``--heyoka-python`` names an interpreter that has it, with SymPy and NumPy.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROBLEMS = ("robertson", "hires", "lotka-volterra", "lorenz")
SOLVERS = ("engine", "mpmath", "heyoka")
TITLES = {
    "engine": "sciml-bench, one solution",
    "certificate": "sciml-bench, certified",
    "mpmath": "mpmath odefun",
    "heyoka": "heyoka, quadruple",
}
DIGITS = 20
_ROOT = Path(__file__).resolve().parents[1]
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def solve_engine(name: str) -> dict[str, Any]:
    """One solution, then the whole certificate of a solution (without gradients)."""
    from sciml_bench.references.certificate import certify, opening_settings
    from sciml_bench.references.engine.case import Case
    from sciml_bench.references.engine.numbers import decimal, precision
    from sciml_bench.references.engine.radau import solve
    from sciml_bench.spec import catalog

    case = Case(catalog.load(name))
    settings = opening_settings(case)[1]
    problem = case.problem
    began = time.process_time()
    trajectory = solve(case.dynamics, case.start, problem.t0, (problem.t1,), settings)
    took_s = time.process_time() - began
    began = time.process_time()
    certified = certify(case, gradients=False)
    certified_s = time.process_time() - began
    with precision(200):
        return {
            "state": [decimal(value, 30) for value in trajectory.saved[-1]], "seconds": took_s,
            "certified_state": [decimal(value, 30) for value in certified.rows[-1]], "certified_seconds": certified_s,
        }  # fmt: skip


def solve_mpmath(name: str, report: Callable[[float, float], None]) -> dict[str, Any]:
    """mpmath's Taylor method; its tolerance leaves room for the growth of errors."""
    import mpmath
    import sympy

    from sciml_bench.emit.symbolic.scalar import scalarise
    from sciml_bench.spec import catalog

    problem = catalog.load(name)
    system = scalarise(problem)
    mpmath.mp.dps = 34
    values = dict(zip(system.p, problem.p, strict=True))
    outputs = [expr.xreplace(values) for expr in system.rhs]
    function = sympy.lambdify((system.t, system.y), outputs, "mpmath")
    y0 = [mpmath.mpf(str(sympy.N(value, 40))) for value in problem.y0]
    t1 = mpmath.mpf(str(sympy.N(problem.t1, 40)))
    began = time.process_time()
    solution = mpmath.odefun(function, 0, y0, tol=mpmath.mpf(10) ** -30)
    # In pieces, so that it can be told how far it has come; it keeps and extends its own series.
    pieces = [t1 * mpmath.mpf(10) ** -k for k in range(10, 0, -1)] + [t1 * k / 100 for k in range(11, 101)]
    state = y0
    for t in pieces:
        state = solution(t)
        report(float(t), time.process_time() - began)
    return {"state": [mpmath.nstr(value, 30) for value in state], "seconds": time.process_time() - began}


def solve_heyoka(name: str, report: Callable[[float, float], None]) -> dict[str, Any]:
    """heyoka's Taylor method at quadruple precision, with its own default tolerance."""
    import heyoka  # pyright: ignore[reportMissingImports]  (not a dependency)
    import numpy as np
    import sympy

    from sciml_bench.emit.symbolic.scalar import scalarise
    from sciml_bench.spec import catalog

    quadruple = heyoka.real128
    problem = catalog.load(name)
    system = scalarise(problem)
    names = {symbol: heyoka.expression(str(symbol)) for symbol in system.y}
    names |= {symbol: heyoka.par[i] for i, symbol in enumerate(system.p)}
    equations = [
        (names[symbol], heyoka.from_sympy(expr, names)) for symbol, expr in zip(system.y, system.rhs, strict=True)
    ]
    number: Callable[[sympy.Expr], object] = lambda value: quadruple(str(sympy.N(value, 40)))  # noqa: E731
    integrator = heyoka.taylor_adaptive(
        equations, np.array([number(value) for value in problem.y0], dtype=quadruple),
        pars=np.array([number(value) for value in problem.p], dtype=quadruple), fp_type=quadruple,
    )  # fmt: skip
    t1 = number(problem.t1)
    began = time.process_time()
    for k in range(1, 101):
        integrator.propagate_until(t1 * quadruple(k) / quadruple(100))
        report(float(integrator.time), time.process_time() - began)
    return {"state": [str(value) for value in integrator.state], "seconds": time.process_time() - began}


def worker(solver: str, name: str, limit_s: int) -> None:
    """Solve in this process; progress and the result go to standard output as JSON lines."""
    resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s))

    def report(t: float, seconds: float) -> None:
        print(json.dumps({"t": t, "seconds": seconds}), flush=True)

    if solver == "engine":
        result = solve_engine(name)
    else:
        result = (solve_mpmath if solver == "mpmath" else solve_heyoka)(name, report)
    print(json.dumps({"result": result}), flush=True)


def measure(solver: str, name: str, python: str, limit_s: int) -> dict[str, Any]:
    """Run one worker: its result, or how far it came."""
    command = [python, __file__, "--limit", str(limit_s), "--worker", solver, name]
    environment = {**os.environ, **_ONE_THREAD, "PYTHONPATH": str(_ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    if lines and "result" in lines[-1]:
        return lines[-1]["result"]
    if done.stderr:
        return {"note": done.stderr.strip().splitlines()[-1]}
    reached = lines[-1]["t"] if lines else 0.0
    return {"note": f"not done in {limit_s} s, reached t = {reached:.3g}"}


def digits(state: list[str], truth: list[str]) -> float:
    """Digits that all components have in common with the truth."""
    import mpmath

    with mpmath.workdps(50):
        pairs = [(mpmath.mpf(a), mpmath.mpf(b)) for a, b in zip(state, truth, strict=True)]
        errors = [abs(a - b) / abs(b) for a, b in pairs if b]
        worst = max(errors)
        return 30.0 if worst == 0 else float(-mpmath.log10(worst))


def main() -> None:
    """Measure everything and print one table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=120, help="processor seconds for each solver and problem")
    parser.add_argument("--heyoka-python", default=sys.executable, help="interpreter that has heyoka")
    parser.add_argument("--worker", nargs=2, metavar=("SOLVER", "PROBLEM"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        solver, name = options.worker
        worker(solver, name, options.limit)
        return
    print("| problem | t1 | solver | processor time | digits | against mpmath |")
    print("|---|---|---|---|---|---|")
    for name in PROBLEMS:
        stored = json.loads(next(_ROOT.glob(f"problems/*/{name}.reference.json")).read_text())
        truth = stored["solution"][-1]
        pythons = dict.fromkeys(SOLVERS, sys.executable) | {"heyoka": options.heyoka_python}
        found = {solver: measure(solver, name, pythons[solver], options.limit) for solver in SOLVERS}
        engine = found["engine"]
        if "certified_seconds" in engine:
            found["certificate"] = {"state": engine["certified_state"], "seconds": engine["certified_seconds"]}
        base = found["mpmath"].get("seconds")
        for solver in ("engine", "certificate", "mpmath", "heyoka"):
            row = found.get(solver, {"note": "not measured"})
            head = f"| {name} | {stored['times'][-1]} | {TITLES[solver]} |"
            if "seconds" not in row:
                print(f"{head} {row['note']} | – | – |", flush=True)
                continue
            ratio = f"{base / row['seconds']:.3g} ×" if base else "–"
            print(f"{head} {row['seconds']:.3g} s | {digits(row['state'], truth):.1f} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
