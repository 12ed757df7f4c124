"""Numbers in nested values: what functions take as their state or as their parameters.

Lists, tuples, dicts, dataclasses, objects with attributes and arrays may hold one another, as in ``(W, b)``, a dict of
rates or a module of Equinox. Flags, texts, functions and static fields are part of the function.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

_CONSTANTS = (bool, str, bytes, type(None), np.bool_)
_DEEPEST = 20

Key = tuple[Any, ...]
"""A number's place: keys, fields and indices from the outside to the inside."""
Leaf = Callable[[Sequence[Key], tuple[int, ...] | None], Any]
"""Makes an array of a shape of the numbers at these places, or the number at one of them if the shape is ``None``."""


class Unclear(ValueError):
    """A function's arguments have no clear meaning; the second argument is a remedy."""


class Tree:
    """A value with its numbers, by their places in order.

    Raises:
        Unclear: something in it is neither a number nor a constant.
    """

    def __init__(self, value: Any, noun: str = "parameter"):
        self.values: dict[Key, float] = {}
        self._noun = noun
        self._root = self._node(value, ())

    def filled(self, leaf: Leaf) -> Any:
        """The value with other numbers."""
        return self._root.filled(leaf)

    def of_vector(self, numbers: Any) -> Any:
        """The value with the numbers of a vector of any library, in order."""
        place = 0

        def leaf(keys: Sequence[Key], shape: tuple[int, ...] | None) -> Any:
            nonlocal place
            first, place = place, place + len(keys)
            if shape is None:
                return numbers[first]
            return (numbers if len(keys) == len(self.values) else numbers[first:place]).reshape(shape)

        return self.filled(leaf)

    @property
    def is_one(self) -> bool:
        """Return whether it is one array, or one number."""
        return isinstance(self._root, _Array | _Number)

    @property
    def is_vector(self) -> bool:
        """Return whether it is one array of one dimension."""
        return isinstance(self._root, _Array) and len(self._root.shape) == 1

    def parts(self, value: Any) -> list[Any]:
        """The numbers and arrays of a value of the same structure, in order.

        Raises:
            Unclear: its structure differs.
        """
        return list(self._root.parts(value))

    def _node(self, value: Any, path: Key) -> _Node:
        if len(path) > _DEEPEST:
            raise Unclear(f"'{named(path[:3])}' is nested without end.", "Give numbers and arrays.")
        if is_array(value):
            return self._array(value, path)
        if isinstance(value, _CONSTANTS):
            return _Constant(value)
        if isinstance(value, (int, float, np.integer, np.floating)):
            self._take(path, value)
            return _Number(path)
        inner = contents(value)
        if inner is not None:
            if isinstance(value, (list, tuple)) and any(isinstance(part, str) for part in value):
                raise self._not_a_number(path)
            return _Nested(value, {key: self._node(part, (*path, key)) for key, part in inner.items()})
        if callable(value):
            return _Constant(value)
        raise self._not_a_number(path)

    def _not_a_number(self, path: Key) -> Unclear:
        return Unclear(f"the {self._noun} '{named(path)}' is not a number.", "Give a number, or make it a global.")

    def _array(self, value: Any, path: Key) -> _Node:
        numbers = np.asarray(detached(value))
        if numbers.dtype.kind == "c":
            raise Unclear(f"the {self._noun} '{named(path)}' is complex.", "Make real and imaginary parts two numbers.")
        if numbers.dtype.kind not in "fiub":
            raise self._not_a_number(path)
        # Whole numbers are counts or places.
        if numbers.dtype.kind != "f" and numbers.shape:
            return _Constant(value)
        if not numbers.shape:
            self._take(path, numbers.item())
            return _Number(path)
        keys = [(*path, *index) for index in np.ndindex(numbers.shape)]
        for key, number in zip(keys, numbers.ravel().tolist(), strict=True):
            self._take(key, number)
        return _Array(keys, numbers.shape)

    def _take(self, path: Key, value: Any) -> None:
        if not math.isfinite(value):
            raise Unclear(f"the {self._noun} '{named(path)}' is {value}.", "Give a finite number.")
        self.values[path] = float(value)


@dataclasses.dataclass(frozen=True)
class _Constant:
    value: Any

    def filled(self, leaf: Leaf) -> Any:
        return self.value

    def parts(self, value: Any) -> Iterator[Any]:
        return iter(())


@dataclasses.dataclass(frozen=True)
class _Number:
    key: Key

    def filled(self, leaf: Leaf) -> Any:
        return leaf([self.key], None)

    def parts(self, value: Any) -> Iterator[Any]:
        yield value


@dataclasses.dataclass(frozen=True)
class _Array:
    keys: Sequence[Key]
    shape: tuple[int, ...]

    def filled(self, leaf: Leaf) -> Any:
        return leaf(self.keys, self.shape)

    def parts(self, value: Any) -> Iterator[Any]:
        yield value


@dataclasses.dataclass(frozen=True)
class _Nested:
    value: Any
    inner: Mapping[Any, _Node]

    def filled(self, leaf: Leaf) -> Any:
        return like(self.value, {key: node.filled(leaf) for key, node in self.inner.items()})

    def parts(self, value: Any) -> Iterator[Any]:
        found = dict(enumerate(value)) if is_array(value) and np.ndim(value) else contents(value)
        if found is None or len(found) != len(self.inner):
            raise Unclear(f"it returns {type(value).__name__}, and the state is {type(self.value).__name__}.",
                          "Return the derivatives as the state is.")  # fmt: skip
        # The derivative of a named tuple may be a plain one.
        by_key = found.keys() == self.inner.keys()
        if not by_key and isinstance(self.value, Mapping):
            raise Unclear("it returns a dict with other keys than the state.", "Name the derivatives as the states.")
        for (key, node), part in zip(self.inner.items(), found.values(), strict=True):
            yield from node.parts(found[key] if by_key else part)


_Node = _Constant | _Number | _Array | _Nested


def named(path: Key) -> str:
    """The name of a place: indices count from one."""
    return "_".join(str(key + 1) if isinstance(key, int) else str(key) for key in path)


def renamed(path: Key, names: Sequence[str]) -> Key:
    """A place in a sequence whose entries have names."""
    return (names[path[0]], *path[1:]) if path and isinstance(path[0], int) else path


def is_array(value: Any) -> bool:
    """Return whether a value is an array of a library, of any number of dimensions."""
    return hasattr(value, "__array__") and hasattr(value, "shape")


def detached(value: Any) -> Any:
    """A tensor without its graph; other values as they are."""
    return value.detach() if hasattr(value, "detach") else value


def contents(value: Any) -> Mapping[Any, Any] | None:
    """The parts of a container or an object by key; ``None`` for anything else."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, (list, tuple)):
        return dict(zip(getattr(value, "_fields", range(len(value))), value, strict=True))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = (item for item in dataclasses.fields(value) if not item.metadata.get("static"))
        return {item.name: getattr(value, item.name) for item in fields if hasattr(value, item.name)}
    return None if callable(value) or not hasattr(value, "__dict__") else vars(value)


def like(value: Any, parts: Mapping[Any, Any]) -> Any:
    """A container or an object like a value, with other parts."""
    if isinstance(value, Mapping):
        return {**value, **parts}
    if isinstance(value, (list, tuple)):
        return type(value)(*parts.values()) if hasattr(value, "_fields") else type(value)(parts.values())
    made = object.__new__(type(value))
    own = {**getattr(value, "__dict__", {}), **(contents(value) or {})}
    for name, part in {**own, **parts}.items():
        object.__setattr__(made, name, part)
    return made
