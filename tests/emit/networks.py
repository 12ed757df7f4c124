"""Problems that use networks in every way that the language has, and their right-hand sides in each framework."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sciml_bench.emit import source
from sciml_bench.spec import load_problem
from sciml_bench.spec.model import Problem
from sciml_bench.spec.network import ACTIVATIONS

HEAD = 'spec = 1\nname = "network"\ntitle = "A network"\n[time]\nt1 = 1\n'
WEIGHTS = 'weights = { draw = "normal", size = 1 }\nbiases = { draw = "uniform", size = 1 }\n'
VECTOR = """
[networks.f]
inputs = 3
layers = [4, 5, 3]
activation = "tanh"
last_activation = "tanh"
[states]
u = { initial = [0.5, -0.7, 1.5], scale = 1 }
[equations]
u = "2*f(u**3 - 1) - u"
"""
SCALARS = """
[parameters]
k = 0.3
v = [1.5, -2]
[networks.f]
inputs = 4
layers = [6, 6, 2]
activation = "tanh"
[networks.g]
inputs = 1
layers = [3, 1]
activation = "silu"
[states]
x = 0.2
y = -1.1
z = 0.7
[definitions]
r = "k*t"
[equations]
x = "f(x*y, t, k, z)[0] + v[0]"
y = "f(x*y, t, k, z)[1]*g(x - y)[0] + v[1]*x"
z = "r"
"""
MIXED = """
[networks.f]
inputs = 4
layers = [6, 3]
activation = "tanh"
[states]
u = { initial = [0.5, -0.7, 1.5], scale = 1 }
[equations]
u = "f(t, u)"
"""
POINTWISE = """
[parameters]
D = 0.1
[grids.x]
points = 6
first = 0
last = 1
boundary = "periodic"
[grids.y]
points = 4
first = 0
last = 1
boundary = "neumann"
[networks.f]
inputs = 2
layers = [7, 1]
activation = "tanh"
pointwise = true
[states]
u = { grid = ["x", "y"], initial = "sin(3*x + y)", scale = 1 }
[equations]
u = "D*laplacian(u) + f(u, x)"
"""
DERIVATIVES = """
[parameters]
k = 0.3
[networks.H]
inputs = 4
layers = [6, 5, 1]
activation = "{0}"
[networks.f]
inputs = 3
layers = [7, 2]
activation = "{0}"
last_activation = "{0}"
[states]
q1 = 0.2
q2 = -1.1
p1 = 0.7
p2 = 0.9
l = 0
[equations]
q1 = "grad(H, q1, q2, p1, p2)[2]"
q2 = "grad(H, q1, q2, p1, p2)[3] + k*H(q1, q2, p1, p2)[0]"
p1 = "-grad(H, q1, q2, p1, p2)[0]"
p2 = "-grad(H, q1, q2, p1, p2)[1] + f(q1, p1, t)[0]"
l = "-divergence(f, q1, p1, t)"
"""
BATCH = "[batch]\nsize = 3\nspread = 0.5\n"


def problem(text: str) -> Problem:
    """A problem from its text without head; every network gets weights and biases other than zero."""
    text = text.replace("\ninputs", f"\n{WEIGHTS}inputs")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.toml"
        path.write_text(HEAD + text, encoding="utf-8")
        return load_problem(path)


def activations() -> str:
    """A problem with a network, and a state that follows it, for each activation."""
    networks = [f'[networks.f_{a}]\ninputs = 3\nlayers = [4, 3]\nactivation = "{a}"\nlast_activation = "{a}"\n'
                for a in ACTIVATIONS]  # fmt: skip
    states = [f"u_{a} = {{ initial = [0.5, -0.7, 1.5], scale = 1 }}\n" for a in ACTIVATIONS]
    equations = [f'u_{a} = "f_{a}(u_{a}**3 - 1)"\n' for a in ACTIVATIONS]
    return "".join(["\n", *networks, "[states]\n", *states, "[equations]\n", *equations])


def problems(batched: bool) -> dict[str, Problem]:
    """Every case by its name; those that can be batched with a batch of three."""
    texts = {"activations": activations(), "vector": VECTOR, "scalars": SCALARS, "mixed": MIXED}
    texts |= {f"derivatives-{a}": DERIVATIVES.format(a) for a in ("tanh", "gelu_tanh")}
    if batched:
        return {name: problem(text + BATCH) for name, text in texts.items()}
    return {name: problem(text) for name, text in {**texts, "pointwise": POINTWISE}.items()}


def module(problem: Problem, target: str) -> dict[str, Any]:
    """The emitted module."""
    namespace: dict[str, Any] = {}
    exec(compile(source(problem, target), problem.name, "exec"), namespace)
    return namespace


def run_numpy(module: dict[str, Any], t: float, y: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The right-hand side of one trajectory."""
    return module["rhs"](t, y, *module["arguments"](p))


def run_jax(module: dict[str, Any], t: float, y: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The same in JAX, compiled, and mapped over the batch where there is one."""
    import jax

    def rhs(y: jax.Array) -> jax.Array:
        return module["rhs"](t, y, *module["arguments"](jax.numpy.asarray(p)))

    return np.asarray(jax.jit(jax.vmap(rhs) if y.ndim == 2 else rhs)(y))


def run_torch(module: dict[str, Any], t: float, y: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The same in PyTorch."""
    import torch

    networks, flat = module["networks"](), torch.tensor(p)
    start = len(p) - sum(weight.numel() for network in networks for weight in network.parameters())
    named = flat[:start]
    for network in networks:
        count = sum(weight.numel() for weight in network.double().parameters())
        torch.nn.utils.vector_to_parameters(flat[start : start + count], network.parameters())
        start += count
    with torch.no_grad():
        return module["rhs"](torch.tensor(t, dtype=torch.float64), torch.tensor(y), named, *networks).numpy()


def run_tensorflow(module: dict[str, Any], t: float, y: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The same in TensorFlow, as a graph."""
    import tensorflow as tf

    def rhs(t: tf.Tensor, y: tf.Tensor, p: tf.Tensor) -> tf.Tensor:
        return module["rhs"](t, y, *module["arguments"](p))

    return tf.function(rhs, autograph=False)(*(tf.constant(value, tf.float64) for value in (t, y, p))).numpy()


RUN: dict[str, Callable[..., np.ndarray]] = {
    "numpy": run_numpy,
    "jax": run_jax,
    "torch": run_torch,
    "tensorflow": run_tensorflow,
}
