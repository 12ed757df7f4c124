"""Version 2 of PEtab: experiments of one or more periods, which begin with the changes of their conditions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sciml_bench.errors import ProblemError
from sciml_bench.importing.petab.priors import truncated_prior
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

_NO_EXPERIMENT = ""


def tables_of(path: Path, content: Mapping[str, Any]) -> Tables:
    """The tables of a problem, checked by the library.

    Raises:
        ProblemError: a file is missing or outside the folder, a table is wrong, or the problem has changes of states,
            several models, or extensions.
    """
    model = _model(path, content)
    if content.get("extensions"):
        raise ProblemError(
            f"it has the extension '{next(iter(content['extensions']))}', which is not read.", where=path
        )
    for row in _rows(path, content, "mapping_files", "MappingTable"):
        of_model = row.get("modelEntityId")
        if of_model is not None and of_model != row.get("petabEntityId"):
            message = f"'{row.get('petabEntityId')}' is mapped to '{of_model}' of the model, which is not read."
            raise ProblemError(message, where=path, cure="Write the name of the model.")
    parameters = _table(path, content, "parameter_files", "ParameterTable", "parameterId")
    observables = _table(path, content, "observable_files", "ObservableTable", "observableId")
    found = _rows(path, content, "measurement_files", "MeasurementTable")
    measurements = [_measurement(row, observables) for row in found]
    changes: dict[str, dict[str, str | float]] = {}
    for row in _rows(path, content, "condition_files", "ConditionTable"):
        change, target = changes.setdefault(row.text("conditionId"), {}), row.text("targetId")
        if target in change:
            raise ProblemError(f"condition '{row.text('conditionId')}' changes '{target}' twice.", where=path)
        change[target] = row.formula("targetValue")
    periods: dict[str, dict[float, list[Cells]]] = {_NO_EXPERIMENT: {0.0: []}}
    for row in _rows(path, content, "experiment_files", "ExperimentTable"):
        experiment, name = row.text("experimentId"), row.get("conditionId")
        at = periods.setdefault(experiment, {}).setdefault(row.number("time"), [])
        if name is not None and str(name) not in changes:
            raise ProblemError(f"experiment '{experiment}' has an unknown condition '{name}'.", where=path)
        at += [] if name is None else [changes[str(name)]]
    used = dict.fromkeys(item.condition for item in measurements)
    series = {name: _series(path, name, periods) for name in used}
    before = {name: times.pop(0)[1] for name, times in series.items() if times[0][0] == -math.inf}
    if empty := [name for name, times in series.items() if not times]:
        raise ProblemError(f"experiment '{empty[0]}' has no period after its equilibrium.", where=path)
    starts = {times[0][0] for times in series.values()}
    if len(starts) != 1:
        raise ProblemError(f"its experiments begin at different times: {sorted(starts)}.", where=path)
    return Tables(
        path,
        model,
        _parameters(parameters),
        {name: times[0][1] for name, times in series.items()},
        {name: _observable(row) for name, row in observables.items()},
        measurements,
        starts.pop(),
        {name: times[1:] for name, times in series.items()},
        before,
    )


def _model(path: Path, content: Mapping[str, Any]) -> Path:
    models = content.get("model_files")
    if not isinstance(models, dict) or len(models) != 1:
        raise ProblemError("it must name one model in 'model_files'.", where=path)
    (model,) = models.values()
    if not isinstance(model, dict) or model.get("language") != "sbml":
        raise ProblemError("its model is not in SBML.", where=path)
    return files(path, model, "location")[0]


def _rows(path: Path, content: Mapping[str, Any], key: str, kind: str) -> list[Row]:
    if not content.get(key):
        return []
    table, pandas = getattr(library("petab.v2.core"), kind), library("pandas")

    def reader(name: str) -> Any:
        table.from_tsv(name)
        return pandas.read_csv(name, sep="\t", dtype=str)

    return rows(path, read(path, content, key, reader))


def _table(path: Path, content: Mapping[str, Any], key: str, kind: str, column: str) -> dict[str, Row]:
    found = _rows(path, content, key, kind)
    return by_name([row.text(column) for row in found], found)


def _measurement(row: Row, observables: Mapping[str, Row]) -> Measurement:
    name = row.text("observableId")
    if name not in observables:
        raise ProblemError(f"a measurement is of an unknown observable '{name}'.", where=row.path)
    given = {kind: entries(row.get(f"{kind}Parameters")) for kind in ("observable", "noise")}
    experiment = str(row.get("experimentId", _NO_EXPERIMENT))
    return Measurement(name, experiment, row.number("time"), row.number("measurement"), given)


def _observable(row: Row) -> Observable:
    places = {
        str(placeholder): (kind, index)
        for kind in ("observable", "noise")
        for index, placeholder in enumerate(entries(row.get(f"{kind}Placeholders")))
    }
    distribution = str(row.get("noiseDistribution", "normal"))
    return Observable(row.formula("observableFormula"), row.formula("noiseFormula"), distribution, places)


def _series(path: Path, name: str, periods: Mapping[str, Mapping[float, list[Cells]]]) -> list[tuple[float, Cells]]:
    """The start and the later times of an experiment, each with all of its changes."""
    if name not in periods:
        raise ProblemError(f"a measurement is of an unknown experiment '{name}'.", where=path)
    series: list[tuple[float, Cells]] = []
    for time, changes in sorted(periods[name].items()):
        merged: dict[str, str | float] = {}
        for change in changes:
            if both := {*merged} & {*change}:
                raise ProblemError(f"two conditions of '{name}' change '{min(both)}' at {time:g}.", where=path)
            merged |= change
        series.append((time, merged))
    return series


def _parameters(found: Mapping[str, Row]) -> dict[str, Parameter]:
    """The parameters; if one has a prior, those without have a uniform one between their bounds."""
    estimated = {name for name, row in found.items() if str(row.get("estimate", "true")).lower() == "true"}
    has_priors = any(found[name].get("priorDistribution") is not None for name in estimated)
    parameters: dict[str, Parameter] = {}
    for name, row in found.items():
        value, prior = (row.number("nominalValue") if "nominalValue" in row.cells else None), None
        if has_priors and name in estimated and value is not None:
            bounds = row.number("lowerBound"), row.number("upperBound")
            numbers = row.numbers("priorParameters") or list(bounds)
            kind = str(row.get("priorDistribution", "uniform"))
            prior = check(row.path, "parameter", partial(truncated_prior, name, kind, numbers, bounds, value))
        parameters[name] = Parameter(value, name in estimated, "lin", prior)
    return parameters
