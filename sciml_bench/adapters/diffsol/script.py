"""A diffsol cell as a script."""

from __future__ import annotations

import ast
from types import SimpleNamespace

from sciml_bench.adapters import script
from sciml_bench.adapters.diffsol import CONTROLLED, MATRICES, SMALLEST_STEP, SOLVERS
from sciml_bench.adapters.diffsol.model import model_text
from sciml_bench.record.task import Point, Task

_OF_MODEL = ("N_STATES", "N_PARAMETERS", "STATES", "STARTS", "PARAMETERS", "MODEL")


def script_of(task: Task, point: Point) -> str:
    """The script of a cell at a tolerance."""
    numbers = task.numbers
    text, loss = _parts(task)
    return script.joined(
        script.head(task, "pydiffsol and numpy"),
        script.imports(task, "import pydiffsol"),
        f'# The model, in DiffSL.\nDIFFSL = """\\\n{text}"""',
        "# Its loss.",
        loss,
        "# Its numbers, and how it is solved.",
        script.given(task, point),
        "\n".join(_solver(task)),
        "\n".join(_gradient(task, len(numbers.save_times), numbers.save_times[-1] == numbers.t1)),
        script.check(task),
    )


def _parts(task: Task) -> tuple[str, script.Model]:
    """The whole model in DiffSL, and the module without it."""
    body = script.body(task)
    lines, constants = body.splitlines(), dict[str, object]()
    for node in reversed(ast.parse(body).body):
        if isinstance(node, ast.Assign) and isinstance(name := node.targets[0], ast.Name) and name.id in _OF_MODEL:
            constants[name.id] = ast.literal_eval(node.value)
            del lines[node.lineno - 1 : node.end_lineno]
    numbers = task.numbers
    text = model_text(SimpleNamespace(**constants), numbers.p, numbers.y0, numbers.wrt)
    return text, script.Model("\n".join(lines).strip("\n"))


def _solver(task: Task) -> list[str]:
    cell, numbers = task.cell, task.numbers
    matrix, solver = MATRICES[cell.framework_mode], SOLVERS[cell.method]
    lines = [
        f"ODE = pydiffsol.Ode(DIFFSL, matrix_type=pydiffsol.{matrix}, ode_solver=pydiffsol.{solver})",
        f"ODE.t0 = {numbers.t0!r}",
        f"ODE.options.min_timestep = {SMALLEST_STEP * (numbers.t1 - numbers.t0):.0e}",
        "# One absolute tolerance for all states.",
        "ODE.rtol, ODE.atol = RTOL, float(np.min(ATOL))",
    ]
    if cell.sensitivity == CONTROLLED:
        lines.append("ODE.sens_rtol, ODE.sens_atol = ODE.rtol, ODE.atol")
    return lines


def _gradient(task: Task, n_saved: int, ends: bool) -> list[str]:
    times = "SAVED" if ends else "np.append(SAVED, T1)"
    slopes = "loss_gradient(saved).T"
    padded = slopes if ends else f"np.pad({slopes}, ((0, 0), (0, 1)))"
    lines = [
        "def value_and_gradient(theta):",
        '    """The loss and its gradient."""',
    ]
    if task.cell.sensitivity == "adjoint":
        lines += [
            f"    solution, checkpoint = ODE.solve_adjoint_fwd(np.asarray(theta, dtype=float), {times})",
            f"    saved = solution.ys[:, :{n_saved}].T",
            f"    slopes = np.ascontiguousarray({padded})",
            "    return loss(saved), ODE.solve_adjoint_bkwd(solution, checkpoint, slopes).ravel()",
        ]
    else:
        lines += [
            f"    solution = ODE.solve_fwd_sens(np.asarray(theta, dtype=float), {times})",
            f"    saved = solution.ys[:, :{n_saved}].T",
            f"    return loss(saved), np.tensordot(solution.sens, {padded}, 2)",
        ]
    return lines
