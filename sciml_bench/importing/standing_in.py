"""Stand-ins for NumPy, ``math``, ``jax.numpy`` and PyTorch, with which a user's function computes formulas."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from sciml_bench.importing.traced import FUNCTIONS, UFUNCS, array


def _made(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy that makes an array: of objects, into which formulas can be put."""

    def make(*args: Any, **options: Any) -> Any:
        kept = {key: value for key, value in options.items() if key not in ("dtype", "device")}
        return array(np.array(function(*args, **kept), dtype=object))

    return make


_CREATED = {name: _made(getattr(np, name)) for name in ("zeros", "ones", "empty", "full", "eye", "identity", "arange")}
_JOINED = {
    name: (lambda function: lambda items, *args, **options: array(function(list(items), *args, **options)))(
        getattr(np, name)
    )
    for name in ("concatenate", "stack", "hstack", "vstack")
}
_ARRAYS: dict[str, Any] = {"array": array, "asarray": array, "asanyarray": array, **_CREATED, **_JOINED}
_MATH = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "pow": "power", "fabs": "absolute", "fmod": ""}
_TORCH: dict[str, Any] = {
    "tensor": array, "as_tensor": array, "cat": _JOINED["concatenate"], "concat": _JOINED["concatenate"],
    "relu": lambda x: UFUNCS["maximum"](x, 0), "sigmoid": lambda x: 1 / (1 + UFUNCS["exp"](-x)),
    "clamp": lambda x, min=-math.inf, max=math.inf: FUNCTIONS["clip"](x, min, max),
    "abs": UFUNCS["absolute"], "asin": UFUNCS["arcsin"], "acos": UFUNCS["arccos"], "atan": UFUNCS["arctan"],
    "pow": UFUNCS["power"], "mul": UFUNCS["multiply"], "div": UFUNCS["divide"], "sub": UFUNCS["subtract"],
    "where": FUNCTIONS["where"], "float64": float, "float32": float,
}  # fmt: skip
_SHORT = {"abs": "absolute", "mod": "remainder", "max": "", "min": "", "amax": "", "amin": ""}


class _StandIn:
    """A module whose functions take formulas; other names are NumPy's, or the module's."""

    def __init__(self, module: ModuleType, further: dict[str, Any]):
        self._module, self._further = module, further

    def __getattr__(self, name: str) -> Any:
        for known in (self._further, _ARRAYS, UFUNCS, FUNCTIONS):
            if name in known:
                return known[name]
        if _SHORT.get(name):
            return UFUNCS[_SHORT[name]]
        if self._module is not np and hasattr(np, name):
            return getattr(np, name)
        return getattr(self._module, name)


def _of_math() -> dict[str, Any]:
    names = {name: _MATH.get(name, name) for name in dir(math) if callable(getattr(math, name))}
    return {name: UFUNCS[ours] for name, ours in names.items() if ours in UFUNCS}


def stand_in(value: Any) -> Any:
    """Replace a global of a user's module by its stand-in, if it has one."""
    if isinstance(value, ModuleType):
        if value is math:
            return _StandIn(math, _of_math() | {"pi": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf})
        name = value.__name__
        if value is np or name == "jax.numpy":
            return _StandIn(value, {})
        return _StandIn(value, _TORCH) if name == "torch" else value
    if isinstance(value, np.ufunc):
        return UFUNCS.get(value.__name__, value)
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", "")
    if module == "math":
        return _of_math().get(name, value)
    if module == "numpy":
        return _ARRAYS.get(name) or FUNCTIONS.get(name) or value
    return value


def with_stand_ins(function: FunctionType) -> FunctionType:
    """A function of a user's module, with stand-ins in the place of libraries, as have the functions that it calls."""
    home, names = function.__globals__, dict[str, Any]()
    for name, value in home.items():
        value = getattr(value, "py_func", value)
        if isinstance(value, FunctionType) and value.__globals__ is home:
            value = _rebound(value, names)
        names[name] = stand_in(value)
    return _rebound(function, names)


def _rebound(function: FunctionType, names: dict[str, Any]) -> FunctionType:
    made = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made
