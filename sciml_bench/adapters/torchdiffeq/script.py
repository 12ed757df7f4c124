"""A torchdiffeq cell as a script: what ``program.py`` does for it, written out."""

from __future__ import annotations

from sciml_bench.adapters import script
from sciml_bench.adapters.base import Method
from sciml_bench.adapters.segments import split
from sciml_bench.adapters.time_grid import fixed_steps
from sciml_bench.adapters.torchdiffeq import ADAPTER, SEMINORM, event_script
from sciml_bench.errors import UsageError
from sciml_bench.record.task import LANDING, Point, Task


def script_of(task: Task, point: Point) -> str:
    """The script of a cell at a tolerance.

    Raises:
        UsageError: there is none for this kind of problem.
    """
    adjoint = _is_adjoint(task)
    solver = "odeint_adjoint" if adjoint else "odeint"
    method, has_events = ADAPTER.method(task.cell.method), script.has(task, "EVENTS")
    if has_events and task.numbers.batch > 1:
        raise UsageError(f"{task.cell.problem} has events of several trajectories: there is no such script")
    needed = ["import torch", f"from torchdiffeq import {solver}{', odeint_event' if has_events else ''}"]
    if adjoint and task.cell.framework_mode == "compiled":
        needed.append("import torch._functorch.config")
    if method.implicit:
        needed.append("import warnings")
    return script.joined(
        script.head(task, "torchdiffeq, torch and numpy"),
        script.imports(task, *needed),
        "# The model.",
        script.body(task),
        "# Its numbers, and how it is solved.",
        "\n".join([script.given(task, point), *_numbers(task, point), *_compiled(task)]),
        event_script.functions(solver) if has_events else "",
        "" if method.adaptive else "\n".join(_fixed_steps(method, point)),
        _functions(task),
        script.check(task),
    )


def _is_adjoint(task: Task) -> bool:
    return task.cell.sensitivity != "discrete"


def _is_multistep(method: Method) -> bool:
    return not method.adaptive and method.family == "multistep"


def _compiled(task: Task) -> list[str]:
    if task.cell.framework_mode != "compiled":
        return []
    kept = [
        "# The adjoint solve keeps the graph of each evaluation.",
        "torch._functorch.config.donated_buffer = False",
    ]
    return [
        *(kept if _is_adjoint(task) else ()),
        "# The loop of a solver cannot be compiled, so the right-hand side is.",
        "rhs = torch.compile(rhs, fullgraph=True, dynamic=False)",
    ]


def _numbers(task: Task, point: Point) -> list[str]:
    values = task.numbers
    lines = [f"torch.set_num_threads({task.threads})", "ATOL = torch.tensor(ATOL)"]
    if _is_adjoint(task):
        in_all = f".repeat({values.batch})" if values.batch > 1 else ""
        lines += [
            "# Adjoints are losses over a state or a parameter: their tolerances are the loss's over a typical size.",
            f"ATOL_OF_LOSS = torch.tensor([{point.atol!r}], dtype=torch.float64)",
            f"ATOLS = (ATOL_OF_LOSS, ATOL{in_all}, ATOL_OF_LOSS/torch.tensor(SCALE){in_all})",
        ]
        if values.wrt == "parameters":
            lines += [script.numbers("SIZES_OF_P", values.p_scale), "SIZES_OF_P = torch.tensor(SIZES_OF_P)"]
    lines += [
        "# Times, how many of them are saved, and the bounds of t, of each smooth part of the time span.",
        "PARTS = [",
    ]
    for part in split(values):
        times = f"torch.tensor({[part.start, *part.times]!r}, dtype=torch.float64)"
        lines.append(f"    ({times}, {part.n_saved}, float({str(part.low)!r}), float({str(part.high)!r})),")
    return [*lines, "]"]


def _fixed_steps(method: Method, point: Point) -> list[str]:
    lines = [f"STEPS_PER_UNIT = {fixed_steps(method.order, point.rtol)}/(T1 - T0)"]
    if method.implicit:
        # The library only warns, and continues with a stage that does not solve its equation.
        lines.append('warnings.filterwarnings("error", message="Functional iteration did not converge")')
    if _is_multistep(method):
        return lines
    return [
        *lines,
        "",
        "",
        "def grid(f, y, t):",
        '    """Equal steps between the times, which may decrease, so that each time is the end of a step."""',
        "    counts = ((t[1:] - t[:-1]).abs()*STEPS_PER_UNIT*(1 - 1e-9)).ceil().clamp(min=1).int().tolist()",
        "    pieces = [torch.linspace(*t[i : i + 2], n + 1, dtype=t.dtype)[:-1] for i, n in enumerate(counts)]",
        "    return torch.cat([*pieces, t[-1:]])",
    ]


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
    of_p = "prepared(p)" if script.has(task, "prepared") else "p"
    lines += [
        f"    of_rhs = {'[modules[i] for i in RHS_NETWORKS]' if script.has(task, 'RHS_NETWORKS') else 'modules'}",
        f"    args = ({of_p}, *of_rhs)",
        *(_adjoint(task) if _is_adjoint(task) else ()),
        "    saved = []",
        "    for times, n_saved, low, high in PARTS:",
        *_solve(task),
        "        saved.append(ys[1 : 1 + n_saved])",
        "        y = ys[-1]",
        *event_script.scheduled(task),
        "    ys = torch.cat(saved)",
        f"    value = {'loss(ys, *GIVEN, p, *modules) + penalty' if with_data else 'loss(ys)'}",
        "    slopes = torch.autograd.grad(value, leaves, materialize_grads=True)",
        "    return value.item(), torch.cat([part.reshape(-1) for part in slopes]).numpy()",
    ]
    return "\n".join(lines)


def _adjoint(task: Task) -> list[str]:
    """The parameters that the adjoint solve differentiates, and its tolerances."""
    if task.numbers.wrt != "parameters":
        return ["    adjoint = {'adjoint_params': (), 'adjoint_atol': ATOLS}"]
    return [
        "    used = {id(p), *(id(weight) for network in of_rhs for weight in network.parameters())}",
        "    sizes = torch.split(SIZES_OF_P, [leaf.numel() for leaf in leaves])",
        "    pairs = [(leaf, ATOL_OF_LOSS/size) for leaf, size in zip(leaves, sizes) if id(leaf) in used]",
        "    adjoint = {",
        "        'adjoint_params': tuple(leaf for leaf, _ in pairs),",
        "        'adjoint_atol': (*ATOLS, *(atol for _, atol in pairs)),",
        "    }",
    ]


def _solve(task: Task) -> list[str]:
    cell, method = task.cell, ADAPTER.method(task.cell.method)
    # Bound now: an adjoint solve evaluates it after the loop over the parts.
    t, bounds = ("t.clamp(low, high)", ", low=low, high=high") if task.numbers.breakpoints else ("t", "")
    landing = "'step_t': times[1:]" if cell.saving == LANDING else ""
    options = landing
    if not method.adaptive:
        multistep = "'step_size': 1/STEPS_PER_UNIT, 'interp': 'cubic'"
        options = multistep if _is_multistep(method) else "'grid_constructor': grid"
    arguments = [f"rtol=RTOL, atol=ATOL, method={cell.method!r},"]
    if options:
        arguments.append(f"options={{{options}}},")
    if _is_adjoint(task):
        norm = ", ".join(["'norm': 'seminorm'", *([landing] if landing else [])])
        seminorm = f"adjoint_options={{{norm}}}, " if cell.sensitivity == SEMINORM else ""
        arguments.append(f"{seminorm}**adjoint,")
    f = f"lambda t, y{bounds}: rhs({t}, y, *args)"
    if script.has(task, "EVENTS"):
        options = [f"                {line}" for line in arguments]
        head = ["        ys = followed(", f"            {f}, y, times, p,", "            dict("]
        return [*head, *options, "            ),", "        )"]
    return [
        f"        ys = {'odeint_adjoint' if _is_adjoint(task) else 'odeint'}(",
        f"            {f}, y, times,",
        *(f"            {line}" for line in arguments),
        "        )",
    ]
