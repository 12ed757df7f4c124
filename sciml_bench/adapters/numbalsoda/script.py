"""A numbalsoda cell as a script of solves: the library takes no gradients."""

from __future__ import annotations

from sciml_bench.adapters import script
from sciml_bench.adapters.segments import split
from sciml_bench.record.task import Point, Task


def script_of(task: Task, point: Point) -> str:
    """The script of a cell at a tolerance."""
    return script.joined(
        script.head(task, "numbalsoda, numba and numpy", "solves"),
        script.imports(task, "from numba import cfunc", f"from numbalsoda import {task.cell.method}, lsoda_sig"),
        "# The model.",
        script.body(task),
        "# Its numbers, and how it is solved.",
        "\n".join([script.given(task, point), *_segments(task)]),
        "\n".join(_solve(task)),
        script.check_of_solve(task),
    )


def _segments(task: Task) -> list[str]:
    parts = script.segments(split(task.numbers))
    return [*parts, "# One absolute tolerance for all states: the smallest.", "ATOL_OF_ALL = float(np.min(ATOL))"]


def _solve(task: Task) -> list[str]:
    clipped = any(part.clipped for part in split(task.numbers))
    n, parameters = len(task.numbers.p), task.numbers.wrt == "parameters"
    t = f"min(max(t, p[{n}]), p[{n + 1}])" if clipped else "t"
    return [
        "@cfunc(lsoda_sig)",
        "def rhs(t, y, dy, p):",
        f"    derivative({t}, y, dy, p)",
        "",
        "",
        "def solve(theta):",
        '    """The states at the saved times."""',
        f"    p, y = {'theta, Y0' if parameters else 'P, np.asarray(theta, dtype=float)'}",
        "    saved = []",
        "    for start, times, n_saved, low, high in PARTS:",
        "        # The bounds of t follow the parameters.",
        "        data = np.array([*p, low, high])",
        f"        ys, success = {task.cell.method}(",
        "            rhs.address, y, np.array([start, *times]), data, rtol=RTOL, atol=ATOL_OF_ALL, mxstep=1_000_000",
        "        )",
        "        if not success or not np.all(np.abs(ys) < 1e150):",
        '            raise RuntimeError("the solve failed")',
        "        saved.append(ys[1 : 1 + n_saved])",
        "        y = ys[-1]",
        "    return np.concatenate(saved)",
    ]
