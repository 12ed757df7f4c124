"""A SciPy cell as a script: one solve of the forward sensitivity equations, as ``program.py`` does it, written out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sciml_bench.adapters import script
from sciml_bench.adapters.scipy import event_script
from sciml_bench.adapters.scipy.fields import FieldSystems
from sciml_bench.adapters.scipy.newton_script import NewtonScript, newton_script, systems_of
from sciml_bench.adapters.scipy.system import Systems
from sciml_bench.adapters.segments import split
from sciml_bench.errors import UsageError
from sciml_bench.record.task import LANDING, Point, Task

_METHODS = {"rk45": "RK45", "dop853": "DOP853", "radau": "Radau", "bdf": "BDF", "lsoda": "LSODA"}


def script_of(task: Task, point: Point) -> str:
    """The script of a cell at a tolerance.

    Raises:
        UsageError: there is none for this kind of problem and method.
    """
    cell = task.cell
    compiled = cell.framework_mode == "compiled"
    if compiled and not script.has(task, "augmented"):
        raise UsageError(f"{cell.problem} has no sensitivity equations for Numba: there is no such script")
    # SciPy solves one trajectory at a time.
    one = replace(task, numbers=task.numbers.trajectories[0])
    systems = systems_of(one)
    matrix = newton_script(one, systems)
    if script.has(task, "EVENTS") and matrix.has_order:
        raise UsageError(f"{cell.problem} has events, and equations in another order: there is no such script")
    solver = "odeint" if cell.method == "odeint" else "solve_ivp"
    needed = [f"from scipy.integrate import {solver}"]
    if _lands_by_subclass(task):
        needed = [f"from scipy.integrate import {_METHODS[cell.method]}, {solver}"]
    quoted, imports = script.quoted(matrix.quoted)
    if "@cache" in matrix.module:
        needed.append("from functools import cache")
    later = ["from __future__ import annotations"] if quoted else []
    return script.joined(
        script.head(task, "scipy, numpy" + (" and numba" if compiled else "")),
        script.imports(task, *needed, *imports, first=later),
        "# The model, and its sensitivity equations.",
        script.body(task),
        "# Its numbers, and how it is solved.",
        "\n".join([script.given(task, point), *_numbers(one, systems.shares)]),
        *(["# How its Newton matrix is stored and filled.", quoted] if quoted else []),
        "\n".join(matrix.module),
        "\n".join(_landing(task)) if _lands_by_subclass(task) else "",
        event_script.functions(task) if script.has(task, "EVENTS") else "",
        "\n".join(_sensitivities(one, systems, matrix)),
        "\n".join(_value_and_gradient(task, systems, matrix)),
        script.check(task),
    )


def _numbers(task: Task, parts: Sequence[slice]) -> list[str]:
    values = task.numbers
    lines = [
        *script.segments(split(values)),
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


def _typical(task: Task) -> list[float]:
    values = task.numbers
    least = values.atol_scale if values.wrt == "initial_state" else [float(value == 0) for value in values.theta]
    return [max(abs(value), low) for value, low in zip(values.theta, least, strict=True)]


def _value_and_gradient(task: Task, systems: Systems, matrix: NewtonScript) -> list[str]:
    parameters, with_data = task.numbers.wrt == "parameters", script.has(task, "GIVEN")
    compiled = task.cell.framework_mode == "compiled"
    coupled = ", coupled" if matrix.is_choice else ""
    name = "solved" if matrix.is_choice else "value_and_gradient"
    alone = task.numbers.batch == 1
    of_one = "" if alone else ", *given" if with_data else ", y0"
    lines = [f"def {name if alone else 'of_trajectory'}(theta{coupled}{of_one}):"]
    lines += [f'    """The loss{"" if alone else " of one trajectory"} at theta, and its gradient."""']
    lines += [f"    p = np.asarray({'theta' if parameters else 'P'}, dtype=float){'' if compiled else '.tolist()'}"]
    data = "*GIVEN" if alone else "*given"
    if with_data:
        lines += [
            f"    start = initial_state({data}, np.asarray(p))",
            "    y0, penalty = start if isinstance(start, tuple) else (start, 0.0)",
            f"    s0 = initial_jacobian({data}, p).T",
        ]
    else:
        if alone:
            lines.append(f"    y0 = {'Y0' if parameters else 'np.asarray(theta, dtype=float)'}")
        lines.append(f"    s0 = {'np.zeros((M, N))' if parameters else 'np.eye(N)'}")
    if len(systems.shares) > 1:
        if matrix.is_choice:
            lines.append("    shares = SHARES if coupled else [(0, M)]")
        shares = "shares" if matrix.is_choice else "SHARES"
        lines += [
            f"    found = [sensitivities(p, y0, s0[first:end], first{coupled}) for first, end in {shares}]",
            "    ys, s = found[0][0], np.concatenate([part for _, part in found], axis=1)",
        ]
    else:
        lines.append(f"    ys, s = sensitivities(p, y0, s0, 0{coupled})")
    if with_data:
        lines += [
            f"    by_state, directly = loss_gradient(ys, {data}, p)",
            f"    value = loss(ys, {data}, p) + penalty",
            "    return float(value), np.einsum('tmn,tn->m', s, by_state) + directly",
        ]
    else:
        lines.append("    return float(loss(ys)), np.einsum('tmn,tn->m', s, loss_gradient(ys))")
    if not alone:
        lines += _of_all(name, coupled, with_data)
    if matrix.is_choice:
        lines += _CHOICE.replace("THETA", "P" if parameters else "Y0").splitlines()[1:]
    return lines


def _of_all(name: str, coupled: str, with_data: bool) -> list[str]:
    """The function of all trajectories, which are solved in turn."""
    rows, taken = ("zip(*GIVEN)", "*one") if with_data else ("Y0.reshape(BATCH, N)", "one")
    return [
        "",
        "",
        f"def {name}(theta{coupled}):",
        '    """The loss at theta, summed over the trajectories, and its gradient."""',
        f"    values, slopes = zip(*[of_trajectory(theta{coupled}, {taken}) for one in {rows}])",
        "    return sum(values), sum(slopes)",
    ]


_CHOICE = '''


def seconds(theta, coupled):
    try:
        solved(theta, coupled)  # compiles
        start = time.perf_counter()
        solved(theta, coupled)
        return time.perf_counter() - start
    except RuntimeError:
        return float("inf")


@cache
def is_coupled():
    """Return whether the Newton matrix is to couple sensitivities to the state, which takes fewer steps."""
    return seconds(THETA, True) <= seconds(THETA, False)


def value_and_gradient(theta):
    """The loss at theta, and its gradient."""
    return solved(theta, is_coupled())'''


def _sensitivities(task: Task, systems: Systems, matrix: NewtonScript) -> list[str]:
    coupled = ", coupled" if matrix.is_choice else ""
    fields = isinstance(systems, FieldSystems)
    head = [
        f"def sensitivities(p, y0, s0, first{coupled}):",
        '    """The states at the saved times, and their sensitivities to the components of theta from first on."""',
        "    m = len(s0)",
    ]
    lines = [
        "    z = np.concatenate([y0, s0.ravel()])",
        "    atols = np.concatenate([ATOL, (ATOL/TYPICAL[first : first + m, None]).ravel()])",
    ]
    if fields:
        lines += ["    arranged = ARRANGED.order_of(1 + m)", "    z, atols = z[arranged], atols[arranged]"]
    lines += ["", *_rhs(task, fields), ""]
    if matrix.inside:
        lines += [*matrix.inside, ""]
    lines += [*_integration(task, matrix), "", "    saved = np.concatenate(saved)"]
    if matrix.has_order:
        lines.append("    saved = saved[:, place]")
    if fields:
        lines.append("    saved = saved[:, np.argsort(arranged)]")
    if any("size" in line for line in lines):
        head.append("    size = N*(1 + m)")
    return [*head, *lines, "    return saved[:, :N], saved[:, N:].reshape(len(saved), m, N)"]


def _rhs(task: Task, fields: bool) -> list[str]:
    if task.cell.framework_mode == "compiled":
        return [
            *(["    out = np.empty(size)", ""] if task.cell.method == "odeint" else []),
            "    def rhs_of_all(t, z):",
            f"        augmented(t, z, {_kept(task)}, p, first{', ARRANGED.points' if fields else ''})",
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


def _integration(task: Task, matrix: NewtonScript) -> list[str]:
    clipped = bool(task.numbers.breakpoints)
    jacobian = matrix.jacobian
    f, j = "rhs_in_order" if matrix.has_order else "rhs_of_all", jacobian
    lines = ["    saved = []", "    for start, times, n_saved, low, high in PARTS:"]
    if clipped:
        f = f"lambda t, z: {f}(min(max(t, low), high), z)"
        j = f"lambda t, z: {jacobian}(min(max(t, low), high), z)" if jacobian else ""
    if script.has(task, "EVENTS"):
        band = ', "lband": layout.lower, "uband": layout.upper' if matrix.is_band else ""
        return event_script.integration(f, repr(_METHODS[task.cell.method]), j, band)
    if task.cell.method == "odeint":
        band = "ml=layout.lower, mu=layout.upper, " if matrix.is_band else ""
        landing = "times" if task.cell.saving == LANDING else "times[-1:]" if clipped else "None"
        lines += [
            "        found, info = odeint(",
            f"            {f}, z, [start, *times], tfirst=True, rtol=RTOL, atol=atols, mxstep=100_000,",
            f"            Dfun={j or 'None'}, {band}tcrit={landing}, full_output=True,",
            "        )",
            "        if info['message'] != 'Integration successful.':",
            "            raise RuntimeError(info['message'])",
            "        saved.append(found[1 : 1 + n_saved])",
            "        z = found[-1]",
        ]
        return lines
    if _lands_by_subclass(task):
        lines.append("        Landing.ends = times[::-1].tolist()")
    band = ", lband=layout.lower, uband=layout.upper" if matrix.is_band else ""
    method = "Landing" if _lands_by_subclass(task) else repr(_METHODS[task.cell.method])
    lines += [
        "        found = solve_ivp(",
        f"            {f}, (start, times[-1]), z, method={method}, t_eval=times,",
        f"            rtol=RTOL, atol=atols{f', jac={j}' if j else ''}{band},",
        "        )",
        "        if not found.success:",
        "            raise RuntimeError(found.message)",
        "        saved.append(found.y.T[:n_saved])",
        "        z = found.y[:, -1]",
    ]
    return lines
