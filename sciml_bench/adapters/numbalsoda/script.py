"""A numbalsoda cell as a script of solves: the library takes no gradients."""

from __future__ import annotations

from sciml_bench.adapters import script
from sciml_bench.record.task import Point, Task


def script_of(task: Task, point: Point) -> str:
    """The script of a cell at a tolerance."""
    return script.solves(
        task,
        point,
        "numbalsoda, numba and numpy",
        ["from numba import cfunc", f"from numbalsoda import {task.cell.method}, lsoda_sig"],
        constants=["# One absolute tolerance for all states: the smallest.", "ATOL_OF_ALL = float(np.min(ATOL))"],
        before=["@cfunc(lsoda_sig)", "def rhs(t, y, dy, p):", f"    derivative({script.time_within(task)}, y, dy, p)"],
        parts=[
            "    for start, times, n_saved, low, high in PARTS:",
            "        # The bounds of t follow the parameters.",
            "        data = np.array([*p, low, high])",
            f"        ys, success = {task.cell.method}(",
            "            rhs.address, y, np.array([start, *times]), data, rtol=RTOL, atol=ATOL_OF_ALL,",
            "            mxstep=1_000_000,",
            "        )",
            "        if not success or not np.all(np.abs(ys) < 1e150):",
            '            raise RuntimeError("the solve failed")',
            "        saved.append(ys[1 : 1 + n_saved])",
            "        y = ys[-1]",
        ],
    )
