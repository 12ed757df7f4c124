"""Recurrent networks as source text: a loop over the times of a series, as each framework writes one."""

from __future__ import annotations

from sciml_bench.emit.activation import FUNCTIONS, OBJECTS
from sciml_bench.emit.targets import Target
from sciml_bench.spec.network import Network

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
