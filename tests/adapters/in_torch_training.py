"""Run in a process of its own: how the torchdiffeq adapter trains, as one JSON object of named findings."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from adapters.trainings import findings

from sciml_bench.adapters.torch.optimisers import optimiser_of
from sciml_bench.record.task import Cell, Training

RUNAWAY = """
import torch
def rhs(t, y, p): return p[0]*y
def loss(ys): return -torch.sum(ys**2)
"""


def apply(training: Training, theta: np.ndarray, gradients: list[np.ndarray]) -> np.ndarray:
    """Steps of PyTorch's optimiser."""
    leaf = torch.nn.Parameter(torch.tensor(theta))
    optimiser = optimiser_of(training, [leaf])
    for gradient in gradients:
        leaf.grad = torch.tensor(gradient)
        optimiser.step()
    return leaf.detach().numpy()


if __name__ == "__main__":
    print(json.dumps(findings(Cell("any", "torchdiffeq", "dopri5", "discrete", "eager"), apply, RUNAWAY)))
