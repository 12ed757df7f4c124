"""Networks as source text, in the way of each framework, and how they get their weights from the flat parameters.

JAX has Equinox modules, PyTorch ``torch.nn`` modules, whose parameters are the leaves that gradients are taken of.
TensorFlow Probability differentiates tensors that are passed to its solvers, so there, as in NumPy, a network is a
function of its input and its weights.
"""

from __future__ import annotations

from sciml_bench.emit.activation import FUNCTIONS, OBJECTS
from sciml_bench.emit.context import Context
from sciml_bench.emit.network_derivatives import derivative_sources
from sciml_bench.emit.recurrent_networks import JAX, TORCH, constructor, function
from sciml_bench.spec.model import Problem, symbol
from sciml_bench.spec.network import Layer, Network

IMPORTS = {
    "jax": ("import equinox as eqx", "import jax", "from jax.flatten_util import ravel_pytree"),
    "torch": ("from torch import nn",),
}
_FILLED = '''\
def filled(network):
    """The function that gives a network of this structure its weights, from a flat array."""
    arrays, structure = eqx.partition(network, eqx.is_array)
    _, unravel = ravel_pytree(arrays)
    return lambda weights: eqx.combine(unravel(weights), structure)
'''
_MODULES = {
    "rbf": "class RBF(nn.Module):\n    def forward(self, x):\n        return torch.exp(-(x**2))\n",
    "sin": "class Sin(nn.Module):\n    def forward(self, x):\n        return torch.sin(x)\n",
}


def network_arguments(context: Context) -> list[str]:
    """The arguments of ``rhs`` after t, y and p: each network that it uses, or the weights of a network that is a
    function.
    """
    return _values(context, context.problem.rhs_networks)


def _values(context: Context, networks: tuple[Network, ...]) -> list[str]:
    suffix = "" if context.target.modules else "_weights"
    return [_name(context, network) + suffix for network in networks]


def network_sources(context: Context) -> list[str]:
    """Everything that a module needs for its networks, ``arguments(p)`` or PyTorch's ``networks()`` last.

    ``arguments(p)`` gives what ``rhs`` takes after t and y, the named parameters and the networks, from the flat
    parameters; ``networks()`` the modules, in the order of ``rhs``, which get their weights from outside.
    """
    return [*derivative_sources(context), *_networks(context)]


def _networks(context: Context) -> list[str]:
    problem = context.problem
    match context.target.name:
        case "torch":
            return _torch(problem)
        case "jax":
            skeletons = [
                f"FILL__{_name(context, network)} = filled({_equinox(network)})" for network in problem.networks
            ]
            modules = [JAX] if any(network.recurrent for network in problem.networks) else []
            return [*modules, _FILLED, "\n".join([*skeletons, ""]), _arguments(context)]
        case _:
            functions = [_function(context, network) for network in problem.networks]
            return [*functions, _arguments(context)]


def _name(context: Context, network: Network) -> str:
    return context.names[symbol(network.name)]


def _torch(problem: Problem) -> list[str]:
    used = {layer.activation for network in problem.networks for layer in network.layers}
    modules = [text for activation, text in _MODULES.items() if activation in used]
    modules += [TORCH] if any(network.recurrent for network in problem.networks) else []
    order = "of the flat parameters" if problem.latent else "in which ``rhs`` takes them"
    lines = ["def networks():", f'    """The networks in the order {order}."""', "    return ("]
    for network in problem.networks:
        if network.recurrent:
            lines.append(f"        {constructor(network, 'torch')},")
            continue
        parts: list[str] = []
        for layer in network.layers:
            parts.append(f"nn.Linear({layer.inputs}, {layer.outputs})")
            if layer.activation != "identity":
                parts.append(OBJECTS["torch"][layer.activation])
        lines += ["        nn.Sequential(", *(f"            {part}," for part in parts), "        ),"]
    return [*modules, "\n".join([*lines, "    )", ""])]


def _equinox(network: Network) -> str:
    if network.recurrent:
        return constructor(network, "jax")
    first, last = network.layers[0], network.layers[-1]
    hidden = {(layer.outputs, layer.activation) for layer in network.layers[:-1]}
    objects = {"identity": "eqx.nn.Identity()", **OBJECTS["jax"]}
    if len(hidden) == 1:
        ((width, activation),) = hidden
        final = "" if last.activation == "identity" else f", final_activation={objects[last.activation]}"
        return (
            f"\n    eqx.nn.MLP({network.inputs}, {network.outputs}, {width}, {len(network.layers) - 1},"
            f" activation={objects[activation]}{final}, key=jax.random.key(0))\n"
        )
    parts: list[str] = []
    for layer in (first, *network.layers[1:]):
        parts.append(f"eqx.nn.Linear({layer.inputs}, {layer.outputs}, key=jax.random.key(0))")
        if layer.activation != "identity":
            parts.append(f"eqx.nn.Lambda({objects[layer.activation]})")
    inner = "".join(f"        {part},\n" for part in parts)
    return f"\n    eqx.nn.Sequential([\n{inner}    ])\n"


def _function(context: Context, network: Network) -> str:
    name, target = _name(context, network), context.target.name
    if network.recurrent:
        return function(name, network, context.target)
    product = "tf.linalg.matvec({0}, {1})" if target == "tensorflow" else "{0} @ {1}"
    if network.pointwise or context.target.batched:
        product = "tf.matmul({1}, {0}, transpose_b=True)" if target == "tensorflow" else "{1} @ {0}.T"
    tensors = [f"{kind}{number}" for number in range(1, len(network.layers) + 1) for kind in ("weight", "bias")]
    lines = [f"def {name}(x, weights):", f"    {', '.join(tensors)} = weights"]
    for number, layer in enumerate(network.layers, start=1):
        z = f"{product.format(f'weight{number}', 'x')} + bias{number}"
        last = number == len(network.layers)
        if layer.activation == "identity":
            lines.append(f"    {'return' if last else 'x ='} {z}")
            continue
        value = FUNCTIONS[target][layer.activation]
        if "({})" in value or "({}," in value:
            value = value.format(z)
        else:
            lines.append(f"    x = {z}")
            value = value.format("x")
        lines.append(f"    {'return' if last else 'x ='} {value}")
    return "\n".join([*lines, ""])


def _arguments(context: Context) -> str:
    start = context.problem.n_named
    values = _values(context, context.problem.networks)
    what = "``rhs`` takes" if not context.problem.latent else "functions take, ``rhs`` some of it,"
    lines = [
        "def arguments(p):",
        f'    """What {what} after t and y, from the flat parameters."""',
        f"    named = p[:{start}]",
    ]
    for network, value in zip(context.problem.networks, values, strict=True):
        end = start + len(network.weights)
        if context.target.mapped:
            lines.append(f"    {value} = FILL__{value}(p[{start}:{end}])")
        else:
            parts = _parts(network.layers, start, context.target.name)
            lines += [f"    {value} = (", *(f"        {part}," for part in parts), "    )"]
        start = end
    return "\n".join([*lines, f"    return {', '.join(['named', *values])}", ""])


def _parts(layers: tuple[Layer, ...], start: int, target: str) -> list[str]:
    reshaped = "tf.reshape({}, {})" if target == "tensorflow" else "np.reshape({}, {})"
    bias = "{}" if target == "tensorflow" else "np.asarray({})"
    parts: list[str] = []
    for layer in layers:
        middle, end = start + layer.outputs * layer.inputs, start + layer.size
        parts.append(reshaped.format(f"p[{start}:{middle}]", (layer.outputs, layer.inputs)))
        parts.append(bias.format(f"p[{middle}:{end}]"))
        start = end
    return parts
