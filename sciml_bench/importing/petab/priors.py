"""Priors of PEtab: functions that map a parameter to minus the logarithm of a density, as a formula or a number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sciml_bench.errors import ProblemError
from sciml_bench.importing.petab.tables import library

Prior = Callable[[Any], Any]


def _normal(value: Any, middle: float, width: float) -> Any:
    return ((value - middle) / width) ** 2 / 2


def _laplace(value: Any, middle: float, width: float) -> Any:
    return abs((value - middle) / width)


_SHAPES: dict[str, Callable[..., Any]] = {
    "uniform": lambda _p, _low, _high: 0.0,
    "log-uniform": lambda p, _low, _high: np.log(p),
    "normal": _normal,
    "laplace": _laplace,
    "log-normal": lambda p, middle, width: _normal(np.log(p), middle, width) + np.log(p),
    "log-laplace": lambda p, middle, width: _laplace(np.log(p), middle, width) + np.log(p),
    "cauchy": lambda p, middle, width: np.log(1 + ((p - middle) / width) ** 2),
    "chisquare": lambda p, degrees: p / 2 - (degrees / 2 - 1) * np.log(p),
    "exponential": lambda p, scale: p / scale,
    "gamma": lambda p, shape, scale: p / scale - (shape - 1) * np.log(p),
    "rayleigh": lambda p, scale: (p / scale) ** 2 / 2 - np.log(p),
}
"""Minus the logarithm of each density, apart from a constant, by its name in version 2."""

_PLAIN = {"normal": "normal", "laplace": "laplace", "logNormal": "log-normal", "logLaplace": "log-laplace"}
_ON_SCALE = {"parameterScaleNormal": "normal", "parameterScaleLaplace": "laplace"}
_SCALES: dict[str, Prior] = {"lin": lambda p: p, "log": np.log, "log10": np.log10}
"""A parameter on the scale on which it is estimated."""


def negative_log_prior(parameter: str, scale: str, kind: str, numbers: list[float]) -> Prior | None:
    """The prior of a kind of version 1; ``None`` for uniform densities, which change no gradient and no minimum.

    Raises:
        ProblemError: the kind is unknown, or its width is not positive.
    """
    if kind in ("uniform", "parameterScaleUniform"):
        return None
    name = {**_PLAIN, **_ON_SCALE}.get(kind)
    if name is None or len(numbers) != 2 or not numbers[1] > 0:
        raise ProblemError(
            f"the prior of '{parameter}' is '{kind}' of {numbers}.", cure="Kinds are PEtab's, with a width."
        )
    middle, width = numbers
    constant = math.log(2 * width) if name.endswith("laplace") else math.log(width) + math.log(2 * math.pi) / 2
    on_scale = _SCALES[scale if kind in _ON_SCALE else "lin"]
    return lambda p: _SHAPES[name](on_scale(p), middle, width) + constant


def truncated_prior(
    parameter: str, kind: str, numbers: list[float], bounds: tuple[float, float], nominal: float
) -> Prior:
    """The prior of a kind of version 2, which has no density outside the bounds.

    Raises:
        ProblemError: the kind is unknown, its numbers are wrong, or its density is 0 at the nominal value.
    """
    if kind not in _SHAPES:
        raise ProblemError(f"the prior of '{parameter}' is '{kind}'.", cure=f"Kinds are {', '.join(_SHAPES)}.")
    low, high = bounds
    of_library = library("petab.v2.core").Parameter(
        id=parameter, lb=low, ub=high, nominal_value=nominal, estimate=True, prior_distribution=kind,
        prior_parameters=numbers,
    )  # fmt: skip
    density = float(of_library.prior_dist.pdf(nominal))
    if not 0 < density < math.inf:
        raise ProblemError(f"the prior of '{parameter}' has the density {density:g} at its nominal value {nominal:g}.")
    shape = _SHAPES[kind]
    # The library's density has the constant, truncation included.
    constant = -math.log(density) - float(shape(nominal, *numbers))
    return lambda p: shape(p, *numbers) + constant
