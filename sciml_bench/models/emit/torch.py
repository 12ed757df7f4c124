"""A model as an ``nn.Module``."""

from __future__ import annotations

from sciml_bench.models.emit.lines import convolution, header, indented, statements
from sciml_bench.models.layer import EPSILON, Layer, walk
from sciml_bench.models.model import Model

_ATTENTION = """

class Attention(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)

    def forward(self, x):
        n, positions, width = x.shape
        q, k, v = self.qkv(x).view(n, positions, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        x = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.project(x.transpose(1, 2).reshape(n, positions, width))

"""

_POSITIONS = """

class Positions(nn.Module):
    def __init__(self, count, width):
        super().__init__()
        self.embedding = nn.Parameter(torch.zeros(count, width))

    def forward(self, x):
        return x + self.embedding

"""

_LOSSES = {
    "cross_entropy": """
def loss(outputs, labels):
    return F.cross_entropy(outputs, labels)
""",
    "cross_entropy_of_positions": """
def loss(outputs, labels):
    return F.cross_entropy(outputs.flatten(0, 1), labels.flatten())
""",
    "mean_square": """
def loss(outputs, labels):
    return outputs.square().mean()
""",
}


def torch_source(model: Model) -> str:
    """A module with ``Model`` and ``loss``; the parameters of ``Model`` have the order of theta."""
    layers = list(walk(model.layers))
    members = [f"self.{layer.name} = {_member(layer)}" for layer in layers if layer.slots]
    kinds = {layer.kind for layer in layers}
    classes = (_ATTENTION.rstrip() if "attention" in kinds else "") + (
        _POSITIONS.rstrip() if "positions" in kinds else ""
    )
    kind = model.loss
    if kind == "cross_entropy" and len(model.layers[-1].output) > 1:
        kind = "cross_entropy_of_positions"
    functional = any("F." in text for text in (classes, _LOSSES[kind], *statements(model.layers, _expression)))
    lines = [
        header(model, "PyTorch"),
        "",
        *(["import torch"] if "positions" in kinds else []),
        *(["import torch.nn.functional as F"] if functional else []),
        "from torch import nn",
        classes + "\n\n",
        "class Model(nn.Module):",
        *indented(["def __init__(self):", *indented(["super().__init__()", *members]), ""]),
        *indented(["def forward(self, x):", *indented([*statements(model.layers, _expression), "return x"])]),
        "",
        _LOSSES[kind].rstrip(),
    ]
    return "\n".join(lines) + "\n"


_MEMBERS = {
    "dense": "nn.Linear({inputs}, {width})", "embedding": "nn.Embedding({count}, {width})",
    "positions": "Positions({count}, {width})", "group_norm": f"nn.GroupNorm({{groups}}, {{width}}, eps={EPSILON})",
    "layer_norm": f"nn.LayerNorm({{width}}, eps={EPSILON})",
}  # fmt: skip


def _member(layer: Layer) -> str:
    n = layer.numbers
    if layer.kind == "conv2d":
        return f"nn.Conv2d({', '.join(convolution(layer))})"
    if layer.kind == "attention":
        return f"Attention({n['width']}, heads={n['heads']}, causal={bool(n['causal'])})"
    return _MEMBERS[layer.kind].format(**n)


_EXPRESSIONS = {
    "relu": "F.relu({x})", "gelu": "F.gelu({x})", "tanh": "{x}.tanh()", "max_pool": "F.max_pool2d({x}, {size})",
    "mean_pool": "F.avg_pool2d({x}, {size})", "flatten": "{x}.flatten(1)", "tokens": "{x}.flatten(2).transpose(1, 2)",
}  # fmt: skip


def _expression(layer: Layer, x: str) -> str:
    if layer.kind == "mean":
        return f"{x}.mean((2, 3))" if len(layer.input) == 3 else f"{x}.mean(1)"
    return _EXPRESSIONS.get(layer.kind, "self.{name}({x})").format(x=x, name=layer.name, **layer.numbers)
