"""Dataclasses to plain JSON values and back, by their type hints: a field that is stated is read and written.

Decoding checks every value. Unknown keys are ignored, missing fields take their default, and a value that does not fit
is a :class:`DecodeError` that names its place. A reader is made once for each type and kept: reading records takes
most of the time of a large report.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import Enum
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints, is_typeddict

from sciml_bench.record.decode_error import LARGEST_WHOLE, DecodeError, UnknownMember, described, unfit
from sciml_bench.record.text import all_printable

T = TypeVar("T")

Reader = Callable[[Any], Any]
"""Decodes a plain value; raises :class:`DecodeError` if it does not fit."""


def decode(kind: type[T], data: Any) -> T:
    """Decode plain JSON values as a type.

    Types are dataclasses, typed dictionaries, enumerations, tuples, lists, dictionaries with text as keys, literals,
    numbers, text, truths, ``Any``, and unions of types that JSON distinguishes. Numbers are finite.

    Raises:
        DecodeError: a value is missing, or does not fit.
    """
    return _reader(kind)(data)


def decode_json(kind: type[T], text: str | bytes) -> T:
    """The value of a type on a line of JSON. ``ValueError`` if there is none."""
    return decode(kind, parse(text))


def encode(value: Any) -> Any:
    """Plain JSON values: dataclasses become dictionaries, tuples lists, members of enumerations their values."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is tuple or kind is list:
        return list(value) if _PLAIN.issuperset(map(type, value)) else [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value):
        return {name: encode(getattr(value, name)) for name in _names(kind)}
    if isinstance(value, str | int | float):
        return value
    raise TypeError(f"{kind.__name__} has no form in JSON")


def encode_json(value: Any) -> str:
    """One line of JSON, without its newline. ``ValueError`` where a number is not finite."""
    return json.dumps(encode(value), allow_nan=False, separators=(",", ":"))


def parse(text: str | bytes) -> Any:
    """The plain values of JSON text, with printable texts: everything that this package reads from JSON comes through
    here. ``ValueError`` for other text; JSON only has finite numbers.
    """
    text = text if isinstance(text, str) else text.decode()
    try:
        value = _JSON.decode(text)
        # Almost no record has such a character, which is seen without looking at each.
        plain = text.isascii() and "\\" not in text and "\x7f" not in text
        return value if plain or not _UNPRINTABLE.search(text) else all_printable(value)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _refuse(constant: str) -> Any:
    raise ValueError(f"not JSON: {constant}")


_JSON = json.JSONDecoder(parse_constant=_refuse)
# Such a character itself, as JSON allows it from U+007F on, or as an escape.
_UNPRINTABLE = re.compile(r"[^\x00-\x7e]|\\[bfru]")
_PLAIN = frozenset((str, int, float, bool, type(None)))


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(item.name for item in dataclasses.fields(kind))


@cache
def _reader(kind: Any) -> Reader:
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _union(arguments)
    if origin is Literal:
        return _literal(arguments)
    if origin is tuple:
        return _many(tuple, arguments[0]) if arguments[1:] == (...,) else _fixed(arguments)
    if origin is list:
        return _many(list, arguments[0])
    if origin is not None and issubclass(origin, Mapping) and arguments[0] is str:
        return _by_name(arguments[1])
    if isinstance(kind, type):
        if issubclass(kind, Enum):
            return _member(kind)
        if dataclasses.is_dataclass(kind):
            return _dataclass(kind)
    if is_typeddict(kind):
        return _typed_dict(kind)
    raise TypeError(f"{kind} has no reader")


def _json_kind(kind: Any) -> type:
    """The type of the JSON values for a type."""
    if kind in _SIMPLE:
        return type(None) if kind is None else kind
    origin = get_origin(kind)
    if origin in (tuple, list):
        return list
    if isinstance(kind, type) and issubclass(kind, str):
        return str
    return dict


def _any(value: Any) -> Any:
    return value


def _null(value: Any) -> None:
    if value is not None:
        raise unfit("null", value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise unfit("text", value)


def _truth(value: Any) -> bool:
    if value is True or value is False:
        return value
    raise unfit("true or false", value)


def _whole(value: Any) -> int:
    if type(value) is int and -LARGEST_WHOLE <= value <= LARGEST_WHOLE:
        return value
    raise unfit("a whole number", value)


def _number(value: Any) -> float:
    try:
        if (type(value) is float or type(value) is int) and math.isfinite(value):
            return value
    except OverflowError:
        pass
    raise unfit("a finite number" if isinstance(value, float) else "a number", value)


_WORDS: dict[type, str] = {
    type(None): "null", str: "text", bool: "true or false", int: "a whole number", float: "a number", list: "a list",
    tuple: "a list", dict: "an object",
}  # fmt: skip

_SIMPLE: dict[Any, Reader] = {
    Any: _any, None: _null, type(None): _null, str: _text, bool: _truth, int: _whole, float: _number,
}  # fmt: skip


def _union(kinds: tuple[Any, ...]) -> Reader:
    readers = {_json_kind(kind): _reader(kind) for kind in kinds}
    if len(readers) != len(kinds):
        raise TypeError(f"JSON cannot distinguish the kinds of {kinds}")
    if len(kinds) == 2 and type(None) in readers:
        (one,) = (reader for kind, reader in readers.items() if kind is not type(None))
        return lambda value: None if value is None else one(value)
    wanted = " or ".join(_WORDS[kind] for kind in readers)
    for stands_for, given in ((int, float), (tuple, list)):
        if given in readers:
            readers.setdefault(stands_for, readers[given])

    def read(value: Any) -> Any:
        reader = readers.get(type(value))
        if reader is None:
            raise unfit(wanted, value)
        return reader(value)

    return read


def _literal(values: tuple[Any, ...]) -> Reader:
    known = frozenset(values)
    wanted = f"one of {', '.join(map(str, values))}"

    def read(value: Any) -> Any:
        if isinstance(value, str) and value in known:
            return value
        raise DecodeError(f"{wanted} expected, found {value!r:.40}" if isinstance(value, str) else f"{wanted} expected")

    return read


def _member(kind: type[Enum]) -> Reader:
    members = {member.value: member for member in kind}

    def read(value: Any) -> Any:
        found = members.get(value) if isinstance(value, str) else None
        if found is None:
            given = f"{value!r:.40}" if isinstance(value, str) else described(value)
            raise UnknownMember(f"unknown {kind.__name__.lower()} {given}")
        return found

    return read


# Long sequences are samples: numbers of one kind, which are seen to fit without a call for each.
_TEXTS = frozenset((str,))
_WHOLES = frozenset((int,))
_NUMBERS = frozenset((int, float))
_KNOWN_OR_NOT = frozenset((int, float, type(None)))


def _fits(kind: Any) -> Callable[[Collection[Any]], bool] | None:
    """Return a check whether all values fit a kind; ``None`` if each value must be read."""
    if kind is str:
        return lambda values: _TEXTS.issuperset(map(type, values))
    if kind is int:
        return lambda values: _WHOLES.issuperset(map(type, values)) and _small(values)
    if kind is float:
        return lambda values: _NUMBERS.issuperset(map(type, values)) and _finite(values)
    if kind == float | None:
        return lambda values: _KNOWN_OR_NOT.issuperset(map(type, values)) and _finite(filter(None, values))
    return None


def _small(values: Collection[int]) -> bool:
    # One sum is far cheaper than the largest and the smallest; a number that is too large for it raises.
    try:
        return abs(sum(values, 0.0)) < LARGEST_WHOLE
    except OverflowError:
        return False


def _finite(values: Iterable[float]) -> bool:
    try:
        return all(map(math.isfinite, values))
    except OverflowError:
        return False


def _many(made: Callable[[Iterable[Any]], Any], kind: Any) -> Reader:
    fits, reader = _fits(kind), _reader(kind)

    def read(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise unfit("a list", value)
        return made(value if fits is not None and fits(value) else _each(reader, enumerate(value)))

    return read


def _each(reader: Reader, values: Iterable[tuple[int | str, Any]]) -> Iterator[Any]:
    for key, value in values:
        try:
            yield reader(value)
        except DecodeError as error:
            error.within(key)
            raise


def _fixed(kinds: tuple[Any, ...]) -> Reader:
    readers = tuple(map(_reader, kinds))

    def read(value: Any) -> Any:
        if not isinstance(value, list | tuple) or len(value) != len(readers):
            raise unfit(f"a list of {len(readers)}", value)
        return tuple(
            next(_each(reader, [(i, item)])) for i, (reader, item) in enumerate(zip(readers, value, strict=True))
        )

    return read


def _by_name(kind: Any) -> Reader:
    fits, reader = _fits(kind), _reader(kind)

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise unfit("an object", value)
        if reader is _any or (fits is not None and fits(value.values())):
            return dict(value)
        return dict(zip(value, _each(reader, value.items()), strict=True))

    return read


def _typed_dict(kind: Any) -> Reader:
    required = kind.__required_keys__
    fields = [(name, _reader(hint), name in required) for name, hint in get_type_hints(kind).items()]
    return lambda value: _fields_of(value, fields)


def _dataclass(kind: type) -> Reader:
    fields: tuple[tuple[str, Reader, bool], ...] = ()

    def read(value: Any) -> Any:
        nonlocal fields
        # With the first value, and not before: a type may hold itself.
        fields = fields or tuple(_stated(kind))
        known = _fields_of(value, fields)
        try:
            return kind(**known)
        except DecodeError:
            raise
        except ValueError as error:
            raise DecodeError(str(error)) from error

    return read


def _stated(kind: Any) -> Iterator[tuple[str, Reader, bool]]:
    hints = get_type_hints(kind)
    for item in dataclasses.fields(kind):
        required = item.default is item.default_factory is dataclasses.MISSING
        yield item.name, _reader(hints[item.name]), required


def _fields_of(value: Any, fields: Iterable[tuple[str, Reader, bool]]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise unfit("an object", value)
    known: dict[str, Any] = {}
    name = ""
    try:
        for name, reader, required in fields:
            if name in value:
                known[name] = reader(value[name])
            elif required:
                break
        else:
            return known
    except DecodeError as error:
        error.within(name)
        raise
    raise DecodeError(f"'{name}' is missing")
