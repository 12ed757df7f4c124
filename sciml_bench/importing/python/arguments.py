"""The arguments of a user's right-hand side: which is the time, and how it takes its parameters."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import keyword
import textwrap
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from sciml_bench.importing.python.trees import Key, Tree, Unclear, contents, detached, is_array, named, renamed
from sciml_bench.spec.language.expression import FUNCTION_NAMES
from sciml_bench.spec.reader import NAME

TIMES = frozenset(("t", "time", "_t", "tt", "ti", "tau", "_"))
_TAKEN = frozenset(("t", "pi", "sum", "dot", "laplacian", "interp", "grad", "divergence", *FUNCTION_NAMES))


@dataclasses.dataclass(frozen=True)
class Parameters:
    """The parameters that a function takes: its arguments by name, and the names of their numbers in a problem file."""

    arguments: Tree
    names: Mapping[Key, str]


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
    named_ones = [item for item in rest if item.kind not in (item.VAR_POSITIONAL, item.VAR_KEYWORD)]
    several = next((item.name for item in rest if item.kind is item.VAR_POSITIONAL), None)
    required = [item.name for item in named_ones if item.default is item.empty]
    if not named_ones and several is None:
        return _parameters({})
    inner = None if p is None or isinstance(p, (list, tuple)) or is_array(p) else contents(p)
    if inner is not None and named_ones:
        if required and set(required) <= inner.keys():
            return _parameters({item.name: inner[item.name] for item in named_ones if item.name in inner})
        return _parameters({named_ones[0].name: p}, lambda _, key: named(key[1:]))
    if p is None and len(required) == 1:
        return _parameters({required[0]: None})
    one = required[0] if len(required) == 1 else named_ones[0].name if not required and len(named_ones) == 1 else ""
    items = _items(p)
    if one and (is_array(p) or isinstance(p, (list, tuple))):
        numbers = numbers_of(p)
        if numbers is None:
            keys = entries(function, one, len(items), "p")
            return _parameters({one: p}, lambda _, key: named(renamed(key[1:], keys)))
        if len(items) != 1 or not _is_scalar(function, one):
            keys = entries(function, one, numbers.size, "p")
            return _parameters({one: numbers}, lambda place, _: keys[place])
    if len(items) < len(required) or (len(items) > len(named_ones) and several is None):
        takes = ", ".join(item.name for item in named_ones)
        raise Unclear(f"after time and state it takes {takes}, and p has {len(items)} numbers.", "Give p.")
    given = {item.name: item.default for item in named_ones if item.default is not item.empty}
    given.update({item.name: value for item, value in zip(named_ones, items, strict=False)})
    further = items[len(named_ones) :]
    return _parameters({**given, **({several: tuple(further)} if several and further else {})})


def _parameters(
    arguments: Mapping[str, Any], name: Callable[[int, Key], str] = lambda _, key: named(key)
) -> Parameters:
    """Parameters of arguments; ``name`` gives the name of a number by its place among all and its key."""
    tree = Tree(arguments)
    return Parameters(tree, distinct({key: name(place, key) for place, key in enumerate(tree.values)}, ()))


def _items(p: Any) -> list[Any]:
    """Values for several arguments."""
    if isinstance(p, (list, tuple)):
        return list(p)
    return [] if p is None else [p] if not is_array(p) else list(np.asarray(detached(p)).ravel())


def numbers_of(p: Any) -> Any:
    """An array of the numbers that an array or a list is; ``None`` if it holds anything else."""
    if hasattr(p, "_fields") or not (is_array(p) or isinstance(p, (list, tuple))):
        return None
    if not is_array(p) and any(is_array(item) and np.ndim(item) for item in p):
        return None
    try:
        found = np.asarray(detached(p) if is_array(p) else list(map(detached, p)))
    except ValueError:
        return None
    return found.astype(float) if found.dtype.kind in "fiu" else None


def distinct(names: Mapping[Any, str], taken: Sequence[str], longest: int = 40) -> dict[Any, str]:
    """Names of problem files like the names by key; all differ, also from the ``taken`` ones."""
    found: dict[Any, str] = {}
    used = {*taken}
    for key, wanted in names.items():
        base = name = usable(wanted, longest)
        number = 1
        while name in used:
            number += 1
            name = f"{base[: longest - 4].rstrip('_')}_{number}"
        found[key] = name
        used.add(name)
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
