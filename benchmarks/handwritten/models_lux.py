"""The hand-written Lux models of ``models_lux.jl``, for ``model_tax.py`` to measure ours against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import juliacall
import numpy as np


def training(problem: str, weights: Sequence[np.ndarray], inputs: np.ndarray, labels: np.ndarray) -> Callable[[], Any]:
    """A function that takes one step on the batch and gives its loss. ``weights`` is the flat theta, once."""
    julia: Any = juliacall.__dict__["Main"]
    julia.include(str(Path(__file__).with_suffix(".jl")))
    return julia.LuxExperts.training(
        problem, weights[0], np.ascontiguousarray(inputs).T, np.ascontiguousarray(labels).T
    )
