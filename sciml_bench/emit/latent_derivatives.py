"""Derivatives of computations around the solve for NumPy, which has no automatic ones: by entry, from formulas."""

from __future__ import annotations

from collections.abc import Sequence

import sympy
from sympy import Symbol

from sciml_bench.emit.context import Context, size_of
from sciml_bench.emit.symbolic.derivative import derivative
from sciml_bench.emit.symbolic.scalar import ScalarSystem, scalarise_observed, scalarise_start
from sciml_bench.emit.symbolic.statements import straight_line
from sciml_bench.emit.trajectory_data import data_names, each_time, is_batch
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import Problem, symbol

_SEEDS = {
    "sum_of_squares": "2*residual",
    "sum_of_magnitudes": "np.sign(residual)",
    "sum": "np.ones_like(residual)",
    "cross_entropy": "np.exp(seen - np.logaddexp.reduce(seen))",
}


def latent_derivatives(context: Context, subject: str, residual: str) -> list[str]:
    """``initial_jacobian(…, p)`` (n_states, n_parameters) and ``loss_gradient(ys, …, p)``.

    The latter gives two arrays, the derivatives by the states (n_times, n_states) and by the parameters
    (n_parameters,). ``subject`` is the code of the observed values, ``residual`` the code of the summed ones.
    """
    problem = context.problem
    start = scalarise_start(problem)
    n = problem.n_states
    data = [context.names[symbol(given.name)] for given in problem.given]
    parameters = start.p[: problem.n_parameters]
    # Data of a single trajectory are numbers here, so that derivatives which they make zero are left out.
    known = {} if is_batch(context) else dict(zip(_data_of(start, problem), _numbers_of(problem), strict=True))
    outputs = [expr.xreplace(known) for expr in start.rhs]
    texts = [_jacobian(context, "initial_jacobian", [*data, "p"], start, outputs[:n], [parameters])]
    if problem.loss.of is not None:
        observed = scalarise_observed(problem)
        wrt = [observed.y, observed.p[: problem.n_parameters]]
        takes = ["y", *context.loss_row, "p"]
        texts.append(_jacobian(context, "observed_jacobian", takes, observed, list(observed.rhs), wrt))
    if problem.loss.penalty is not None:
        texts.append(_jacobian(context, "penalty_gradient", [*data, "p"], start, outputs[n:], [parameters]))
    return [*texts, _loss_gradient(context, data, subject, residual)]


def _data_of(start: ScalarSystem, problem: Problem) -> tuple[Symbol, ...]:
    return start.p[problem.n_parameters :]


def _numbers_of(problem: Problem) -> list[Node]:
    return [sympy.Rational(value) for given in problem.given_at_start for value in given.rows[0]]


def _jacobian(
    context: Context,
    name: str,
    takes: list[str],
    system: ScalarSystem,
    outputs: Sequence[Node],
    wrt: Sequence[Sequence[Symbol]],
) -> str:
    """A function that gives the derivatives of the outputs by each of some lists of variables, as matrices."""
    entries = [derivative(output, x) for variables in wrt for output in outputs for x in variables]
    program = straight_line([], entries)
    lines = [f"def {name}({', '.join(takes)}):"]
    used = program.symbols
    n_named = context.problem.n_parameters
    arrays = [("y", system.y), ("p", system.p[:n_named])]
    arrays += [(row, system.p[n_named:]) for row in context.loss_row if row in takes]
    arrays += _data_arrays(context, system) if set(data_names(context)) <= set(takes) else []
    for array, symbols in arrays:
        if used & set(symbols):
            names = ", ".join(s.name for s in symbols)
            lines.append(f"    {names}{',' * (len(symbols) == 1)} = {array}")
    printer = context.printer()
    lines += [f"    {printer.code(s.symbol)} = {printer.code(s.expr)}" for s in program.statements]
    codes, matrices = [printer.operand(entry) for entry in program.outputs], []
    for variables in wrt:
        size = len(outputs) * len(variables)
        part, codes = codes[:size], codes[size:]
        rows = [", ".join(part[i : i + len(variables)]) for i in range(0, size, len(variables))]
        matrices.append("np.array([\n" + "".join(f"        [{row}],\n" for row in rows) + "    ])")
    return "\n".join([*lines, f"    return {', '.join(matrices)}", ""])


def _data_arrays(context: Context, start: ScalarSystem) -> list[tuple[str, tuple[Symbol, ...]]]:
    """The data before the solve as arrays, and the names of their elements."""
    symbols, arrays = list(_data_of(start, context.problem)), list[tuple[str, tuple[Symbol, ...]]]()
    for given in context.problem.given_at_start:
        size = size_of(given.shape)
        name = context.names[symbol(given.name)]
        flat = {0: f"[{name}]", 1: name}.get(len(given.shape), f"{name}.ravel()")
        arrays.append((flat, tuple(symbols[:size])))
        del symbols[:size]
    return arrays


def _loss_gradient(context: Context, data: list[str], subject: str, residual: str) -> str:
    loss = context.problem.loss
    takes = ", ".join(["ys", *data, "p"])
    lines = [f"def loss_gradient({takes}):", f"    seen = {subject}"]
    if loss.kind == "cross_entropy":
        lines += [f"    seed = {loss.weight!r}*{_SEEDS[loss.kind]}", f"    seed[{loss.label}] -= {loss.weight!r}"]
    else:
        if "residual" in _SEEDS[loss.kind]:
            lines.append(f"    residual = {residual}")
        scale = "" if set(loss.scale) == {1.0} else "/LOSS_SCALE"
        scale = f"/{loss.scale[0]!r}" if scale and len(set(loss.scale)) == 1 else scale
        weights = "*LOSS_WEIGHTS" if loss.weights else ""
        lines.append(f"    seed = {loss.weight!r}*({_SEEDS[loss.kind]}){scale}{weights}")
    if loss.at == "end":
        lines.append("    seed = seed[None]")
    times = "ys[-1:]" if loss.at == "end" else "ys"
    if loss.of is None:
        lines += ["    by_state, by_parameter = seed, np.zeros(N_PARAMETERS)"]
    else:
        lines += [
            f"    slopes = [{each_time(context, 'observed_jacobian', times)}]",
            "    seeds = np.reshape(seed, (len(slopes), -1))",
            "    by_state = np.array([v @ of_y for v, (of_y, _) in zip(seeds, slopes)])",
            "    by_parameter = sum(v @ of_p for v, (_, of_p) in zip(seeds, slopes))",
        ]
    if loss.penalty is not None:
        lines.append(f"    by_parameter = by_parameter + penalty_gradient({', '.join([*data, 'p'])})[0]")
    if loss.at == "end":
        lines += ["    whole = np.zeros_like(ys)", "    whole[-1] = by_state[0]", "    by_state = whole"]
    return "\n".join([*lines, "    return by_state, by_parameter", ""])
