"""A torchdiffeq cell as a script: what ``program.py`` does for it, written out."""

from __future__ import annotations

from sciml_bench.adapters import script
from sciml_bench.adapters.time_grid import split
from sciml_bench.adapters.torchdiffeq import ADAPTER
from sciml_bench.errors import UsageError
from sciml_bench.record.task import LANDING, Point, Task


def script_of(task: Task, point: Point) -> str:
    """The script of a cell at a tolerance.

    Raises:
        UsageError: there is none for this kind of problem, method, sensitivity or mode.
    """
    cell = task.cell
    script.refuse(task, "controls")
    if not ADAPTER.method(cell.method).adaptive:
        raise UsageError(f"there are no scripts for methods of fixed steps, as {cell.method}, yet")
    if cell.sensitivity != "discrete":
        raise UsageError(f"there are no scripts for gradients by {cell.sensitivity} in torchdiffeq yet")
    compiled = cell.framework_mode == "compiled"
    return script.joined(
        script.head(task, "torchdiffeq, torch and numpy"),
        script.imports(task, "import torch", "from torchdiffeq import odeint"),
        "# The model.",
        script.body(task),
        "# Its numbers, and how it is solved.",
        "\n".join([script.given(task, point), *_numbers(task), *(_COMPILED if compiled else ())]),
        _functions(task),
        script.check(task),
    )


_COMPILED = (
    "# The loop of a solver cannot be compiled, so the right-hand side is.",
    "rhs = torch.compile(rhs, fullgraph=True, dynamic=False)",
)


def _numbers(task: Task) -> list[str]:
    lines = [f"torch.set_num_threads({task.threads})", "ATOL = torch.tensor(ATOL)"]
    lines += [
        "# Times, how many of them are saved, and the bounds of t, of each smooth part of the time span.",
        "PARTS = [",
    ]
    for part in split(task.numbers):
        times = f"torch.tensor({[part.start, *part.times]!r}, dtype=torch.float64)"
        lines.append(f"    ({times}, {part.n_saved}, float({str(part.low)!r}), float({str(part.high)!r})),")
    return [*lines, "]"]


def _functions(task: Task) -> str:
    networks = script.has(task, "networks")
    values = task.numbers
    lines = ["def value_and_gradient(theta):", '    """The loss at theta, and its gradient."""']
    if values.wrt == "parameters":
        lines.append("    flat = torch.tensor(np.asarray(theta), dtype=torch.float64)")
        if networks:
            lines += [
                f"    p = flat[:{values.n_named}].clone().requires_grad_()",
                "    modules = tuple(network.double() for network in networks())",
                f"    start = {values.n_named}",
                "    for network in modules:",
                "        end = start + sum(weight.numel() for weight in network.parameters())",
                "        torch.nn.utils.vector_to_parameters(flat[start:end].clone(), network.parameters())",
                "        start = end",
                "    weights = [weight for network in modules for weight in network.parameters()]",
                "    leaves = [*([p] if p.numel() else []), *weights]",
            ]
        else:
            lines += ["    p = flat.requires_grad_()", "    modules, leaves = (), [p]"]
        lines.append("    y = torch.tensor(Y0, dtype=torch.float64)")
    else:
        lines += [
            "    p, modules = torch.tensor(P, dtype=torch.float64), ()",
            "    y = torch.tensor(np.asarray(theta), dtype=torch.float64).requires_grad_()",
            "    leaves = [y]",
        ]
    if values.batch > 1:
        lines.append("    y = y.reshape(BATCH, -1)")
    with_data = script.has(task, "GIVEN")
    if with_data:
        lines += [
            "    start = initial_state(*GIVEN, p, *modules)",
            "    y, penalty = start if isinstance(start, tuple) else (start, 0.0)",
        ]
    used = "[modules[i] for i in RHS_NETWORKS]" if script.has(task, "RHS_NETWORKS") else "modules"
    of_p = "prepared(p)" if script.has(task, "prepared") else "p"
    lines += [
        f"    args = ({of_p}, *{used})",
        "    saved = []",
        "    for times, n_saved, low, high in PARTS:",
        *_solve(task),
        "        saved.append(ys[1 : 1 + n_saved])",
        "        y = ys[-1]",
        "    ys = torch.cat(saved)",
        f"    value = {'loss(ys, *GIVEN, p, *modules) + penalty' if with_data else 'loss(ys)'}",
        "    slopes = torch.autograd.grad(value, leaves, materialize_grads=True)",
        "    return float(value), torch.cat([part.reshape(-1) for part in slopes]).numpy()",
    ]
    return "\n".join(lines)


def _solve(task: Task) -> list[str]:
    t = "t.clamp(low, high)" if task.numbers.breakpoints else "t"
    options = ", options={'step_t': times[1:]}" if task.cell.saving == LANDING else ""
    return [
        "        ys = odeint(",
        f"            lambda t, y: rhs({t}, y, *args), y, times,",
        f"            rtol=RTOL, atol=ATOL, method={task.cell.method!r}{options},",
        "        )",
    ]
