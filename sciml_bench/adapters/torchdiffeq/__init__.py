"""torchdiffeq in PyTorch, with gradients by back-propagation through the steps or by its adjoint equation."""

from sciml_bench.adapters.torchdiffeq.declaration import ADAPTER

__all__ = ["ADAPTER"]
