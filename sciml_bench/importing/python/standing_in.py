"""Stand-ins for NumPy and ``math``, with which a user's function computes formulas."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, reduce
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from sciml_bench.importing.python.further_functions import (
    LINALG,
    SPECIAL,
    digitize,
    gradient,
    interp,
    piecewise,
    searchsorted,
)
from sciml_bench.importing.python.tables import Table
from sciml_bench.importing.python.traced import FUNCTIONS, UFUNCS, array, is_traced, number_of


def _made(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy that makes an array: of objects, into which formulas can be put."""

    def make(*args: Any, **options: Any) -> Any:
        kept = {key: value for key, value in options.items() if key != "dtype"}
        return array(np.array(function(*args, **kept), dtype=object))

    return make


_CREATED = {name: _made(getattr(np, name)) for name in ("zeros", "ones", "empty", "full")}
_JOINED = {
    name: (lambda function: lambda items, *args, **options: array(function(list(items), *args, **options)))(
        getattr(np, name)
    )
    for name in ("concatenate", "stack", "hstack", "vstack")
}
_ARRAYS: dict[str, Any] = {
    "interp": interp,
    "piecewise": piecewise,
    "searchsorted": searchsorted,
    "digitize": digitize,
    "gradient": gradient,
    "array": array,
    "asarray": array,
    "asanyarray": array,
    **_CREATED,
    **_JOINED,
}
_MATH = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "pow": "power", "fabs": "absolute", "fmod": ""}
_SHORT = {"abs": "absolute", "mod": "remainder"}


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
    found: dict[str, Any] = {name: UFUNCS[ours] for name, ours in names.items() if ours in UFUNCS}
    # Of a number a whole one comes back, which counts loops.
    whole = {name: _whole(UFUNCS[name], getattr(math, name)) for name in ("floor", "ceil")}
    return {**found, **whole, "log": lambda x, base=None: UFUNCS["log"](x) / (1 if base is None else math.log(base))}


def _whole(of_formulas: Callable[..., Any], of_numbers: Callable[[float], int]) -> Callable[..., Any]:
    return lambda x: of_formulas(x) if is_traced(x) else of_numbers(x)


def stand_in(value: Any) -> Any:
    """Replace a global of a user's module by its stand-in, if it has one."""
    if isinstance(value, ModuleType):
        if value is math:
            return _StandIn(math, _of_math() | {"pi": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf})
        if value.__name__ == "scipy.interpolate":
            return _StandIn(value, {name: stand_in(part) for name, part in vars(value).items() if callable(part)})
        further = _MODULES.get(value.__name__)
        return value if further is None else _StandIn(value, further)
    if any(str(getattr(each, "__module__", "")).startswith("scipy.interpolate") for each in (value, type(value))):
        # Only for users who have it, as it takes long to import.
        from sciml_bench.importing.python import curves

        return curves.stand_in(value) or value
    if type(value) is np.ndarray and value.dtype != object:
        return value.view(Table)
    if isinstance(value, np.ufunc):
        return UFUNCS.get(value.__name__) or SPECIAL.get(value.__name__, value)
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", "")
    if module == "math":
        return _of_math().get(name, value)
    if module == "numpy":
        return _ARRAYS.get(name) or FUNCTIONS.get(name) or value
    if module == "numpy.linalg":
        return LINALG.get(name, value)
    return value


_MODULES: dict[str, dict[str, Any]] = {
    "numpy": {"linalg": _StandIn(np.linalg, LINALG)}, "numpy.linalg": LINALG, "scipy.special": SPECIAL,
}  # fmt: skip
"""Modules with functions of numbers, and their further names, beside NumPy's."""


def _float(value: Any = 0.0) -> Any:
    value = number_of(value)
    return value if is_traced(value) else float(value)


def _folded(name: str, builtin: Callable[..., Any]) -> Callable[..., Any]:
    """``max`` or ``min`` of Python, of formulas too."""

    def fold(*values: Any, **options: Any) -> Any:
        items = list(values[0]) if len(values) == 1 else list(values)
        return reduce(UFUNCS[name], items) if is_traced(items) else builtin(*values, **options)

    return fold


_BUILTINS: dict[str, Any] = {"float": _float, "max": _folded("maximum", max), "min": _folded("minimum", min)}


_INSIDE = ("py_func", "__wrapped__", "__func__", "func")


def unwrapped(function: Any) -> FunctionType | None:
    """The function that is written in Python: inside a decorator, a partial, a method or an object that is called."""
    for _ in range(20):
        inner = next((found for name in _INSIDE if (found := getattr(function, name, None)) is not None), None)
        if inner is None and not isinstance(function, FunctionType):
            inner = _method_of(function)
        if inner is None or inner is function:
            break
        function = inner
    return function if isinstance(function, FunctionType) else None


def _method_of(instance: Any) -> FunctionType | None:
    """The method with which an object is called, if it is written in Python."""
    found = next((vars(kind)["__call__"] for kind in type(instance).__mro__ if "__call__" in vars(kind)), None)
    return found if isinstance(found, FunctionType) else None


def with_stand_ins(function: Any) -> Any:
    """A function with stand-ins in the place of libraries, also in functions of its file and its closure."""
    if isinstance(function, partial):
        return partial(with_stand_ins(function.func), *function.args, **function.keywords)
    if isinstance(function, MethodType):
        return MethodType(with_stand_ins(function.__func__), function.__self__)
    plain = unwrapped(function)
    if plain is None:
        return function
    if plain is _method_of(function):
        return MethodType(_rebound(plain, {}), function)
    return _rebound(plain, {})


def _rebound(function: FunctionType, done: dict[int, Any]) -> FunctionType:
    """A copy of a function that sees stand-ins for modules and functions; ``done`` by identity."""
    if id(function) in done:
        return done[id(function)]
    home = function.__globals__
    if id(home) not in done:
        done[id(home)] = names = dict(home)
        for name, value in home.items():
            names[name] = _replaced(value, home, done)
        names.update({name: value for name, value in _BUILTINS.items() if name not in home})
    cells = None
    if function.__closure__ is not None:
        cells = tuple(CellType(_replaced(cell.cell_contents, home, done)) for cell in function.__closure__)
    made = FunctionType(function.__code__, done[id(home)], function.__name__, function.__defaults__, cells)
    made.__kwdefaults__ = function.__kwdefaults__
    done[id(function)] = made
    return made


def _replaced(value: Any, home: dict[str, Any], done: dict[int, Any]) -> Any:
    plain = unwrapped(value) if callable(value) and not isinstance(value, (type, MethodType, partial)) else None
    if plain is not None and plain.__globals__ is home:
        return _rebound(plain, done)
    if isinstance(value, (list, tuple)) and any(isinstance(item, FunctionType) for item in value):
        return type(value)(_replaced(item, home, done) for item in value)
    return stand_in(value)
