"""A scikit-SUNDAE cell as a script of solves: the library takes no gradients."""

from __future__ import annotations

from sciml_bench.adapters import script
from sciml_bench.adapters.sksundae import METHODS
from sciml_bench.record.task import Point, Task


def script_of(task: Task, point: Point) -> str:
    """The script of a cell at a tolerance."""
    from sciml_bench.adapters.sksundae import solver

    functions, imports = script.quoted([solver.part_solver, solver.solve_part])
    return script.solves(
        task,
        point,
        "scikit-sundae, numba and numpy",
        ["from numba import njit", "from sksundae.cvode import CVODE", *imports],
        functions=functions,
        before=[
            f'METHOD = "{METHODS[task.cell.method]}"',
            'OPTIONS = {"method": METHOD, "rtol": RTOL, "atol": ATOL, "max_num_steps": 1_000_000}',
            "VALUES = P.copy()",
            "SOLVERS = [",
            "    part_solver(derivative, jacobian, N_STATES, low, high, VALUES, OPTIONS) for *_, low, high in PARTS",
            "]",
        ],
        data="VALUES[:]",
        parts=[
            "    for solver, (start, times, n_saved, _, _) in zip(SOLVERS, PARTS):",
            "        result = solve_part(solver, start, times, y)",
            "        if not result.success:",
            "            raise RuntimeError(result.message)",
            "        ys = result.y[1:] if len(times) > 1 else result.y[None]",
            "        saved.append(ys[:n_saved])",
            "        y = ys[-1]",
        ],
    )
