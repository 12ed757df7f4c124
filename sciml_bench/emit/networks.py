"""Networks as source text, in the way of each framework, and how they get their weights from the flat parameters.

JAX has Equinox modules, PyTorch ``torch.nn`` modules, whose parameters are the leaves that gradients are taken of.
TensorFlow Probability differentiates tensors that are passed to its solvers, so there, as in NumPy, a network is a
function of its input and its weights.
"""

from __future__ import annotations

from sciml_bench.emit.activation import FUNCTIONS, OBJECTS, SLOPES
from sciml_bench.emit.context import Context
from sciml_bench.emit.targets import Target
from sciml_bench.spec.language.operators import NetworkDivergence, NetworkGradient
from sciml_bench.spec.model import Problem, symbol
from sciml_bench.spec.network import Layer, Network

# Recurrent networks as source text: a loop over the times of a series, as each framework writes one.

JAX = '''\
class Recurrent(eqx.Module):
    """Elman's network: its output after all times of a series (times, inputs)."""

    cell: eqx.nn.Linear
    activation: Callable
    reverse: bool = eqx.field(static=True)

    def __init__(self, inputs, width, activation, reverse):
        self.cell = eqx.nn.Linear(inputs + width, width, key=jax.random.key(0))
        self.activation, self.reverse = activation, reverse

    def __call__(self, xs):
        def step(h, x):
            return self.activation(self.cell(jnp.concatenate([x, h]))), None

        h, _ = jax.lax.scan(step, jnp.zeros(self.cell.out_features, xs.dtype), xs, reverse=self.reverse)
        return h
'''
TORCH = '''\
class Recurrent(nn.Module):
    """Elman's network: its output after all times of series (..., times, inputs)."""

    def __init__(self, inputs, width, activation, reverse):
        super().__init__()
        self.cell = nn.Linear(inputs + width, width)
        self.activation, self.reverse = activation, reverse

    def forward(self, xs):
        h = xs.new_zeros(*xs.shape[:-2], self.cell.out_features)
        times = xs.unbind(-2)
        for x in reversed(times) if self.reverse else times:
            h = self.activation(self.cell(torch.cat([x, h], dim=-1)))
        return h
'''


def constructor(network: Network, target: str) -> str:
    """The module of a recurrent network, in JAX and PyTorch."""
    activation = network.layers[0].activation
    objects = {"identity": "lambda x: x" if target == "jax" else "nn.Identity()", **OBJECTS[target]}
    return f"Recurrent({network.inputs}, {network.outputs}, {objects[activation]}, {network.recurrent == 'reverse'})"


def function(name: str, network: Network, target: Target) -> str:
    """The function of a series and the weights, in NumPy and TensorFlow."""
    activation = network.layers[0].activation
    lines = [f"def {name}(xs, weights):", "    weight1, bias1 = weights"]
    if not target.differentiates:
        z = "weight1 @ np.concatenate([x, h]) + bias1"
        lines += [f"    h = np.zeros({network.outputs})"]
        lines += [f"    for x in {'xs[::-1]' if network.recurrent == 'reverse' else 'xs'}:"]
        lines += [f"        {line}" for line in _activated("h", z, activation, "numpy")]
        return "\n".join([*lines, "    return h", ""])
    # TensorFlow's folds go over the first axis.
    product = "tf.linalg.matvec(weight1, tf.concat([x, h], axis=-1)) + bias1"
    start, times = f"tf.zeros({network.outputs}, xs.dtype)", "xs"
    if target.batched:
        product = "tf.matmul(tf.concat([x, h], axis=-1), weight1, transpose_b=True) + bias1"
        start, times = f"tf.zeros((xs.shape[0], {network.outputs}), xs.dtype)", "tf.transpose(xs, (1, 0, 2))"
    fold = "foldr" if network.recurrent == "reverse" else "foldl"
    lines += ["", "    def step(h, x):"]
    lines += [f"        {line}" for line in _activated("return", product, activation, "tensorflow")]
    return "\n".join([*lines, "", f"    return tf.{fold}(step, {times}, {start})", ""])


def _activated(place: str, z: str, activation: str, target: str) -> list[str]:
    start = "return" if place == "return" else f"{place} ="
    if activation == "identity":
        return [f"{start} {z}"]
    value = FUNCTIONS[target][activation]
    if "({})" in value or "({}," in value:
        return [f"{start} {value.format(z)}"]
    return [f"z = {z}", f"{start} {value.format('z')}"]


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


# Derivatives of networks with respect to their inputs, as source text: by each framework's own differentiation.

_SOURCES = {
    ("jax", "grad"): '''\
def gradient_of(network, x):
    """The derivatives of the one output of a network with respect to its inputs."""
    return jax.grad(lambda x: network(x)[0])(x)
''',
    ("jax", "divergence"): '''\
def divergence(network, x, n):
    """The trace of the Jacobian of a network with respect to its first n inputs."""
    _, pushforward = jax.linearize(network, x)
    return jnp.trace(jax.vmap(pushforward)(jnp.eye(n, len(x))))
''',
    ("torch", "grad"): '''\
def gradient_of(network, x):
    """The derivatives of the one output of a network with respect to its inputs."""
    create_graph = torch.is_grad_enabled()
    with torch.enable_grad():
        x = x if x.requires_grad else x.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(network(x).sum(), x, create_graph=create_graph)
    return gradient
''',
    ("torch", "divergence"): '''\
def divergence(network, x, n):
    """The trace of the Jacobian of a network with respect to its first n inputs."""
    create_graph = torch.is_grad_enabled()
    with torch.enable_grad():
        x = x if x.requires_grad else x.detach().requires_grad_()
        outputs = network(x).unbind(-1)
        trace = 0.0
        for i in range(n):
            (row,) = torch.autograd.grad(outputs[i].sum(), x, create_graph=create_graph, retain_graph=True)
            trace = trace + row[..., i]
    return trace
''',
    ("tensorflow", "grad"): '''\
def gradient_of(network, x, weights):
    """The derivatives of the one output of a network with respect to its inputs."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        output = network(x, weights)
    return tape.gradient(output, x)
''',
    ("tensorflow", "divergence"): '''\
def divergence(network, x, weights, n):
    """The trace of the Jacobian of a network with respect to its first n inputs."""
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        outputs = tf.unstack(network(x, weights), axis=-1)
    return tf.add_n([tape.gradient(outputs[i], x)[..., i] for i in range(n)])
''',
    ("numpy", "grad"): '''\
def gradient_of(network_jacobian, x, weights):
    """The derivatives of the one output of a network with respect to its inputs."""
    return network_jacobian(x, weights)[0]
''',
    ("numpy", "divergence"): '''\
def divergence(network_jacobian, x, weights, n):
    """The trace of the Jacobian of a network with respect to its first n inputs."""
    return np.trace(network_jacobian(x, weights)[:n, :n])
''',
}


def derivative_sources(context: Context) -> list[str]:
    """The functions that a problem's derivatives of networks call, each once."""
    target, texts = context.target.name, []
    used: set[str] = set()
    for kind, operator in (("grad", NetworkGradient), ("divergence", NetworkDivergence)):
        nodes = [node for expr in context.all_expressions() for node in expr.atoms(operator)]
        if nodes:
            texts.append(_SOURCES[target, kind])
        used |= {node.args[0].name for node in nodes}
    if target == "numpy":
        networks = [network for network in context.problem.networks if network.name in used]
        texts += [_numpy_jacobian(context.names[symbol(network.name)], network) for network in networks]
    return texts


def _numpy_jacobian(name: str, network: Network) -> str:
    tensors = [f"{kind}{number}" for number in range(1, len(network.layers) + 1) for kind in ("weight", "bias")]
    lines = [f"def {name}_jacobian(x, weights):", f"    {', '.join(tensors)} = weights"]
    lines.append(f"    jacobian = np.eye({network.inputs})")
    for number, layer in enumerate(network.layers, start=1):
        lines.append(f"    z = weight{number} @ x + bias{number}")
        if layer.activation == "identity":
            lines += [f"    x, jacobian = z, weight{number} @ jacobian"]
            continue
        value, slope = (table[layer.activation].format("z") for table in (FUNCTIONS["numpy"], SLOPES))
        lines += [f"    x = {value}", f"    jacobian = ({slope})[:, None]*(weight{number} @ jacobian)"]
    return "\n".join([*lines, "    return jacobian", ""])
