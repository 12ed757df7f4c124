"""The blocks of a self-test: which roles they have, and in which order these are measured."""

from __future__ import annotations

import random
from enum import StrEnum

# Roles of the processes of a block: a cell, the same cell again, and the cell slowed down by a share.
BASE, AGAIN = "base", "again"

SLOW_DOWNS = {"slower-3": 0.03, "slower-10": 0.10}

JUDGED = "slower-10"
"""The slowdown that a self-test must find, and read as large as it is."""

ROLES = (BASE, AGAIN, *SLOW_DOWNS)

PERIOD = 6
"""After this many blocks each order has come equally often, the alternating one forwards and backwards."""


class Order(StrEnum):
    """The order of the roles in a block."""

    RANDOM = "random"
    FIXED = "fixed"
    ALTERNATING = "alternating"


def order_of(block: int) -> Order:
    """The kind of order that a block has."""
    return tuple(Order)[block % len(Order)]


def roles(block: int, seed: int) -> tuple[str, ...]:
    """The roles of a block in the order in which they are measured."""
    order = order_of(block)
    if order is Order.RANDOM:
        return tuple(random.Random(f"selftest/{seed}/{block}").sample(ROLES, len(ROLES)))
    backwards = order is Order.ALTERNATING and block % PERIOD >= len(Order)
    return ROLES[::-1] if backwards else ROLES


def is_later(block: int, seed: int) -> bool:
    """Return whether the second of the two equal roles is measured after the first."""
    placed = roles(block, seed)
    return placed.index(AGAIN) > placed.index(BASE)
