"""Priors of PEtab as text of problem files: the negative logarithm of a density of a parameter."""

from __future__ import annotations

import math

from sciml_bench.errors import ProblemError

SCALES = {"lin": "{}", "log": "log({})", "log10": "log10({})"}
"""A parameter on the scale on which it is estimated."""


def negative_log_prior(parameter: str, scale: str, kind: str, numbers: list[float]) -> str:
    """The formula for a parameter; empty for uniform densities, which change no gradient and no minimum.

    Raises:
        ProblemError: the kind is unknown, or its width is not positive.
    """
    if kind in ("uniform", "parameterScaleUniform"):
        return ""
    on_scale = kind.startswith("parameterScale")
    plain = kind.removeprefix("parameterScale")
    logarithmic = plain.startswith("log")
    shape = plain.removeprefix("log").lower()
    if shape not in ("normal", "laplace") or len(numbers) != 2 or not numbers[1] > 0:
        raise ProblemError(
            f"the prior of '{parameter}' is '{kind}' of {numbers}.", cure="Kinds are PEtab's, with a width."
        )
    value = SCALES[scale].format(parameter) if on_scale else f"log({parameter})" if logarithmic else parameter
    middle, width = numbers
    distance = f"({value} - {middle!r})/{width!r}"
    if shape == "normal":
        text = f"({distance})**2/2 + {math.log(width) + math.log(2 * math.pi) / 2!r}"
    else:
        text = f"abs({distance}) + {math.log(2 * width)!r}"
    return f"{text} + log({parameter})" if logarithmic else text
