"""Compact labels of cells: most of the skipped ones in a plan are products of methods, sensitivities and modes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import prod

Product = list[list[str]]

Item = str | Product
"""A label, or many of them."""


def products(labels: Iterable[str]) -> list[Item]:
    """Compress labels into product notation if that is shorter; labels of different lengths are never mixed."""
    found: list[Item] = []
    by_length: dict[int, list[tuple[tuple[str, ...], ...]]] = {}
    for label in dict.fromkeys(labels):
        parts = label.split("/")
        by_length.setdefault(len(parts), []).append(tuple((part,) for part in parts))
    for length, of_length in by_length.items():
        merged = of_length
        # The problem comes last: problems that skip the same ways are then one product.
        for place in (*range(1, length), 0):
            merged = _merged(merged, place)
        found += [_item(values) for values in merged]
    return found


def labels(items: Iterable[Item]) -> Iterator[str]:
    """Every label of what :func:`products` made; plain labels, as earlier versions wrote them, stay as they are."""
    for item in items:
        if isinstance(item, str):
            yield item
        else:
            yield from ("/".join(parts) for parts in product(*item))


def count(items: Iterable[Item]) -> int:
    """Return the number of labels behind the items."""
    return sum(1 if isinstance(item, str) else prod(map(len, item)) for item in items)


def _merged(found: Sequence[tuple[tuple[str, ...], ...]], place: int) -> list[tuple[tuple[str, ...], ...]]:
    """Products that differ at one place only become one."""
    together: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for values in found:
        together.setdefault((*values[:place], (), *values[place + 1 :]), []).extend(values[place])
    return [(*values[:place], tuple(at_place), *values[place + 1 :]) for values, at_place in together.items()]


def _item(values: tuple[tuple[str, ...], ...]) -> Item:
    if all(len(at_place) == 1 for at_place in values):
        return "/".join(at_place[0] for at_place in values)
    return [list(at_place) for at_place in values]
