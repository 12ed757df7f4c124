"""A torchode cell as a script: what ``program.py`` does for it, written out."""

from __future__ import annotations

from sciml_bench.adapters import script
from sciml_bench.adapters.segments import split
from sciml_bench.record.task import Point, Task

_METHODS = {"tsit5": "Tsit5", "dopri5": "Dopri5"}


def script_of(task: Task, point: Point) -> str:
    """The script of a cell at a tolerance."""
    return script.joined(
        script.head(task, "torchode, torch and numpy"),
        script.imports(task, "import torch", "import torchode"),
        "# The model.",
        script.body(task),
        "# Its numbers, and how it is solved.",
        "\n".join([script.given(task, point), *_numbers(task)]),
        _functions(task),
        script.check(task),
    )


def _numbers(task: Task) -> list[str]:
    batch = task.numbers.batch
    lines = [f"torch.set_num_threads({task.threads})"]
    lines += ["BATCH = 1"] if batch == 1 else []
    lines += [
        "# Start, end, saved times, how many of them are saved, and the bounds of t, of each smooth part.",
        "PARTS = [",
    ]
    for part in split(task.numbers):
        times = f"torch.tensor({list(part.times)!r}, dtype=torch.float64).expand(BATCH, -1).contiguous()"
        bounds = f"float({str(part.low)!r}), float({str(part.high)!r})"
        lines += [
            f"    ({part.start!r}, {part.end!r},",
            f"     {times},",
            f"     {part.n_saved}, {bounds}),",
        ]
    return [*lines, "]"]


def _functions(task: Task) -> str:
    values, alone = task.numbers, task.numbers.batch == 1
    parameters = values.wrt == "parameters"
    t = "t.clamp(low, high)" if values.breakpoints else "t"
    rhs = f"rhs({t}[0], y[0], p)[None]" if alone else f"rhs({t}, y, p)"
    fixed = "P" if not parameters else "Y0"
    other = f"torch.tensor({fixed}, dtype=torch.float64)"
    return "\n".join(
        [
            "def value_and_gradient(theta):",
            '    """The loss at theta, and its gradient."""',
            "    leaf = torch.tensor(np.asarray(theta), dtype=torch.float64).requires_grad_()",
            f"    p, y = {f'leaf, {other}' if parameters else f'{other}, leaf'}",
            "    y, saved = y.reshape(BATCH, -1), []",
            f"    args = {'prepared(p)' if script.has(task, 'prepared') else 'p'}",
            "    for start, end, times, n_saved, low, high in PARTS:",
            f"        term = torchode.ODETerm(lambda t, y, p: {rhs}, with_args=True)",
            "        controller = torchode.IntegralController(atol=1.0, rtol=RTOL, term=term)",
            "        # Its constructor takes one number for all components.",
            "        controller.atol = torch.tensor(ATOL)",
            f"        solver = torchode.AutoDiffAdjoint(torchode.{_METHODS[task.cell.method]}(term=term), controller)",
            "        ends = (torch.full((BATCH,), at, dtype=torch.float64) for at in (start, end))",
            "        found = solver.solve(torchode.InitialValueProblem(y, *ends, times), args=args)",
            "        if bool(torch.any(found.status)):",
            '            raise RuntimeError(f"the solve failed: {found.status}")',
            "        saved.append(found.ys[:, :n_saved].transpose(0, 1))",
            "        y = found.ys[:, -1]",
            "    ys = torch.cat(saved)",
            f"    value = loss({'ys[:, 0]' if alone else 'ys'})",
            "    (slopes,) = torch.autograd.grad(value, [leaf], materialize_grads=True)",
            "    return float(value), slopes.numpy()",
        ]
    )
