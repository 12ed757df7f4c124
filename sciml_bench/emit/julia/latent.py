"""Computations around the solve in Julia: data of the trajectories, initial values from theta, observed losses.

The functions are for one trajectory, and take its data, then the parameters as a ``ComponentVector``.
"""

from __future__ import annotations

from sympy import Symbol

from sciml_bench.emit.context import Context
from sciml_bench.emit.julia.array_form import ArrayForm, parameter_lines, state_lines
from sciml_bench.emit.julia.array_printer import ArrayPrinter
from sciml_bench.emit.julia.constants import vector
from sciml_bench.emit.julia.controls import controls_source
from sciml_bench.emit.julia.loss import less_data, residual_source, scaled, summed, term, weighted
from sciml_bench.emit.trajectory_data import data_names
from sciml_bench.errors import UsageError
from sciml_bench.spec.given import Given
from sciml_bench.spec.language.operators import NetworkOutput, Node
from sciml_bench.spec.language.shapes import shape_of
from sciml_bench.spec.model import symbol, to_double

MOST_NUMBERS = 200_000
"""Most numbers that the data of all trajectories may have together: Julia would take minutes to read more of them."""


def latent_sources(context: Context) -> list[str]:
    """``GIVEN`` with the data of each trajectory, ``initial_state(…, p)`` and ``loss(ys, …, p)``; of an equation that
    paths drive ``controls(t, …)`` too, see :mod:`.controls`.

    The first two take the data of one trajectory before ``p``. ``initial_state`` gives y0, and where the loss has a
    penalty that too.

    Raises:
        UsageError: there are too many data for a source text.
    """
    parts = [_given(context), _initial_state(context)]
    if context.problem.controls:
        parts.insert(1, controls_source(context, data_names(context)))
    if context.problem.loss.of is not None and _network_of_state(context) is None:
        parts.append(_observed(context))
    return [*parts, _loss(context)]


def _given(context: Context) -> str:
    problem = context.problem
    count = sum(len(row) for given in problem.given for row in given.rows)
    if count > MOST_NUMBERS:
        told = f"'{problem.name}' has {count} numbers as data of its trajectories"
        raise UsageError(f"{told}, more than the {MOST_NUMBERS} that are emitted to Julia: take a smaller batch")
    names = ", ".join(given.name for given in problem.given)
    lines = [f"# Data of each trajectory: {names}." if names else "# There are no data."]
    rows = [[_value(given, b, given.name == problem.loss.label) for given in problem.given]
            for b in range(problem.batch.size)]  # fmt: skip
    texts = [f"    ({', '.join(row)}{',' * (len(row) == 1)})," for row in rows]
    return "\n".join([*lines, "const GIVEN = [", *texts, "]", ""])


def _value(given: Given, row: int, whole: bool) -> str:
    values = given.rows[row]
    if given.shape == ():
        return str(int(values[0])) if whole else repr(values[0])
    if len(given.shape) == 1:
        return vector(list(values))
    # Times, then channels in C order: the channels of a time lie together, as the elements of a column do.
    times, channels = given.shape
    return f"reshape({vector(list(values))}, {channels}, {times})"


def _initial_state(context: Context) -> str:
    problem = context.problem
    computed = [state for state in problem.states if state.start is not None]
    penalty = problem.loss.penalty
    outputs = [state.start for state in computed] + ([] if penalty is None else [penalty])
    body, printer, found = ArrayForm(context).statements(problem.encoding, outputs)
    starts = {state.name: expr for state, expr in zip(computed, found, strict=False)}
    y0 = _packed(context, printer, starts)
    if penalty is not None:
        body.append(f"penalty = {printer.code(found[-1])}")
    body.append(f"return {y0}" if penalty is None else f"return {y0}, penalty")
    lines = [*parameter_lines(context, "\n".join(body)), *_returning(body)]
    return _function("initial_state", [*data_names(context), "p"], lines)


def _packed(context: Context, printer: ArrayPrinter, starts: dict[str, Node]) -> str:
    """The flat initial state, of expressions and of numbers."""
    states, parts = context.problem.states, list[str]()
    for state in states:
        numbers = vector([to_double(value) for value in state.initial])
        if state.name in starts:
            parts.append(printer.flat(starts[state.name], state.shape))
        else:
            parts.append(numbers if state.shape else numbers[1:-1])
    if all(state.shape == () for state in states):
        return f"[{', '.join(parts)}]"
    return parts[0] if len(parts) == 1 else f"[{'; '.join(parts)}]"


def _observed(context: Context) -> str:
    """``observed(y, p)``: what the loss looks at, of one state."""
    body, printer, (output,) = ArrayForm(context).statements([], [context.problem.loss.of])
    body.append(f"return {printer.value(output)}")
    text = "\n".join(body)
    lines = [*parameter_lines(context, text), *state_lines(context, text), *_returning(body)]
    return _function("observed", ["y", *context.loss_row, "p"], lines)


def _returning(body: list[str]) -> list[str]:
    """The lines without a name for a value that is returned at once."""
    if len(body) > 1:
        name, _, value = body[-2].partition(" = ")
        if body[-1] == f"return {name}":
            return [*body[:-2], f"return {value}"]
    return body


def _network_of_state(context: Context) -> Symbol | None:
    """The network at whose value for the whole state the loss looks: Lux's layers take all times at once."""
    of, problem = context.problem.loss.of, context.problem
    if not isinstance(of, NetworkOutput) or not problem.shapes[of.args[0]]:
        return None
    return of.args[0] if list(of.args[1:]) == [symbol(state.name) for state in problem.states] else None


def _loss(context: Context) -> str:
    loss, network = context.problem.loss, _network_of_state(context)
    constants: list[str] = []
    if loss.kind == "cross_entropy":
        label = context.names[symbol(loss.label)]
        # Labels count from 0, places from 1.
        total = f"logsumexp(scores) - scores[{label} + 1]"
        weighed = total if loss.weight == 1.0 else weighted(loss, f"({total})")
        body = [f"scores = {_seen(context, network, 'ys[end]')}", f"return {weighed}"]
    elif loss.at == "end" or loss.of is None or network is not None:
        ys = "ys[end]" if loss.at == "end" else "reduce(hcat, ys)"
        body = [f"return {weighted(loss, _total(context, _seen(context, network, ys), '', constants))}"]
    else:
        place = "[k]" if _is_number(context) else "[:, k]"
        row = "".join(f"{context.names[symbol(name)]}[:, k], " for name in [context.problem.loss.reads] if name)
        each = _total(context, f"observed(ys[k], {row}p)", place, constants)
        body = [f"return {weighted(loss, f'sum(k -> {each}, eachindex(ys))')}"]
    text = _function("loss", ["ys", *data_names(context), "p"], body)
    return "\n".join([*constants, "", text]) if constants else text


def _seen(context: Context, network: Symbol | None, y: str) -> str:
    """The observed values, of one state, or of many if they are a network's output or the state itself."""
    if network is not None:
        return f"{context.names[network]}({y}, p.{network.name})"
    return y if context.problem.loss.of is None else f"observed({y}, p)"


def _is_number(context: Context) -> bool:
    of = context.problem.loss.of
    return of is not None and shape_of(of, context.problem.shapes) == ()


def _total(context: Context, seen: str, place: str, constants: list[str]) -> str:
    """Terms of the loss (observed minus target); ``place`` selects one time."""
    loss = context.problem.loss
    if loss.given:
        residual = scaled(loss, f"({seen} .- {context.names[symbol(loss.given)]}{place})", constants)
    elif loss.data and loss.at == "saved":
        by_row = loss.of is not None
        residual = less_data(loss, seen, constants, "[k]" if by_row else "")
    else:
        residual = residual_source(loss, seen, constants)
    if _is_number(context):
        return term(loss.kind, residual.replace(" .- ", " - ").replace(" ./ ", "/"))
    return summed(loss.kind, residual)


def _function(name: str, arguments: list[str], body: list[str]) -> str:
    return "\n".join([f"function {name}({', '.join(arguments)})", *(f"    {line}" for line in body), "end", ""])
