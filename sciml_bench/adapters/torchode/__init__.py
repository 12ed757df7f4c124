"""torchode in PyTorch: every trajectory of a batch takes steps of its own, through which gradients are taken."""

from sciml_bench.adapters.torchode.declaration import ADAPTER

__all__ = ["ADAPTER"]
