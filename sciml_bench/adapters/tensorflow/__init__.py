"""TensorFlow Probability's ODE solvers in TensorFlow; gradients by adjoint or forward sensitivity equations."""

from sciml_bench.adapters.tensorflow.declaration import ADAPTER

__all__ = ["ADAPTER"]
