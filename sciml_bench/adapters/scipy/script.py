"""A SciPy cell as a script: one solve of the forward sensitivity equations, as ``program.py`` does it, written out."""

from __future__ import annotations

from sciml_bench.adapters import script
from sciml_bench.adapters.scipy import ADAPTER
from sciml_bench.adapters.time_grid import split
from sciml_bench.errors import UsageError
from sciml_bench.record.task import LANDING, Point, Task

_TOGETHER = 100
"""Up to so many equations, of states and sensitivities, the Newton matrix is a full one."""

_METHODS = {"rk45": "RK45", "dop853": "DOP853", "radau": "Radau", "bdf": "BDF", "lsoda": "LSODA"}


def script_of(task: Task, point: Point) -> str:
    """The script of a cell at a tolerance.

    Raises:
        UsageError: there is none for this kind of problem.
    """
    cell, values = task.cell, task.numbers
    script.refuse(task, "controls")
    if values.batch > 1:
        raise UsageError(f"{cell.problem} is a batch of trajectories: there are no scripts for such in SciPy yet")
    size = len(values.y0) * (1 + len(values.theta))
    if size > _TOGETHER or not any(script.has(task, name) for name in ("augmented", "linearised")):
        raise UsageError(
            f"{cell.problem} has {size} equations of states and sensitivities, or states that are fields: there are "
            "no scripts for such problems in SciPy yet"
        )
    if cell.saving == LANDING and cell.method != "odeint":
        raise UsageError(f"there are no scripts for {cell.method} with steps that land on saved times yet")
    compiled = cell.framework_mode == "compiled"
    solver = "odeint" if cell.method == "odeint" else "solve_ivp"
    return script.joined(
        script.head(task, "scipy, numpy" + (" and numba" if compiled else "")),
        script.imports(task, f"from scipy.integrate import {solver}"),
        "# The model, and its sensitivity equations.",
        script.body(task),
        "# Its numbers, and how it is solved.",
        "\n".join([script.given(task, point), *_numbers(task)]),
        _functions(task, compiled),
        script.check(task),
    )


def _numbers(task: Task) -> list[str]:
    values = task.numbers
    segments = [
        f"    ({part.start!r}, np.array({list(part.times)!r}), {part.n_saved}, {_bounds(part.low, part.high)}),"
        for part in split(values)
    ]
    lines = [
        "# Start, times, how many of them are saved, and the bounds of t, of each smooth part of the time span.",
        "PARTS = [", *segments, "]",
        f"N, M = {len(values.y0)}, {len(values.theta)}",
        "SIZE = N*(1 + M)",
        script.numbers("TYPICAL", _typical(task)),
        "# A sensitivity is as large as its state over its parameter.",
        "ATOLS = np.concatenate([ATOL, (ATOL/TYPICAL[:, None]).ravel()])",
    ]  # fmt: skip
    if script.has(task, "ENTRIES") and ADAPTER.method(task.cell.method).implicit:
        lines += [
            "# The places of the entries of the Jacobian in the Newton matrix: of states and of sensitivities, and of",
            "# what couples these to the state.",
            "ROWS, COLUMNS = np.array(ENTRIES).T",
            "OFFSETS = N*np.arange(1 + M)[:, None]",
            "DIAGONAL = (ROWS + OFFSETS)*SIZE + COLUMNS + OFFSETS",
            "BELOW = (ROWS + OFFSETS[1:])*SIZE + COLUMNS",
        ]
    return lines


def _bounds(low: float, high: float) -> str:
    return ", ".join(
        f'float("{bound}")' if bound in (float("inf"), float("-inf")) else repr(bound) for bound in (low, high)
    )


def _typical(task: Task) -> list[float]:
    values = task.numbers
    least = values.atol_scale if values.wrt == "initial_state" else [float(value == 0) for value in values.theta]
    return [max(abs(value), low) for value, low in zip(values.theta, least, strict=True)]


def _functions(task: Task, compiled: bool) -> str:
    return "\n".join(
        ["def value_and_gradient(theta):", '    """The loss at theta, and its gradient."""', *_lines(task, compiled)]
    )


def _lines(task: Task, compiled: bool) -> list[str]:
    parameters, with_data = task.numbers.wrt == "parameters", script.has(task, "GIVEN")
    values = "theta" if parameters else "P"
    lines = [f"    p = np.asarray({values}, dtype=float){'' if compiled else '.tolist()'}"]
    if with_data:
        lines += [
            "    start = initial_state(*GIVEN, np.asarray(p))",
            "    y0, penalty = start if isinstance(start, tuple) else (start, 0.0)",
            "    sensitivities = initial_jacobian(*GIVEN, p).T",
        ]
    else:
        lines.append(f"    y0 = {'Y0' if parameters else 'np.asarray(theta, dtype=float)'}")
        lines.append(f"    sensitivities = {'np.zeros((M, N))' if parameters else 'np.eye(N)'}")
    lines += ["    z = np.concatenate([y0, sensitivities.ravel()])", ""]
    jacobian, defined = _jacobian(task, compiled)
    lines += [*_rhs(task, compiled), "", *defined, *([""] if defined else [])]
    lines += [*_integration(task, jacobian), ""]
    lines += [
        "    saved = np.concatenate(saved)",
        "    ys, s = saved[:, :N], saved[:, N:].reshape(len(saved), M, N)",
    ]
    if with_data:
        lines += [
            "    by_state, directly = loss_gradient(ys, *GIVEN, p)",
            "    value = loss(ys, *GIVEN, p) + penalty",
            "    return float(value), np.einsum('tmn,tn->m', s, by_state) + directly",
        ]
    else:
        lines += ["    return float(loss(ys)), np.einsum('tmn,tn->m', s, loss_gradient(ys))"]
    return lines


def _rhs(task: Task, compiled: bool) -> list[str]:
    if compiled:
        return [
            "    out = np.empty(SIZE)",
            "",
            "    def rhs_of_all(t, z):",
            f"        augmented(t, z, {_kept(task)}, p, 0)",
            "        return out",
        ]
    if script.has(task, "augmented"):
        return ["    def rhs_of_all(t, z):", "        return augmented(t, z, p)"]
    return [
        "    def rhs_of_all(t, z):",
        "        f, j, f_p = linearised(t, z[:N], p)",
        "        slopes = z[N:].reshape(M, N).dot(j)",
        "        return np.concatenate([f, (slopes if f_p is None else slopes + f_p).ravel()])",
    ]


def _kept(task: Task) -> str:
    # ``solve_ivp`` keeps what it is given, ``odeint`` copies it.
    return "out" if task.cell.method == "odeint" else "out := np.empty(SIZE)"


def _jacobian(task: Task, compiled: bool) -> tuple[str, list[str]]:
    """The name of the Newton matrix's function, and the lines that define it; both empty if there is none."""
    if not ADAPTER.method(task.cell.method).implicit:
        return "", []
    if not compiled and script.has(task, "augmented"):
        if not script.has(task, "augmented_jacobian"):
            return "", []
        return "jac", ["    def jac(t, z):", "        return augmented_jacobian(t, z, p)"]
    if compiled and script.has(task, "augmented_jacobian"):
        return "jac", [
            "    entries = np.zeros(SIZE*SIZE)",
            "",
            "    def jac(t, z):",
            "        augmented_jacobian(t, z, entries, p, 0, DIAGONAL, BELOW)",
            f"        return entries.reshape(SIZE, SIZE){'' if task.cell.method == 'odeint' else '.copy()'}",
        ]
    if script.has(task, "second_derivatives"):
        return "jac", [
            "    def jac(t, z):",
            "        entries = np.zeros(SIZE*SIZE)",
            "        jacobian, by_state, by_theta = second_derivatives(t, z[:N], p)",
            "        entries[DIAGONAL] = jacobian",
            "        coupling = z[N:].reshape(M, N) @ by_state.T",
            "        entries[BELOW] = coupling if by_theta is None else coupling + by_theta.T",
            "        return entries.reshape(SIZE, SIZE)",
        ]
    return "", []


def _integration(task: Task, jacobian: str) -> list[str]:
    clipped = bool(task.numbers.breakpoints)
    f, j = "rhs_of_all", jacobian
    lines = ["    saved = []", "    for start, times, n_saved, low, high in PARTS:"]
    if clipped:
        f = "lambda t, z: rhs_of_all(min(max(t, low), high), z)"
        j = f"lambda t, z: {jacobian}(min(max(t, low), high), z)" if jacobian else ""
    if task.cell.method == "odeint":
        landing = "times" if task.cell.saving == LANDING else "times[-1:]" if clipped else "None"
        lines += [
            "        found, told = odeint(",
            f"            {f}, z, [start, *times], tfirst=True, rtol=RTOL, atol=ATOLS, mxstep=100_000,",
            f"            Dfun={j or 'None'}, tcrit={landing}, full_output=True,",
            "        )",
            "        if told['message'] != 'Integration successful.':",
            "            raise RuntimeError(told['message'])",
            "        saved.append(found[1 : 1 + n_saved])",
            "        z = found[-1]",
        ]
        return lines
    lines += [
        "        found = solve_ivp(",
        f"            {f}, (start, times[-1]), z, method={_METHODS[task.cell.method]!r}, t_eval=times,",
        f"            rtol=RTOL, atol=ATOLS{f', jac={j}' if j else ''},",
        "        )",
        "        if not found.success:",
        "            raise RuntimeError(found.message)",
        "        saved.append(found.y.T[:n_saved])",
        "        z = found.y[:, -1]",
    ]
    return lines
