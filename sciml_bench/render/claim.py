"""A claim as lines for a terminal, and as plain values for a program."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from sciml_bench.adapters.registry import adapters
from sciml_bench.analysis.quantities import wrapped
from sciml_bench.claims.claim import Claim, Mark, Setting
from sciml_bench.claims.format import claimed_text, distance_text, quantity_text, range_text, remarks, ruling_text
from sciml_bench.claims.judging import Judged
from sciml_bench.claims.selection import needed

_WIDTH = 110


def lines(claim: Claim, found: Judged | None) -> Iterator[str]:
    """A claim on one screen; ``found`` is what a run says of it."""

    def told(heading: str, text: str) -> Iterator[str]:
        yield from wrapped(f"{heading}: {text}", _WIDTH)

    yield from wrapped(f"{claim.id}: {claim.title}", _WIDTH)
    yield ""
    yield from told("said", f"{claim.figure.says} ({claimed_text(claim)}, {quantity_text(claim)})")
    yield from told("where", claim.origin.citation)
    yield f"  {claim.origin.url}"
    yield f"  {claim.origin.version}, read {claim.origin.read.isoformat()}"
    yield from told("of what", " ".join(claim.workload.split()))
    yield from told("timed", " ".join(claim.timed.split()))
    for drift in claim.drifts:
        yield from told(
            "citation drift", f"{drift.where} quotes {drift.quotes}; the source it cites says {drift.source_says}"
        )
    for trap in claim.traps:
        yield from told("mind", trap)
    yield ""
    yield from _condition_lines(claim)
    for heading, setting in ((claim.conditions.setting, claim.published), ("when fair", claim.fair)):
        if setting is not None:
            yield from _setting_lines(heading, setting)
    yield from _found_lines(claim, found)
    needs = claim.needs
    names = ", ".join([needs.device, *needed(claim, adapters())])
    yield from told("needs", f"{names}; about {needs.minutes:g} min, {needs.memory_gib:g} GiB")
    if needs.lacking:
        yield from told("not testable", needs.lacking)


def _condition_lines(claim: Claim) -> Iterator[str]:
    """Those that are the same by their names; the others with how they differ."""
    yield from wrapped(f"conditions: {distance_text(claim)}", _WIDTH)
    if same := claim.conditions.marked(Mark.SAME):
        yield from wrapped(f"  same: {', '.join(item.name for item in same)}", _WIDTH)
    for item in claim.conditions.each:
        if item.mark is not Mark.SAME:
            yield from (f"  {line}" for line in wrapped(f"{item.name} ({item.standing}): {item.words}", _WIDTH - 2))


def _found_lines(claim: Claim, found: Judged | None) -> Iterator[str]:
    if found is None:
        if claim.testable:
            yield f"found: nothing measured here yet; `sciml-bench claims run {claim.id}`"
        return
    for name, heading in (("published", claim.conditions.setting), ("fair", "when fair")):
        ruling = ruling_text(found.findings[name])
        yield from wrapped(f"found {heading}: {range_text(found, name)}, {ruling}", _WIDTH)
    for remark in remarks(found):
        yield from (f"  {line}" for line in wrapped(remark, _WIDTH - 2))
    yield f"  records: {found.folder} ({found.profile})"


def _setting_lines(heading: str, setting: Setting) -> Iterator[str]:
    changes = ", ".join(f"{key} = {_value_text(value)}" for key, value in setting.workload.changes.items())
    yield from wrapped(f"{heading}: problem {setting.workload.problem}{f' with {changes}' if changes else ''}", _WIDTH)
    for name, side in setting.sides.items():
        at = "" if side.rtol is None else f", rtol {side.rtol:g}, atol {side.atol or side.rtol:g}"
        yield f"  {name}: {side.words}{at}{f' ({side.note})' if side.note else ''}"
    for note in setting.notes:
        yield from (f"  {line}" for line in wrapped(note, _WIDTH - 2))


def _value_text(value: object) -> str:
    """A value as a file has it, shortened."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value_text(entry)}" for key, entry in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_value_text, value))}]"
    return str(value)


def document(claim: Claim) -> dict[str, Any]:
    """Plain JSON values."""
    data = dataclasses.asdict(claim)
    origin = {**data["origin"], "read": claim.origin.read.isoformat()}
    return _plain({**data, "origin": origin, "path": str(claim.path), "testable": claim.testable})


def _plain(value: Any) -> Any:
    """The same with numbers and texts only: overrides may be decimals, or whatever TOML knows."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, Decimal):
        return float(value)
    return value if isinstance(value, str | int | float | None) else str(value)
