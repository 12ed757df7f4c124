"""Errors that a user can cause and cure.

The command line prints them as ``ERROR: message`` and exits with code 2; no traceback is shown.
"""

from __future__ import annotations

from pathlib import Path


class SciMLBenchError(Exception):
    """Base of every error whose message is meant for the user."""


class UsageError(SciMLBenchError):
    """A command was called with names or options that cannot be carried out."""


class ProblemError(SciMLBenchError):
    """A problem file is wrong.

    ``where`` is the file, ``line`` the 1-based line in it (``None`` if unknown), ``cure`` the fix.
    """

    def __init__(self, message: str, *, where: Path | str | None = None, line: int | None = None, cure: str = ""):
        self.message = message
        self.where = where
        self.line = line
        self.cure = cure
        super().__init__(self._text())

    def _text(self) -> str:
        place = "" if self.where is None else f"{self.where}:{self.line}: " if self.line else f"{self.where}: "
        cure = f" {self.cure}" if self.cure else ""
        return f"{place}{self.message}{cure}"


class ProblemWarning(UserWarning):
    """A problem file has something that is rarely meant; ``error`` says what, where, and how to mend it."""

    def __init__(self, error: ProblemError):
        self.error = error
        super().__init__(str(error))


class StoreError(SciMLBenchError):
    """A run folder, a record or a reference cannot be read or written."""


class EngineError(SciMLBenchError):
    """This host cannot run a worker now."""
