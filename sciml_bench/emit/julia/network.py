"""Networks in Julia: Lux chains, their weights in one ``ComponentVector``, and derivatives with respect to inputs.

This is the form of SciMLSensitivity's tutorials (neural ODEs, "simultaneous fitting of multiple neural networks"): the
right-hand side gives a new vector, and reads ``p.f`` where the equation has the network f.
"""

from __future__ import annotations

import re

from sciml_bench.emit.context import Context
from sciml_bench.spec.language.operators import NetworkDivergence, NetworkGradient, NetworkOutput
from sciml_bench.spec.model import symbol
from sciml_bench.spec.network import Layer, Network

ACTIVATIONS = {
    "tanh": "tanh", "sin": "sin", "sigmoid": "sigmoid", "silu": "swish", "rbf": "rbf", "relu": "relu", "elu": "elu",
    "softplus": "softplus", "gelu_tanh": "gelu_tanh",
}  # fmt: skip
"""The activation of a Lux layer. They are NNlib's, except Julia's own ``tanh`` and ``sin``, and ``rbf``, which the
tutorials define themselves. NNlib has more than one function that Lux calls ``gelu``; this name says which.
"""

_OWN = {"rbf": "rbf(x) = exp(-x^2)\n"}
_BASE = {"tanh", "sin"}

# In terms of what enters the activation, z, and of its value, x.
_SLOPES = {
    "tanh": "1 - x^2", "sin": "cos(z)", "sigmoid": "x*(1 - x)", "silu": "sigmoid(z) + x*(1 - sigmoid(z))",
    "rbf": "-2*z*x", "relu": "float(z > 0)", "elu": "ifelse(z > 0, one(x), x + 1)", "softplus": "sigmoid(z)",
    "gelu_tanh": "gelu_slope(z)",
}  # fmt: skip
_GELU_SLOPE = """\
function gelu_slope(z)
    bent = tanh(sqrt(2/pi)*(z + 0.044715*z^3))
    return 0.5*(1 + bent) + 0.5*z*(1 - bent^2)*sqrt(2/pi)*(1 + 0.134145*z^2)
end
"""


def network_imports(context: Context) -> list[str]:
    """The lines that bring Lux and ComponentArrays."""
    problem = context.problem
    used = {ACTIVATIONS[a] for a in _activations(problem.networks) if a not in _OWN and a not in _BASE}
    differentiated = {layer.activation for network, _ in _differentiated(context) for layer in network.layers}
    used |= {"sigmoid"} if differentiated & {"silu", "softplus"} else set()
    used |= {"logsumexp"} if problem.loss.kind == "cross_entropy" else set()
    lux = [*(["Chain"] if any(not network.recurrent for network in problem.networks) else []), "Dense", "setup"]
    return [
        "using ComponentArrays: ComponentVector, getaxes",
        *(["using LinearAlgebra: diag"] if _needs_diagonal(context) else []),
        *([f"using Lux: {', '.join(lux)}"] if problem.networks else []),
        *([f"using Lux.NNlib: {', '.join(sorted(used))}"] if used else []),
        *(["using Random: Xoshiro"] if problem.networks else []),
    ]


def network_sources(context: Context) -> list[str]:
    """The models, the layout of the parameters, and a function for each network and each derivative of one."""
    problem = context.problem
    texts = [text for activation, text in _OWN.items() if activation in _activations(problem.networks)]
    lines: list[str] = []
    for network in problem.networks:
        name = _name(context, network)
        lines.append(f"const MODEL_{name} = {_chain(network)}")
        lines.append(f"const WEIGHTS_{name}, STATES_{name} = setup(Xoshiro(0), MODEL_{name})")
    named = [f"{p.name} = {'0.0' if p.shape == () else f'zeros({p.shape[0]})'}" for p in problem.parameters]
    named += [f"{network.name} = WEIGHTS_{_name(context, network)}" for network in problem.networks]
    lines.append("# The parameters as they are differentiated and trained: one flat vector whose parts have names.")
    lines += _layout(named)
    texts += ["\n".join([*lines, ""]), "named(p) = ComponentVector(p, LAYOUT)\n"]
    if any(isinstance(node, NetworkOutput) for node in _nodes(context)):
        evaluated = [network for network in problem.networks if _evaluated(context, network)]
        calls = [_call(_name(context, network)) for network in evaluated if not network.recurrent]
        texts += ["\n".join([*calls, ""])] if calls else []
        texts += [_fold(_name(context, network), network) for network in evaluated if network.recurrent]
    slopes = _differentiated(context)
    if any(layer.activation == "gelu_tanh" for network, _ in slopes for layer in network.layers):
        texts.append(_GELU_SLOPE)
    make = {"gradient": _gradient, "divergence": _divergence}
    return texts + [make[kind](_name(context, network), network) for network, kind in slopes]


def _layout(named: list[str]) -> list[str]:
    line = f"const LAYOUT = getaxes(ComponentVector({', '.join(named)}))"
    if len(line) <= 120:
        return [line]
    return ["const LAYOUT = getaxes(ComponentVector(", *(f"    {part}," for part in named), "))"]


def _name(context: Context, network: Network) -> str:
    return context.names[symbol(network.name)]


def _activations(networks: tuple[Network, ...]) -> set[str]:
    return {layer.activation for network in networks for layer in network.layers} - {"identity"}


def _nodes(context: Context) -> list[NetworkOutput | NetworkGradient | NetworkDivergence]:
    kinds = (NetworkOutput, NetworkGradient, NetworkDivergence)
    return [node for expr in context.all_expressions() for node in expr.atoms(*kinds)]


def _evaluated(context: Context, network: Network) -> bool:
    return any(isinstance(n, NetworkOutput) and n.args[0].name == network.name for n in _nodes(context))


def _differentiated(context: Context) -> list[tuple[Network, str]]:
    """Each network and kind of derivative that the equations ask for, once."""
    kinds = {NetworkGradient: "gradient", NetworkDivergence: "divergence"}
    wanted = {(node.args[0].name, kinds[type(node)]) for node in _nodes(context) if type(node) in kinds}
    return [(n, kind) for n in context.problem.networks for kind in kinds.values() if (n.name, kind) in wanted]


def _needs_diagonal(context: Context) -> bool:
    return any(kind == "divergence" and len(network.layers) == 1 for network, kind in _differentiated(context))


def _chain(network: Network) -> str:
    if network.recurrent:
        return _dense(network.layers[0])
    layers = ", ".join(_dense(layer) for layer in network.layers)
    return f"Chain({layers})"


def _dense(layer: Layer) -> str:
    activation = "" if layer.activation == "identity" else f", {ACTIVATIONS[layer.activation]}"
    return f"Dense({layer.inputs} => {layer.outputs}{activation})"


def _call(name: str) -> str:
    return f"{name}(x, weights) = first(MODEL_{name}(x, weights, STATES_{name}))"


def _fold(name: str, network: Network) -> str:
    """Elman's network: Lux's ``RNNCell`` has two biases, where his has one."""
    times = "reverse(eachcol(xs))" if network.recurrent == "reverse" else "eachcol(xs)"
    return "\n".join([
        f"function {name}(xs, weights)",
        f"    step(h, x) = first(MODEL_{name}([x; h], weights, STATES_{name}))",
        f"    return foldl(step, {times}; init = zeros({network.outputs}))",
        "end",
        "",
    ])  # fmt: skip


def _forward(network: Network, upto: int) -> list[str]:
    """Statements that compute what enters each of the first layers, z1 and so on, and what leaves it, x1 and so on."""
    lines, x = [], "x"
    for number, layer in enumerate(network.layers[:upto], start=1):
        lines.append(f"    z{number} = weights.layer_{number}.weight*{x} .+ weights.layer_{number}.bias")
        value = f"z{number}" if layer.activation == "identity" else f"{ACTIVATIONS[layer.activation]}.(z{number})"
        lines.append(f"    x{number} = {value}")
        x = f"x{number}"
    return lines


def _slope(layer: Layer, number: int) -> str:
    """The derivative of a layer's activation, elementwise."""
    return re.sub(r"\b[xz]\b", lambda name: f"{name[0]}{number}", _SLOPES[layer.activation])


def _gradient(name: str, network: Network) -> str:
    """Backwards through the layers from the one output."""
    layers = network.layers
    count = len(layers) - (layers[-1].activation == "identity")
    lines = [f"function gradient_{name}(x, weights)", *_forward(network, count)]
    for number in range(len(layers), 0, -1):
        layer, weight = layers[number - 1], f"weights.layer_{number}.weight"
        last = number == len(layers)
        if layer.activation == "identity":
            value = f"vec({weight})" if last else f"{weight}'*g"
        else:
            slope = _slope(layer, number)
            value = f"{weight}'*@.({slope})" if last else f"{weight}'*@.(({slope})*g)"
        lines.append(f"    {'return' if number == 1 else 'g ='} {value}")
    return "\n".join([*lines, "end", ""])


def _divergence(name: str, network: Network) -> str:
    """Forwards through the layers: one column for each input of the square part of the Jacobian."""
    layers, n = network.layers, network.outputs
    count = len(layers) - (layers[-1].activation == "identity")
    lines = [f"function divergence_{name}(x, weights)", *_forward(network, count)]
    for number, layer in enumerate(layers[:-1], start=1):
        weight = f"weights.layer_{number}.weight"
        pushed = f"{weight}[:, 1:{n}]" if number == 1 else f"{weight}*jacobian"
        if layer.activation != "identity":
            operand = pushed if number == 1 else f"({pushed})"
            pushed = f"@.({_slope(layer, number)}) .* {operand}"
        lines.append(f"    jacobian = {pushed}")
    last, weight = layers[-1], f"weights.layer_{len(layers)}.weight"
    if len(layers) == 1:
        diagonal = f"diag({weight})" if network.inputs == n else f"diag({weight}[:, 1:{n}])"
        traced = f"sum({diagonal})"
    else:
        diagonal = f"vec(sum({weight} .* jacobian'; dims = 2))"
        traced = f"sum({weight} .* jacobian')"
    if last.activation != "identity":
        traced = f"sum(@.({_slope(last, len(layers))}) .* {diagonal})"
    return "\n".join([*lines, f"    return {traced}", "end", ""])
