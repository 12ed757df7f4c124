"""Types of options: numbers within bounds, quantities with a unit, and lists."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import click

_QUANTITY = re.compile(r"\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[A-Za-z%]*)\s*")


class Number(click.ParamType):
    """A finite number that is ``within`` bounds; ``what`` says which."""

    def __init__(self, name: str, what: str, within: Callable[[float], bool]):
        self.name, self._what, self._within = name, what, within

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the number."""
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and self._within(number)):
            self.fail(f"'{value}' is not {self._what}", param, ctx)
        return number


class Quantity(click.ParamType):
    """A positive number with one of ``units``, in capitals or not; ``most`` is the largest."""

    def __init__(self, name: str, what: str, units: Mapping[str, float], most: float = math.inf):
        self.name, self._what, self._units, self._most = name, what, units, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the number, in the unit whose size is 1."""
        if not isinstance(value, str):
            return value
        match = _QUANTITY.fullmatch(value)
        number = float(match["number"]) * self._units.get(match["unit"].lower(), 0.0) if match else 0.0
        if not 0 < number <= self._most:
            self.fail(f"'{value}' is not {self._what}", param, ctx)
        # 57 % is 0.57, and not the product of 57 and a hundredth in doubles.
        return round(number, 12)


class Size(Quantity):
    """An amount of memory in bytes, written ``800M`` or ``4G`` (binary units)."""

    def __init__(self) -> None:
        units = {
            letter + rest: 2.0**power
            for letter, power in (("k", 10), ("m", 20), ("g", 30), ("t", 40))
            for rest in ("", "b", "ib")
        }
        super().__init__("size", "a size; write for example 800M or 4G", units)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read the size."""
        n_bytes = int(super().convert(value, param, ctx))
        return n_bytes or self.fail(f"'{value}' is not {self._what}", param, ctx)


class Listed(click.ParamType[tuple[Any, ...]]):
    """Words with commas between them, each made by ``item``; ``what`` describes them."""

    def __init__(self, name: str, item: Callable[[str], Any], what: str):
        self.name, self._item, self._what = name, item, what

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Any, ...]:
        """Split at the commas."""
        if isinstance(value, tuple):
            return value
        words = [word.strip() for word in str(value).split(",")]
        try:
            found = tuple(map(self._item, words))
        except ValueError:
            found = ()
        if not found or not all(words):
            self.fail(f"'{value}' is not {self._what}", param, ctx)
        return found


SECONDS = Number("seconds", "a positive, finite number of seconds", lambda number: number > 0)
PRICE = Number("price", "a price that is finite and not negative", lambda number: number >= 0)
ACCURACY = Number("error", "a relative error from 1e-12 to 0.1, such as 1e-6", lambda number: 1e-12 <= number <= 0.1)
SIZE = Size()
TIME_SPAN = Quantity(
    "time", "a time; write for example 90s, 10min or 1h", {"": 1.0, "s": 1.0, "min": 60.0, "h": 3600.0}
)
PERCENT = Quantity("percent", "a share between 0% and 100%; write for example 5%", {"%": 0.01}, most=1.0)
NAMES = Listed("names", str, "a list of names with commas between them")
NUMBERS = Listed("numbers", float, "a list of numbers such as 1,0,0.5")
