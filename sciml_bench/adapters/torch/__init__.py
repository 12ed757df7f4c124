"""PyTorch, for the models of the conventional track."""

from sciml_bench.adapters.torch.declaration import ADAPTER as ADAPTER
