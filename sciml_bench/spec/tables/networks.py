"""Loads the networks of a problem and gives expressions their calls."""

from __future__ import annotations

import ast
from typing import Any

from sciml_bench.spec.keys import SHA256, Choice, Flag, Key, Table, Whole, number_key, seed_key
from sciml_bench.spec.language.expression import FUNCTION_NAMES, Call, ExpressionError, Typed
from sciml_bench.spec.language.operators import NetworkDivergence, NetworkGradient, NetworkOutput, Operator
from sciml_bench.spec.language.shapes import Shape, broadcast, describe
from sciml_bench.spec.model import symbol, to_double
from sciml_bench.spec.network import ACTIVATIONS, DRAWS, Layer, Network
from sciml_bench.spec.reader import Reader

MAX_WIDTH = 10_000
INPUTS, WIDTH = Whole("inputs", 1, MAX_WIDTH, required=True), Whole("layers", 1, MAX_WIDTH)
ACTIVATION = Choice("activation", ACTIVATIONS, "activation")
LAST_ACTIVATION = Choice("last_activation", ACTIVATIONS, "activation", "identity")
DRAW = Choice("draw", DRAWS, "way to draw weights", required=True)
DRAWN = Table(DRAW, number_key("size"))
SEED, POINTWISE, REVERSE = seed_key(), Flag("pointwise"), Flag("reverse")
KIND = Choice("kind", ("dense", "recurrent"), "kind of network", "dense")
NETWORK = Table(
    INPUTS, Key("layers", {"type": "array", "items": WIDTH.schema, "minItems": 1}, required=True), ACTIVATION,
    LAST_ACTIVATION, Key("weights", DRAWN.schema), Key("biases", DRAWN.schema), SEED, Key("sha256", SHA256), POINTWISE,
    KIND, REVERSE,
)  # fmt: skip
MAX_WEIGHTS = 1_000_000
DERIVATIVES = ("grad", "divergence")


def load_networks(reader: Reader) -> tuple[Network, ...]:
    """Declare each network as a function of expressions and return them with their weights."""
    networks: list[Network] = []
    for name, data in reader.document.table("networks").items():
        table = f"networks.{name}"
        if not isinstance(data, dict):
            raise reader.document.error(f"'{name}' must be a table.", "networks", name, f"Write it as [{table}].")
        NETWORK.check(reader.document, data, table)
        if name in (*FUNCTION_NAMES, *DERIVATIVES):
            raise reader.document.error(f"'{name}' already means something in expressions.", table, name)
        reader.claim(name, table)
        network = _network(reader, name, data, table)
        networks.append(network)
        reader.scope.operators[name] = lambda call, network=network: _output(call, network)
    if networks:
        by_name = {network.name: network for network in networks}
        reader.scope.operators["grad"] = lambda call: _derivative(call, by_name, NetworkGradient)
        reader.scope.operators["divergence"] = lambda call: _derivative(call, by_name, NetworkDivergence)
    return tuple(networks)


def _network(reader: Reader, name: str, data: dict[str, Any], table: str) -> Network:
    # NumPy is only loaded for problems that have networks: listings must start fast.
    from sciml_bench.spec.initial_weights import draw_weights, hash_of

    recurrent = _recurrent(reader, data, table)
    layers = _recurrent_layer(reader, data, table) if recurrent else _layers(reader, data, table)
    if sum(layer.size for layer in layers) > MAX_WEIGHTS:
        raise reader.document.error(f"the network has more than {MAX_WEIGHTS} weights.", table, "layers")
    pointwise = POINTWISE.read(reader.document, data, table)
    if pointwise and layers[-1].outputs != 1:
        raise reader.document.error(
            f"a pointwise network has one output, not {layers[-1].outputs}.", table, "layers", "End 'layers' with 1."
        )
    start = SEED.read(reader.document, data, table)
    scheme, biases = (
        _draw(reader, data, table, key, default)
        for key, default in (("weights", "glorot_uniform"), ("biases", "zeros"))
    )
    weights = draw_weights(layers, scheme, biases, start)
    found, stated = hash_of(weights), reader.document.string(data, "sha256", table, "")
    if stated and stated != found:
        raise reader.document.error(
            f"the weights of '{name}' have the hash {found}, not the one stated.", table, "sha256",
            "If the layers, draws or the seed were changed on purpose, put in the new hash.",
        )  # fmt: skip
    return Network(name, layers, weights, found, pointwise, recurrent)


def _recurrent(reader: Reader, data: dict[str, Any], table: str) -> str:
    """The order in which a recurrent network takes its times; empty for one of dense layers."""
    document = reader.document
    kind = KIND.read(document, data, table)
    reverse = REVERSE.read(document, data, table)
    wrong = ("last_activation", "pointwise") if kind == "recurrent" else ("reverse",)
    for key in wrong:
        if key in data:
            raise document.error(f"a {kind} network has no '{key}'.", table, key, "Remove it.")
    if kind == "dense":
        return ""
    return "reverse" if reverse else "forward"


def _recurrent_layer(reader: Reader, data: dict[str, Any], table: str) -> tuple[Layer, ...]:
    inputs = INPUTS.read(reader.document, data, table)
    widths = data.get("layers")
    if not isinstance(widths, list) or len(widths) != 1:
        cure = "Write one width, as in [25]; what reads it is another network."
        raise reader.document.error("a recurrent network has one layer.", table, "layers", cure)
    width = WIDTH.read(reader.document, {"layers": widths[0]}, table)
    return (Layer(inputs + width, width, ACTIVATION.read(reader.document, data, table, default="tanh")),)


def _layers(reader: Reader, data: dict[str, Any], table: str) -> tuple[Layer, ...]:
    inputs = INPUTS.read(reader.document, data, table)
    widths = data.get("layers")
    if not isinstance(widths, list) or not widths:
        raise reader.document.error("'layers' must be a list of widths.", table, "layers", "As in [50, 2].")
    widths = [WIDTH.read(reader.document, {"layers": width}, table) for width in widths]
    last = LAST_ACTIVATION.read(reader.document, data, table)
    hidden = ACTIVATION.read(reader.document, data, table, default=None if len(widths) > 1 else "identity")
    activations = [hidden] * (len(widths) - 1) + [last]
    sizes = [inputs, *widths]
    return tuple(Layer(*layer) for layer in zip(sizes, widths, activations, strict=False))


def _draw(reader: Reader, data: dict[str, Any], table: str, key: str, default: str) -> Any:
    from sciml_bench.spec.initial_weights import Draw

    given = data.get(key, {"draw": default})
    if not isinstance(given, dict):
        raise reader.document.error(f"'{key}' must be a table.", table, key, 'As in { draw = "normal", size = 0.1 }.')
    DRAWN.check(reader.document, given, table)
    kind = DRAW.read(reader.document, given, table, at=key)
    if ("size" in given) != (kind in ("normal", "uniform")):
        cure = "'normal' and 'uniform' need it, the others have none."
        raise reader.document.error(f"'size' does not fit the draw '{kind}'.", table, key, cure)
    size = to_double(reader.constant(given.get("size", 1), table, key))
    if not 0 < size < 1e30:
        raise reader.document.error("'size' must be positive and below 1e30.", table, key)
    return Draw(kind, size)


def _output(call: Call, network: Network) -> Typed:
    call.parser.scope.used.add(network.name)
    if call.keywords or not call.arguments:
        raise ExpressionError(f"{network.name} takes its inputs in order, by no names")
    if network.recurrent:
        return _of_series(call, network)
    operands = [call.parser.visit(argument) for argument in call.arguments]
    shape = _pointwise(network, operands) if network.pointwise else _whole(call, network, operands)
    return Typed(NetworkOutput(symbol(network.name), *(operand.expr for operand in operands)), shape)


def _of_series(call: Call, network: Network) -> Typed:
    first, *others = call.arguments
    series = call.parser.scope.series
    if not isinstance(first, ast.Name) or first.id not in series or others:
        known = ", ".join(series) or "nothing is known here"
        raise ExpressionError(f"{network.name} is recurrent: it takes one series among [data] ({known})")
    shape = series[first.id]
    if shape[1] != network.inputs:
        raise ExpressionError(f"{network.name} has {network.inputs} inputs, {first.id} has {shape[1]} channels")
    call.parser.scope.used.add(first.id)
    return Typed(NetworkOutput(symbol(network.name), symbol(first.id)), (network.outputs,))


def _derivative(call: Call, networks: dict[str, Network], operator: type[Operator]) -> Typed:
    """``grad(f, a, …)`` or ``divergence(f, a, …)``: derivatives of a network with respect to its inputs."""
    first = call.arguments[0] if call.arguments else None
    network = networks.get(first.id) if isinstance(first, ast.Name) else None
    if network is None or call.keywords:
        raise ExpressionError(f"the first argument of {call.name} is a network ({', '.join(networks)})")
    call.parser.scope.used.add(network.name)
    if network.pointwise or network.recurrent:
        raise ExpressionError(f"{call.name} takes no {'pointwise' if network.pointwise else 'recurrent'} network")
    operands = [call.parser.visit(argument) for argument in call.arguments[1:]]
    _whole(call, network, operands)
    if operator is NetworkGradient and network.outputs != 1:
        raise ExpressionError(f"grad takes a network of one output; {network.name} has {network.outputs}")
    if operator is NetworkDivergence and network.outputs > network.inputs:
        raise ExpressionError(f"{network.name} has more outputs than inputs, so it has no divergence")
    expr = operator(symbol(network.name), *(operand.expr for operand in operands))
    return Typed(expr, (network.inputs,) if operator is NetworkGradient else ())


def _pointwise(network: Network, operands: list[Typed]) -> Shape:
    if len(operands) != network.inputs:
        raise ExpressionError(f"{network.name} takes {network.inputs} arguments, not {len(operands)}")
    shape: Shape = ()
    for operand in operands:
        shape = broadcast(shape, operand.shape)
    if not shape:
        raise ExpressionError(f"{network.name} is pointwise: it takes a vector or a field")
    return shape


def _whole(call: Call, network: Network, operands: list[Typed]) -> Shape:
    if call.parser.free_indices:
        raise ExpressionError(f"{network.name} takes whole vectors, so it cannot be part of an indexed expression")
    for operand in operands:
        if len(operand.shape) > 1:
            raise ExpressionError(f"{network.name} takes scalars and vectors, not a {describe(operand.shape)}")
    n_inputs = sum(operand.shape[0] if operand.shape else 1 for operand in operands)
    if n_inputs != network.inputs:
        raise ExpressionError(f"{network.name} has {network.inputs} inputs, its arguments have {n_inputs} in all")
    return (network.outputs,)
