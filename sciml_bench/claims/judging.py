"""Judges claims by the records of their runs, all together as one family."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sciml_bench.claims.claim import Claim
from sciml_bench.claims.evidence import Evidence, evidence
from sciml_bench.claims.ruling import Finding, Ruling, not_testable, rule, rule_count
from sciml_bench.claims.workload import SETTINGS
from sciml_bench.report.summary import RunSummary
from sciml_bench.stats.verdict import Judgement, Verdict, judge


@dataclass(frozen=True)
class Measurement:
    """A claim and the run that holds its cells. ``folder`` is where the records lie."""

    claim: Claim
    summary: RunSummary
    folder: Path


@dataclass(frozen=True)
class Judged:
    """A claim and what is found of each of its settings; ``folder`` is ``None`` where nothing was measured.

    ``profile`` is that of the run and ``digits`` those at which both sides were compared, by setting.
    """

    claim: Claim
    findings: dict[str, Finding]
    folder: Path | None = None
    profile: str = ""
    digits: dict[str, float] = field(default_factory=dict[str, float])


def judged(measurements: Sequence[Measurement]) -> tuple[Judged, ...]:
    """Judge claims in their order. The family are all ratios of times of all of them, in both settings."""
    found = [
        {
            name: evidence(item.claim, name, item.summary)
            for name in SETTINGS
            if getattr(item.claim, name) is not None
        }
        for item in measurements
    ]  # fmt: skip
    family = {
        (place, name): ratio
        for place, (item, settings) in enumerate(zip(measurements, found, strict=True))
        for name, setting in settings.items()
        if not item.claim.figure.is_count and not setting.why and (ratio := setting.ratio) is not None
    }
    judgements = judge(family)
    return tuple(
        Judged(
            claim=item.claim,
            findings={
                name: _finding(item.claim, settings.get(name), judgements.get((place, name))) for name in SETTINGS
            },
            folder=item.folder,
            profile=item.summary.plan["profile"]["name"],
            digits={name: setting.digits for name, setting in settings.items() if setting.digits is not None},
        )
        for place, (item, settings) in enumerate(zip(measurements, found, strict=True))
    )


def untested(claim: Claim, reason: str) -> Judged:
    """A claim of which nothing was measured, and why."""
    return Judged(claim, {name: not_testable(reason) for name in SETTINGS})


def _finding(claim: Claim, setting: Evidence | None, judgement: Judgement | None) -> Finding:
    if setting is None:
        return not_testable(claim.needs.lacking)
    if setting.why:
        return not_testable(setting.why)
    if claim.figure.is_count:
        return rule_count(claim.figure, *setting.counts)
    if judgement is None:
        raise ValueError(f"{claim.id} was measured, but not judged")
    return _bounded(claim, setting, judgement)


def _bounded(claim: Claim, setting: Evidence, judgement: Judgement) -> Finding:
    """Where a side is known from above only, not everything can be said."""
    if not setting.slow.at_most and not setting.fast.at_most:
        return rule(claim.figure, judgement)
    which = "slow" if setting.slow.at_most else "fast"
    reason = f"the {which} side is more accurate than what both are compared at, even at its loosest tolerance"
    settled = judgement.verdict is Verdict.SLOWER and not setting.slow.at_most and claim.figure.within is None
    if settled and (finding := rule(claim.figure, judgement)).ruling is Ruling.HOLDS:
        # The fast side would be faster still at this accuracy: the factor is at least what was measured.
        return dataclasses.replace(finding, reason=f"{finding.reason}; {reason}")
    return Finding(Ruling.UNDECIDED, reason, judgement.ratio)
