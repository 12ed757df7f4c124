"""The arguments of a user's right-hand side: which is the time, and how it takes its parameters."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import keyword
import math
import textwrap
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from sciml_bench.importing.traced import vector
from sciml_bench.problem.expression import FUNCTION_NAMES
from sciml_bench.problem.reader import NAME

TIMES = frozenset(("t", "time", "_t", "tt", "ti", "tau", "_"))
_TAKEN = frozenset(("t", "pi", "sum", "dot", "laplacian", "interp", "grad", "divergence", *FUNCTION_NAMES))
_CONSTANTS = (bool, str, bytes, type(None))

Build = Callable[[Mapping[Any, Any]], dict[str, Any]]
"""Makes arguments by name of values of the parameters by their keys."""


class Unclear(ValueError):
    """A function's arguments have no clear meaning; the second argument is a remedy."""


@dataclasses.dataclass(frozen=True)
class Parameters:
    """The parameters: their names in the problem file and their values by the user's keys, and how they are passed."""

    names: Mapping[Any, str]
    values: Mapping[Any, float]
    build: Build


def time_is_second(arguments: Sequence[inspect.Parameter]) -> bool:
    """Return whether the state comes before the time.

    Raises:
        Unclear: neither of the first two arguments has the name of a time.
    """
    first, second = (item.name for item in arguments[:2])
    if first in TIMES and (second != "t" or first == "t"):
        return False
    if second in TIMES:
        return True
    third = arguments[2].name if len(arguments) > 2 else ""
    if third in TIMES:
        raise Unclear(f"the time is its third argument, {third}.", "Write f(t, y, p).")
    raise Unclear(f"which of {first} and {second} is the time is not clear.", "Name it t.")


def parameters(p: Any, rest: Sequence[inspect.Parameter], function: FunctionType | None) -> Parameters:
    """Return the parameters that a function takes after time and state.

    Raises:
        Unclear: they do not fit, or are not numbers.
    """
    named = [item for item in rest if item.kind not in (item.VAR_POSITIONAL, item.VAR_KEYWORD)]
    several = next((item for item in rest if item.kind is item.VAR_POSITIONAL), None)
    required = [item.name for item in named if item.default is item.empty]
    if not named and several is None:
        return Parameters({}, {}, lambda _: {})
    mapping = _mapping(p)
    if mapping is not None:
        if required and set(required) <= mapping.keys():
            given = {item.name: mapping[item.name] for item in named if item.name in mapping}
            return _by_name(given)
        return _numbers(mapping, lambda values: {named[0].name: _like(p, values)})
    try:
        whole = np.asarray(detached(p), dtype=object)
    except ValueError:
        raise Unclear("its parameters are arrays of several shapes.", "Make them globals of its file.") from None
    flat: list[Any] = [] if p is None else list(whole.ravel())
    shape = whole.shape
    fields = getattr(p, "_fields", None)
    if p is None and len(required) == 1:
        return Parameters({}, {}, lambda _: {required[0]: None})
    one = required[0] if len(required) == 1 else named[0].name if not required and len(named) == 1 else ""
    if one and shape and (fields or len(flat) != 1 or not _is_scalar(function, one)):
        keys = list(fields or entries(function, one, len(flat), "p"))
        whole = dict(zip(keys, flat, strict=True))
        if fields:
            return _numbers(whole, lambda values: {one: type(p)(*values.values())}, every=True)
        return _numbers(whole, lambda values: {one: vector([*values.values()]).reshape(shape)}, every=True)
    if several is not None and len(flat) > len(named):
        names = [item.name for item in named]
        more = [f"{several.name}{i + 1}" for i in range(len(flat) - len(named))]
        whole = dict(zip([*names, *more], flat, strict=True))
        return _numbers(
            whole,
            lambda values: {**{name: values[name] for name in names}, several.name: tuple(values[n] for n in more)},
        )
    if len(flat) > len(named) or len(flat) < len(required):
        takes = ", ".join(item.name for item in named)
        raise Unclear(f"after time and state it takes {takes}, and p has {len(flat)} numbers.", "Give p.")
    given = {item.name: item.default for item in named if item.default is not item.empty}
    return _by_name({**given, **{item.name: value for item, value in zip(named, flat, strict=False)}})


def detached(value: Any) -> Any:
    """A tensor without its graph; other values as they are."""
    return value.detach() if hasattr(value, "detach") else value


def _mapping(p: Any) -> Mapping[Any, Any] | None:
    """Parameters by name: a dict, a dataclass or an object with attributes; ``None`` for numbers in order."""
    if isinstance(p, Mapping):
        return p
    if dataclasses.is_dataclass(p) and not isinstance(p, type):
        return {field.name: getattr(p, field.name) for field in dataclasses.fields(p)}
    plain = p is None or np.isscalar(p) or isinstance(p, (Sequence, np.ndarray)) or hasattr(p, "__array__")
    return None if plain or not hasattr(p, "__dict__") else vars(p)


def _like(p: Any, values: Mapping[Any, Any]) -> Any:
    """An object like ``p`` with these values."""
    if isinstance(p, Mapping):
        return {**p, **values}
    made = object.__new__(type(p))
    for name, value in {**(_mapping(p) or {}), **values}.items():
        object.__setattr__(made, name, value)
    return made


def _by_name(given: Mapping[str, Any]) -> Parameters:
    return _numbers(given, lambda values: {**given, **values})


def _numbers(given: Mapping[Any, Any], build: Build, every: bool = False) -> Parameters:
    """The numbers among values by key; flags and texts are constants of the function, unless it must be ``every``."""
    values: dict[Any, float] = {}
    for key, value in given.items():
        if getattr(value, "shape", None) == () and hasattr(value, "__array__"):
            value = np.asarray(detached(value))[()]
        if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
            if not math.isfinite(value):
                raise Unclear(f"the parameter '{key}' is {value}.", "Give a finite number.")
            values[key] = float(value)
        elif every or not isinstance(value, (*_CONSTANTS, np.bool_)):
            raise Unclear(f"the parameter '{key}' is not a number.", "Make it a global of its file, or a number each.")
    return Parameters(distinct(values, ()), values, build)


def distinct(keys: Sequence[Any] | Mapping[Any, Any], taken: Sequence[str], longest: int = 40) -> dict[Any, str]:
    """A name of problem files for each key; all differ, also from the ``taken`` ones."""
    found: dict[Any, str] = {}
    for key in keys:
        base = name = usable(str(key), longest)
        number = 1
        while name in found.values() or name in taken:
            number += 1
            name = f"{base[: longest - 4].rstrip('_')}_{number}"
        found[key] = name
    return found


def usable(name: str, longest: int = 40) -> str:
    """A name that problem files take, as like a name as can be."""
    spelled = "".join(c if c.isascii() else unicodedata.name(c, "x").split()[-1].lower() for c in name)
    made = "_".join(part for part in "".join(c if c.isalnum() else "_" for c in spelled).split("_") if part)
    made = name if NAME.fullmatch(name) and "__" not in name else made
    if not made or not made[0].isalpha() or made in _TAKEN or keyword.iskeyword(made):
        made = f"v_{made}"
    return made if len(made) <= longest else made[:longest].rstrip("_")


def entries(function: FunctionType | None, argument: str, count: int, short: str) -> list[str]:
    """The names that a function gives the entries of an argument, by ``S, I = y`` or ``S = y[0]``; or numbers."""
    found = {i: f"{short}{i + 1}" if count > 1 else short for i in range(count)}
    own = {
        place: name
        for node in ast.walk(_tree(function))
        if isinstance(node, ast.Assign)
        for place, name in _assigned(node.targets[0], node.value, argument, count)
    }
    named = {**found, **{place: name for place, name in own.items() if place in found}}
    return list((named if len({*named.values()}) == count else found).values())


def _tree(function: FunctionType | None) -> ast.AST:
    try:
        return ast.parse("" if function is None else textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError, TypeError):
        return ast.Module([], [])


def _assigned(target: ast.expr, value: ast.expr, argument: str, count: int) -> Iterator[tuple[int, str]]:
    """The entries of an argument that an assignment gives names: their places and names."""
    targets = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    if isinstance(value, ast.Name) and value.id == argument and len(targets) == count:
        yield from ((i, item.id) for i, item in enumerate(targets) if isinstance(item, ast.Name))
        return
    values = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
    for item, source in zip(targets, values, strict=False):
        match item, source:
            case ast.Name(), ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(place))):
                if name == argument:
                    yield place, item.id
            case _:
                pass


def _is_scalar(function: FunctionType | None, argument: str) -> bool:
    """Return whether an argument is used as a number: without indices, unpacking, or functions of arrays."""
    tree = _tree(function)

    def whole(node: ast.AST) -> Sequence[ast.AST]:
        match node:
            case ast.Subscript() | ast.Starred() | ast.Attribute():
                return (node.value,)
            case ast.Assign(targets=[ast.Tuple() | ast.List()]):
                return (node.value,)
            case ast.For() | ast.comprehension():
                return (node.iter,)
            case ast.Call():
                return node.args
            case _:
                return ()

    used = [part for node in ast.walk(tree) for part in whole(node)]
    return any(True for _ in ast.iter_child_nodes(tree)) and not any(
        isinstance(part, ast.Name) and part.id == argument for part in used
    )
