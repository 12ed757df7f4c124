"""Tries a third party's declaration in a separate process before it is loaded into this one.

An import may exit, crash or hang. In a process with a limit it only costs its own adapter.
"""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib.metadata import EntryPoint
from typing import Any, BinaryIO, TypeVar

from sciml_bench.adapters.base import Adapter, Method, Recipe
from sciml_bench.errors import UsageError
from sciml_bench.record.text import printable

T = TypeVar("T")

LIMIT_S = 30.0
"""Long enough to import a framework from a cold disk."""

_MOST_BYTES = 10_000
_TRIAL = "SCIML_BENCH_PLUG_IN_TRIAL"
_LOADED = "sciml-bench: loaded"
_LOAD = (
    "import sys; from importlib.metadata import EntryPoint; EntryPoint(*sys.argv[1:]).load();"
    f"print('\\n{_LOADED}', flush=True)"
)


def is_trial() -> bool:
    """Return whether this process is the one in which a declaration is tried."""
    return _TRIAL in os.environ


def failure(point: EntryPoint) -> str:
    """Return why a declaration does not load in a separate process; empty if it does."""
    command = [sys.executable, "-c", _LOAD, point.name, point.value, point.group]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), _TRIAL: "1"}
    # Files and not pipes: a process that the import leaves behind would keep a pipe open.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment, start_new_session=True
            )
        except OSError as error:
            return f"no process could be started to try it ({error.strerror})"
        try:
            code = process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            return f"its import takes longer than {LIMIT_S:g} s"
        finally:
            # With everything that it started, also when this process is interrupted.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        said, complaint = _lines(out), _lines(err)
    if code < 0:
        return f"its import was ended by signal {-code} ({signal.strsignal(-code) or 'of the system'})"
    if code:
        return printable(next(reversed(complaint), f"its import exits with code {code}"))
    return "" if _LOADED in said else "its import exits"


_TEXTS = ("name", "title", "extra", "target", "program", "track", "script", "interpreter")
_LISTS = ("sensitivities", "modes", "precisions", "devices", "cached_modes", "reusing_modes")
_TABLES = ("packages", "mode_targets", "mode_extras")


def wrong_field(declared: Adapter) -> str:
    """Name a field of a declaration that has another type, and the type that it must have; empty without one."""
    for name in _TEXTS:
        if not isinstance(getattr(declared, name), str):
            return f"'{name}' is not text"
    for name in _LISTS:
        if not _are_texts(getattr(declared, name), tuple):
            return f"'{name}' is not a tuple of texts"
    for name in _TABLES:
        table = getattr(declared, name)
        if not (isinstance(table, dict) and _are_texts(table, dict) and _are_texts(list(table.values()), list)):
            return f"'{name}' is not a dict of texts"
    for name in ("recipes", "refusal", "lacking", "variables", "locks"):
        if not callable(getattr(declared, name)):
            return f"'{name}' is not a function"
    if not isinstance(declared.methods, tuple) or not all(isinstance(item, Method) for item in declared.methods):
        return "'methods' is not a tuple of Method"
    return ""


def _are_texts(values: Any, kind: type) -> bool:
    return isinstance(values, kind) and all(isinstance(value, str) for value in values)


def guarded(declared: Adapter) -> Adapter:
    """A declaration whose functions never end the command: one that fails refuses its own adapter."""
    broken: list[str] = []

    def tried(name: str, otherwise: T, check: Callable[[Any], str], *given: Any) -> T:
        """The answer of a function; ``otherwise`` if it fails, or answers with another type."""
        try:
            answer: Any = getattr(declared, name)(*given)
            if not (wrong := check(answer)):
                return answer
        except (Exception, SystemExit) as error:
            wrong = f"ends with {type(error).__name__}: {error}"
        broken.append(f"the adapter's own {name}() {printable(wrong)}")
        return otherwise

    def table(name: str) -> dict[str, str]:
        return dict(tried(name, dict[str, str](), _no_texts))

    def lacking() -> str | None:
        said = tried("lacking", None, _no_reason)
        if said is None:
            # These are called when processes are about to start, too late for a refusal.
            for name in ("variables", "locks"):
                table(name)
        return broken[0] if broken else said

    def refusal(cell: Any, facts: Any) -> str | None:
        said = tried("refusal", None, _no_reason, cell, facts)
        return broken[0] if broken else said

    def recipes(facts: Any) -> tuple[Recipe, ...]:
        return tried("recipes", (), _no_recipes, facts)

    def unmet(environment: str, releases: Sequence[str]) -> str:
        said = tried("unmet", "", _no_reason, environment, releases)
        return broken[0] if broken else said

    def environment(name: str) -> Adapter:
        found = tried("environment", None, _no_adapter, name)
        if found is None:
            raise UsageError(broken[-1])
        return guarded(found)

    return dataclasses.replace(
        declared,
        lacking=lacking,
        refusal=refusal,
        recipes=recipes,
        variables=partial(table, "variables"),
        locks=partial(table, "locks"),
        unmet=declared.unmet and unmet,
        environment=declared.environment and environment,
    )


def _no_reason(answer: Any) -> str:
    return "" if answer is None or isinstance(answer, str) else "returns no text"


def _no_texts(answer: Any) -> str:
    is_table = isinstance(answer, Mapping) and _are_texts(dict(answer), dict)
    return "" if is_table and _are_texts([*dict(answer).values()], list) else "returns no dict of texts"


def _no_recipes(answer: Any) -> str:
    are_recipes = isinstance(answer, tuple) and all(isinstance(each, Recipe) for each in answer)
    return "" if are_recipes else "returns no tuple of Recipe"


def _no_adapter(answer: Any) -> str:
    return "" if isinstance(answer, Adapter) else "returns no Adapter"


def _lines(file: BinaryIO) -> list[str]:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _MOST_BYTES))
    return file.read().decode(errors="replace").strip().splitlines()
