"""Activations of networks: as formulas for the reference engine, and by their names in each array library."""

from __future__ import annotations

import sympy

from sciml_bench.spec.language.operators import Node

FUNCTIONS = {
    "numpy": {
        "tanh": "np.tanh({})", "sin": "np.sin({})", "sigmoid": "1.0/(1.0 + np.exp(-{}))",
        "silu": "{0}/(1.0 + np.exp(-{0}))", "rbf": "np.exp(-{}**2)", "relu": "np.maximum({}, 0.0)",
        "elu": "np.where({0} > 0.0, {0}, np.expm1(np.minimum({0}, 0.0)))", "softplus": "np.logaddexp({}, 0.0)",
        "gelu_tanh": "0.5*{0}*(1.0 + np.tanh(math.sqrt(2/math.pi)*({0} + 0.044715*{0}**3)))",
    },
    "tensorflow": {
        "tanh": "tf.tanh({})", "sin": "tf.sin({})", "sigmoid": "tf.sigmoid({})", "silu": "tf.nn.silu({})",
        "rbf": "tf.exp(-{}**2)", "relu": "tf.nn.relu({})", "elu": "tf.nn.elu({})", "softplus": "tf.nn.softplus({})",
        # tf.nn.gelu rounds its coefficient to single precision, also for doubles.
        "gelu_tanh": "0.5*{0}*(1.0 + tf.tanh(0.7978845608028654*({0} + 0.044715*{0}**3)))",
    },
}  # fmt: skip
"""Code of an activation of an array, by target and name."""

SLOPES = {
    "tanh": "1.0 - x**2", "sin": "np.cos({})", "sigmoid": "x*(1.0 - x)",
    "silu": "1.0/(1.0 + np.exp(-{0})) + x*(1.0 - 1.0/(1.0 + np.exp(-{0})))", "rbf": "-2.0*{}*x",
    "relu": "np.where({} > 0.0, 1.0, 0.0)", "elu": "np.where({} > 0.0, 1.0, x + 1.0)",
    "softplus": "1.0/(1.0 + np.exp(-{}))",
    "gelu_tanh": (
        "0.5*(1.0 + np.tanh(math.sqrt(2/math.pi)*({0} + 0.044715*{0}**3))) + 0.5*{0}*(1.0 - np.tanh("
        "math.sqrt(2/math.pi)*({0} + 0.044715*{0}**3))**2)*math.sqrt(2/math.pi)*(1.0 + 0.134145*{0}**2)"
    ),
}  # fmt: skip
"""NumPy code of the derivative of an activation, in terms of what enters it and of its value ``x``."""

OBJECTS = {
    "jax": {
        "tanh": "jnp.tanh", "sin": "jnp.sin", "sigmoid": "jax.nn.sigmoid", "silu": "jax.nn.silu",
        "rbf": "lambda x: jnp.exp(-(x**2))", "relu": "jax.nn.relu", "elu": "jax.nn.elu",
        "softplus": "jax.nn.softplus", "gelu_tanh": "jax.nn.gelu",
    },
    "torch": {
        "tanh": "nn.Tanh()", "sin": "Sin()", "sigmoid": "nn.Sigmoid()", "silu": "nn.SiLU()", "rbf": "RBF()",
        "relu": "nn.ReLU()", "elu": "nn.ELU()", "softplus": "nn.Softplus()",
        "gelu_tanh": 'nn.GELU(approximate="tanh")',
    },
}  # fmt: skip
"""The activation of a layer of a network, by target and name. JAX's ``gelu`` is the approximation."""


def formula(activation: str, z: Node) -> Node:
    """The activation of a number, without branches if possible."""
    match activation:
        case "identity":
            return z
        case "tanh":
            return sympy.tanh(z)
        case "sin":
            return sympy.sin(z)
        case "sigmoid":
            return 1 / (1 + sympy.exp(-z))
        case "silu":
            return z / (1 + sympy.exp(-z))
        case "rbf":
            return sympy.exp(-(z**2))
        case "relu":
            return sympy.Max(z, 0)
        case "elu":
            return sympy.Max(z, 0) + sympy.exp(sympy.Min(z, 0)) - 1
        case "softplus":
            return sympy.log(1 + sympy.exp(z))
        case "gelu_tanh":
            inner = sympy.sqrt(2 / sympy.pi) * (z + sympy.Rational("0.044715") * z**3)
            return z / 2 * (1 + sympy.tanh(inner))
    raise ValueError(f"unknown activation '{activation}'")
