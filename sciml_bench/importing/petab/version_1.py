"""Version 1 of PEtab: a line for each condition, and scales of parameters and observables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sciml_bench.errors import ProblemError
from sciml_bench.importing.petab.priors import negative_log_prior
from sciml_bench.importing.petab.tables import (
    Cells,
    Measurement,
    Observable,
    Parameter,
    Row,
    Tables,
    by_name,
    check,
    entries,
    files,
    library,
    read,
    rows,
)

_DISTRIBUTIONS = {"lin": "", "log": "log-", "log10": "log10-"}


def tables_of(path: Path, content: Mapping[str, Any]) -> Tables:
    """The tables of a problem, checked by the library.

    Raises:
        ProblemError: a file is missing or outside the folder, a table is wrong, or the problem needs more than SBML.
    """
    petab, lint = library("petab.v1"), library("petab.v1.lint")
    problems = content.get("problems")
    if not isinstance(problems, list) or len(problems) != 1 or not isinstance(problems[0], dict):
        raise ProblemError("it must list one problem.", where=path)
    named: dict[str, Any] = {"parameters": content.get("parameter_file"), **problems[0]}
    models = files(path, named, "sbml_files")
    if len(models) != 1:
        raise ProblemError(f"it names {len(models)} SBML files, and must name one.", where=path)
    observables = read(path, named, "observable_files", petab.get_observable_df)
    parameters = read(path, named, "parameters", petab.get_parameter_df)
    conditions = read(path, named, "condition_files", petab.get_condition_df)
    measurements = read(path, named, "measurement_files", petab.get_measurement_df)
    check(path, "parameter", lambda: lint.check_parameter_df(parameters))
    check(path, "condition", lambda: lint.check_condition_df(conditions))
    check(path, "observable", lambda: lint.check_observable_df(observables))
    check(path, "measurement", lambda: lint.check_measurement_df(measurements, observables))
    by_condition = {name: _without_name(row) for name, row in _table(path, conditions).items()}
    of_rows = [(_conditions(row), _measurement(row)) for row in rows(path, measurements)]
    if unknown := {name for names, _ in of_rows for name in names} - by_condition.keys():
        raise ProblemError(f"a measurement is of an unknown condition '{min(unknown)}'.", where=path)
    used = {item.condition: names for names, item in of_rows}
    measured = [item for _, item in of_rows]
    return Tables(
        path,
        models[0],
        {name: _parameter(name, row) for name, row in _table(path, parameters).items()},
        {condition: by_condition[names[-1]] for condition, names in used.items()},
        {name: _observable(name, row) for name, row in _table(path, observables).items()},
        measured,
        before={condition: by_condition[names[0]] for condition, names in used.items() if len(names) > 1},
    )


def _table(path: Path, frame: Any) -> dict[str, Row]:
    return by_name(frame.index, rows(path, frame))


def _without_name(row: Row) -> Cells:
    return {column: value for column, value in row.cells.items() if column != "conditionName"}


def _parameter(name: str, row: Row) -> Parameter:
    scale, estimated = str(row.get("parameterScale", "lin")), bool(row.get("estimate", 0))
    kind = row.get("objectivePriorType") if estimated else None
    numbers = row.numbers("objectivePriorParameters")
    prior = None if kind is None else negative_log_prior(name, scale, str(kind), numbers)
    value = row.number("nominalValue") if "nominalValue" in row.cells else None
    return Parameter(value, estimated, scale if estimated else "lin", prior)


def _observable(name: str, row: Row) -> Observable:
    scale, noise = str(row.get("observableTransformation", "lin")), str(row.get("noiseDistribution", "normal"))
    if scale not in _DISTRIBUTIONS or noise not in ("normal", "laplace"):
        raise ProblemError(f"the noise of '{name}' is '{noise}' on the scale '{scale}'.", where=row.path)
    formulas = row.formula("observableFormula"), row.formula("noiseFormula")
    found = re.finditer(
        rf"\b(observable|noise)Parameter([1-9]\d{{0,3}})_{re.escape(name)}\b", " ".join(map(str, formulas))
    )
    places = {item[0]: (item[1], int(item[2]) - 1) for item in found}
    return Observable(*formulas, f"{_DISTRIBUTIONS[scale]}{noise}", places)


def _conditions(row: Row) -> tuple[str, ...]:
    """The condition of a measurement, after the condition of an equilibrium if it has one."""
    before = row.get("preequilibrationConditionId")
    return (*(() if before is None else (str(before),)), row.text("simulationConditionId"))


def _measurement(row: Row) -> Measurement:
    given = {kind: entries(row.get(f"{kind}Parameters")) for kind in ("observable", "noise")}
    condition = "__".join(reversed(_conditions(row)))
    return Measurement(row.text("observableId"), condition, row.number("time"), row.number("measurement"), given)
