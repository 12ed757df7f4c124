"""A PEtab problem as a problem file: conditions are trajectories, the loss is the negative logarithm of a posterior."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sciml_bench.errors import ProblemError
from sciml_bench.importing.equations import Equations
from sciml_bench.importing.formula_text import names_in, text_of
from sciml_bench.importing.petab import version_1, version_2
from sciml_bench.importing.petab.tables import Cells, Observable, Tables, yaml_of
from sciml_bench.importing.python.refusals import REFUSALS, Refusal
from sciml_bench.importing.python.traced import Traced, is_traced
from sciml_bench.importing.sbml.document import document_of, libsbml
from sciml_bench.importing.sbml.mathematics import Functions, NoFormula, formula_of
from sciml_bench.importing.sbml.network import Network

_START, _LATER = "{}_start", "{}_from_{}"
_VERSIONS = {"1": version_1, "1.0.0": version_1, "2": version_2, "2.0.0": version_2}


@dataclass(frozen=True)
class Imported:
    """The equations of a problem, with the files next to the problem file, by name, and notes for the user.

    ``settling`` are trajectories that begin with a period in the place of an equilibrium, one for each of these.
    """

    equations: Equations
    files: Mapping[str, str]
    notes: tuple[str, ...]
    settling: tuple[int, ...] = ()


def imported(path: Path, stem: str, settling_s: float = 1.0) -> Imported:
    """The problem of a YAML file of PEtab; names of further files begin with ``stem``. A period of ``settling_s``, in
    the model's unit of time, comes in the place of equilibria before the measurements.

    Raises:
        ProblemError: a file is wrong, or says more than a problem file can.
    """
    content = yaml_of(path)
    version = str(content.get("format_version", ""))
    if version not in _VERSIONS:
        raise ProblemError(f"its format_version is '{version}'.", where=path, cure="PEtab is read in versions 1 and 2.")
    tables = _VERSIONS[version].tables_of(path, content)
    # The document owns its model.
    document = document_of(tables.model)
    names = list(dict.fromkeys(item.condition for item in tables.measurements))
    distinct = {tuple(sorted(cells.items())): names.index(name) for name, cells in reversed(tables.before.items())}
    try:
        found = _Importer(tables.after_period(settling_s), document.getModel(), stem).imported()
        return replace(found, settling=tuple(sorted(distinct.values())))
    except RecursionError:
        raise ProblemError("its formulas are nested too deeply.", where=tables.model) from None
    except Refusal as error:
        raise ProblemError(f"{error}.", where=path) from error


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
        self.conditions = list(dict.fromkeys(item.condition for item in tables.measurements))
        changes = [(tables.t0, row) for row in tables.conditions.values()]
        changes += [change for series in tables.later.values() for change in series]
        self.columns = list(dict.fromkeys(column for _, row in changes for column in row))
        #: The times after the start at which conditions change a quantity.
        self.later = {name: sorted({t for t, row in changes if name in row} - {tables.t0}) for name in self.columns}
        starts = [_START.format(column) for column in self.columns]
        starts += [_LATER.format(name, k) for name, times in self.later.items() for k in range(1, len(times) + 1)]
        further = [*tables.parameters, *self.columns, *starts]
        self.network = Network(tables.model, model, tables.t0, further)
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
        times = [item.time for item in self.tables.measurements]
        if not times:
            raise self.error("it has no measurements.")
        if any(map(math.isinf, times)):
            raise self.error("measurements are of the steady state, at infinite time, which is not read.")
        if min(times) < self.tables.t0:
            raise self.error(f"a measurement is at {min(times):g}, before the start at {self.tables.t0:g}.")

    def imported(self) -> Imported:
        """The problem."""
        self._declare_parameters()
        # An empty cell of a later column may be a formula of earlier ones.
        for column in sorted(
            self.columns, key=lambda name: (name in self.network.species, name in self.network.starts)
        ):
            self._override(column)
        groups = self._groups()
        span = (self.tables.t0, max(item.time for item in self.tables.measurements))
        if not span[1] > span[0]:
            raise self.error(f"nothing is measured after time {span[0]:g}.")
        formulas = [formula for group in groups for formula in (group.of, group.sigma) if is_traced(formula)]
        plain = self.network.equations(span, formulas)
        of_events = [formula for event in plain.events for formula in event.formulas]
        read = (*plain.derivatives, *plain.states.values(), *plain.definitions.values(), *of_events)
        used = names_in((*read, *formulas, *self.varied))
        constants = {name: value for name, value in self.constants.items() if name in used}
        self.varying = {name: texts for name, texts in self.varying.items() if name in used}
        files = {f"{self.stem}-measurements.csv": self._measurements(groups)}
        if self.varying:
            rows = zip(self.conditions, *self.varying.values(), strict=True)
            files[f"{self.stem}-conditions.csv"] = _csv(("condition", *self.varying), rows)
        lines, notes = self._lines(groups)
        equations = Equations(
            name=self.stem, states=plain.states, derivatives=plain.derivatives, t_span=span,
            parameters=self.parameters, constants={**plain.parameters, **constants},
            definitions=plain.definitions, events=plain.events, further=lines,
            reserved=(*self.varying, *(g.name for g in groups)),
            parameter_scales=self.scales, origin="from PEtab",
        )  # fmt: skip
        return Imported(equations, files, (*self.network.notes, *notes))

    # Parameters and conditions.

    def _symbol(self, name: str) -> Traced:
        return Traced("name", self.network.names[name])

    def _declare_parameters(self) -> None:
        for key, parameter in self.tables.parameters.items():
            name = self.network.names[key]
            if parameter.value is None:
                raise self.error(f"parameter '{key}' has no nominalValue.", "Give it one: the gradient is taken there.")
            (self.parameters if parameter.estimated else self.constants)[name] = parameter.value
            if parameter.scale != "lin":
                self.scales[name] = parameter.scale
            if key in self.network.quantities or key in self.network.compartments:
                self.network.give(key, self._symbol(key))

    def _override(self, column: str) -> None:
        """Let the conditions decide a quantity: a parameter, the size of a compartment or an initial value."""
        network = self.network
        is_species = column in network.species
        if not is_species and column not in (*network.quantities, *network.compartments, *self.tables.parameters):
            raise self.error(f"the conditions have a column '{column}', which is not in the model.")
        if self.later[column] and (is_species or column in network.rates or column in network.jumping):
            time = self.later[column][0]
            raise self.error(f"the conditions change the state '{column}' at {time:g}.", "Such events are not read.")
        name = network.names[_START.format(column) if is_species else column]
        cells = [self._cell(column, self.tables.conditions.get(condition, {})) for condition in self.conditions]
        first = self._quantity(name, cells, is_species)
        network.give(column, first, self._changing(column, first, cells))
        if not is_species and column in self.tables.parameters and is_traced(cells[0]):
            return
        if name in self.parameters:
            raise self.error(f"'{column}' is estimated, and a column of the conditions.")

    def _quantity(self, name: str, cells: list[Any], plain: bool = False) -> Any:
        """The formula of a quantity that has these values in the conditions; ``plain`` numbers need no name."""
        texts = [text_of(cell, {})[0] for cell in cells]
        if len(set(texts)) > 1:
            self.varying[name] = texts
            self.varied += cells
        elif is_traced(cells[0]) or plain:
            return cells[0]
        else:
            self.constants[name] = cells[0]
        return Traced("name", name)

    def _changing(self, column: str, first: Any, cells: list[Any]) -> Any:
        """The quantity as a function of time; ``None`` if no condition changes it later."""
        steps = list[tuple[float, Any]]()
        for place, time in enumerate(self.later[column]):
            rows = [dict(self.tables.later.get(condition, [])).get(time, {}) for condition in self.conditions]
            cells = [
                self._cell(column, row) if column in row else before for row, before in zip(rows, cells, strict=True)
            ]
            steps.append((time, self._quantity(self.network.names[_LATER.format(column, place + 1)], cells)))
        if not steps:
            return None
        whole = steps[-1][1]
        for (time, _), (_, before) in zip(reversed(steps), reversed([(0.0, first), *steps[:-1]]), strict=True):
            whole = Traced("where", Traced("name", "t") < time, before, whole)
        return whole

    def _cell(self, column: str, row: Cells) -> Any:
        cell = row.get(column)
        if cell is None:
            return self.network.default(column)
        if not isinstance(cell, str):
            return cell

        def resolve(name: str) -> Any:
            if name not in self.tables.parameters:
                raise self.error(f"'{name}' in the column '{column}' of the conditions is not a parameter.")
            return self._symbol(name)

        return self._parsed(cell, resolve, f"the value of '{column}' in the conditions")

    # Observables and measurements.

    def _groups(self) -> list[_Group]:
        found: dict[Any, _Group] = {}
        taken = set(self.network.names.values())
        for item in self.tables.measurements:
            name, observable, given = item.observable, self.tables.observables[item.observable], item.placeholders
            noise, sigma = given["noise"], None
            if observable.placeholders.get(str(observable.noise)) == ("noise", 0) and len(noise) == 1:
                sigma = noise[0] if isinstance(noise[0], float) else None
            key = (name, *given["observable"], None, *(() if sigma is not None else noise))
            if key not in found:
                label = next(n for k in range(1, 10**9) if (n := name if k == 1 else f"{name}_{k}") not in taken)
                taken.add(label)
                of = self._formula(observable.formula, name, given)
                spread = self._formula(observable.noise, name, given) if sigma is None else sigma
                found[key] = _Group(label, of, spread, observable.distribution)
            group = found[key]
            if not is_traced(group.sigma):
                sigma = float(group.sigma) if sigma is None else sigma
            group.rows.append((item.condition, item.time, item.value, sigma))
        return list(found.values())

    def _formula(self, text: str | float, observable: str, given: Mapping[str, list[str | float]]) -> Any:
        """The formula of an observable or its noise; names are the model's, parameters, or placeholders."""
        if not isinstance(text, str):
            return text
        whole: Observable = self.tables.observables[observable]

        def resolve(name: str) -> Any:
            if name in whole.placeholders:
                kind, index = whole.placeholders[name]
                if index >= len(given[kind]):
                    raise self.error(f"a measurement of '{observable}' gives no {name}.")
                value = given[kind][index]
                return self._known(value) if isinstance(value, str) else value
            if name in self.tables.observables and name not in self.network.names:
                if name == observable and text == whole.formula:
                    raise self.error(f"the formula of '{name}' names '{name}'.")
                return self._formula(self.tables.observables[name].formula, name, given)
            return self._known(name)

        return self._parsed(text, resolve, f"the formula of '{observable}'")

    def _parsed(self, text: str, resolve: Callable[[str], Any], what: str) -> Any:
        """The formula of a text, with a value for each of its names."""
        sbml = libsbml()
        settings = sbml.L3ParserSettings()
        settings.setParseLog(sbml.L3P_PARSE_LOG_AS_LN)
        tree = sbml.parseL3FormulaWithSettings(text, settings)
        if tree is None:
            message = " ".join(str(sbml.getLastParseL3Error()).split())[:200]
            raise self.error(f"{what}, '{text[:80]}': {message}")
        REFUSALS.clear()
        try:
            return formula_of(tree, resolve, self.functions)
        except (NoFormula, Refusal) as error:
            raise self.error(f"{what}: {error}.") from error

    def _known(self, name: str) -> Any:
        """A name of the model, or a parameter."""
        if name in self.network.given and name not in self.network.species:
            return self.network.now(name)
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
        of_symbol = [(self._symbol(name), item.prior) for name, item in self.tables.parameters.items() if item.prior]
        return [text_of(prior(symbol), {})[0] for symbol, prior in of_symbol]


def _csv(header: Any, rows: Any) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
