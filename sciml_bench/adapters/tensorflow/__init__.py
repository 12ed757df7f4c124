"""TensorFlow Probability's ODE solvers in TensorFlow, with gradients by their adjoint equation."""

from sciml_bench.adapters.tensorflow.declaration import ADAPTER

__all__ = ["ADAPTER"]
