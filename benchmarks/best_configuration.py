"""Each library at its best, by hand, against the cells that the suite recommends, at equal achieved accuracy.

    python benchmarks/best_configuration.py
    python benchmarks/best_configuration.py --library scipy --problem robertson --quick

Robertson, HIRES, the Brusselator on a line, Lotka-Volterra and the spiral's network in SciPy, Diffrax, torchdiffeq and
TensorFlow Probability. The experts' scripts (``benchmarks/best``) share no code with the package and choose method,
sensitivity, tolerances and style themselves. Both sides climb a ladder of tolerances; their results are scored by the
suite's own scores against the stored reference, and times are read off where both achieve the same digits (mescd of
a solve over all saved times, −log10 of the error of a gradient). Of several experts that of least time counts, and so
it does of several recommended cells, as in the suite's own tables: which order of method is best depends on the
accuracy. Calls are timed in turn, forwards and backwards; the table has medians of processor time, the median of paired
ratios and its 95 % interval.

One process a library and problem. Exit code 1 when a ratio is above the bound, or a side fails.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from best.sides import LIBRARIES, NOT_COMPARED, PROBLEMS, SLOW

# The package of this checkout is the one that is measured.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

BOUND = 1.10
GRADIENT_ERROR = "error"
"""The suite's headline score of a gradient."""
READING_S, QUICK_READING_S = 5.0, 1.0
UNIT_LIMIT_S, SLOW_LIMIT_S = 900.0, 3600.0
# Experts that are slower than the fastest by more than this in the ladder are not timed again.
CLOSE = 1.35
# Roughly how long a library takes for a problem, for the progress line only.
UNIT_S = {"scipy": 50.0, "diffrax": 60.0, "torchdiffeq": 150.0, "tensorflow": 70.0}


def main() -> int:
    """Print the table; the exit code says whether every ratio is within the bound."""
    options = _options()
    if options.worker:
        return work(options)
    chosen = [(library, problem) for library in options.library or LIBRARIES for problem in options.problem or PROBLEMS]
    units = [unit for unit in chosen if unit not in NOT_COMPARED and (options.slow or unit not in SLOW)]
    load = os.getloadavg()[0]
    print(f"load {load:.1f} on {os.cpu_count()} processors; times in ms of processor time", flush=True)
    rows: list[dict[str, Any]] = []
    began = time.perf_counter()
    for done, unit in enumerate(units):
        _progress(units, done, time.perf_counter() - began)
        for row in rows_of(*unit, options):
            rows.append(row)
            print(_line(row), flush=True)
    for unit in chosen:
        if unit not in units:
            print(f"{unit[0]:<12} {unit[1]:<15} not compared: {(NOT_COMPARED | SLOW)[unit]}")
    if options.json is not None:
        options.json.write_text(
            json.dumps({"bound": BOUND, "load": [load, os.getloadavg()[0]], "rows": rows}, indent=1) + "\n",
            encoding="utf-8",
        )
    return summary(rows)


def summary(rows: list[dict[str, Any]]) -> int:
    """Say what is above the bound; 1 when something is, or when nothing was compared."""
    compared = [row for row in rows if "ratio" in row]
    above = [row for row in compared if row["ratio"] > BOUND]
    failed = [row for row in rows if "error" in row]
    print(f"\n{len(compared)} readings, {len(above)} above {BOUND:.2f}, {len(failed)} failed")
    for row in sorted(above, key=lambda row: -row["ratio"]):
        print(f"  {row['ratio']:6.2f}  {row['cell']} {row['call']} at {_accuracy(row)}: {row['expert']}")
    return 1 if above or failed or not compared else 0


def rows_of(library: str, problem: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The rows of one library and problem, from a process of its own."""
    from sciml_bench.host.environment_variables import thread_variables

    unit = {"library": library, "problem": problem}
    command = [sys.executable, __file__, "--worker", f"--library={library}", f"--problem={problem}"]
    command += ["--quick"] * options.quick + ([f"--cell={options.cell}"] if options.cell else [])
    command += [] if options.cpu is None else [f"--cpu={options.cpu}"]
    variables = os.environ | thread_variables(1) | {"JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
    limit_s = SLOW_LIMIT_S if (library, problem) in SLOW else UNIT_LIMIT_S
    errors = None if options.verbose else subprocess.DEVNULL
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=variables, text=True) as worker:
        assert worker.stdout is not None
        watch = subprocess.Popen([sys.executable, "-c", _WATCH, str(worker.pid), str(limit_s)], stdin=subprocess.PIPE)
        try:
            for line in worker.stdout:
                yield unit | json.loads(line)
        finally:
            watch.kill()
            watch.wait()
    if worker.returncode:
        yield unit | {"error": f"its process ended with code {worker.returncode} (limit {limit_s:.0f} s)"}


# Ends a worker that is past its limit: no library can be interrupted in the middle of a compiled loop.
_WATCH = "import os, signal, sys, time; time.sleep(float(sys.argv[2])); os.kill(int(sys.argv[1]), signal.SIGKILL)"


def work(options: argparse.Namespace) -> int:
    """Worker side: the rows of one library and problem as JSON lines."""
    told, sys.stdout = sys.stdout, sys.stderr
    if hasattr(os, "sched_setaffinity"):
        # As the engine's workers are: a compiled program that hands parts of itself to other threads waits for them.
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0)) if options.cpu is None else options.cpu})
    for row in compare(options.library[0], options.problem[0], options):
        print(json.dumps(row), file=told, flush=True)
    told.flush()
    # Destructors of frameworks crash now and then and have nothing to add.
    os._exit(0)


def compare(library: str, problem: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Every reading of one library and problem."""
    import numpy as np
    from best import Expert
    from best.ladder import DIGITS, climb
    from best.sides import experts, other_cell, recommended

    suites = recommended(library, problem)
    if isinstance(suites, str):
        yield {"error": f"no recommended cell: {suites}"}
        return
    if options.cell:
        suites = [other_cell(suites[0], options.cell)]
    suite = suites[0]
    theta = np.array(suite.task.numbers.theta)
    made: list[Expert] = [make() for make in experts(library, problem)]
    for kind in ("solve", "gradient"):
        sides = [side for side in made if getattr(side, kind) is not None]
        if not sides:
            yield {"call": kind, "note": "no configuration of the library gets there"}
            continue
        ladders = [(side, *climb(side, kind, scorer(suite, side, kind), theta)) for side in sides]
        ours: list[Any] = []
        if any(side.documented for side in sides):
            for one in suites:
                rival = ours[0][1] if ours else None
                ours.append((one, *climb(one.side, kind, scorer(one, one.side, kind), theta, rival)))
        for digits in DIGITS[kind]:
            row = {"cell": suite.label} | reading(kind, digits, ours, ladders, theta, options)
            yield {"call": kind, "digits": digits} | row | {"cell": row["cell"].removesuffix("/float64/cpu")}


def scorer(suite: Any, side: Any, kind: str) -> Any:
    """Digits of an output, as the suite ranks by them: mescd over all saved times, or −log10 of the headline error of a
    gradient."""
    import math

    from sciml_bench.adapters.program import Gradient
    from sciml_bench.measure.scoring.scorer import judged_gradient, judged_solve

    point = suite.task.points[0]

    def of_solve(output: Any) -> float:
        scores, _ = judged_solve(suite.task, side.states(output))
        return -math.log10(scores["trajectory_error"])

    def of_gradient(output: Any) -> float:
        scores, _ = judged_gradient(suite.task, Gradient(0.0, side.slopes(output), {}), point)
        return -math.log10(scores[GRADIENT_ERROR])

    return of_solve if kind == "solve" else of_gradient


def reading(
    kind: str, digits: float, ours: list[Any], ladders: list[Any], theta: Any, options: argparse.Namespace
) -> dict[str, Any]:
    """The comparison at one accuracy."""
    import numpy as np
    from best.ladder import between, loosest
    from best.timing import Entrant, in_turn, ratio

    # Where a side's loosest tolerance is more accurate already, both are compared there.
    floors = [loosest(rungs for side, rungs, _ in ladders if side.documented), loosest(rungs for _, rungs, _ in ours)]
    digits = max(digits, *floors)
    extra: dict[str, Any] = {"digits": digits}
    reached = [(side, found) for side, rungs, _ in ladders if (found := between(rungs, digits)) is not None]
    beyond = {
        side.name: 1e3 * found.time(_seconds(found)) for side, found in reached if not side.documented
    }  # fmt: skip
    extra |= {"beyond": beyond} if beyond else {}
    documented = [(side, found) for side, found in reached if side.documented]
    mine = [(one, found) for one, rungs, _ in ours if (found := between(rungs, digits)) is not None]
    if not documented:
        told = _unreached(ladders) or "no documented configuration of the library gets there"
        return {"note": "the suite's cell alone gets there" if mine else told, **extra}
    if not mine:
        return {"error": f"an expert gets there, the suite's cell does not; {ours[0][2]}", **extra}
    cells, chosen = _close(mine), _close(documented)
    entrants = [*(Entrant(one.side, found) for one, found in cells), *(Entrant(*item) for item in chosen)]
    times = in_turn(entrants, kind, theta, QUICK_READING_S if options.quick else READING_S, seed=int(10 * digits))
    medians = [float(np.median(timed.processor)) for timed in times]
    first = min(range(len(cells)), key=medians.__getitem__)
    best = min(range(len(cells), len(entrants)), key=medians.__getitem__)
    found, low, high = ratio(times[first].processor, times[best].processor)
    return {
        "cell": cells[first][0].label,
        "suite_ms": 1e3 * medians[first],
        "expert": entrants[best].side.name,
        "expert_ms": 1e3 * medians[best],
        "ratio": found,
        "low": low,
        "high": high,
        "wall_ratio": ratio(times[first].wall, times[best].wall)[0],
        "rounds": len(times[first].processor),
        "cells": {one.label: 1e3 * median for (one, _), median in zip(cells, medians, strict=False)},
        "others": {side.name: 1e3 * median for (side, _), median in zip(chosen, medians[len(cells) :], strict=True)},
        "rtols": {entrant.side.name: entrant.where.rtols for entrant in entrants},
        **extra,
    }


def _close(candidates: list[Any]) -> list[Any]:
    """Those (side, where) that are about as fast as the fastest, as their ladders have it."""
    rough = [found.time(_seconds(found)) for _, found in candidates]
    return [item for item, seconds in zip(candidates, rough, strict=True) if seconds <= CLOSE * min(rough)]


def _seconds(found: Any) -> Any:
    rough = {found.loose.rtol: found.loose.seconds, found.tight.rtol: found.tight.seconds}
    return rough.__getitem__


def _unreached(ladders: list[Any]) -> str:
    return "; ".join(
        f"{side.name} reaches {max((rung.digits for rung in rungs), default=float('nan')):.1f} digits only"
        + (f" ({told})" if told else "")
        for side, rungs, told in ladders
        if side.documented
    )


def _accuracy(row: dict[str, Any]) -> str:
    if "digits" not in row:
        return ""
    return f"mescd {row['digits']:.3g}" if row["call"] == "solve" else f"1e-{row['digits']:.3g}"


def _line(row: dict[str, Any]) -> str:
    head = f"{row['library']:<12} {row['problem']:<15} {row.get('call', ''):<9} {_accuracy(row):<8}"
    beyond = "".join(f"; not documented: {name} {ms:.2f} ms" for name, ms in row.get("beyond", {}).items())
    if "ratio" not in row:
        return f"{head} {row.get('error') or row.get('note')}{beyond}"
    cell = row["cell"].split("/", 2)[2]
    return (
        f"{head} {row['suite_ms']:>9.3f} {row['expert_ms']:>9.3f} {row['ratio']:>7.2f} "
        f"[{row['low']:.2f}, {row['high']:.2f}] wall {row['wall_ratio']:.2f}  {cell} | {row['expert']}"
        f"{'' if row['ratio'] <= BOUND else f'  above {BOUND:.2f}'}{beyond}"
    )


def _progress(units: list[tuple[str, str]], done: int, elapsed_s: float) -> None:
    expected = [UNIT_S[library] for library, _ in units]
    before = sum(expected[:done])
    left_s = sum(expected[done:]) * (elapsed_s / before if before else 1.0)
    library, problem = units[done]
    print(
        f"[{done + 1}/{len(units)}] {library} {problem}, about {left_s / 60:.0f} min left", file=sys.stderr, flush=True
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", action="append", choices=LIBRARIES, help="only this library; may be repeated")
    parser.add_argument("--problem", action="append", choices=PROBLEMS, help="only this problem; may be repeated")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: rough ratios")
    parser.add_argument("--slow", action="store_true", help="also what takes seconds a call")
    parser.add_argument("--cell", help="method/sensitivity/mode in the place of the recommended cell")
    parser.add_argument("--cpu", type=int, help="the processor that everything runs on (default: the last)")
    parser.add_argument("--json", type=Path, help="write all rows to this file")
    parser.add_argument("--verbose", action="store_true", help="what the libraries print, too")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
