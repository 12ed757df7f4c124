"""A CyRK cell as a script of solves: the library takes no gradients."""

from __future__ import annotations

from sciml_bench.adapters import script
from sciml_bench.adapters.cyrk import METHODS
from sciml_bench.adapters.segments import split
from sciml_bench.record.task import Point, Task


def script_of(task: Task, point: Point) -> str:
    """The script of a cell at a tolerance."""
    return script.joined(
        script.head(task, "CyRK, numba and numpy", "solves"),
        script.imports(
            task,
            "from CyRK import nbsolve2_ivp",
            "from CyRK.nb.numba_solver import cyjit_sig",
            "from numba import cfunc, njit",
        ),
        "# The model.",
        script.body(task),
        "# Its numbers, and how it is solved.",
        "\n".join([script.given(task, point), *script.segments(split(task.numbers))]),
        "\n".join(_solve(task)),
        script.check_of_solve(task),
    )


def _solve(task: Task) -> list[str]:
    clipped = any(part.clipped for part in split(task.numbers))
    n, parameters = len(task.numbers.p), task.numbers.wrt == "parameters"
    t = f"min(max(t, p[{n}]), p[{n + 1}])" if clipped else "t"
    return [
        "@cfunc(cyjit_sig)",
        "def rhs(dy, t, y, p):",
        f"    derivative({t}, y, dy, p)",
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
        "",
        "",
        "def solve(theta):",
        '    """The states at the saved times."""',
        f"    p, y = {'theta, Y0' if parameters else 'P, np.asarray(theta, dtype=float)'}",
        "    saved = []",
        "    for start, times, n_saved, low, high in PARTS:",
        "        # The bounds of t follow the parameters.",
        "        data = np.array([*p, low, high])",
        "        ys, success = solve_part(rhs.address, start, np.array(times), y, data, RTOL, ATOL)",
        "        if not success:",
        '            raise RuntimeError("the solve failed")',
        "        saved.append(ys[:n_saved])",
        "        y = ys[-1].copy()",
        "    return np.concatenate(saved)",
    ]
