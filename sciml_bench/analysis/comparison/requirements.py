"""Requirements for the comparison of two runs, and their differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sciml_bench.analysis.comparison.sides import Side
from sciml_bench.analysis.machine_hash import flat, is_machine
from sciml_bench.record.codec import encode


@dataclass(frozen=True)
class Difference:
    """Something that is not the same in the two runs."""

    what: str
    base: str
    new: str

    def __str__(self) -> str:
        return f"{self.what}: {self.base} in BASE, {self.new} in NEW"


def refusals(base: Side, new: Side) -> list[Difference]:
    """Differences for which two runs cannot be compared at all; empty if they can."""
    found = [*_machine(base, new), *_scoring_rules(base, new), *_specs(base, new), *_profiles(base, new)]
    return list(dict.fromkeys(found))


def changes(base: Side, new: Side) -> list[Difference]:
    """Differences of software and settings that a comparison is about, or that its reader should know."""
    return [item for item in _differences(base.environment, new.environment) if not is_machine(item.what)]


def _machine(base: Side, new: Side) -> Iterator[Difference]:
    yield from (item for item in _differences(base.environment, new.environment) if is_machine(item.what))


def _scoring_rules(base: Side, new: Side) -> Iterator[Difference]:
    if base.scoring_rules and new.scoring_rules and base.scoring_rules != new.scoring_rules:
        yield Difference("scoring rules of the records", _listed(base.scoring_rules), _listed(new.scoring_rules))
    if base.plan.schema != new.plan.schema:
        yield Difference("schema of the plan", str(base.plan.schema), str(new.plan.schema))


def _specs(base: Side, new: Side) -> Iterator[Difference]:
    mine, theirs = base.spec_hashes, new.spec_hashes
    for name in mine.keys() & theirs.keys():
        if mine[name] != theirs[name]:
            yield Difference(f"specification of {name}", f"{mine[name][:12]}…", f"{theirs[name][:12]}…")


def _profiles(base: Side, new: Side) -> Iterator[Difference]:
    mine, theirs = (encode(side.plan.profile) for side in (base, new))
    # The number of processes decides what can be seen, not what a time means.
    for what in ("name", "sampling", "rtols"):
        if mine[what] != theirs[what]:
            yield Difference(f"{what} of the profile", _text(mine[what]), _text(theirs[what]))
    if (a := base.plan.settings.threads) != (b := new.plan.settings.threads):
        yield Difference("threads", str(a), str(b))


def _differences(base: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    mine, theirs = dict(flat(base)), dict(flat(new))
    for what in dict.fromkeys([*mine, *theirs]):
        if mine.get(what) != theirs.get(what):
            yield Difference(what, _text(mine.get(what)), _text(theirs.get(what)))


def _text(value: Any) -> str:
    return "nothing" if value is None else str(value)


def _listed(values: Iterable[int]) -> str:
    return ", ".join(str(value) for value in sorted(values))
