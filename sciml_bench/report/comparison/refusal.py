"""What must be alike for two runs to be compared, and what differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sciml_bench.report.comparison.side import Side
from sciml_bench.report.machine import flat, is_machine


@dataclass(frozen=True)
class Difference:
    """Something that is not the same in the two runs."""

    what: str
    base: str
    new: str

    def __str__(self) -> str:
        return f"{self.what}: {self.base} in BASE, {self.new} in NEW"


def refusals(base: Side, new: Side) -> list[Difference]:
    """Differences for which two runs cannot be compared at all; empty when they can."""
    found = [*_machine(base, new), *_schemas(base, new), *_specs(base, new), *_profiles(base, new)]
    return list(dict.fromkeys(found))


def changes(base: Side, new: Side) -> list[Difference]:
    """Differences of software and settings that a comparison is about, or that its reader should know."""
    return [item for item in _differences(base.environment, new.environment) if not is_machine(item.what)]


def _machine(base: Side, new: Side) -> Iterator[Difference]:
    yield from (item for item in _differences(base.environment, new.environment) if is_machine(item.what))


def _schemas(base: Side, new: Side) -> Iterator[Difference]:
    if base.schemas and new.schemas and base.schemas != new.schemas:
        yield Difference("schema of the records", _listed(base.schemas), _listed(new.schemas))
    if base.plan["schema"] != new.plan["schema"]:
        yield Difference("schema of the plan", str(base.plan["schema"]), str(new.plan["schema"]))


def _specs(base: Side, new: Side) -> Iterator[Difference]:
    mine, theirs = base.spec_hashes, new.spec_hashes
    for name in mine.keys() & theirs.keys():
        if mine[name] != theirs[name]:
            yield Difference(f"specification of {name}", f"{mine[name][:12]}…", f"{theirs[name][:12]}…")


def _profiles(base: Side, new: Side) -> Iterator[Difference]:
    mine, theirs = (dict(side.plan["profile"]) for side in (base, new))
    # How many processes there are decides how much is seen, not what a time means.
    for what in ("name", "sampling", "rtols", "warm_up"):
        if mine.get(what) != theirs.get(what):
            yield Difference(f"{what} of the profile", _text(mine.get(what)), _text(theirs.get(what)))
    for what in ("threads", "timeout_s"):
        a, b = (side.plan["settings"].get(what) for side in (base, new))
        if what == "threads" and a != b:
            yield Difference(what, _text(a), _text(b))


def _differences(base: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    mine, theirs = dict(flat(base)), dict(flat(new))
    for what in dict.fromkeys([*mine, *theirs]):
        if mine.get(what) != theirs.get(what):
            yield Difference(what, _text(mine.get(what)), _text(theirs.get(what)))


def _text(value: Any) -> str:
    return "nothing" if value is None else str(value)


def _listed(values: Iterable[int]) -> str:
    return ", ".join(str(value) for value in sorted(values))
