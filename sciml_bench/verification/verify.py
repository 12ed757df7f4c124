"""Judges a run: every record VALID or INVALID, each violation with its rule, and the impossible checks."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sciml_bench.analysis.cell_tally import cell_tally
from sciml_bench.analysis.summary import summarise
from sciml_bench.planning.written_plan import written_plan
from sciml_bench.record.record import Record
from sciml_bench.record.run_folder import Run
from sciml_bench.verification import records, truth, whole_run
from sciml_bench.verification.changed import Changed, Times, times_of
from sciml_bench.verification.evidence import Intent, Line, read_lines
from sciml_bench.verification.known_problem import Known, known_problems
from sciml_bench.verification.rules import Rule, Severity, edition

TRUTH_CHECKS = {"accuracy": truth.accuracy, "scores": truth.scores, "catalog": truth.catalog}

IDS = frozenset({"lines", "schema", "changed", *records.CHECKS, *whole_run.CHECKS, *TRUTH_CHECKS})
"""Every rule that is checked; the same as the rules of the file."""


@dataclass(frozen=True)
class Breach:
    """One rule broken by one record (``line`` from 1), or by the run (``line`` is ``None``)."""

    rule: Rule
    line: int | None
    label: str
    found: str

    @property
    def invalid(self) -> bool:
        """Return whether what broke the rule does not count."""
        return self.rule.severity is Severity.INVALID


@dataclass(frozen=True)
class Judged:
    """One line of the file: its record's identity, and the ids of the rules that make it invalid."""

    line: int
    record_id: str
    label: str
    block: int | None
    broken: tuple[str, ...]

    @property
    def valid(self) -> bool:
        """Return whether the record counts."""
        return not self.broken


@dataclass(frozen=True)
class Verification:
    """A run, judged. ``unchecked`` counts records by the reason why a rule could not be applied."""

    edition: str
    judged: tuple[Judged, ...]
    breaches: tuple[Breach, ...]
    unchecked: Mapping[tuple[str, str], int]
    cell_tally: str
    comparable: bool

    @property
    def valid(self) -> bool:
        """Return whether the run as a whole, and every record, satisfies every rule."""
        return not any(breach.invalid for breach in self.breaches)


@dataclass
class _Findings:
    intent: Intent
    known: Known
    seen: list[whole_run.Seen] = field(default_factory=list[whole_run.Seen])
    lines: list[tuple[int, str, str, int | None]] = field(default_factory=list[tuple[int, str, str, int | None]])
    breaches: list[Breach] = field(default_factory=list[Breach])
    unchecked: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    sealed: bool = False
    changed: dict[int, Changed] = field(default_factory=dict[int, Changed])
    times: dict[str, list[Times]] = field(default_factory=lambda: defaultdict(list))

    def add(self, rule: str, line: int | None, label: str, found: str) -> None:
        self.breaches.append(Breach(edition().rules[rule], line, label, found))

    def add_all(self, rule: str, line: Line, found: Iterable[str]) -> None:
        for item in found:
            self.add(rule, line.number, line.label, item)

    def look_at(self, line: Line) -> Record | None:
        """Judge one line alone; its record, if it is one."""
        if line.refused is not None:
            self.lines.append((line.number, str(line.data.get("record_id", "")), line.label, None))
            self.add(line.refused[0], line.number, line.label, line.refused[1])
        record = line.record
        if record is None:
            return None
        self.lines.append((line.number, record.record_id, line.label, record.block))
        self._look_at_checksum(line, record)
        try:
            seen = whole_run.Seen.of(line.number, record)
            for rule, check in records.CHECKS.items():
                self.add_all(rule, line, check(record, self.intent))
            self._look_at_truth(line, record)
            times = times_of(record)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            # Fields are read in order; a value of the wrong kind shows at its use.
            self.add("lines", line.number, line.label, f"a field has an impossible value: {error}")
            return None
        self.seen.append(seen)
        if line.checksum is False:
            self.changed[line.number] = Changed(record.cell_id, line.label, times)
            return None
        self.times[record.cell_id].append(times)
        return record

    def _look_at_checksum(self, line: Line, record: Record) -> None:
        self.sealed |= line.checksum is not None
        if line.checksum is False:
            # Without its times, as long as it is not known that they make sense.
            self.changed[line.number] = Changed(record.cell_id, line.label, {})
        elif line.checksum is None and self.sealed:
            self.add("changed", line.number, line.label, "it has no checksum, and a line before it has one")
        elif line.checksum is None:
            # Written before records had one, or taken away.
            self.unchecked["changed", "it has no checksum"] += 1

    def look_at_run(self) -> None:
        """Judge the records together."""
        for line, changed in self.changed.items():
            self.add("changed", line, changed.label, f"its checksum does not match, {changed.against(self.times)}")
        labels = {item.line: item.label for item in self.seen}
        for rule, check in whole_run.CHECKS.items():
            for line, found in check(self.seen, self.intent):
                self.add(rule, line, "" if line is None else labels[line], found)

    def _look_at_truth(self, line: Line, record: Record) -> None:
        self.add_all("accuracy", line, truth.accuracy(record, self.intent))
        if not record.points:
            return
        known = self.known(record.cell.problem)
        if isinstance(known, str):
            self.unchecked["scores", known] += 1
            self.unchecked["catalog", known] += 1
            return
        self.add_all("catalog", line, truth.catalog(record, self.intent, known))
        reason = truth.recomputable(record, known)
        if reason:
            self.unchecked["scores", reason] += 1
        if record.spec_hash == known.spec_hash:
            self.add_all("scores", line, truth.scores(record, self.intent, known))


def verify(
    plan: Mapping[str, Any],
    environments: Mapping[str, Mapping[str, Any]],
    lines: Iterable[Line],
    known: Known,
    locks: Mapping[str, bytes] | None = None,
) -> Verification:
    """Judge a run from its plan, its environments by their hashes, the lines of its records, and the lock files that it
    keeps.

    Raises:
        StoreError: the plan is incomplete.
    """
    intent = Intent.of(plan, environments, locks or {})
    findings = _Findings(intent, known)
    # The sum needs outcomes only; points that are wrong must not stop it.
    ends = (dataclasses.replace(record, points=()) for record in map(findings.look_at, lines) if record is not None)
    sum_of_cells = cell_tally(summarise(intent.plan, ends)).sentence
    findings.look_at_run()
    return Verification(
        edition=edition().name,
        judged=tuple(_judged(findings)),
        breaches=tuple(sorted(findings.breaches, key=_place)),
        unchecked=dict(findings.unchecked),
        cell_tally=sum_of_cells,
        comparable=intent.plan.profile.comparable,
    )


def _place(breach: Breach) -> tuple[int, bool, bool]:
    """By lines; a change by hand first, which others may follow."""
    return breach.line or 0, not breach.invalid, breach.rule.id != "changed"


def verify_run(run: Run) -> Verification:
    """Judge a run as it is on the disk.

    Raises:
        StoreError: its plan or an environment cannot be read.
    """
    known = known_problems(written_plan(run))
    return verify(run.plan, run.environments, read_lines(run.records_path), known, run.locks)


def _judged(findings: _Findings) -> Iterator[Judged]:
    broken: dict[int, dict[str, None]] = {}
    for breach in findings.breaches:
        if breach.invalid and breach.line is not None:
            broken.setdefault(breach.line, {})[breach.rule.id] = None
    for number, record_id, label, block in findings.lines:
        yield Judged(number, record_id, label, block, tuple(broken.get(number, ())))


def verification_document(verification: Verification) -> dict[str, Any]:
    """The verdict as plain JSON values."""
    rules = {breach.rule.id: breach.rule for breach in verification.breaches}
    return {
        "edition": verification.edition,
        "valid": verification.valid,
        "comparable": verification.comparable,
        "account": verification.cell_tally,
        "records": [
            {
                "line": item.line,
                "record_id": item.record_id,
                "label": item.label,
                "block": item.block,
                "verdict": "VALID" if item.valid else "INVALID",
                "rules": list(item.broken),
            }
            for item in verification.judged
        ],
        "breaches": [
            {"rule": breach.rule.id, "severity": breach.rule.severity, "line": breach.line, "label": breach.label,
             "found": breach.found}
            for breach in verification.breaches
        ],
        "rules": {key: {"title": rule.title, "demand": rule.demand, "cure": rule.cure} for key, rule in rules.items()},
        "not_checked": [
            {"rule": rule, "reason": reason, "records": count}
            for (rule, reason), count in verification.unchecked.items()
        ],
    }  # fmt: skip
