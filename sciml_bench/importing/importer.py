"""Writes a model as a problem file, and checks that the file computes the same."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sciml_bench.errors import ProblemError, ProblemWarning
from sciml_bench.importing.comparison import compare_derivatives, compare_values
from sciml_bench.importing.equations import ModelEvent
from sciml_bench.importing.petab.equilibrium import settling_time
from sciml_bench.importing.petab.problem import imported
from sciml_bench.importing.problem_text import written
from sciml_bench.importing.python import libraries
from sciml_bench.importing.python.function import Given, from_file, traced
from sciml_bench.importing.python.refusals import Refusal
from sciml_bench.importing.python.standing_in import unwrapped
from sciml_bench.importing.sbml.network import equations_of
from sciml_bench.importing.scales import scales_of
from sciml_bench.spec.load import load_problem
from sciml_bench.spec.model import Problem


def of_source(source: str, **changes: Any) -> str:
    """The problem file of ``FILE.py:NAME``, which is run; ``changes`` replace its y0, p and t_span.

    Raises:
        ProblemError: it cannot be written as a problem file.
    """
    path, _, name = source.rpartition(":")
    return of_function(*from_file(Path(path), name, **changes))


def library_of(source: str) -> str:
    """The library whose arrays ``FILE.py:NAME`` takes: ``numpy``, ``jax`` or ``torch``; the file is run.

    Raises:
        ProblemError: it cannot be run.
    """
    path, _, name = source.rpartition(":")
    return libraries.library_of(from_file(Path(path), name)[0])


def of_function(function: Callable[..., Any], given: Given) -> str:
    """The problem file of a right-hand side, checked against the function.

    Raises:
        ProblemError: it cannot be written as a problem file, or computes other values.
    """
    formula = traced(function, given)
    try:
        made = written(formula)
    except Refusal as error:
        raise _refused(function, str(error)) from error
    compare_values(function, given, formula, made.value)
    compare_derivatives(function, given, formula, made.value)
    try:
        loaded(made.text)
    except ProblemError as error:
        raise _refused(function, f"its formula is refused: {error.message}", error.cure) from error
    return made.text


def of_sbml(path: Path, t_span: tuple[float, float]) -> tuple[str, tuple[str, ...]]:
    """The problem file of an SBML file, and notes on parts that it leaves out. Scales of states come from a solve.

    Raises:
        ProblemError: it cannot be written as a problem file.
    """
    equations, notes = equations_of(path, t_span)
    try:
        plain = loaded(written(equations).text)
        _refuse_hidden(equations.events, plain, path)
        scales = dict(zip(equations.states, scales_of(plain), strict=True))
        text = written(replace(equations, scales=scales)).text
    except Refusal as error:
        raise ProblemError(str(error), where=path) from error
    except ProblemError as error:
        raise ProblemError(f"its equations are refused: {error.message}", where=path, cure=error.cure) from error
    return text, notes


def of_petab(path: Path, stem: str) -> tuple[str, Mapping[str, str], tuple[str, ...]]:
    """The problem file of a PEtab problem, files that lie next to it, and notes. ``stem`` begins their names.

    Raises:
        ProblemError: it cannot be written as a problem file.
    """
    found = imported(path, stem)
    try:
        plain = loaded(written(found.equations).text, found.files)
        _refuse_hidden(found.equations.events, plain, path)
        if found.settling:
            duration = settling_time(plain, found.settling)
            note = f"a period of {duration:g} is in the place of equilibria; at these parameters it is long enough"
            found = imported(path, stem, duration)
            found = replace(found, notes=(*found.notes, note))
            plain = loaded(written(found.equations).text, found.files)
        # Quantities of conditions are states too, after the model's.
        scales = dict(zip(found.equations.states, scales_of(plain), strict=False))
        text = written(replace(found.equations, scales=scales)).text
    except Refusal as error:
        raise ProblemError(str(error), where=path) from error
    except ProblemError as error:
        raise ProblemError(f"its equations are refused: {error.message}", where=path, cure=error.cure) from error
    return text, found.files, found.notes


def _refuse_hidden(events: Sequence[ModelEvent], problem: Problem, path: Path) -> None:
    """Refuse events with one condition in different words: SBML's rules of what each reads then were not applied.

    Raises:
        ProblemError: there are such events.
    """
    moments = {event.name: event.moment for event in events}
    for event in problem.events:
        joined = [] if event.name in moments else event.name.split("__")
        if len({moments[name] for name in joined}) > 1:
            names = ", ".join(f"'{name}'" for name in joined)
            cure = "Write the trigger of each in the same words."
            raise ProblemError(f"the events {names} have one trigger, in different words.", where=path, cure=cure)


def loaded(text: str, files: Mapping[str, str] | None = None) -> Problem:
    """The problem of a file's text, and of the texts of files next to it."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        # Said again when the file is used, with its own name.
        warnings.simplefilter("ignore", ProblemWarning)
        path = Path(folder) / "problem.toml"
        path.write_text(text, encoding="utf-8")
        for name, content in (files or {}).items():
            path.with_name(name).write_text(content, encoding="utf-8")
        return load_problem(path)


def _refused(function: Callable[..., Any], message: str, cure: str = "") -> ProblemError:
    """An error that names a function with its place."""
    code = getattr(unwrapped(function), "__code__", None)
    where, line = (None, None) if code is None else (Path(code.co_filename), code.co_firstlineno)
    return ProblemError(message, where=where, line=line, cure=cure)
