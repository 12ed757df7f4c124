"""What heads a report: the figures of the self-test that was made on the machine of a run."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from sciml_bench.errors import StoreError

if TYPE_CHECKING:
    from sciml_bench.report.selftest.stored import SelfTest
    from sciml_bench.store import Run


def selftest_line(run: Run) -> str:
    """One line: what the harness is worth on the machine of this run, or why that is not known."""
    from sciml_bench.report.selftest.text import head

    return head(_newest(run), _environment(run), datetime.datetime.now(datetime.UTC))


def selftest_document(run: Run) -> dict[str, Any] | None:
    """The same as JSON values, with whether it was made on the machine of the run; ``None`` when there is none."""
    from sciml_bench.report.machine import machine_hash
    from sciml_bench.report.selftest.stored import document

    test = _newest(run)
    if test is None:
        return None
    return {**document(test), "same_machine": test.machine == machine_hash(_environment(run))}


def _newest(run: Run) -> SelfTest | None:
    """The newest self-test beside a run."""
    from sciml_bench.report.selftest.stored import newest

    return newest(run.folder.parent)


def _environment(run: Run) -> dict[str, Any]:
    try:
        return run.environment
    except StoreError:
        # A run without its environment is shown all the same; no machine is then the same.
        return {}
