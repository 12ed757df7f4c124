"""Findings for people: disturbances with reason and fix, and a short list of the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sciml_bench.analysis.tables.formatting import wrapped
from sciml_bench.host.doctor.finding import Cure, Finding, Status

_HEADINGS = {Status.DISTURBS: "disturbs", Status.NOTE: "to know"}
_INDENT = "  "


def lines(findings: Sequence[Finding], width: int) -> Iterator[str]:
    """The lines to print; commands are never broken, so that they can be copied."""
    counts = {status: sum(finding.status is status for finding in findings) for status in Status}
    total = f"{counts[Status.DISTURBS]} disturb, {counts[Status.NOTE]} to know, {counts[Status.FINE]} fine, "
    yield from wrapped(f"{total}{counts[Status.UNKNOWN]} not visible from here", width, "")
    for status, heading in _HEADINGS.items():
        chosen = [finding for finding in findings if finding.status is status]
        if chosen:
            yield ""
            yield from wrapped(f"{heading} ({status.sentence})", width, "")
        for finding in chosen:
            yield from _told(finding, width)
    fine = [finding for finding in findings if finding.status is Status.FINE]
    unknown = [finding for finding in findings if finding.status is Status.UNKNOWN]
    if fine:
        yield ""
        yield from wrapped(f"fine ({Status.FINE.sentence})", width, "")
        for finding in fine:
            yield from _short(finding, width)
    if unknown:
        yield ""
        yield from wrapped(f"not visible ({Status.UNKNOWN.sentence})", width, "")
        for finding in unknown:
            yield from _short(finding, width)
    yield ""
    yield "Nothing was changed."


def _told(finding: Finding, width: int) -> Iterator[str]:
    yield from wrapped(f"{finding.title}: {finding.found}", width, _INDENT)
    if finding.why:
        yield from wrapped(f"why: {finding.why}", width, 2 * _INDENT)
    if finding.cure:
        yield from _cure(finding.cure, width)


def _short(finding: Finding, width: int) -> Iterator[str]:
    yield from wrapped(f"{finding.title}: {finding.found}", width, _INDENT)
    if finding.why:
        yield from wrapped(finding.why, width, 2 * _INDENT)


def _cure(cure: Cure, width: int) -> Iterator[str]:
    if cure.command:
        yield f"{2 * _INDENT}{'cure, as root' if cure.root else 'cure'}: {cure.command}"
    if cure.undo:
        yield f"{2 * _INDENT}afterwards: {cure.undo}"
    if cure.advice:
        yield from wrapped(f"{'and' if cure.command else 'cure'}: {cure.advice}", width, 2 * _INDENT)
