"""The compiled mode: ``torch.compile`` of a model. Imported by compiled programs only, see ``compiler``."""

from __future__ import annotations

from typing import Any

import torch
import torch._dynamo.config


def compiled(model: torch.nn.Module) -> Any:
    """The model compiled at its first call with each size of batch, with and without gradients."""
    # Two graphs for every size of batch, that of the evaluation among them.
    torch._dynamo.config.recompile_limit = 64
    return torch.compile(model, fullgraph=True, dynamic=False)
