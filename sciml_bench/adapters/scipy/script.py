"""A SciPy cell as a script: one solve of the forward sensitivity equations, as ``program.py`` does it, written out."""

from __future__ import annotations

import ast

import numpy as np

from sciml_bench.adapters import script
from sciml_bench.adapters.scipy import ADAPTER
from sciml_bench.adapters.scipy.structure import Structure, band
from sciml_bench.adapters.scipy.system import EXPLICIT, LSODA, MANY_STATES, SPARSE_FROM, TOGETHER, is_narrow, shares
from sciml_bench.adapters.time_grid import split
from sciml_bench.errors import UsageError
from sciml_bench.record.task import LANDING, Point, Task

_METHODS = {"rk45": "RK45", "dop853": "DOP853", "radau": "Radau", "bdf": "BDF", "lsoda": "LSODA"}


def script_of(task: Task, point: Point) -> str:
    """The script of a cell at a tolerance.

    Raises:
        UsageError: there is none for this kind of problem and method.
    """
    cell = task.cell
    script.refuse(task, "controls")
    _refuse(task)
    compiled = cell.framework_mode == "compiled"
    solver = "odeint" if cell.method == "odeint" else "solve_ivp"
    needed = [f"from scipy.integrate import {solver}"]
    if _lands_by_subclass(task):
        needed = [f"from scipy.integrate import {_METHODS[cell.method]}, {solver}"]
    if _matrix(task) == "sparse":
        needed.append("from scipy.sparse import csc_matrix")
    if _matrix(task):
        needed.append("from functools import cache")
    return script.joined(
        script.head(task, "scipy, numpy" + (" and numba" if compiled else "")),
        script.imports(task, *needed),
        "# The model, and its sensitivity equations.",
        script.body(task),
        "# Its numbers, and how it is solved.",
        "\n".join([script.given(task, point), *_numbers(task)]),
        "\n".join(_places(task)),
        "\n".join(_landing(task)) if _lands_by_subclass(task) else "",
        "\n".join(_sensitivities(task, compiled)),
        "\n".join(_value_and_gradient(task, compiled)),
        script.check(task),
    )


def _refuse(task: Task) -> None:
    """Refuse what the program does by code that is too long for a script."""
    cell, size = task.cell, len(task.numbers.y0) * (1 + len(task.numbers.theta))
    if cell.framework_mode == "compiled" and not script.has(task, "augmented"):
        raise UsageError(f"{cell.problem} has no sensitivity equations for Numba: there is no such script")
    if script.has(task, "COUPLED"):
        raise UsageError(f"{cell.problem} has fields, which Numba takes point by point: there are no scripts of that")
    if cell.method in EXPLICIT:
        return
    if len(task.numbers.y0) >= MANY_STATES or (size > TOGETHER and _entries(task) is None):
        raise UsageError(
            f"{cell.problem} has {size} equations of states and sensitivities: there are scripts for explicit methods, "
            f"but not for {cell.method}, which needs its own way of storing its Jacobian"
        )
    if cell.method in LSODA and _is_interleaved(task):
        raise UsageError(f"{cell.problem} is given to {cell.method} as a band: there are no scripts of that yet")


def _entries(task: Task) -> Structure | None:
    """The places of the Jacobian's entries, where the model states them."""
    line = next((line for line in task.source.splitlines() if line.startswith("ENTRIES = ")), None)
    if line is None:
        return None
    rows, columns = np.array(ast.literal_eval(line.partition(" = ")[2]), dtype=np.intp).reshape(-1, 2).T
    return Structure(len(task.numbers.y0), rows, columns)


def _is_interleaved(task: Task) -> bool:
    shape = _entries(task)
    return shape is not None and is_narrow(band(shape).width, shape.n)


def _shares(task: Task) -> list[slice]:
    """The components of theta whose sensitivities are solved for together."""
    in_parts = task.cell.method in LSODA and _entries(task) is not None
    return shares(len(task.numbers.y0), len(task.numbers.theta), TOGETHER if in_parts else None)


def _matrix(task: Task) -> str:
    """Return how a Newton matrix is stored whose entries go to places: ``dense``, ``sparse``, or not at all."""
    if task.cell.method in EXPLICIT or _entries(task) is None:
        return ""
    size = len(task.numbers.y0) * (1 + len(task.numbers.theta))
    return "sparse" if task.cell.method not in LSODA and size >= SPARSE_FROM else "dense"


def _numbers(task: Task) -> list[str]:
    values = task.numbers
    segments = [
        f"    ({part.start!r}, np.array({list(part.times)!r}), {part.n_saved}, {_bounds(part.low, part.high)}),"
        for part in split(values)
    ]
    parts = _shares(task)
    lines = [
        "# Start, times, how many of them are saved, and the bounds of t, of each smooth part of the time span.",
        "PARTS = [", *segments, "]",
        f"N, M = {len(values.y0)}, {len(values.theta)}",
        "# A sensitivity is as large as its state over its parameter.",
        script.numbers("TYPICAL", _typical(task)),
    ]  # fmt: skip
    if len(parts) > 1:
        ends = ", ".join(f"({part.start}, {part.stop})" for part in parts)
        lines += [
            "# The cost of a Newton matrix grows with its cube: sensitivities are solved for in shares.",
            f"SHARES = [{ends}]",
        ]
    return lines


def _places(task: Task) -> list[str]:
    """Places of the Jacobian's entries in the Newton matrix."""
    if not _matrix(task):
        return []
    lines = [
        "@cache",
        "def places(m):",
        '    """Where the entries of the Jacobian are in the Newton matrix, in its blocks and in those below them."""',
        "    rows, columns = np.array(ENTRIES).T",
        "    offsets, size = N*np.arange(1 + m)[:, None], N*(1 + m)",
        "    rows, columns, below = rows + offsets, columns + offsets, rows + offsets[1:]",
        "    columns_below = columns[0] + 0*below",
    ]
    if _matrix(task) == "dense":
        return [*lines, "    return rows*size + columns, below*size + columns_below"]
    return [
        *lines,
        "    all_rows = np.concatenate([rows.ravel(), below.ravel()])",
        "    all_columns = np.concatenate([columns.ravel(), columns_below.ravel()])",
        "    order = np.lexsort((all_rows, all_columns))",
        "    place = np.argsort(order)",
        "    starts = np.searchsorted(all_columns[order], np.arange(size + 1)).astype(np.int32)",
        "    found = place[: rows.size].reshape(rows.shape), place[rows.size :].reshape(below.shape)",
        "    return *found, all_rows[order].astype(np.int32), starts",
    ]


def _lands_by_subclass(task: Task) -> bool:
    return task.cell.saving == LANDING and task.cell.method != "odeint"


def _landing(task: Task) -> list[str]:
    name = _METHODS[task.cell.method]
    return [
        f"class Landing({name}):",
        '    """Steps that end at every time of ``ends``, the last one first."""',
        "",
        "    ends = []",
        "",
        "    def step(self):",
        "        self.t_bound = self.ends[-1]",
        "        message = super().step()",
        '        if self.status == "finished" and len(self.ends) > 1:',
        "            self.ends.pop()",
        '            self.status = "running"',
        "        return message",
    ]


def _bounds(low: float, high: float) -> str:
    return ", ".join(
        f'float("{bound}")' if bound in (float("inf"), float("-inf")) else repr(bound) for bound in (low, high)
    )


def _typical(task: Task) -> list[float]:
    values = task.numbers
    least = values.atol_scale if values.wrt == "initial_state" else [float(value == 0) for value in values.theta]
    return [max(abs(value), low) for value, low in zip(values.theta, least, strict=True)]


def _value_and_gradient(task: Task, compiled: bool) -> list[str]:
    parameters, with_data = task.numbers.wrt == "parameters", script.has(task, "GIVEN")
    values = "theta" if parameters else "P"
    lines = ["def value_and_gradient(theta):", '    """The loss at theta, and its gradient."""']
    lines += [f"    p = np.asarray({values}, dtype=float){'' if compiled else '.tolist()'}"]
    if with_data:
        lines += [
            "    start = initial_state(*GIVEN, np.asarray(p))",
            "    y0, penalty = start if isinstance(start, tuple) else (start, 0.0)",
            "    s0 = initial_jacobian(*GIVEN, p).T",
        ]
    else:
        lines.append(f"    y0 = {'Y0' if parameters else 'np.asarray(theta, dtype=float)'}")
        lines.append(f"    s0 = {'np.zeros((M, N))' if parameters else 'np.eye(N)'}")
    if len(_shares(task)) > 1:
        lines += [
            "    found = [sensitivities(p, y0, s0[first:end], first) for first, end in SHARES]",
            "    ys, s = found[0][0], np.concatenate([part for _, part in found], axis=1)",
        ]
    else:
        lines.append("    ys, s = sensitivities(p, y0, s0, 0)")
    if with_data:
        return [
            *lines,
            "    by_state, directly = loss_gradient(ys, *GIVEN, p)",
            "    value = loss(ys, *GIVEN, p) + penalty",
            "    return float(value), np.einsum('tmn,tn->m', s, by_state) + directly",
        ]
    return [*lines, "    return float(loss(ys)), np.einsum('tmn,tn->m', s, loss_gradient(ys))"]


def _sensitivities(task: Task, compiled: bool) -> list[str]:
    jacobian, defined = _jacobian(task, compiled)
    return [
        "def sensitivities(p, y0, s0, first):",
        '    """The states at the saved times, and their sensitivities to the components of theta from first on."""',
        "    m = len(s0)",
        "    size = N*(1 + m)",
        "    z = np.concatenate([y0, s0.ravel()])",
        "    atols = np.concatenate([ATOL, (ATOL/TYPICAL[first : first + m, None]).ravel()])",
        "",
        *_rhs(task, compiled),
        "",
        *([*defined, ""] if defined else []),
        *_integration(task, jacobian),
        "",
        "    saved = np.concatenate(saved)",
        "    return saved[:, :N], saved[:, N:].reshape(len(saved), m, N)",
    ]


def _rhs(task: Task, compiled: bool) -> list[str]:
    if compiled:
        return [
            "    out = np.empty(size)",
            "",
            "    def rhs_of_all(t, z):",
            f"        augmented(t, z, {_kept(task)}, p, first)",
            "        return out",
        ]
    if script.has(task, "augmented"):
        return ["    def rhs_of_all(t, z):", "        return augmented(t, z, p)"]
    if not script.has(task, "linearised"):
        forced = task.numbers.wrt == "parameters"
        return [
            "    def rhs_of_all(t, z):",
            "        y = z[:N]",
            "        slopes = jacobian(t, y, p).dot(z[N:].reshape(m, N).T)",
            *(["        slopes = slopes + parameter_jacobian(t, y, p)[:, first : first + m]"] if forced else []),
            "        return np.concatenate([rhs(t, y, p), np.asarray(slopes).T.ravel()])",
        ]
    return [
        "    def rhs_of_all(t, z):",
        "        f, j, f_p = linearised(t, z[:N], p)",
        "        slopes = z[N:].reshape(m, N).dot(j)",
        "        slopes = slopes if f_p is None else slopes + f_p[first : first + m]",
        "        return np.concatenate([f, slopes.ravel()])",
    ]


def _kept(task: Task) -> str:
    # ``solve_ivp`` keeps its arguments, ``odeint`` copies them.
    return "out" if task.cell.method == "odeint" else "out := np.empty(size)"


def _jacobian(task: Task, compiled: bool) -> tuple[str, list[str]]:
    """The name of the Newton matrix's function, and the lines that define it; both empty if there is none."""
    if not ADAPTER.method(task.cell.method).implicit:
        return "", []
    if not compiled and script.has(task, "augmented"):
        if not script.has(task, "augmented_jacobian"):
            return "", []
        return "jac", ["    def jac(t, z):", "        return augmented_jacobian(t, z, p)"]
    sparse = _matrix(task) == "sparse"
    where = "diagonal, below, rows, starts" if sparse else "diagonal, below"
    stored = "len(rows)" if sparse else "size*size"
    whole = "csc_matrix((entries, rows, starts), shape=(size, size))" if sparse else "entries.reshape(size, size)"
    given = [f"    {where} = places(m)"]
    if compiled and script.has(task, "augmented_jacobian"):
        made = [f"entries = np.zeros({stored})"]
        kept, each = (made, []) if task.cell.method == "odeint" else ([], made)
        return "jac", [
            *given,
            *(f"    {line}" for line in kept),
            "",
            "    def jac(t, z):",
            *(f"        {line}" for line in each),
            "        augmented_jacobian(t, z, entries, p, first, diagonal, below)",
            f"        return {whole}",
        ]
    if script.has(task, "second_derivatives"):
        return "jac", [
            *given,
            "",
            "    def jac(t, z):",
            f"        entries = np.zeros({stored})",
            "        of_state, by_state, by_theta = second_derivatives(t, z[:N], p)",
            "        entries[diagonal] = of_state",
            "        coupling = z[N:].reshape(m, N) @ by_state.T",
            "        entries[below] = coupling if by_theta is None else coupling + by_theta[:, first : first + m].T",
            f"        return {whole}",
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
            "        found, info = odeint(",
            f"            {f}, z, [start, *times], tfirst=True, rtol=RTOL, atol=atols, mxstep=100_000,",
            f"            Dfun={j or 'None'}, tcrit={landing}, full_output=True,",
            "        )",
            "        if info['message'] != 'Integration successful.':",
            "            raise RuntimeError(info['message'])",
            "        saved.append(found[1 : 1 + n_saved])",
            "        z = found[-1]",
        ]
        return lines
    if _lands_by_subclass(task):
        lines.append("        Landing.ends = times[::-1].tolist()")
    method = "Landing" if _lands_by_subclass(task) else repr(_METHODS[task.cell.method])
    lines += [
        "        found = solve_ivp(",
        f"            {f}, (start, times[-1]), z, method={method}, t_eval=times,",
        f"            rtol=RTOL, atol=atols{f', jac={j}' if j else ''},",
        "        )",
        "        if not found.success:",
        "            raise RuntimeError(found.message)",
        "        saved.append(found.y.T[:n_saved])",
        "        z = found.y[:, -1]",
    ]
    return lines
