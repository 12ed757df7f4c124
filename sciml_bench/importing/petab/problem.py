"""A PEtab problem as a problem file: conditions are trajectories, the loss is the negative logarithm of a posterior."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sciml_bench.errors import ProblemError
from sciml_bench.importing.equations import Equations
from sciml_bench.importing.formula_text import names_in, text_of
from sciml_bench.importing.petab.priors import negative_log_prior
from sciml_bench.importing.petab.tables import Row, Tables, tables_of
from sciml_bench.importing.refusals import REFUSALS, Refusal
from sciml_bench.importing.sbml.document import document_of, libsbml
from sciml_bench.importing.sbml.mathematics import Functions, NoFormula, formula_of
from sciml_bench.importing.sbml.network import Network
from sciml_bench.importing.traced import Traced, is_traced

_OVERRIDE = re.compile(r"(observable|noise)Parameter(\d+)_(\w+)")
_START = "{}_start"
_DISTRIBUTIONS = {"lin": "", "log": "log-", "log10": "log10-"}


@dataclass(frozen=True)
class Imported:
    """The equations of a problem, with the files next to the problem file, by name, and notes for the user."""

    equations: Equations
    files: Mapping[str, str]
    notes: tuple[str, ...]


def imported(path: Path, stem: str) -> Imported:
    """The problem of a YAML file of PEtab; names of further files begin with ``stem``.

    Raises:
        ProblemError: a file is wrong, or says more than a problem file can.
    """
    tables = tables_of(path)
    # The document owns its model.
    document = document_of(tables.model)
    try:
        return _Importer(tables, document.getModel(), stem).imported()
    except RecursionError:
        raise ProblemError("its formulas are nested too deeply.", where=tables.model) from None


@dataclass
class _Group:
    """Measurements of an observable with the same overrides: a block of the problem file."""

    name: str
    of: Any
    sigma: Any
    distribution: str
    rows: list[tuple[str, float, float, float | None]] = field(default_factory=list[Any])


class _Importer:
    def __init__(self, tables: Tables, model: Any, stem: str):
        self.tables, self.stem = tables, stem
        self._refuse_unknown_features()
        self.conditions = list(dict.fromkeys(str(row["simulationConditionId"]) for row in tables.measurements))
        columns = dict.fromkeys(column for row in tables.conditions.values() for column in row)
        self.columns = [column for column in columns if column != "conditionName"]
        starts = [_START.format(column) for column in self.columns]
        further = [*tables.parameters, *self.columns, *starts]
        self.network = Network(tables.model, model, 0.0, further)
        self.functions = Functions(self.network.functions.trees)
        #: Quantities that differ between conditions: their cells as text, and the formulas of all.
        self.varying: dict[str, list[str]] = {}
        self.varied: list[Any] = []
        self.constants: dict[str, float] = {}
        self.parameters: dict[str, float] = {}
        self.scales: dict[str, str] = {}

    def error(self, message: str, cure: str = "") -> ProblemError:
        return ProblemError(message, where=self.tables.path, cure=cure)

    def _refuse_unknown_features(self) -> None:
        for row in self.tables.measurements:
            if "preequilibrationConditionId" in row:
                message = f"measurements follow an equilibrium ('{row['preequilibrationConditionId']}')."
                raise self.error(message, "Pre-equilibration is not read.")
            if math.isinf(row["time"]):
                raise self.error("measurements are of the steady state, at infinite time, which is not read.")

    def imported(self) -> Imported:
        """The problem."""
        self._declare_parameters()
        # An empty cell of a later column may be a formula of earlier ones.
        for column in sorted(
            self.columns, key=lambda name: (name in self.network.species, name in self.network.starts)
        ):
            self._override(column)
        groups = self._groups()
        end = max(row["time"] for row in self.tables.measurements)
        if not end > 0:
            raise self.error("nothing is measured after time 0.")
        formulas = [formula for group in groups for formula in (group.of, group.sigma) if is_traced(formula)]
        plain = self.network.equations((0.0, end), formulas)
        used = names_in(
            (*plain.derivatives, *plain.states.values(), *plain.definitions.values(), *formulas, *self.varied)
        )
        constants = {name: value for name, value in self.constants.items() if name in used}
        files = {f"{self.stem}-measurements.csv": self._measurements(groups)}
        if self.varying:
            rows = zip(self.conditions, *self.varying.values(), strict=True)
            files[f"{self.stem}-conditions.csv"] = _csv(("condition", *self.varying), rows)
        lines, notes = self._lines(groups)
        equations = Equations(
            name=self.stem, states=plain.states, derivatives=plain.derivatives, t_span=(0.0, end),
            parameters=self.parameters, constants={**plain.parameters, **constants},
            definitions=plain.definitions, further=lines, reserved=(*self.varying, *(g.name for g in groups)),
            parameter_scales=self.scales, origin="from PEtab",
        )  # fmt: skip
        return Imported(equations, files, (*self.network.notes, *notes))

    # Parameters and conditions.

    def _symbol(self, name: str) -> Traced:
        return Traced("name", self.network.names[name])

    def _declare_parameters(self) -> None:
        for name, row in self.tables.parameters.items():
            if "nominalValue" not in row:
                raise self.error(
                    f"parameter '{name}' has no nominalValue.", "Give it one: the gradient is taken there."
                )
            target = self.parameters if row.get("estimate", 0) else self.constants
            target[self.network.names[name]] = float(row["nominalValue"])
            if row.get("estimate", 0) and (scale := str(row.get("parameterScale", "lin"))) != "lin":
                self.scales[self.network.names[name]] = scale
            if name in self.network.quantities or name in self.network.compartments:
                self.network.give(name, self._symbol(name))

    def _override(self, column: str) -> None:
        """Let the conditions decide a quantity: a parameter, the size of a compartment or an initial value."""
        network = self.network
        is_species = column in network.species
        if not is_species and column not in (*network.quantities, *network.compartments, *self.tables.parameters):
            raise self.error(f"the conditions have a column '{column}', which is not in the model.")
        name = network.names[_START.format(column) if is_species else column]
        cells = [self._cell(column, self.tables.conditions.get(condition, {})) for condition in self.conditions]
        texts = [text_of(cell, {})[0] for cell in cells]
        if len(set(texts)) > 1:
            self.varying[name] = texts
            self.varied += cells
            network.give(column, Traced("name", name))
        elif is_traced(cells[0]) or is_species:
            network.give(column, cells[0])
        else:
            self.constants[name] = cells[0]
            network.give(column, Traced("name", name))
        if not is_species and column in self.tables.parameters and is_traced(cells[0]):
            return
        if name in self.parameters:
            raise self.error(f"'{column}' is estimated, and a column of the conditions.")

    def _cell(self, column: str, row: Row) -> Any:
        cell = row.get(column)
        if cell is None:
            return self.network.default(column)
        if isinstance(cell, str):
            if cell not in self.tables.parameters:
                raise self.error(f"'{cell}' in the column '{column}' of the conditions is not a parameter.")
            return self._symbol(cell)
        return cell

    # Observables and measurements.

    def _groups(self) -> list[_Group]:
        found: dict[Any, _Group] = {}
        taken = set(self.network.names.values())
        for row in self.tables.measurements:
            name = str(row["observableId"])
            observable = self.tables.observables[name]
            overrides = {kind: _split(row.get(f"{kind}Parameters")) for kind in ("observable", "noise")}
            noise, sigma = overrides["noise"], None
            if re.fullmatch(rf"noiseParameter1_{name}", str(observable["noiseFormula"])) and len(noise) == 1:
                sigma = noise[0] if isinstance(noise[0], float) else None
            key = (name, *overrides["observable"], None, *(() if sigma is not None else noise))
            if key not in found:
                label = next(n for k in range(1, 10**9) if (n := name if k == 1 else f"{name}_{k}") not in taken)
                taken.add(label)
                found[key] = self._group(label, name, observable, overrides, sigma)
            group = found[key]
            if not is_traced(group.sigma):
                sigma = float(group.sigma) if sigma is None else sigma
            condition = str(row["simulationConditionId"])
            group.rows.append((condition, float(row["time"]), float(row["measurement"]), sigma))
        return list(found.values())

    def _group(
        self, label: str, name: str, observable: Row, overrides: Mapping[str, list[str | float]], sigma: float | None
    ) -> _Group:
        scale = str(observable.get("observableTransformation", "lin"))
        noise = str(observable.get("noiseDistribution", "normal"))
        if scale not in _DISTRIBUTIONS or noise not in ("normal", "laplace"):
            raise self.error(f"the noise of '{name}' is '{noise}' on the scale '{scale}'.")
        of = self._formula(observable["observableFormula"], name, overrides)
        if sigma is None:
            sigma = self._formula(observable["noiseFormula"], name, overrides)
        return _Group(label, of, sigma, f"{_DISTRIBUTIONS[scale]}{noise}")

    def _formula(self, text: Any, observable: str, overrides: Mapping[str, list[str | float]]) -> Any:
        """The formula of an observable or its noise; names are the model's, parameters, or overrides."""
        if isinstance(text, float):
            return text
        sbml = libsbml()
        settings = sbml.L3ParserSettings()
        settings.setParseLog(sbml.L3P_PARSE_LOG_AS_LN)
        tree = sbml.parseL3FormulaWithSettings(text, settings)
        if tree is None:
            message = " ".join(str(sbml.getLastParseL3Error()).split())[:200]
            raise self.error(f"the formula '{text[:80]}' of '{observable}': {message}")

        def resolve(name: str) -> Any:
            override = _OVERRIDE.fullmatch(name)
            if override and override[3] == observable:
                values = overrides[override[1]]
                if int(override[2]) > len(values):
                    raise self.error(f"a measurement of '{observable}' gives no {name}.")
                value = values[int(override[2]) - 1]
                return self._known(value) if isinstance(value, str) else value
            if name in self.tables.observables and name not in self.network.names:
                if name == observable and text == self.tables.observables[name]["observableFormula"]:
                    raise self.error(f"the formula of '{name}' names '{name}'.")
                return self._formula(self.tables.observables[name]["observableFormula"], name, overrides)
            return self._known(name)

        REFUSALS.clear()
        try:
            return formula_of(tree, resolve, self.functions)
        except (NoFormula, Refusal) as error:
            raise self.error(f"the formula of '{observable}': {error}.") from error

    def _known(self, name: str) -> Any:
        """A name of the model, or a parameter."""
        if name in self.network.given and name not in self.network.species:
            return self.network.given[name]
        if name in self.tables.parameters:
            return self._symbol(name)
        if name and name not in self.network.names:
            raise self.error(f"'{name}' is neither in the model nor a parameter.")
        return self.network.now(name)

    # The text.

    def _measurements(self, groups: list[_Group]) -> str:
        several, numeric = bool(self.varying), any(sigma is not None for group in groups for *_, sigma in group.rows)
        header = ["time", "observable", "value", *(["sigma"] * numeric), *(["condition"] * several)]
        rows = [
            (repr(time), group.name, repr(value), *(["" if sigma is None else repr(sigma)] * numeric),
             *([condition] * several))
            for group in groups for condition, time, value, sigma in group.rows
        ]  # fmt: skip
        return _csv(header, rows)

    def _lines(self, groups: list[_Group]) -> tuple[list[str], list[str]]:
        lines = ["", "[measurements]", f'file = "{self.stem}-measurements.csv"']
        if self.varying:
            lines = ["", "[conditions]", f'file = "{self.stem}-conditions.csv"', *lines]
        lines += ["", "[loss]", 'kind = "negative_log_likelihood"']
        notes = list[str]()
        priors = self._priors()
        if priors:
            whole = " + ".join(priors)
            # A penalty counts once for each trajectory.
            share = f"({whole})/{len(self.conditions)}" if self.varying else whole
            lines.append(f"penalty = {json.dumps(share)}")
            notes.append(f"the objective includes the priors of {len(priors)} parameters")
        for group in groups:
            lines += ["", "[[observables]]", f'name = "{group.name}"', f"of = {json.dumps(text_of(group.of, {})[0])}"]
            if is_traced(group.sigma):
                lines.append(f"sigma = {json.dumps(text_of(group.sigma, {})[0])}")
            if group.distribution != "normal":
                lines.append(f'distribution = "{group.distribution}"')
        return lines, notes

    def _priors(self) -> list[str]:
        found: list[str] = []
        for name, row in self.tables.parameters.items():
            kind = row.get("objectivePriorType")
            if kind is not None and row.get("estimate", 0):
                numbers = [float(value) for value in _split(row.get("objectivePriorParameters"))]
                scale = str(row.get("parameterScale", "lin"))
                found.append(negative_log_prior(self.network.names[name], scale, str(kind), numbers))
        return [text for text in found if text]


def _split(cell: Any) -> list[str | float]:
    """The entries of a cell, which semicolons separate."""
    if cell is None:
        return []
    if isinstance(cell, float):
        return [cell]
    entries = [entry.strip() for entry in str(cell).split(";")]
    return [float(entry) if _is_number(entry) else entry for entry in entries]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _csv(header: Any, rows: Any) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
