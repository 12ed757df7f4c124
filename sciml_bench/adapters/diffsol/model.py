"""A whole model in DiffSL, of an emitted module and the numbers of a task. Workers import it without SymPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def model_text(source: Any, p: Sequence[float], y0: Sequence[float], wrt: str) -> str:
    """A whole model of an emitted module, with the parameters or the initial state (``wrt``) as its inputs."""
    states, parameters = source.STATES, source.PARAMETERS
    if wrt == "parameters":
        inputs = [f"{name} = {float(value)!r}" for name, value in zip(parameters, p, strict=True)]
        fixed, starts = [], [repr(float(value)) for value in y0]
    else:
        starts = source.STARTS
        inputs = [f"{start} = {float(value)!r}" for start, value in zip(starts, y0, strict=True)]
        fixed = [f"{name} {{ {float(value)!r} }}" for name, value in zip(parameters, p, strict=True)]
    declared = [f"in_i {{ {', '.join(inputs)} }}"] if inputs else []
    state = ", ".join(f"{name} = {start}" for name, start in zip(states, starts, strict=True))
    return "\n".join([*declared, *fixed, f"u_i {{ {state} }}", source.MODEL.strip("\n"), ""])
