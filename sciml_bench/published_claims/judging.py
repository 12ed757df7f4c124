"""Judges claims by the records of their runs, all together as one family."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sciml_bench.analysis.selftest.store import earlier
from sciml_bench.analysis.summary import RunSummary
from sciml_bench.published_claims.claim import AT_LEAST, Claim, Setting, Side
from sciml_bench.published_claims.evidence import Evidence, Measured, evidence
from sciml_bench.published_claims.ruling import (
    Finding,
    Ruling,
    Words,
    claimed_words,
    judgement_of_counts,
    measured_words,
    not_testable,
    outdated,
    rule,
    unless_conditions,
)
from sciml_bench.published_claims.workloads import SETTINGS
from sciml_bench.record.run_folder import Run
from sciml_bench.record.task import CALLS, USUAL
from sciml_bench.stats.verdict import Held, Judgement, judge


@dataclass(frozen=True)
class Measurement:
    """A claim and the run that holds its cells. ``folder`` is where the records lie, ``changed`` the settings that are
    others now than when they were measured."""

    claim: Claim
    summary: RunSummary
    folder: Path
    changed: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Judged:
    """A claim and the finding for each of its settings; ``folder`` is ``None`` without measurements.

    ``profile`` is the run's. ``curves`` has, by setting, the finding at each of the digits at which both sides were
    compared; the setting's finding is the one that all of them share.
    """

    claim: Claim
    findings: dict[str, Finding]
    folder: Path | None = None
    profile: str = ""
    curves: dict[str, dict[float, Finding]] = field(default_factory=dict[str, "dict[float, Finding]"])


def judged(measurements: Sequence[Measurement]) -> tuple[Judged, ...]:
    """Judge claims in their order. The family are all ratios of times of all of them, in both settings."""
    found = [
        {
            name: evidence(item.claim, name, item.summary)
            for name in SETTINGS
            if getattr(item.claim, name) is not None and name not in item.changed
        }
        for item in measurements
    ]  # fmt: skip
    family = {
        (place, name, i): ratio
        for place, (item, settings) in enumerate(zip(measurements, found, strict=True))
        for name, readings in settings.items()
        for i, read in enumerate(readings)
        if not item.claim.figure.is_count and not read.why and (ratio := read.ratio) is not None
    }
    known = [earlier(Run(folder)) for folder in {item.folder for item in measurements}]
    tested = [item for item in known if item is not None]
    # Runs of several machines are judged by the worst of them, and without a self-test of each by none.
    shared = max(tested, key=lambda item: item.coefficient) if tested and len(tested) == len(known) else None
    pairs = {
        tuple((measurements[place].folder, side.cell and side.cell.label) for side in (read.fast, read.slow))
        for place, name, i in family
        for read in [found[place][name][i]]
    }
    judgements = judge(family, independent=independent(pairs), earlier=shared)
    result: list[Judged] = []
    for place, (item, settings) in enumerate(zip(measurements, found, strict=True)):
        findings: dict[str, Finding] = {}
        curves: dict[str, dict[float, Finding]] = {}
        for name in SETTINGS:
            readings = settings.get(name, ())
            each = [
                _finding(item.claim, name, read, judgements.get((place, name, i))) for i, read in enumerate(readings)
            ]
            unmeasured = outdated() if name in item.changed else not_testable(item.claim.needs.missing)
            findings[name] = _together(readings, each) if each else unmeasured
            curve = {read.digits: one for read, one in zip(readings, each, strict=True) if read.digits is not None}
            curves |= {name: curve} if curve else {}
        profile = item.summary.plan.profile.name
        result.append(Judged(item.claim, findings, item.folder, profile, curves))
    return tuple(result)


def independent(pairs: Iterable[tuple[Any, ...]]) -> int:
    """The number of independent comparisons among pairs of cells: of each group that they join, one less than cells.

    Readings of two cells at several digits, or for several claims, are one series of blocks.
    """
    groups: list[set[Any]] = []
    for pair in pairs:
        joined = [group for group in groups if not group.isdisjoint(pair)]
        groups = [group for group in groups if group not in joined] + [set(pair).union(*joined)]
    return sum(len(group) - 1 for group in groups)


def untested(claim: Claim, reason: str) -> Judged:
    """A claim without measurements, and why."""
    return Judged(claim, {name: not_testable(reason) for name in SETTINGS})


def _together(readings: Sequence[Evidence], findings: Sequence[Finding]) -> Finding:
    """One finding of those over the digits: the ruling that all share, or that it depends on them."""
    read = readings[len(findings) // 2]
    disturbed, processes = read.disturbed
    middle = dataclasses.replace(findings[len(findings) // 2], disturbed=disturbed, processes=processes)
    at = read.digits
    if at is None:
        return middle
    if len(findings) == 1:
        return dataclasses.replace(middle, reason=f"at {at:g} correct digits {middle.reason}")
    first, last = readings[0].digits, readings[-1].digits
    if len({finding.ruling for finding in findings}) == 1:
        over = f"at {at:g} correct digits {middle.reason}; the ruling is the same from {first:g} to {last:g} digits"
        return dataclasses.replace(middle, reason=over)
    runs = _runs(readings, findings)
    told = "; ".join(f"{ruling.value} at {_span([r.digits for r in group])} digits" for ruling, group in runs)
    decided = all(ruling is not Ruling.UNDECIDED for ruling, _ in runs)
    would = "; the source's accuracy, if it were known, would decide" if decided else ""
    return dataclasses.replace(
        middle,
        ruling=Ruling.UNDECIDED,
        reason=f"it depends on the accuracy: {told}{would}",
        more_processes=None,
    )


def _runs(readings: Sequence[Evidence], findings: Sequence[Finding]) -> list[tuple[Ruling, list[Evidence]]]:
    """Neighbours in digits that have the same ruling."""
    runs: list[tuple[Ruling, list[Evidence]]] = []
    for read, finding in zip(readings, findings, strict=True):
        if runs and runs[-1][0] is finding.ruling:
            runs[-1][1].append(read)
        else:
            runs.append((finding.ruling, [read]))
    return runs


def _span(digits: Sequence[float | None]) -> str:
    return f"{digits[0]:g}" if len(digits) == 1 else f"{digits[0]:g} to {digits[-1]:g}"


def _finding(claim: Claim, name: str, read: Evidence, judgement: Judgement | None) -> Finding:
    if read.why:
        return not_testable(read.why)
    words = words_of(claim, name, read)
    if claim.figure.is_count:
        judgement = judgement_of_counts(claim.figure, *read.counts)
    if judgement is None:
        raise ValueError(f"{claim.id} was measured, but not judged")

    def ruled(judgement: Judgement) -> Finding:
        if claim.figure.is_count:
            return rule(claim.figure, judgement, words)
        return _bounded(claim, getattr(claim, name), read, judgement, words)

    if not claim.figure.is_count and any(side.all_disturbed for side in (read.fast, read.slow)):
        told = f"{measured_words(words, judgement.ratio)}; {Held.DISTURBED}"
        return Finding(Ruling.UNDECIDED, told, judgement.ratio)
    conditions = claim.conditions
    if name == "fair":
        setting: Setting = getattr(claim, name)
        given = {key for side in setting.sides.values() for key in ("method", "sensitivity") if getattr(side, key)}
        conditions = conditions.kept(given, setting.conditions)
    return unless_conditions(ruled(judgement), conditions, judgement, ruled)


def words_of(claim: Claim, name: str, read: Evidence) -> Words:
    """The measured sides and the quantity of a setting in words."""
    quantity, of_call = _QUANTITY[claim.figure.quantity]
    sides: Mapping[str, Side] = getattr(claim, name).sides

    def named(side: str, measured: Measured) -> str:
        cell = measured.cell
        if cell is None:
            return sides[side].words
        unusual = [word for word in (cell.precision, cell.device, cell.saving) if word not in USUAL]
        # A solve has no sensitivity.
        sensitivity = [cell.sensitivity] if claim.figure.calls == CALLS else []
        return " ".join([cell.adapter, cell.method, *sensitivity, cell.mode, *unusual])

    if claim.figure.against_later:
        return Words(named("cell", read.slow), "later ones", "takes", quantity, of_call)
    return Words(named("slow", read.slow), named("fast", read.fast), "takes", quantity, of_call)


_QUANTITY = {
    "solve": ("long", "a solve"),
    "gradient": ("long", "a gradient"),
    "step": ("long", "a step"),
    "first_solve": ("long", "the first solve"),
    "first_gradient": ("long", "the first gradient"),
    "training_step": ("long", "a training step"),
    "training": ("long", "a training"),
    "steps": ("many steps", ""),
    "evaluations": ("many evaluations", ""),
    "backward_evaluations": ("many evaluations in the backward solve", ""),
}


def _bounded(claim: Claim, setting: Setting, read: Evidence, judgement: Judgement, words: Words) -> Finding:
    """If a side is only an upper bound, some rulings are impossible."""
    finding = rule(claim.figure, judgement, words)
    slow, fast = _bound(setting.sides.get("slow"), read.slow), _bound(setting.sides.get("fast"), read.fast)
    if not slow and not fast:
        return finding
    reason = "; ".join(f"the {name} side {told}" for name, told in (("slow", slow), ("fast", fast)) if told)
    # The fast side would be faster still: the ratio is at least the measured one; or at most, if the slow side is the
    # bound.
    at_least = finding.ruling is Ruling.LARGER or (finding.ruling is Ruling.CONFIRMED and claim.figure.kind == AT_LEAST)
    sure = at_least if fast else finding.ruling is Ruling.REVERSED
    if slow and fast:
        return Finding(Ruling.UNDECIDED, reason, judgement.ratio)
    if sure and claim.figure.within is None:
        return dataclasses.replace(finding, reason=f"{finding.reason}; {reason}")
    said = f"{measured_words(words, judgement.ratio)}; {claimed_words(claim.figure)} is claimed"
    bound = f"ours is {'a lower' if fast else 'an upper'} bound, which does not decide, as {reason}"
    return Finding(Ruling.UNDECIDED, f"{said}; {bound}", judgement.ratio)


def _bound(side: Side | None, measured: Measured) -> str:
    """Return why the number of a side is an upper bound; empty if it is not one."""
    if measured.at_most:
        return "is more accurate than what both are compared at, even at its loosest tolerance"
    return f"represents {side.stands_for}, which is faster" if side is not None and side.stands_for else ""
