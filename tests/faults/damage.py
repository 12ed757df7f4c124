"""Damage to one line of a run's records: a value of another type or size somewhere in it, or bytes of it."""

from __future__ import annotations

import json
import random
from typing import Any

VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 3, 2**70, -(2**70), 0.5, -0.0, 1e308, -1e308, 5e-324, "", "x", "ok", "1e400", "\x1b[2J",
    "../../x", "💥" * 50, "x" * 10_000, [], [None], [[]], [1, "a"], [1e308] * 3, {}, {"": None}, {"ns": [1]}, [{}],
)  # fmt: skip


def damaged(line: str, chance: random.Random) -> str:
    """The line of a record with one damage, never the same line."""
    while True:
        kind = chance.randrange(8)
        if kind == 0:
            found = line[: chance.randrange(len(line))]
        elif kind == 1:
            at = chance.randrange(len(line))
            found = line[:at] + chr(chance.randrange(1, 0x250)) + line[at + 1 :]
        else:
            found = json.dumps(changed(json.loads(line), chance))
        found = found.replace("\n", " ")
        if found != line:
            return found


def changed(record: Any, chance: random.Random) -> Any:
    """The record with one value, at a random place and depth, replaced, removed or doubled."""
    holders = [holder for holder in _holders(record) if holder]
    holder = chance.choice(holders)
    key = chance.choice(sorted(holder) if isinstance(holder, dict) else range(len(holder)))
    kind = chance.randrange(6)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, list):
        holder.append(holder[key])
    else:
        holder[key] = chance.choice(VALUES)
    return record


def _holders(value: Any) -> list[Any]:
    """All objects and arrays in a value, outside in: arrays of samples count once, however long they are."""
    found = [value] if isinstance(value, dict | list) else []
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in inside:
        found += _holders(item)
    return found
