"""A Diffrax cell as a script: what ``program.py`` does for it, written out."""

from __future__ import annotations

import math
from dataclasses import replace

from sciml_bench.adapters import script
from sciml_bench.adapters.diffrax import ADAPTER, SPLIT, STOCHASTIC, event_script
from sciml_bench.adapters.time_grid import fixed_steps
from sciml_bench.record.task import LANDING, Cell, Point, Task

_ADJOINTS = {
    "checkpointed": "diffrax.RecursiveCheckpointAdjoint()",
    "discrete": "diffrax.DirectAdjoint()",
    "forward": "diffrax.ForwardMode()",
    # Its solve backwards is seen by nobody else: if it fails, it says so.
    "backsolve": "diffrax.BacksolveAdjoint()",
}
_MAX_STEPS, _KEPT_STEPS, _KEPT_NUMBERS = 2**16, 4096, 2**23
"""Steps of a solve; steps kept for a gradient if they hold at most this many numbers: see ``solvers.py``."""
_ROOT_FINDERS = {"newton": "Newton", "chord": "Chord"}


def script_of(task: Task, point: Point) -> str:
    """The script of a cell at a tolerance."""
    cell = task.cell
    needed = ["import diffrax", "import jax", "import jax.numpy as jnp"]
    has_events = script.has(task, "EVENTS")
    needed += ["import optimistix"] if ADAPTER.method(cell.method).root_finder or has_events else []
    checks = ("import os", "", 'os.environ.setdefault("EQX_ON_ERROR", "nan")', "")
    return script.joined(
        script.head(task, "diffrax, jax and numpy"),
        script.imports(task, *needed, first=checks) + '\n\njax.config.update("jax_enable_x64", True)',
        "# The model.",
        script.body(task),
        "# Its numbers, and how it is solved.",
        "\n".join([script.given(task, point), *_solver(_without_events(task) if has_events else task, point)]),
        _functions(task),
        script.check(task, "jnp.asarray({})", "_gradient(theta).block_until_ready()"),
    )


def _without_events(task: Task) -> Task:
    """The task without the breakpoints at which scheduled events start another leg."""
    at = {t for _, _, times in script.events(task) for t in times}
    left = tuple(t for t in task.numbers.breakpoints if t not in at)
    return replace(task, numbers=replace(task.numbers, breakpoints=left))


def _is_stochastic(cell: Cell) -> bool:
    return any(cell.method == method.name for method in STOCHASTIC)


def _kind(name: str) -> str:
    """The name of Diffrax's solver."""
    return "".join(part.capitalize() for part in name.split("-")).replace("Kencarp", "KenCarp")


def _equal_steps(task: Task, point: Point) -> list[str]:
    """Steps in which the motion is given, halved until there are as many as the tolerance needs."""
    given = len(task.numbers.breakpoints) + 1
    halvings = max(0, math.ceil(math.log2(max(1.0, point.rtol**-0.5 / given))))
    return [
        f"SOLVER = diffrax.{_kind(task.cell.method)}()",
        "CONTROLLER = diffrax.ConstantStepSize()",
        f"STEP = (T1 - T0)/{given * 2**halvings}",
        _max_steps(task),
    ]


def _max_steps(task: Task) -> str:
    keeps = task.cell.sensitivity == "discrete" or _keeps_all(task)
    return f"MAX_STEPS = {_KEPT_STEPS if keeps else _MAX_STEPS}"


def _solver(task: Task, point: Point) -> list[str]:
    cell, values = task.cell, task.numbers
    if _is_stochastic(cell):
        return _equal_steps(task, point)
    method = ADAPTER.method(cell.method)
    kind, finder = _kind(method.integrator.removesuffix("-fixed")), method.root_finder
    if finder:
        found = f"diffrax.with_stepsize_controller_tols(optimistix.{_ROOT_FINDERS[finder]})(cauchy_termination=False)"
        lines = [f"SOLVER = diffrax.{kind}(", f"    root_finder={found}", ")"]
    else:
        lines = [f"SOLVER = diffrax.{kind}()"]
    # The adjoint equation has one tolerance for all of its parts: it is solved in units of their sizes.
    atol = repr(point.atol) if cell.sensitivity == "backsolve" else "ATOL"
    if atol != "ATOL":
        lines.append(script.numbers("P_SCALE", values.p_scale))
    lines.append(_max_steps(task))
    if not method.adaptive:
        lines.append(f"STEP = (T1 - T0)/{fixed_steps(method.order, point.rtol)}")
        sizes = "diffrax.ConstantStepSize()"
    elif method.implicit:
        sizes = f"diffrax.PIDController(RTOL, {atol}, pcoeff=0.3, icoeff=0.4, dtmin=1e-30*(T1 - T0), force_dtmin=False)"
    else:
        sizes = f"diffrax.PIDController(RTOL, {atol})"
    lines.append(f"CONTROLLER = {sizes}")
    clips = ["step_ts=jnp.asarray(SAVED)"] if cell.saving == LANDING else []
    if values.breakpoints:
        lines.insert(0, script.numbers("JUMPS", values.breakpoints))
        clips.append("jump_ts=jnp.asarray(JUMPS)")
    if clips:
        lines.append(f"CONTROLLER = diffrax.ClipStepSizeController(CONTROLLER, {', '.join(clips)})")
    return lines


_KEEPING = "diffrax.RecursiveCheckpointAdjoint(checkpoints=MAX_STEPS)"


def _keeps_all(task: Task) -> bool:
    """Return whether a checkpointed gradient keeps every step."""
    return task.cell.sensitivity == "checkpointed" and _KEPT_STEPS * len(task.numbers.y0) <= _KEPT_NUMBERS


def _functions(task: Task) -> str:
    cell = task.cell
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
        *([event_script.COUNT] if script.has(task, "EVENTS") else ()),
        "    *slopes, value = np.asarray(_gradient(jnp.asarray(theta)))",
        "    if not np.all(np.isfinite([*slopes, value])):",
        '        raise RuntimeError("the solve failed: loosen RTOL, or raise MAX_STEPS")',
        "    return float(value), np.array(slopes)",
    ]
    if not script.has(task, "EVENTS"):
        return "\n".join([*_solve(task), "", "", *_loss(task), "", "", *gradient])
    solve = event_script.functions(task, _adjoint(task))
    legs = event_script.legs(_start(task), alone=task.numbers.batch == 1)
    return "\n".join([*solve, "", "", *legs, "", "", *_loss(task), "", "", *gradient])


def _adjoint(task: Task) -> str:
    # As many checkpoints as steps: nothing is solved twice.
    return _KEEPING if _keeps_all(task) else _ADJOINTS[task.cell.sensitivity]


def _solve(task: Task) -> list[str]:
    """The solve of one trajectory."""
    scaled = task.cell.sensitivity == "backsolve"
    p = "p/P_SCALE" if scaled else "p"
    arguments = f"arguments({p})" if script.has(task, "arguments") else f"({p},)"
    driven = script.has(task, "controls")
    lines = [
        f"def solved(y0, p{', given' if driven else ''}):",
        '    """The states at the saved times, from one initial state."""',
        f"    args = {arguments}",
    ]
    if script.has(task, "RHS_NETWORKS"):
        lines.append("    args = (args[0], *(args[1 + i] for i in RHS_NETWORKS))")
    if driven:
        lines += ["    driving = controls(*given)", "    args = (*args, *driving)"]
    called, y0, ys = "(t, y, *args)", "y0", "solution.ys"
    if scaled:
        named = f"args[0]*P_SCALE[:{task.numbers.n_named}]"
        called, y0, ys = f"(t, y*SCALE, {named}, *args[1:])/SCALE", "y0/SCALE", "solution.ys*SCALE"
    split = task.cell.method in {method.name for method in SPLIT}
    terms = [
        f"diffrax.ODETerm(lambda t, y, args: {name}{called})"
        for name in (("explicit_terms", "implicit_terms") if split else ("rhs",))
    ]
    term = [f"        {terms[0]},"]
    if split:
        term = ["        diffrax.MultiTerm(", *(f"            {each}," for each in terms), "        ),"]
    if _is_stochastic(task.cell):
        noise = "diffrax.ControlTerm(lambda t, y, args: diffusion(t, y, *args), *driving)"
        drift = "diffrax.ODETerm(lambda t, y, args: drift(t, y, *args))"
        term = ["        diffrax.MultiTerm(", f"            {drift},", f"            {noise},", "        ),"]
    return [
        *lines,
        "    solution = diffrax.diffeqsolve(",
        *term,
        f"        SOLVER, T0, T1, {'None' if ADAPTER.method(task.cell.method).adaptive else 'STEP'}, {y0},",
        "        args=args,",
        "        saveat=diffrax.SaveAt(ts=jnp.asarray(SAVED)),",
        "        stepsize_controller=CONTROLLER,",
        f"        adjoint={_adjoint(task)},",
        "        max_steps=MAX_STEPS,",
        "        throw=False,",
        "    )",
        f"    return {ys}",
    ]


def _start(task: Task) -> list[str]:
    """Lines that compute the parameters and the initial values, of a batch a row for each trajectory."""
    parameters, alone = task.numbers.wrt == "parameters", task.numbers.batch == 1
    lines = [f"    p = {'theta' if parameters else 'jnp.asarray(P)'}"]
    if not script.has(task, "GIVEN"):
        y0 = "jnp.asarray(Y0)" if parameters else "theta"
        return [*lines, f"    y0 = {y0}{'' if alone else '.reshape(BATCH, -1)'}"]
    called = "initial_state(*GIVEN, *args)"
    if not alone:
        called = "jax.vmap(lambda *given: initial_state(*given, *args))(*GIVEN)"
    return [
        *lines,
        f"    args = {'arguments(p)' if script.has(task, 'arguments') else '(p,)'}",
        f"    start = {called}",
        "    y0, penalty = start if isinstance(start, tuple) else (start, 0.0)",
    ]


def _loss(task: Task) -> list[str]:
    """The loss of theta, of a batch the sum over its trajectories, which step independently."""
    alone, driven = task.numbers.batch == 1, script.has(task, "controls")
    with_data = script.has(task, "GIVEN")
    lines = ["def loss_of(theta):", *_start(task)]
    if alone:
        value = f"loss(solved(y0, p{', GIVEN' if driven else ''})"
        value += ", *GIVEN, *args) + penalty" if with_data else ")"
    else:
        # Side by side, a trajectory that has ended would be differentiated through legs of no length.
        solves = "jax.vmap(lambda y0: solved(y0, p))(y0)"
        if script.has(task, "EVENTS"):
            solves = "jax.lax.map(lambda y0: solved(y0, p), y0)"
        elif driven:
            solves = "jax.vmap(lambda y0, *given: solved(y0, p, given))(y0, *GIVEN)"
        lines.append(f"    ys = {solves}")
        value = "jnp.sum(jax.vmap(loss)(ys))"
        if with_data:
            value = "jnp.sum(jax.vmap(lambda ys, *given: loss(ys, *given, *args))(ys, *GIVEN)) + jnp.sum(penalty)"
    return [*lines, f"    value = {value}", "    return value, value"]
