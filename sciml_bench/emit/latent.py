"""Computations around the solve as source text: data of the trajectories, initial values from theta, observed losses.

JAX and NumPy write the functions of one trajectory, which programs map over the rows of ``GIVEN``; PyTorch and
TensorFlow write functions of all trajectories at once, with the components along the last axis.
"""

from __future__ import annotations

from dataclasses import replace

from sciml_bench.emit.context import Context
from sciml_bench.emit.controls import controls_source, motion_values, motions_source
from sciml_bench.emit.latent_derivatives import latent_derivatives
from sciml_bench.emit.loss import residual_source, term_source
from sciml_bench.emit.printer import Printer
from sciml_bench.emit.symbolic.statements import Program, straight_line
from sciml_bench.emit.trajectory_data import data_names, each_time, is_batch
from sciml_bench.spec.given import Given
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import symbol, to_double
from sciml_bench.spec.network import Network
from sciml_bench.spec.quantities import State


def latent_sources(context: Context, gradients: bool = True) -> list[str]:
    """``GIVEN`` with the data of the trajectories, ``initial_state(…)`` and ``loss(ys, …)``.

    Both take the data, then the arguments of ``rhs`` after t and y with all networks; ``rhs`` itself takes the
    networks counted by ``RHS_NETWORKS``. ``initial_state`` gives y0, and the penalty if the loss has one.
    """
    initial = _initial_state(context)
    parts = [_constants(context, "ONES" in initial), initial]
    if context.problem.controls:
        parts = [*motions_source(context), parts[0], controls_source(context, data_names(context)), *parts[1:]]
    if context.problem.loss.of is not None:
        parts.append(_observed(context))
    parts.append(_loss(context))
    if gradients and not context.target.differentiates and not context.problem.networks:
        parts += latent_derivatives(context, _subject(context), _residual(context, "seen", []))
    return parts


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
    return _array(given, is_batch(context), given.name == context.problem.loss.label)


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
        f"def initial_state({', '.join([*data_names(context), *_taken(context)])}):",
        *context.unpack_parameters(program.symbols),
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
    used = program.symbols
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
    head = f"def loss({', '.join(['ys', *data_names(context), *_taken(context)])}):"
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
        return f"np.array([{each_time(context, 'observed', ys, rest)}])"
    return f"observed({', '.join([ys, *series, rest])})"


def _by_time(context: Context, name: str) -> str:
    """The data of a name with the saved times first."""
    data = context.names[symbol(name)]
    return context.target.by_time.format(data) if context.target.batched else data


def _less_data(context: Context, seen: str) -> str:
    loss = context.problem.loss
    data = _by_time(context, loss.given) if loss.at == "saved" else context.names[symbol(loss.given)]
    return f"({seen} - {data})"
