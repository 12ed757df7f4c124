"""Why a reference could not be computed."""

from __future__ import annotations

from sciml_bench.errors import SciMLBenchError


class ReferenceFailure(SciMLBenchError):
    """No reference could be made or certified; the message names the time reached and the cause."""


class StepFailure(Exception):
    """The stage equations of a step could not be solved; the text says why."""


class LimitReached(ReferenceFailure):
    """A computation was given up at its limit; the message says which limit it was and how far it got."""
