"""The libraries whose arrays users' functions take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import CodeType, FunctionType, ModuleType
from typing import Any, Protocol

import numpy as np

from sciml_bench.importing.python.aten import Torch
from sciml_bench.importing.python.jaxpr import Jax
from sciml_bench.importing.python.standing_in import unwrapped
from sciml_bench.importing.python.traced import is_traced


class Library(Protocol):
    """Makes the arrays of a function, and records and differentiates it."""

    name: str
    #: True if it computes in single precision.
    single: bool

    def precise(self) -> AbstractContextManager[Any]:
        """Double precision, while the function is called."""
        ...

    def array(self, values: Any) -> Any:
        """An array of numbers, or of the library's own values."""
        ...

    def jacobian(self, function: Callable[[Any], Any], at: Any) -> Any:
        """The derivative of a function of a vector; ``None`` if the library takes none."""
        ...

    def formulas(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """The result of a function with formulas in the place of numbers."""
        ...


class NumPy:
    """NumPy, whose functions are called with formulas as they are."""

    name = "numpy"

    def __init__(self) -> None:
        self.single = False

    def precise(self) -> AbstractContextManager[Any]:
        """Nothing: its numbers have double precision."""
        return nullcontext()

    def array(self, values: Any) -> Any:
        """An array of numbers; formulas stay as they are."""
        return values if is_traced(values) else np.asarray(values, float)

    def jacobian(self, function: Callable[[Any], Any], at: Any) -> Any:
        """``None``: NumPy differentiates no function."""
        return None

    def formulas(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """The result of a function with stand-ins."""
        return function(*arguments)


LIBRARIES: dict[str, Callable[[], Library]] = {"torch": Torch, "jax": Jax, "numpy": NumPy}


def library_of(function: Callable[..., Any]) -> str:
    """The library whose arrays a function takes: one that it names, otherwise one of its file; else ``numpy``."""
    plain = unwrapped(getattr(function, "forward", function))
    if plain is None:
        return "numpy"
    for values in (_referred(plain, {id(plain)}), plain.__globals__.values()):
        roots = {_root(value) for value in values}
        found = next((name for name in LIBRARIES if name in roots and name != "numpy"), None)
        if found is not None:
            return found
    return "numpy"


def _referred(function: FunctionType, seen: set[int]) -> Iterator[Any]:
    """The globals that a function and its helpers name, and what its closure holds."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    for value in [*(function.__globals__[name] for name in _names(function.__code__, function)), *cells]:
        yield value
        inner = unwrapped(value) if callable(value) else None
        if inner is not None and inner.__globals__ is function.__globals__ and id(inner) not in seen:
            seen.add(id(inner))
            yield from _referred(inner, seen)


def _names(code: CodeType, function: FunctionType) -> Iterator[str]:
    yield from (name for name in code.co_names if name in function.__globals__)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner, function)


def _root(value: Any) -> str:
    """The first part of the name of the module that a value is, or comes from."""
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0]
    if isinstance(value, FunctionType):
        return str(value.__module__).partition(".")[0]
    # A function of PyTorch is built in and bound to an object of PyTorch; one of JAX has a type of jaxlib.
    owner = getattr(value, "__self__", None)
    kind = type(value if owner is None or isinstance(owner, ModuleType) else owner)
    return {"jaxlib": "jax"}.get(root := str(kind.__module__).partition(".")[0], root)
