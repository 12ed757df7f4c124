"""Work of others that disturbs this machine now."""

from __future__ import annotations

from sciml_bench.host.doctor import examine
from sciml_bench.host.doctor.finding import Finding, Status
from sciml_bench.host.doctor.readings import gather

OTHER_WORK = ("load", "processes", "steal", "quota")
"""Checks of the doctor that other work can fail from one minute to the next."""

PASSING = ("load", "processes")
"""The checks among them that pass when other work ends; throttling and stolen time are counted since the start."""

_LOOK_S = 0.3


def disturbing() -> list[Finding]:
    """All findings that disturb; none where the machine cannot be read."""
    readings = gather(_LOOK_S)
    found = examine(readings) if readings.readable else []
    return [finding for finding in found if finding.status is Status.DISTURBS]


def other_work() -> list[Finding]:
    """The findings of other work that disturbs."""
    return [finding for finding in disturbing() if finding.id in OTHER_WORK]
