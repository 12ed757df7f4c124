"""A CyRK cell as a script of solves: the library takes no gradients."""

from __future__ import annotations

from sciml_bench.adapters import script
from sciml_bench.adapters.cyrk import METHODS
from sciml_bench.record.task import Point, Task


def script_of(task: Task, point: Point) -> str:
    """The script of a cell at a tolerance."""
    return script.solves(
        task,
        point,
        "CyRK, numba and numpy",
        [
            "from CyRK import nbsolve2_ivp",
            "from CyRK.nb.numba_solver import cyjit_sig",
            "from numba import cfunc, njit",
        ],
        before=[
            "@cfunc(cyjit_sig)",
            "def rhs(dy, t, y, p):",
            f"    derivative({script.time_within(task)}, y, dy, p)",
            "",
            "",
            "@njit",
            "def solve_part(address, start, times, y, data, rtol, atol):",
            "    result = nbsolve2_ivp(",
            f'        address, (start, times[-1]), y, method="{METHODS[task.cell.method]}", t_eval=times, args=data,',
            "        rtol=rtol, atols=atol, max_num_steps=1_000_000, force_retain_solver=False,",
            "    )",
            "    ys, success = result.y.T.copy(), result.success",
            "    result.free()",
            "    return ys, success",
        ],
        parts=[
            "    for start, times, n_saved, low, high in PARTS:",
            "        # The bounds of t follow the parameters.",
            "        data = np.array([*p, low, high])",
            "        ys, success = solve_part(rhs.address, start, np.array(times), y, data, RTOL, ATOL)",
            "        if not success:",
            '            raise RuntimeError("the solve failed")',
            "        saved.append(ys[:n_saved])",
            "        y = ys[-1].copy()",
        ],
    )
