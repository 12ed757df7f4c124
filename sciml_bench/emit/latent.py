"""Computations around the solve as source text: data of the trajectories, initial values from theta, observed losses.

JAX and NumPy write the functions of one trajectory, which programs map over the rows of ``GIVEN``; PyTorch and
TensorFlow write functions of all trajectories at once, with the components along the last axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import sympy
from sympy import Symbol

from sciml_bench.emit.context import Context, size_of
from sciml_bench.emit.loss import controls_source, motion_values, motions_source, residual_source, term_source
from sciml_bench.emit.printer import Printer
from sciml_bench.emit.symbolic.scalar import ScalarSystem, scalarise_observed, scalarise_start
from sciml_bench.emit.symbolic.statements import Program, straight_line
from sciml_bench.emit.symbolic.variation import derivative
from sciml_bench.spec.batch import Given
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import Problem, State, symbol, to_double
from sciml_bench.spec.network import Network

# Derivatives of computations around the solve, for NumPy, which has no automatic ones: entry by entry, from formulas.

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
    known = {} if _is_batch(context) else dict(zip(_data_of(start, problem), _numbers_of(problem), strict=True))
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
    used = {s for e in (*program.outputs, *(st.expr for st in program.statements)) for s in e.free_symbols}
    n_named = context.problem.n_parameters
    arrays = [("y", system.y), ("p", system.p[:n_named])]
    arrays += [(row, system.p[n_named:]) for row in context.loss_row if row in takes]
    arrays += _data_arrays(context, system) if set(_data_names(context)) <= set(takes) else []
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
            f"    slopes = [{_each_time(context, 'observed_jacobian', times)}]",
            "    seeds = np.reshape(seed, (len(slopes), -1))",
            "    by_state = np.array([v @ of_y for v, (of_y, _) in zip(seeds, slopes)])",
            "    by_parameter = sum(v @ of_p for v, (_, of_p) in zip(seeds, slopes))",
        ]
    if loss.penalty is not None:
        lines.append(f"    by_parameter = by_parameter + penalty_gradient({', '.join([*data, 'p'])})[0]")
    if loss.at == "end":
        lines += ["    whole = np.zeros_like(ys)", "    whole[-1] = by_state[0]", "    by_state = whole"]
    return "\n".join([*lines, "    return by_state, by_parameter", ""])


def latent_sources(context: Context, gradients: bool = True) -> list[str]:
    """``GIVEN`` with the data of the trajectories, ``initial_state(…)`` and ``loss(ys, …)``.

    Both take the data, then the arguments of ``rhs`` after t and y with all networks; ``rhs`` itself takes the
    networks counted by ``RHS_NETWORKS``. ``initial_state`` gives y0, and the penalty if the loss has one.
    """
    initial = _initial_state(context)
    parts = [_constants(context, "ONES" in initial), initial]
    if context.problem.controls:
        parts = [*motions_source(context), parts[0], controls_source(context, _data_names(context)), *parts[1:]]
    if context.problem.loss.of is not None:
        parts.append(_observed(context))
    parts.append(_loss(context))
    if gradients and not context.target.differentiates and not context.problem.networks:
        parts += latent_derivatives(context, _subject(context), _residual(context, "seen", []))
    return parts


def _is_batch(context: Context) -> bool:
    return context.problem.batch.size > 1


def _constants(context: Context, needs_ones: bool) -> str:
    problem, wrap = context.problem, context.target.array.format
    names = ", ".join(given.name for given in problem.given)
    lines = [f"# Data of the trajectories, a row for each: {names}." if names else "# There are no data."]
    if not problem.given:
        lines = []
    values = [wrap(_values(context, given)) for given in problem.given]
    lines += ["GIVEN = (", *(f"    {value}," for value in values), ")"] if values else ["GIVEN = ()"]
    if needs_ones:
        lines.append(f"ONES = {context.target.ones.format(problem.batch.size)}")
    if problem.networks:
        used = [str(i) for i, network in enumerate(problem.networks) if network in problem.rhs_networks]
        lines += ["# Which of the networks rhs takes.", f"RHS_NETWORKS = ({', '.join(used)}{',' * (len(used) == 1)})"]
    return "\n".join([*lines, ""])


def _values(context: Context, given: Given) -> str:
    motion = next((c.brownian for c in context.problem.controls if c.data == given.name and c.brownian), None)
    if motion is not None:
        return motion_values(context, motion)
    return _array(given, _is_batch(context), given.name == context.problem.loss.label)


def _array(given: Given, batched: bool, whole: bool) -> str:
    rows = [", ".join(str(int(value)) if whole else repr(value) for value in row) for row in given.rows]
    if not batched:
        text = f"np.array({rows[0]})" if given.shape == () else f"np.array([{rows[0]}])"
        return text if len(given.shape) < 2 else f"{text}.reshape({given.shape})"
    if given.shape == ():
        return f"np.array([{', '.join(rows)}])"
    text = "np.array([\n" + "".join(f"        [{row}],\n" for row in rows) + "    ])"
    return text if len(given.shape) < 2 else f"{text}.reshape({(len(rows), *given.shape)})"


def _taken(context: Context, used: set[Node] | None = None) -> list[str]:
    """The arguments of the functions after the data: p and the networks, all or only the used ones."""
    suffix = "" if context.target.modules else "_weights"
    networks: tuple[Network, ...] = context.problem.networks
    if used is not None:
        networks = tuple(network for network in networks if symbol(network.name) in used)
    return ["p", *(context.names[symbol(network.name)] + suffix for network in networks)]


def _data_names(context: Context) -> list[str]:
    return [context.names[symbol(given.name)] for given in context.problem.given]


def _body(context: Context, program: Program) -> tuple[list[str], Printer]:
    """The statements, and a printer that knows the shapes of their symbols."""
    printer = context.printer()
    # Numbers take the precision of theta, which every one of these functions has.
    printer.target = replace(printer.target, constant=printer.target.constant.replace("y.", "p."))
    printer.ones = "ONES"
    lines: list[str] = []
    for statement in program.statements:
        printer.shapes[statement.symbol] = printer.shape(statement.expr)
        lines.append(f"    {printer.code(statement.symbol)} = {printer.code(statement.expr)}")
        printer.same_for_all |= {statement.symbol} if statement.expr.free_symbols <= printer.same_for_all else set()
    return lines, printer


def _symbols(program: Program) -> set[Node]:
    expressions = [*(statement.expr for statement in program.statements), *program.outputs]
    return {symbol for expression in expressions for symbol in expression.free_symbols}


def _initial_state(context: Context) -> str:
    problem = context.problem
    named = [(symbol(item.name), context.resolve(item.expr)) for item in problem.encoding]
    computed = [state for state in problem.states if state.start is not None]
    penalty = [] if problem.loss.penalty is None else [problem.loss.penalty]
    outputs = [context.resolve(expr) for expr in (*(state.start for state in computed), *penalty)]
    program = straight_line(named, outputs).needed()
    body, printer = _body(context, program)
    starts = {state.name: expr for state, expr in zip(computed, program.outputs, strict=False)}
    y0 = _packed(context, printer, starts)
    lines = [
        f"def initial_state({', '.join([*_data_names(context), *_taken(context)])}):",
        *context.unpack_parameters(_symbols(program)),
        *body,
    ]
    if not penalty:
        return "\n".join([*lines, f"    return {y0}", ""])
    value = printer.component(program.outputs[-1])
    if context.target.batched:
        value = context.target.total.format(value)
    return "\n".join([*lines, f"    penalty = {value}", f"    return {y0}, penalty", ""])


def _packed(context: Context, printer: Printer, starts: dict[str, Node]) -> str:
    """The flat initial state, of expressions and of numbers."""
    target, states = context.target, context.problem.states
    if all(state.shape == () for state in states):
        rows = [printer.component(starts.get(state.name, state.initial[0])) for state in states]
        return target.stack.format(", ".join(rows))
    parts: list[str] = []
    for state in states:
        if state.name not in starts:
            parts.append(_numbers(context, state))
        elif state.shape == ():
            parts.append(target.stack.format(printer.component(starts[state.name])))
        else:
            parts.append(printer.code(starts[state.name]))
    return parts[0] if len(parts) == 1 else target.concatenate.format(", ".join(parts))


def _numbers(context: Context, state: State) -> str:
    values = f"np.array([{', '.join(repr(to_double(value)) for value in state.initial)}])"
    array = context.target.array.format(values)
    return f"ONES[:, None]*{array}" if context.target.batched else array


def _observed(context: Context) -> str:
    """``observed(y, p, …)``: what the loss looks at, of one state, or where components lie last of any number."""
    problem = context.problem
    inner = Context(
        problem, context.target.for_batch(), context.names, context.shapes, context.itemised, context.statics
    )
    program = straight_line([], [inner.resolve(problem.loss.of)])
    used = _symbols(program)
    body, printer = _body(inner, program)
    printer.ones = f"{inner.target.module}.ones_like(y[..., 0])"
    (output,) = program.outputs
    value = printer.component(output) if printer.shape(output) == () else printer.code(output)
    return "\n".join([
        f"def observed({', '.join(['y', *context.loss_row, *_taken(context, used)])}):",
        *inner.unpack_parameters(used),
        *inner.unpack_state(used),
        *body,
        f"    return {value}",
        "",
    ])  # fmt: skip


def _loss(context: Context) -> str:
    problem, target = context.problem, context.target
    loss = problem.loss
    lines: list[str] = []
    subject, body = _subject(context), list[str]()
    if loss.of is not None or loss.kind == "cross_entropy":
        body, subject = [f"    seen = {subject}"], "seen"
    weight = "" if loss.weight == 1.0 else f"{loss.weight!r}*"
    if loss.kind == "cross_entropy":
        total = target.cross_entropy.format(subject, context.names[symbol(loss.label)])
        total = f"({total})" if weight and " - " in total else total
    else:
        total = target.total.format(term_source(loss.kind, _residual(context, subject, lines), target))
    head = f"def loss({', '.join(['ys', *_data_names(context), *_taken(context)])}):"
    return "\n".join([*lines, *([""] * (2 * bool(lines))), head, *body, f"    return {weight}{total}", ""])


def _residual(context: Context, subject: str, lines: list[str]) -> str:
    """The residual of the observed values; the constants that it reads are added to the lines."""
    loss = context.problem.loss
    return _less_data(context, subject) if loss.given else residual_source(loss, context.target, lines, subject)


def _subject(context: Context) -> str:
    """The observed values, from ``ys``."""
    loss = context.problem.loss
    ys = "ys" if loss.at == "saved" else "ys[-1]"
    return ys if loss.of is None else _seen(context, ys)


def _seen(context: Context, ys: str) -> str:
    """The observed values, at every time of the loss."""
    used = context.resolve(context.problem.loss.of).free_symbols
    rest = ", ".join(_taken(context, used))
    series = [_by_time(context, context.problem.loss.reads)] if context.problem.loss.reads else []
    if ys == "ys" and context.target.mapped:
        rows = ", ".join(["y", *context.loss_row])
        return f"jax.vmap(lambda {rows}: observed({rows}, {rest}))({', '.join(['ys', *series])})"
    if ys == "ys" and context.target.floats:
        return f"np.array([{_each_time(context, 'observed', ys, rest)}])"
    return f"observed({', '.join([ys, *series, rest])})"


def _each_time(context: Context, function: str, times: str, rest: str = "p") -> str:
    """A loop of Python over the saved times, which calls a function of one of them."""
    loss = context.problem.loss
    if not loss.reads:
        return f"{function}(y, {rest}) for y in {times}"
    row, series = context.names[loss.row], context.names[symbol(loss.reads)]
    return f"{function}(y, {row}, {rest}) for y, {row} in zip({times}, {series}.tolist())"


def _by_time(context: Context, name: str) -> str:
    """The data of a name with the saved times first."""
    data = context.names[symbol(name)]
    return context.target.by_time.format(data) if context.target.batched else data


def _less_data(context: Context, seen: str) -> str:
    loss = context.problem.loss
    data = _by_time(context, loss.given) if loss.at == "saved" else context.names[symbol(loss.given)]
    return f"({seen} - {data})"
