"""Derivatives of networks with respect to their inputs, as source text: by each framework's own differentiation."""

from __future__ import annotations

from sciml_bench.emit.activation import FUNCTIONS, SLOPES
from sciml_bench.emit.context import Context
from sciml_bench.spec.language.operators import NetworkDivergence, NetworkGradient
from sciml_bench.spec.model import symbol
from sciml_bench.spec.network import Network

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
