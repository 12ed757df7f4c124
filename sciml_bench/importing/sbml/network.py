"""The equations of an SBML model: what its compartments, species, reactions and rules say together."""

from __future__ import annotations

import graphlib
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sciml_bench.errors import ProblemError
from sciml_bench.importing.equations import Equations
from sciml_bench.importing.formula_text import names_in
from sciml_bench.importing.python.arguments import distinct
from sciml_bench.importing.python.refusals import REFUSALS, Refusal
from sciml_bench.importing.python.traced import Traced, is_traced
from sciml_bench.importing.sbml.document import document_of
from sciml_bench.importing.sbml.events import AMOUNT, events_of
from sciml_bench.importing.sbml.mathematics import Functions, NoFormula, formula_of


def equations_of(path: Path, t_span: tuple[float, float]) -> tuple[Equations, tuple[str, ...]]:
    """The equations of an SBML file, and notes on parts that they leave out.

    Raises:
        ProblemError: it is not SBML, or says more than ordinary differential equations do.
    """
    # The document owns its model.
    document = document_of(path)
    network = Network(path, document.getModel(), t_span[0])
    try:
        return network.equations(t_span), tuple(network.notes)
    except RecursionError:
        cure = "Name parts of them by assignment rules."
        raise ProblemError("its formulas are nested too deeply.", where=path, cure=cure) from None


def _each(model: Any, what: str) -> list[Any]:
    items = getattr(model, f"getListOf{what}")()
    return [items.get(i) for i in range(items.size())]


class Network:
    """The elements of a model by name, and what determines each; ``further`` keys get names that differ from theirs.

    ``given`` are numbers or formulas that replace constant quantities, sizes of compartments and initial values, see
    :meth:`give`.
    """

    def __init__(self, path: Path, model: Any, t0: float, further: Sequence[str] = ()):
        self.path, self.model, self.notes = path, model, list[str]()
        self.given: dict[str, Any] = {}
        self._given_in_time: dict[str, Any] = {}
        self._t0 = t0
        self._refuse_other_than_equations()
        self.compartments = {item.getId(): item for item in _each(model, "Compartments")}
        self.species = {item.getId(): item for item in _each(model, "Species")}
        self.reactions = {item.getId(): item for item in _each(model, "Reactions")}
        #: Of each species the reactions that consume (-1) or make it (1), with their references to it.
        self.turnover: dict[str, list[tuple[int, Any, str]]] = {}
        for name, reaction in self.reactions.items():
            for sign, side in ((-1, "Reactants"), (1, "Products")):
                for reference in _each(reaction, side):
                    self.turnover.setdefault(reference.getSpecies(), []).append((sign, reference, name))
        uses = [reference for found in self.turnover.values() for _, reference, _ in found]
        self.references = {reference.getId(): reference for reference in uses if reference.isSetId()}
        self.functions = Functions({item.getId(): item.getMath() for item in _each(model, "FunctionDefinitions")})
        self.quantities = {item.getId(): item for item in _each(model, "Parameters")}
        # Level 3 version 2 lets formulas be missing: they then say nothing.
        rules = [rule for rule in _each(model, "Rules") if rule.isSetMath()]
        self.assigned = {rule.getVariable(): rule for rule in rules if rule.isAssignment()}
        self.rates = {rule.getVariable(): rule for rule in rules if rule.isRate()}
        self.starts = {item.getSymbol(): item for item in _each(model, "InitialAssignments") if item.isSetMath()}
        self.events = _each(model, "Events")
        self.jumping = {item.getVariable() for event in self.events for item in _each(event, "EventAssignments")}
        self.changing = {name for name in self.turnover if self._reacts(self.species.get(name))}
        self.changing -= {*self.assigned, *self.rates}
        #: Species that are kept as amounts since the size of their compartment changes.
        self.amounts = {
            name
            for name, item in self.species.items()
            if name not in self.assigned and name not in self.rates and self.is_density(item)
            and not self._is_constant(item.getCompartment())
        }  # fmt: skip
        every = (*self.compartments, *self.quantities, *self.species, *self.references, *self.reactions)
        keys = [*every, *(f"{name}{AMOUNT}" for name in self.amounts)]
        # The conditions of a problem file add suffixes to names.
        self.names = distinct({key: key for key in (*keys, *further)}, (), longest=34)
        self._symbols = {key: Traced("name", name) for key, name in self.names.items()}
        self._time = Traced("name", "t")
        self._starting: list[str] = []
        self._started: dict[str, Any] = {}

    # Refusals, each with its element.

    def error(self, message: str, element: Any = None, cure: str = "") -> ProblemError:
        """An error with the line of an element."""
        line = element.getLine() if element is not None else 0
        return ProblemError(message, where=self.path, line=line or None, cure=cure)

    def _refuse_other_than_equations(self) -> None:
        model = self.model
        for rule in _each(model, "Rules"):
            if rule.isAlgebraic():
                raise self.error("the model has an algebraic rule.", rule, "Solve it for a variable and assign that.")
        for reaction in _each(model, "Reactions"):
            if reaction.isSetFast() and reaction.getFast():
                raise self.error(f"reaction '{reaction.getId()}' is fast, in equilibrium at once.", reaction)
        if model.getNumConstraints():
            self.notes.append(f"{model.getNumConstraints()} constraints are left out")
        if model.getNumUnitDefinitions():
            self.notes.append("units are left out: every number is in the units of the file")

    # The source of a symbol's value.

    @staticmethod
    def _reacts(species: Any) -> bool:
        return species is not None and not species.getBoundaryCondition() and not species.getConstant()

    def is_density(self, species: Any) -> bool:
        """True if a symbol is a concentration, not an amount."""
        compartment = self.compartments.get(species.getCompartment())
        no_size = compartment is None or compartment.getSpatialDimensionsAsDouble() == 0
        return not species.getHasOnlySubstanceUnits() and not no_size

    def _is_constant(self, name: str) -> bool:
        return name not in self.assigned and name not in self.rates and name not in self.jumping

    def _state_names(self) -> list[str]:
        moving = {*self.rates, *self.jumping}
        found = [name for name in (*self.compartments, *self.quantities, *self.references) if name in moving]
        for name in self.species:
            if name in self.changing or (name in self.jumping and name not in self.rates):
                found.append(f"{name}{AMOUNT}" if name in self.amounts else name)
            elif name in self.rates:
                found.append(name)
        return found

    def formula(self, element: Any, resolve: Callable[[str], Any], what: str) -> Any:
        """The formula of an element, whose names ``resolve`` gives a meaning; ``what`` names it in errors."""
        tree = element.getMath() if element is not None else None
        if tree is None:
            raise self.error(f"{what} has no formula.", element)
        REFUSALS.clear()
        try:
            return formula_of(tree, resolve, self.functions)
        except (NoFormula, Refusal) as error:
            raise self.error(f"{what}: {error}.", element) from error

    def _value(self, name: str) -> Any:
        """The number that the file gives for a symbol; ``None`` if there is none."""
        if name in self.compartments:
            item = self.compartments[name]
            return item.getSize() if item.isSetSize() else None
        if name in self.quantities:
            item = self.quantities[name]
            return item.getValue() if item.isSetValue() else None
        item = self.references[name]
        return item.getStoichiometry() if item.isSetStoichiometry() else 1

    # Values at the start: numbers, or formulas of parameters.

    def give(self, name: str, formula: Any, in_time: Any = None) -> None:
        """Let a number or formula replace the file's value; initial values that were formed with that are forgotten.

        ``in_time`` is the formula of a quantity that changes after the start.
        """
        self.given[name] = formula
        self._given_in_time[name] = formula if in_time is None else in_time
        self._started.clear()

    def default(self, name: str) -> Any:
        """The file's own value: a formula of an initial assignment, or a number."""
        if name in self.quantities and name not in self.starts and name not in self.given:
            return self._number(name, self._value(name))
        return self.start(name)

    def start(self, name: str) -> Any:
        """The value of a symbol at the start; "" is time."""
        if not name:
            return self._t0
        if name in self._starting:
            raise self.error(f"the initial value of '{name}' depends on itself.")
        if name not in self._started:
            self._starting.append(name)
            try:
                self._started[name] = self._start(name)
            finally:
                self._starting.pop()
        return self._started[name]

    def _start(self, name: str) -> Any:
        if name in self.given:
            return self.given[name]
        for source, what in ((self.starts, "initial assignment"), (self.assigned, "assignment rule")):
            if name in source:
                return self.formula(source[name], self.start, f"the {what} of '{name}'")
        if name in self.reactions:
            return self.formula(self.reactions[name].getKineticLaw(), self.start, f"the rate of '{name}'")
        if name in self.species:
            return self._initial(name, self.species[name])
        if name not in self.names:
            raise self.error(f"'{name}' is not declared.")
        value = self._value(name)
        if self._is_parameter(name):
            return self._symbols[name]
        return self._number(name, value)

    def _number(self, name: str, value: Any) -> float:
        if value is None or math.isnan(value):
            if name in self.compartments:
                self.notes.append(f"the size of compartment '{name}' is missing, and taken as 1")
                return 1.0
            raise self.error(f"'{name}' has no value.", self.quantities.get(name), "Give it one.")
        if not math.isfinite(value):
            raise self.error(f"the value of '{name}' is {value}.")
        return value

    def _initial(self, name: str, species: Any) -> Any:
        density = self.is_density(species)
        if species.isSetInitialAmount():
            amount = self._number(name, species.getInitialAmount())
            return self._quotient(amount, species) if density else amount
        if species.isSetInitialConcentration():
            value = self._number(name, species.getInitialConcentration())
            return value if density else value * self.start(species.getCompartment())
        self.notes.append(f"the initial value of species '{name}' is missing, and taken as 0")
        return 0.0

    def _quotient(self, amount: Any, species: Any) -> Any:
        size = self.start(species.getCompartment())
        if not is_traced(size) and size == 0:
            raise self.error(f"compartment '{species.getCompartment()}' has the size 0.", species)
        return amount / size

    def _is_parameter(self, name: str) -> bool:
        """True for the quantities by which gradients are taken: constant, and given by a number."""
        return name in self.quantities and self._is_constant(name) and name not in self.starts

    # Values at any time.

    def now(self, name: str) -> Any:
        """The name or number of a symbol; "" is time."""
        if not name:
            return self._time
        if name in self.reactions or name in self.changing or not self._is_constant(name):
            return self._symbols[name]
        if name in self.amounts:
            return self._symbols[name]
        if name in self.given and name not in self.species:
            return self._given_in_time[name]
        if name in self._symbols and self._is_parameter(name):
            self._number(name, self._value(name))
            return self._symbols[name]
        # Constant: a number, or a definition.
        found = self.start(name)
        return self._symbols[name] if is_traced(found) else found

    def equations(self, t_span: tuple[float, float], also: Sequence[Any] = ()) -> Equations:
        """The equations of the model, with the definitions that ``also`` these formulas need."""
        definitions, parameters = self._definitions()
        states = self._state_names()
        if not states:
            raise self.error("nothing in the model changes by an equation.", cure="It needs a reaction or a rate rule.")
        derivatives = [self._derivative(name) for name in states]
        events = events_of(self, t_span)
        also = (*also, *(formula for event in events for formula in event.formulas))
        initial = {name: self._start_of_state(name) for name in states}
        kept = _ordered(
            self,
            {self.names[name]: value for name, value in definitions.items()},
            names_in((*derivatives, *initial.values(), *also)),
        )
        used = names_in((*derivatives, *initial.values(), *kept.values(), *also))
        return Equations(
            name=self.model.getId() or self.path.stem,
            states={self.names[name]: value for name, value in initial.items()},
            parameters={self.names[n]: value for n, value in parameters.items() if self.names[n] in used},
            derivatives=tuple(derivatives),
            t_span=t_span,
            definitions=kept,
            events=events,
            origin="from SBML",
        )

    def _definitions(self) -> tuple[dict[str, Any], dict[str, float]]:
        definitions: dict[str, Any] = {}
        for name, reaction in self.reactions.items():
            if reaction.getNumReactants() + reaction.getNumProducts() or reaction.isSetKineticLaw():
                definitions[name] = self.formula(reaction.getKineticLaw(), self.now, f"the rate of '{name}'")
        for name, rule in self.assigned.items():
            definitions[name] = self.formula(rule, self.now, f"the assignment rule of '{name}'")
        for name in self.amounts:
            moves = name in self.changing or name in self.jumping
            amount = self._symbols[f"{name}{AMOUNT}"] if moves else self._start_of_amount(name)
            definitions[name] = amount / self.now(self.species[name].getCompartment())
        parameters: dict[str, float] = {}
        for name in (*self.compartments, *self.quantities, *self.species, *self.references):
            if name in definitions or name in self.changing or not self._is_constant(name):
                continue
            if name in self.given and name not in self.species:
                continue
            if self._is_parameter(name):
                if (value := self._value(name)) is not None and math.isfinite(value):
                    parameters[name] = value
                continue
            if name in self.starts or name in self.species:
                found = self.start(name)
                if is_traced(found):
                    definitions[name] = found
        return definitions, parameters

    def _start_of_amount(self, name: str) -> Any:
        species = self.species[name]
        if species.isSetInitialAmount() and name not in self.starts and name not in self.given:
            return self._number(name, species.getInitialAmount())
        return self.start(name) * self.start(species.getCompartment())

    def _start_of_state(self, name: str) -> Any:
        plain = name.removesuffix(AMOUNT)
        return self._start_of_amount(plain) if plain in self.amounts else self.start(name)

    def _derivative(self, name: str) -> Any:
        if name in self.rates:
            return self.formula(self.rates[name], self.now, f"the rate rule of '{name}'")
        plain = name.removesuffix(AMOUNT) if name.removesuffix(AMOUNT) in self.amounts else name
        if plain not in self.changing:
            return 0
        species, total = self.species[plain], 0
        for sign, reference, reaction in self.turnover[plain]:
            total = _sum(total, sign, self._stoichiometry(reference), self._symbols[reaction])
        factor = species.getConversionFactor() or self.model.getConversionFactor()
        if factor:
            total = total * self.now(factor)
        if self.is_density(species) and plain not in self.amounts:
            size = self.now(species.getCompartment())
            if not is_traced(size) and size == 0:
                raise self.error(f"compartment '{species.getCompartment()}' has the size 0.", species)
            total = total / size
        return total

    def _stoichiometry(self, reference: Any) -> Any:
        if reference.isSetStoichiometryMath():
            return self.formula(reference.getStoichiometryMath(), self.now, "a stoichiometry")
        if reference.isSetId() and {reference.getId()} & {*self.assigned, *self.rates, *self.starts, *self.jumping}:
            return self.now(reference.getId())
        value = reference.getStoichiometry()
        if math.isnan(value):
            return 1
        return int(value) if value == int(value) else value


def _sum(total: Any, sign: int, factor: Any, rate: Any) -> Any:
    term = rate * factor if is_traced(factor) else rate if factor == 1 else factor * rate
    if sign > 0:
        return total + term
    return -term if not is_traced(total) and total == 0 else total - term


def _ordered(network: Network, definitions: Mapping[str, Any], needed: set[str]) -> dict[str, Any]:
    """The definitions that ``needed`` names need, each after the ones that it uses."""
    inner = {name: names_in([value]) & {*definitions} for name, value in definitions.items()}
    reached, waiting = set[str](), [name for name in definitions if name in needed]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += inner[name]
    # As near to the order of the file as can be.
    graph = {name: sorted(inner[name]) for name in definitions if name in reached}
    try:
        return {name: definitions[name] for name in graphlib.TopologicalSorter(graph).static_order()}
    except graphlib.CycleError as error:
        raise network.error(f"assignments depend on themselves: {' -> '.join(error.args[1])}.") from error
