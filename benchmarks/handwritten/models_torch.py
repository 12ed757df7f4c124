"""LeNet and a small GPT in PyTorch with the usual training loop, for ``model_tax.py`` to measure ours against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class LeNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        )  # fmt: skip
        self.classifier = nn.Sequential(
            nn.Flatten(), nn.Linear(128, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x))


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        n, t, width = x.shape
        q, k, v = self.qkv(x).split(width, dim=2)
        q, k, v = (part.view(n, t, self.heads, width // self.heads).transpose(1, 2) for part in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).contiguous().view(n, t, width))


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(
        self, vocabulary: int = 88, context: int = 32, width: int = 48, heads: int = 3, depth: int = 2
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary)
        self.register_buffer("places", torch.arange(context), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        x = self.tokens(x) + self.positions(self.places)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def training(problem: str, weights: Sequence[np.ndarray], inputs: np.ndarray, labels: np.ndarray) -> Callable[[], Any]:
    """A function that takes one step on the batch and gives its loss. ``weights`` is the flat theta, once."""
    torch.set_num_threads(1)
    text = problem == "gpt-text"
    model = GPT() if text else LeNet()
    nn.utils.vector_to_parameters(torch.tensor(weights[0], dtype=torch.float32), model.parameters())
    optimiser: torch.optim.Optimizer = (
        torch.optim.AdamW(model.parameters(), lr=0.004, weight_decay=0.01)
        if text
        else torch.optim.Adam(model.parameters(), lr=0.005)
    )
    x = torch.tensor(inputs, dtype=torch.int64 if text else torch.float32)
    y = torch.tensor(labels)

    def step() -> Tensor:
        optimiser.zero_grad()
        logits = model(x)
        loss = F.cross_entropy(logits.view(-1, logits.shape[-1]), y.view(-1))
        loss.backward()
        optimiser.step()
        return loss.detach()

    return step
