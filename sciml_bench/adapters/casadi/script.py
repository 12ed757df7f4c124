"""A CasADi cell as a script."""

from __future__ import annotations

from collections.abc import Callable

from sciml_bench.adapters import script
from sciml_bench.adapters.casadi import COMPILED, EVENT_OPTIONS, LOOKS, SOLVERS, compiler
from sciml_bench.adapters.segments import split
from sciml_bench.record.task import Point, Task


def script_of(task: Task, point: Point) -> str:
    """The script of a cell at a tolerance."""
    from sciml_bench.adapters.casadi import integration

    made: list[Callable[..., object]] = [integration.solution]
    if task.cell.sensitivity == "adjoint":
        made += [integration.in_turn, integration.adjoint] if _residual(task) else [integration.adjoint]
    else:
        made.append(integration.slopes)
    if any(way is not None for _, way, _ in script.events(task)):
        made.append(integration.passing)
    functions, imports = script.quoted(made)
    return script.joined(
        script.head(task, "casadi and numpy"),
        script.imports(task, "import casadi as ca", *imports),
        "# The model.",
        script.body(task),
        "# Its numbers, and how it is solved.",
        "\n".join([script.given(task, point), *script.segments(split(task.numbers)), *_changes(task)]),
        functions,
        "\n".join(_functions(task)),
        "\n".join(_gradient(task)),
        script.check(task),
    )


def _functions(task: Task) -> list[str]:
    plugin, options = SOLVERS[task.cell.method]
    made: dict[str, object] = {"max_num_steps": 1_000_000, **options}
    if task.cell.framework_mode == COMPILED:
        jit: dict[str, object] = {"flags": ["-O3"]}
        if (command := compiler()) and not command.endswith("gcc"):
            jit |= {"compiler": command, "linker": command}
        made |= {"jit": True, "compiler": "shell", "jit_options": jit}
    residual = _residual(task)
    given = f'rhs, {residual}, PARTS, N_STATES, N_PARAMETERS, "{plugin}", OPTIONS'
    name = "adjoint" if task.cell.sensitivity == "adjoint" else "slopes"
    solve = f"in_turn({given})" if name == "adjoint" and residual else "SOLVE"
    events = "{}"
    if script.events(task):
        made |= EVENT_OPTIONS
        events = "RESETS, events, CROSSINGS"
    return [
        "# One absolute tolerance for all states.",
        f'OPTIONS = {{"reltol": RTOL, "abstol": float(np.min(ATOL)), **{made!r}}}',
        f"SOLVE = solution({given}, {events})",
        f"{name.upper()} = {name}({solve}, {task.numbers.wrt == 'parameters'})",
    ]


def _changes(task: Task) -> list[str]:
    """The changes of the state at known times, and at times that the solution decides."""
    events = script.events(task)
    if not events:
        return []
    known = sorted({t for _, _, times in events for t in times})
    at = {t: [f"reset__{name}" for name, _, times in events if t in times] for t in known}
    decided = [f"({way}, reset__{name})" for name, way, _ in events if way is not None]
    lines = [
        "# The changes of the state by their times, and by the way in which a condition passes zero.",
        "RESETS = {" + ", ".join(f"{t!r}: [{', '.join(names)}]" for t, names in at.items()) + "}",
        f"CROSSINGS = [{', '.join(decided)}]",
    ]
    return lines + ([f"LOOKS = {LOOKS}  # output times"] if decided else [])


def _residual(task: Task) -> str | None:
    """The name of the algebraic equations in the source, where the integrator takes them as they are."""
    return "residual" if SOLVERS[task.cell.method][0] == "idas" and script.has(task, "residual") else None


def _gradient(task: Task) -> list[str]:
    given = "Y0, theta" if task.numbers.wrt == "parameters" else "theta, P"
    lines = ["def value_and_gradient(theta):", '    """The loss and its gradient."""']
    if task.cell.sensitivity == "adjoint":
        return [
            *lines,
            f"    states = SOLVE({given}).full()",
            "    seeds = loss_gradient(states.T).T",
            f"    return loss(states.T), ADJOINT({given}, seeds).full().ravel()",
        ]
    return [
        *lines,
        f"    states, along = (matrix.full() for matrix in SLOPES({given}))",
        '    return loss(states.T), loss_gradient(states.T).T.ravel(order="F") @ along',
    ]
