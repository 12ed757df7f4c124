"""The files of a PEtab problem, read by its library: one YAML file names them, all in its folder."""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sciml_bench.errors import ProblemError
from sciml_bench.host.extras import install_command

MOST_BYTES = 64 * 2**20
Row = Mapping[str, Any]
"""A line of a table: texts and numbers by column, without empty cells."""


@dataclass(frozen=True)
class Tables:
    """The model and the tables of a problem, each table by the identifiers in its first column."""

    path: Path
    model: Path
    parameters: dict[str, Row]
    conditions: dict[str, Row]
    observables: dict[str, Row]
    measurements: list[Row]


def library(name: str) -> Any:
    """Return a module of the PEtab library.

    Raises:
        ProblemError: it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ProblemError(f"the petab library is missing; run: {install_command('petab')}") from error


def tables_of(path: Path) -> Tables:
    """The tables of a problem, checked by the library.

    Raises:
        ProblemError: a file is missing or outside the folder, a table is wrong, or the problem needs more than SBML.
    """
    petab = library("petab.v1")
    content = _yaml(path)
    version = str(content.get("format_version", ""))
    if version not in ("1", "1.0.0"):
        cure = "Versions of PEtab that are read: 1."
        raise ProblemError(f"its format_version is '{version}'.", where=path, cure=cure)
    problems = content.get("problems")
    if not isinstance(problems, list) or len(problems) != 1 or not isinstance(problems[0], dict):
        raise ProblemError("it must list one problem.", where=path)
    files: dict[str, Any] = {"parameters": content.get("parameter_file"), **problems[0]}
    models = _files(path, files, "sbml_files")
    if len(models) != 1:
        raise ProblemError(f"it names {len(models)} SBML files, and must name one.", where=path)
    observables = _read(path, files, "observable_files", petab.get_observable_df)
    read = {
        "parameter": _read(path, files, "parameters", petab.get_parameter_df),
        "condition": _read(path, files, "condition_files", petab.get_condition_df),
        "observable": observables,
        "measurement": _read(path, files, "measurement_files", petab.get_measurement_df),
    }
    lint = library("petab.v1.lint")
    _check(path, "parameter", lambda: lint.check_parameter_df(read["parameter"]))
    _check(path, "condition", lambda: lint.check_condition_df(read["condition"]))
    _check(path, "observable", lambda: lint.check_observable_df(observables))
    _check(path, "measurement", lambda: lint.check_measurement_df(read["measurement"], observables))
    return Tables(
        path, models[0], *(_by_name(read[name]) for name in ("parameter", "condition", "observable")),
        measurements=[_row(row) for row in read["measurement"].to_dict("records")],
    )  # fmt: skip


def _yaml(path: Path) -> dict[str, Any]:
    yaml = library("yaml")
    text = _content(path)
    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise ProblemError(f"it is not YAML: {' '.join(str(error).split())[:200]}.", where=path) from error
    if not isinstance(found, dict):
        raise ProblemError("it is not a table of PEtab.", where=path)
    return found


def _content(path: Path) -> str:
    if not path.is_file():
        raise ProblemError("the file is missing.", where=path)
    if path.stat().st_size > MOST_BYTES:
        raise ProblemError(f"it is larger than {MOST_BYTES} bytes.", where=path)
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ProblemError(f"it is not UTF-8 text (byte {error.start}).", where=path) from error


def _files(path: Path, files: Mapping[str, Any], key: str) -> list[Path]:
    """The files of a key, which lie in the folder of the YAML file or below it."""
    named = files.get(key)
    found: list[Path] = []
    for name in named if isinstance(named, list) else [named]:
        if not isinstance(name, str):
            raise ProblemError(f"'{key}' must name a file.", where=path)
        target = path.parent / name
        if "://" in name or not target.resolve().is_relative_to(path.parent.resolve()):
            raise ProblemError(f"'{key}' names '{name}', which is outside its folder.", where=path)
        _content(target)
        found.append(target)
    return found


def _read(path: Path, files: Mapping[str, Any], key: str, reader: Callable[[str], Any]) -> Any:
    names = _files(path, files, key)
    frames = [_check(name, key, lambda name=name: reader(str(name))) for name in names]
    return frames[0] if len(frames) == 1 else library("pandas").concat(frames)


def _check(path: Path, what: str, done: Callable[[], Any]) -> Any:
    """Call the library; its exceptions become errors with the file's name, and its warnings are for its authors."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return done()
    except (AssertionError, KeyError, TypeError, ValueError) as error:
        message = " ".join(str(error.args[0] if error.args else error).split())[:300]
        raise ProblemError(f"its {what.removesuffix('_files')} table is wrong: {message}", where=path) from error


def _by_name(frame: Any) -> dict[str, Row]:
    return {str(name): _row(row) for name, row in zip(frame.index, frame.to_dict("records"), strict=True)}


def _row(row: Mapping[Any, Any]) -> Row:
    """The cells that are not empty; texts that are numbers become numbers."""
    cells = {str(column): _cell(value) for column, value in row.items()}
    return {column: value for column, value in cells.items() if value is not None}


def _cell(value: Any) -> str | float | None:
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value.strip() or None
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return float(value)
