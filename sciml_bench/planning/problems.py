"""A problem as the plan sees it: its header at once, its mathematics only when a cell of it is planned."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sciml_bench.adapters.base import ProblemTraits, Recipe
from sciml_bench.emit.symbolic.elementary import functions_of
from sciml_bench.errors import ProblemError, UsageError
from sciml_bench.planning.selection import Selection, check_names
from sciml_bench.record.task import CONVENTIONAL, SOLVERS
from sciml_bench.spec import catalog

if TYPE_CHECKING:
    from sciml_bench.models.model import Model
    from sciml_bench.record.probe import Probed
    from sciml_bench.record.task import Training
    from sciml_bench.spec import Problem


@dataclass(frozen=True)
class PlannedProblem:
    """One problem of a plan.

    ``named`` is true if the user named it or gave its file, whatever its tier; ``heavy`` says why no profile has it.
    """

    name: str
    title: str
    suite: str
    tier: str
    tags: tuple[str, ...]
    path: Path
    named: bool = False
    heavy: str = ""
    loaded: Problem | Model | None = field(default=None, compare=False)
    # The recommendations of each adapter, once requested.
    recipes: dict[str, tuple[Recipe, ...]] = field(default_factory=dict[str, "tuple[Recipe, ...]"], compare=False)

    @property
    def track(self) -> str:
        """Return whether solvers run it, or frameworks as a model."""
        return CONVENTIONAL if self.suite == CONVENTIONAL else SOLVERS

    @cached_property
    def declared(self) -> Problem | Model:
        """The file's declaration, loaded on first use. Raises ``ProblemError`` if its file is wrong."""
        if self.loaded is not None:
            return self.loaded
        from sciml_bench.models.load_declared import load_declared

        return load_declared(self.path)

    @cached_property
    def problem(self) -> Problem:
        """The differential equation; ``TypeError`` of a model."""
        from sciml_bench.spec.model import Problem

        declared = self.declared
        if not isinstance(declared, Problem):
            raise TypeError(f"{self.name} is a model")
        return declared

    @cached_property
    def model(self) -> Model:
        """The model of the conventional track; ``TypeError`` of a differential equation."""
        from sciml_bench.models.model import Model

        declared = self.declared
        if not isinstance(declared, Model):
            raise TypeError(f"{self.name} is not a model")
        return declared

    @property
    def spec_hash(self) -> str:
        """The hash of the mathematics."""
        return self.declared.spec_hash

    @property
    def training(self) -> Training | None:
        """Return the training of theta, if any."""
        return self.declared.training

    @property
    def fusion(self) -> bool:
        """Return whether it is there to set the modes of each framework side by side."""
        return "fusion" in self.tags

    @property
    def precisions(self) -> tuple[str, ...]:
        """Its precisions, the main one first: models in single precision, as they are used."""
        return ("float32",) if self.track == CONVENTIONAL else ("float64",)

    def moved(self, folder: Path) -> PlannedProblem:
        """Return a copy that points at the file of the same name in ``folder``."""
        path = folder / self.path.name
        return replace(self, path=path, loaded=replace(self.declared, path=str(path)))

    @property
    def stiff(self) -> bool:
        """Return whether its file calls it stiff. Which methods suit it, a probe says: ``recipes.takes_explicit``."""
        return self.suite == "stiff" or "stiff" in self.tags

    @cached_property
    def facts(self) -> ProblemTraits:
        """The facts that adapters get; loads the problem."""
        if self.track == CONVENTIONAL:
            return self._facts_of_model()
        problem = self.problem
        return ProblemTraits(
            name=self.name,
            suite=self.suite,
            n_states=problem.n_states,
            n_parameters=problem.n_parameters,
            n_breakpoints=len(problem.breakpoints),
            wrt=problem.wrt,
            stiff=self.stiff,
            split=bool(problem.implicit),
            n_weights=problem.n_parameters - problem.n_named,
            batch=problem.batch.size,
            input_derivatives=problem.input_derivatives,
            latent=problem.latent,
            controlled=bool(problem.controls),
            stochastic=_stochastic(problem),
            arrays=not problem.all_scalar,
            functions=functions_of(problem),
            not_local=_not_local(problem),
            probed=_probed(problem),
            n_saved=len(problem.numbers().save_times),
            events=bool(problem.events),
            either_way=any(event.when is not None and event.direction == 0 for event in problem.events),
            algebraic=bool(problem.algebraic),
            consistent=problem.latent and not problem.at_numbers.latent,
        )

    def _facts_of_model(self) -> ProblemTraits:
        model = self.model
        return ProblemTraits(
            name=self.name,
            suite=self.suite,
            n_states=model.n_outputs,
            n_parameters=model.n_weights,
            n_breakpoints=0,
            wrt="parameters",
            stiff=False,
            n_weights=model.n_weights,
            batch=model.batches[-1],
            fusion=self.fusion,
            layers=model.layers,
        )


def _probed(problem: Problem) -> Probed | None:
    if problem.events:
        # The probe integrates the equations alone.
        return None
    from sciml_bench.references.probe import probed

    return probed(problem)


def _not_local(problem: Problem) -> str:
    if problem.all_scalar:
        return ""
    from sciml_bench.spec.language.locality import why_not_local

    return why_not_local(problem)


def _stochastic(problem: Problem) -> bool:
    if not any(control.brownian for control in problem.controls):
        return False
    from sciml_bench.spec.language.noise import parts

    return parts(problem) is not None


def entries(selection: Selection, files: Iterable[Path] = ()) -> tuple[PlannedProblem, ...]:
    """The problems of a selection: the given files, and the requested ones of the catalog.

    The catalog is only added to files if a suite or a problem is named too.

    Raises:
        UsageError: a suite or problem does not exist, or two problems share a name.
        ProblemError: a file is wrong.
    """
    own = [_from_file(path) for path in {path.resolve(): path for path in files}.values()]
    names = [name for name in catalog.names() if not any(entry.name == name for entry in own)]
    _check_catalog(selection, [*names, *(entry.name for entry in own)])
    chosen: list[PlannedProblem] = []
    if not own or selection.suites or selection.problems:
        chosen = [entry for entry in map(_from_catalog, names) if _asked_for(entry, selection)]
        named = {*selection.problems, *(label.split("/")[0] for label in selection.cells)}
        chosen = [replace(entry, named=entry.name in named) for entry in chosen]
    _check_distinct(own, selection)
    return (*own, *chosen)


def entry_named(word: str) -> PlannedProblem:
    """The one problem that a word names: of the catalog, or a problem file.

    Raises:
        UsageError: the catalog has no such problem.
        ProblemError: the file is wrong.
    """
    files = (Path(word),) if catalog.is_file(word) else ()
    (entry,) = entries(Selection(problems=() if files else (word,)), files)
    return entry


def _from_catalog(name: str) -> PlannedProblem:
    header = catalog.header(name)
    return PlannedProblem(
        header.name, header.title, header.suite, header.tier, header.tags, header.path, heavy=header.heavy
    )


def _from_file(path: Path) -> PlannedProblem:
    from sciml_bench.models.load_declared import load_declared

    if not path.is_file():
        raise ProblemError("there is no such file.", where=path, cure="Give the path of a problem file (*.toml).")
    problem = load_declared(path)
    return PlannedProblem(
        problem.name, problem.title, problem.suite, problem.tier, problem.tags, path, named=True, loaded=problem
    )


def _asked_for(entry: PlannedProblem, selection: Selection) -> bool:
    if selection.cells and not any(label.split("/")[0] == entry.name for label in selection.cells):
        return False
    if selection.suites and entry.suite not in selection.suites:
        return False
    return not selection.problems or entry.name in selection.problems


def _check_catalog(selection: Selection, names: list[str]) -> None:
    see = "sciml-bench list problems"
    check_names("problem", selection.problems, names, see)
    check_names("problem", [label.split("/")[0] for label in selection.cells], names, see)
    if selection.suites:
        check_names("suite", selection.suites, catalog.suites(), "sciml-bench list suites")


def _check_distinct(own: list[PlannedProblem], selection: Selection) -> None:
    seen = {name: path for name, path in catalog.paths().items() if name in selection.problems}
    for entry in own:
        if seen.get(entry.name, entry.path).resolve() != entry.path.resolve():
            raise UsageError(
                f"{entry.path} and {seen[entry.name]} both hold a problem named '{entry.name}'; rename one of them"
            )
        seen[entry.name] = entry.path
