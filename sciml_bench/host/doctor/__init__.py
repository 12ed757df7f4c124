"""Sources of timing noise on this machine: readings of the system, findings from them, and a command that fixes each.

Nothing here changes a setting. Gathering is apart from judging, so that every judgement is a pure function.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from sciml_bench.host.doctor import gpu, processor, software, system
from sciml_bench.host.doctor.finding import Finding, Status
from sciml_bench.host.doctor.readings import Readings

CHECKS = (*system.CHECKS, *processor.CHECKS, *software.CHECKS, *gpu.CHECKS)

_ORDER = tuple(Status)


def examine(readings: Readings) -> list[Finding]:
    """Every finding; findings of equal status keep the order of their checks."""
    found = [finding for check in CHECKS for finding in check(readings)]
    return sorted(found, key=lambda finding: _ORDER.index(finding.status))


def examination_document(findings: Sequence[Finding]) -> dict[str, Any]:
    """The findings as plain JSON values."""
    counts = {status.value: sum(finding.status is status for finding in findings) for status in Status}
    return {"counts": counts, "findings": [dataclasses.asdict(finding) for finding in findings]}
