"""SQL types of the types of records, whose fields are thereby stated once."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

_PLAIN = {int: "BIGINT", float: "DOUBLE", str: "VARCHAR", bool: "BOOLEAN", Any: "JSON"}


def sql_type(kind: Any) -> str:
    """DuckDB's type for the JSON values of a type: structs for dataclasses, lists for tuples, JSON for several types.

    Raises:
        TypeError: no JSON values are known for it.
    """
    if kind in _PLAIN:
        return _PLAIN[kind]
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _of_all(arguments)
    if origin is Literal:
        return _of_all(tuple(map(type, arguments)))
    if origin in (tuple, list):
        return f"{_of_all(arguments)}[]"
    if origin is not None and issubclass(origin, Mapping):
        return f"MAP(VARCHAR, {sql_type(arguments[1])})"
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "VARCHAR"
    if dataclasses.is_dataclass(kind) or is_typeddict(kind):
        fields = ", ".join(f'"{name}" {field}' for name, field in columns(kind).items())
        return f"STRUCT({fields})"
    raise TypeError(f"{kind} has no type in SQL")


def _of_all(parts: tuple[Any, ...]) -> str:
    found = {sql_type(part) for part in parts if part not in (type(None), ...)}
    return found.pop() if len(found) == 1 else "JSON"


def columns(kind: Any) -> dict[str, str]:
    """The type of each field of a dataclass or typed dictionary."""
    hints = get_type_hints(kind)
    names = [item.name for item in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else hints
    return {name: sql_type(hints[name]) for name in names}
