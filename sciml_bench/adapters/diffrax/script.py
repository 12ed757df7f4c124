"""A Diffrax cell as a script: what ``program.py`` does for it, written out."""

from __future__ import annotations

from sciml_bench.adapters import script
from sciml_bench.adapters.diffrax import ADAPTER, SPLIT, STOCHASTIC
from sciml_bench.errors import UsageError
from sciml_bench.record.task import LANDING, Point, Task

_ADJOINTS = {
    # As many checkpoints as steps: nothing is solved twice.
    "checkpointed": "diffrax.RecursiveCheckpointAdjoint(checkpoints=MAX_STEPS)",
    "discrete": "diffrax.DirectAdjoint()",
    "forward": "diffrax.ForwardMode()",
}
_MAX_STEPS = {"discrete": 4096, "checkpointed": 4096}
_ROOT_FINDERS = {"newton": "Newton", "chord": "Chord"}


def script_of(task: Task, point: Point) -> str:
    """The script of a cell at a tolerance.

    Raises:
        UsageError: there is none for this kind of problem or method.
    """
    cell = task.cell
    script.refuse(task, "controls")
    if cell.method in {method.name for method in (*SPLIT, *STOCHASTIC)}:
        raise UsageError(f"there are no scripts for {cell.method} yet")
    if cell.sensitivity not in _ADJOINTS:
        raise UsageError(f"there are no scripts for gradients by {cell.sensitivity} in Diffrax yet")
    needed = ["import diffrax", "import jax", "import jax.numpy as jnp"]
    needed += ["import optimistix"] if "-" in cell.method else []
    checks = ("import os", "", 'os.environ.setdefault("EQX_ON_ERROR", "nan")', "")
    return script.joined(
        script.head(task, "diffrax, jax and numpy"),
        script.imports(task, *needed, first=checks) + '\n\njax.config.update("jax_enable_x64", True)',
        "# The model.",
        script.body(task),
        "# Its numbers, and how it is solved.",
        "\n".join([script.given(task, point), *_solver(task)]),
        _functions(task),
        script.check(task, "jnp.asarray({})", "_gradient(theta).block_until_ready()"),
    )


def _solver(task: Task) -> list[str]:
    cell, values = task.cell, task.numbers
    method = ADAPTER.method(cell.method)
    name, _, finder = cell.method.partition("-")
    kind = "".join(part.capitalize() for part in name.split("-")).replace("Kencarp", "KenCarp")
    if finder:
        found = f"diffrax.with_stepsize_controller_tols(optimistix.{_ROOT_FINDERS[finder]})(cauchy_termination=False)"
        lines = [f"SOLVER = diffrax.{kind}(", f"    root_finder={found}", ")"]
    else:
        lines = [f"SOLVER = diffrax.{kind}()"]
    if method.implicit:
        pid = "diffrax.PIDController(RTOL, ATOL, pcoeff=0.3, icoeff=0.4, dtmin=1e-30*(T1 - T0), force_dtmin=False)"
    else:
        pid = "diffrax.PIDController(RTOL, ATOL)"
    lines += [f"CONTROLLER = {pid}", f"MAX_STEPS = {_MAX_STEPS.get(cell.sensitivity, 2**16)}"]
    clips = ["step_ts=jnp.asarray(SAVED)"] if cell.saving == LANDING else []
    if values.breakpoints:
        lines.insert(0, script.numbers("JUMPS", values.breakpoints))
        clips.append("jump_ts=jnp.asarray(JUMPS)")
    if clips:
        lines.append(f"CONTROLLER = diffrax.ClipStepSizeController(CONTROLLER, {', '.join(clips)})")
    return lines


def _functions(task: Task) -> str:
    cell, parameters = task.cell, task.numbers.wrt == "parameters"
    with_data = script.has(task, "GIVEN")
    arguments = "arguments(p)" if script.has(task, "arguments") else "(p,)"
    of_rhs = "args"
    if script.has(task, "RHS_NETWORKS"):
        of_rhs = "(args[0], *(args[1 + i] for i in RHS_NETWORKS))"
    start = "initial_state(*GIVEN, *args)" if with_data else ("jnp.asarray(Y0)" if parameters else "theta")
    loss = "loss(ys, *GIVEN, *args)" if with_data else "loss(ys)"
    solve = [
        "def loss_of(theta):",
        f"    p = {'theta' if parameters else 'jnp.asarray(P)'}",
        f"    args = {arguments}",
        *_start(start, with_data),
        "    solution = diffrax.diffeqsolve(",
        "        diffrax.ODETerm(lambda t, y, args: rhs(t, y, *args)),",
        "        SOLVER, T0, T1, None, y0,",
        f"        args={of_rhs},",
        "        saveat=diffrax.SaveAt(ts=jnp.asarray(SAVED)),",
        "        stepsize_controller=CONTROLLER,",
        f"        adjoint={_ADJOINTS[cell.sensitivity]},",
        "        max_steps=MAX_STEPS,",
        "        throw=False,",
        "    )",
        "    ys = solution.ys",
        f"    value = {loss}{' + penalty' if with_data else ''}",
        "    return value, value",
    ]
    differentiate = "jacfwd" if cell.sensitivity == "forward" else "grad"
    gradient = [
        "@jax.jit",
        "def _gradient(theta):",
        f"    slopes, value = jax.{differentiate}(loss_of, has_aux=True)(theta)",
        "    # One array: each result costs time in every call.",
        "    return jnp.append(slopes, value)",
        "",
        "",
        "def value_and_gradient(theta):",
        '    """The loss at theta, and its gradient."""',
        "    *slopes, value = np.asarray(_gradient(jnp.asarray(theta)))",
        "    if not np.isfinite(value):",
        '        raise RuntimeError("the solve failed: loosen RTOL, or raise MAX_STEPS")',
        "    return float(value), np.array(slopes)",
    ]
    return "\n".join([*solve, "", "", *gradient])


def _start(start: str, with_data: bool) -> list[str]:
    if not with_data:
        return [f"    y0 = {start}"]
    return [f"    start = {start}", "    y0, penalty = start if isinstance(start, tuple) else (start, 0.0)"]
