"""Curves of scipy.interpolate as formulas: each is a polynomial between two of its knots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import interpolate

from sciml_bench.importing.python.further_functions import interp
from sciml_bench.importing.python.refusals import Unsupported
from sciml_bench.importing.python.traced import elementwise, is_traced, where

_MOST_PIECES = 100
#: Methods that return another curve.
_CURVES = ("derivative", "antiderivative")


class Curve:
    """A curve that also takes formulas."""

    def __init__(self, own: Any):
        self._own = own

    def __call__(self, x: Any, nu: int = 0, *further: Any, **options: Any) -> Any:
        if not is_traced(x):
            return self._own(x, *((nu, *further) if nu or further else ()), **options)
        if further or options:
            raise Unsupported("a curve with further arguments has no counterpart in problem files")
        return _formula(self._own.derivative(nu) if nu else self._own)(x)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._own, name)
        return (lambda *args: Curve(found(*args))) if name in _CURVES else found


def stand_in(value: Any) -> Any:
    """Replace a curve, or a function or class that makes one, by one that takes formulas; ``None`` for other values."""
    if isinstance(value, (interpolate.PPoly, interpolate.BSpline, interpolate.interp1d, interpolate.UnivariateSpline)):
        return Curve(value)
    if callable(value) and value.__module__.startswith("scipy.interpolate"):
        return lambda *args, **options: stand_in(made := value(*args, **options)) or made
    return None


def _formula(curve: Any) -> Callable[[Any], Any]:
    """The function of one formula."""
    if isinstance(curve, interpolate.interp1d):
        return _table(curve)
    if isinstance(curve, interpolate.UnivariateSpline):
        # Elsewhere its values outside are constants: they are the polynomials' here, and the comparison tells.
        return _pieces(interpolate.PPoly.from_spline(curve._eval_args))
    return _pieces(interpolate.PPoly.from_spline(curve) if isinstance(curve, interpolate.BSpline) else curve)


def _table(curve: Any) -> Callable[[Any], Any]:
    """A curve of ``interp1d``, with its values outside of its points."""
    if np.ndim(curve.y) != 1:
        raise Unsupported("interp1d of several curves at once has no counterpart in problem files: make one for each")
    x, y = np.asarray(curve.x, dtype=float), np.asarray(curve.y, dtype=float)
    match curve._kind:
        case "linear" if curve._extrapolate:
            inside = _pieces(interpolate.PPoly(np.array([np.diff(y) / np.diff(x), y[:-1]]), x))
        case "linear":
            return elementwise(lambda at: _outside(curve, interp(at, x, y), at))
        case "spline":
            spline = curve._spline
            inside = _pieces(interpolate.PPoly.from_spline((spline.t, np.ravel(spline.c), spline.k)))
        case "previous" | "next" | "nearest" as kind:
            middle = (x[:-1] + x[1:]) / 2
            edges = {"previous": x[1:], "next": x[:-1], "nearest": middle}[kind]
            inside = _steps(edges, y)
        case kind:
            raise Unsupported(f"interp1d of kind '{kind}' has no counterpart in problem files")
    return elementwise(lambda at: _outside(curve, inside(at), at))


def _outside(curve: Any, inside: Any, at: Any) -> Any:
    if curve._extrapolate or curve.bounds_error:
        return inside
    below, above = (float(np.ravel(value)[0]) for value in (curve._fill_value_below, curve._fill_value_above))
    return where(at < float(curve.x[0]), below, where(at > float(curve.x[-1]), above, inside))


def _steps(edges: Any, values: Any) -> Callable[[Any], Any]:
    def one(at: Any) -> Any:
        found: Any = float(values[-1])
        for edge, value in zip(edges[::-1], values[-2::-1], strict=True):
            found = where(at < float(edge), float(value), found)
        return found

    return one


def _pieces(curve: Any) -> Callable[[Any], Any]:
    """Piecewise polynomials; the first and the last one continue outside."""
    if curve.extrapolate == "periodic":
        raise Unsupported("a periodic curve has no counterpart in problem files")
    if curve.c.ndim > 2 and curve.c[0, 0].size > 1:
        raise Unsupported("several curves at once have no counterpart in problem files: make one for each")
    coefficients = curve.c.reshape(curve.c.shape[:2])
    kept = np.flatnonzero(np.diff(curve.x) > 0)
    if len(kept) > _MOST_PIECES:
        raise Unsupported(f"a curve of {len(kept)} pieces is too long for a formula: write np.interp of its values")

    def polynomial(piece: int, at: Any) -> Any:
        start = float(curve.x[piece])
        offset, total = (at - start if start else at), 0.0
        for factor in map(float, coefficients[:, piece]):
            total = total * offset if is_traced(total) or total else 0.0
            if factor:
                total = total + factor if factor > 0 else total - -factor
        return total

    def one(at: Any) -> Any:
        found = polynomial(int(kept[-1]), at)
        for piece in map(int, kept[-2::-1]):
            found = where(at < float(curve.x[piece + 1]), polynomial(piece, at), found)
        return found

    return elementwise(one)
