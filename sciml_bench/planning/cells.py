"""Problems × adapters → cells: which are planned, which are skipped, and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from sciml_bench.adapters.base import WITHOUT_GRADIENTS, Adapter, Recipe
from sciml_bench.adapters.recipes import INTERPOLATED, recommended, takes_both, takes_explicit
from sciml_bench.adapters.registry import missing
from sciml_bench.planning.problems import PlannedProblem
from sciml_bench.planning.profiles import Profile
from sciml_bench.planning.selection import Selection
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.task import DEFAULT_SAVING, SOLVERS, Cell

# Sensitivities of one family give the same gradient by the same recurrence: checkpointing only trades memory for time.
_SENSITIVITY_FAMILY = {"checkpointed": "discrete"}
# The rest of the label names the means, such as how vector–Jacobian products are computed (``gauss-reversediff``).
_MEANS = "-"

BEST = "best"
"""The role of the first recipe of an adapter that can run on a problem."""


@dataclass(frozen=True)
class Planned:
    """A cell that will run.

    ``division`` is ``idiomatic`` for a library's recommended cell, ``matched`` for one that is there for comparison
    with another library's, otherwise ``other``. ``group`` names the method family, order and sensitivity that the cell
    shares with a cell of another adapter on the same problem; empty without such a cell. ``role`` is ``best`` for the
    library's best way, ``default`` for its default if that differs; ``note`` is a remark on it.
    """

    cell: Cell
    division: str
    group: str = ""
    role: str = ""
    note: str = ""


@dataclass(frozen=True)
class Skipped:
    """A requested cell that will not run. ``outcome`` is ``unsupported`` or ``None`` (left out by choice)."""

    cell: Cell
    outcome: Outcome | None
    reason: str


def choose(
    entries: Sequence[PlannedProblem], adapters: Mapping[str, Adapter], selection: Selection, profile: Profile
) -> tuple[tuple[Planned, ...], tuple[Skipped, ...]]:
    """Every selected cell, either planned or skipped with its reason, in order of problem and adapter."""
    planned: list[Planned] = []
    skipped: list[Skipped] = []
    for entry in entries:
        for cell, verdict in _verdicts(entry, adapters, selection, profile):
            if isinstance(verdict, Skipped):
                skipped.append(verdict)
            else:
                planned.append(_with_role(Planned(cell, verdict), entry, adapters[cell.adapter]))
    return _with_groups(planned, adapters), tuple(skipped)


def _verdicts(
    entry: PlannedProblem, adapters: Mapping[str, Adapter], selection: Selection, profile: Profile
) -> Iterator[tuple[Cell, str | Skipped]]:
    """Each selected cell of a problem with its division, or why it is skipped."""
    adapters = {name: adapter for name, adapter in adapters.items() if adapter.track == entry.track}
    selected = {name: [c for c in _all_cells(entry, a) if selection.contains(c)] for name, a in adapters.items()}
    usual = {name: [c for c in cells if selection.takes(c, entry.precisions)] for name, cells in selected.items()}
    partners = _partners(entry, adapters, usual, profile)
    for name, adapter in adapters.items():
        lacking = {mode: missing(adapter, mode) for mode in adapter.cell_modes}
        for cell in selected[name]:
            reason = _outside(cell, entry, adapter, selection, profile, partners)
            if reason:
                yield cell, Skipped(cell, None, f"not in profile {profile.name} ({reason})")
                continue
            absent = lacking[cell.mode]
            refusal = absent.reason if absent else adapter.why_not(_cold(cell), entry.facts)
            if refusal:
                yield cell, Skipped(cell, Outcome.UNSUPPORTED, refusal)
            elif _recipe(cell) in recipes_of(adapter, entry):
                yield cell, "idiomatic"
            else:
                yield cell, "matched" if cell in partners else "other"


def _all_cells(entry: PlannedProblem, adapter: Adapter) -> Iterator[Cell]:
    axes = product(adapter.methods, adapter.sensitivities, adapter.cell_modes, adapter.precisions, adapter.devices)
    for method, sensitivity, mode, precision, device in axes:
        for saving in method.savings:
            yield Cell(entry.name, adapter.name, method.name, sensitivity, mode, precision, device, saving)


def recipes_of(adapter: Adapter, entry: PlannedProblem) -> tuple[Recipe, ...]:
    """The recipes of an adapter that can run on a problem here, the best first; all of them if none can."""
    known = entry.recipes.get(adapter.name)
    if known is None:
        declared = recommended(adapter, entry.facts)
        able = tuple(recipe for recipe in declared if _runs(recipe, adapter, entry))
        known = entry.recipes[adapter.name] = able or declared
    return known


def _runs(recipe: Recipe, adapter: Adapter, entry: PlannedProblem) -> bool:
    axes = (recipe.method, recipe.sensitivity, recipe.mode, entry.precisions[0])
    cell = Cell(entry.name, adapter.name, *axes, saving=recipe.saving)
    return not missing(adapter, cell.mode) and not adapter.why_not(cell, entry.facts)


def _with_role(planned: Planned, entry: PlannedProblem, adapter: Adapter) -> Planned:
    """A recommended cell with the role of its recipe; cells with warm caches have none."""
    for place, recipe in enumerate(recipes_of(adapter, entry)):
        if recipe == _recipe(planned.cell):
            return replace(planned, role=BEST if place == 0 else recipe.role, note=recipe.note)
    return planned


def _recipe(cell: Cell) -> Recipe:
    return Recipe(cell.method, cell.sensitivity, cell.mode, saving=cell.saving)


def trains(cell: Cell, entry: PlannedProblem, adapter: Adapter) -> bool:
    """Return whether theta is trained in this cell: the first recommended one of its adapter, in the main precision."""
    if cell.sensitivity in WITHOUT_GRADIENTS:
        return False
    return cell.precision == entry.precisions[0] and _recipe(cell) in recipes_of(adapter, entry)[:1]


def _cold(cell: Cell) -> Cell:
    """The cell that only differs in an empty compile cache; itself if its cache is empty."""
    return replace(cell, mode=cell.framework_mode)


def _outside(
    cell: Cell, entry: PlannedProblem, adapter: Adapter, selection: Selection, profile: Profile, partners: set[Cell]
) -> str:
    """Return why a profile leaves a cell out; empty when it does not."""
    if cell.label in selection.cells:
        return ""
    if not entry.named and entry.tier not in profile.tiers:
        return f"tier {entry.tier}" + (f", {entry.name}: {entry.heavy}" if entry.heavy else "")
    if not selection.takes(cell, entry.precisions):
        return f"{cell.precision} on {cell.device}"
    if cell.caches == "warm" and cell.mode not in selection.modes:
        first = recipes_of(adapter, entry)[:1]
        wanted = profile.warm_caches and _recipe(_cold(cell)) in first
        return "" if wanted else "warm compile caches only of the first recommended cell, in standard and rigorous"
    if cell in partners or _in_breadth(cell, entry, adapter, selection, profile):
        return ""
    return {
        "first": "best and default cell of each adapter only",
        "matched": "best and default cell of each adapter and their matches only",
        "recommended": "recommended cells and their matches only",
        "suited": "method not suited to the problem, or not a recommended combination",
    }[_breadth(entry, profile)]


def _breadth(entry: PlannedProblem, profile: Profile) -> str:
    if entry.named or entry.fusion:
        return profile.named_breadth
    return profile.core_breadth if entry.tier == "smoke" else profile.breadth


def _taken(adapter: Adapter, entry: PlannedProblem, profile: Profile) -> tuple[Recipe, ...]:
    """Recommended cells that a profile measures: all, or the best one and the ones with a role; the narrowest breadth
    leaves out the best one's interpolated variant.
    """
    recipes, breadth = recipes_of(adapter, entry), _breadth(entry, profile)
    if breadth not in ("first", "matched"):
        return recipes
    unwanted = INTERPOLATED if breadth == "first" else ""
    return tuple(recipe for place, recipe in enumerate(recipes) if place == 0 or recipe.role not in ("", unwanted))


def _in_breadth(cell: Cell, entry: PlannedProblem, adapter: Adapter, selection: Selection, profile: Profile) -> bool:
    """Return whether the profile measures this cell. An axis named by the user is free; the others follow a recipe."""
    free = tuple(map(bool, (selection.methods, selection.sensitivities, selection.modes, selection.savings)))
    recipes = recipes_of(adapter, entry) if any(free) else _taken(adapter, entry, profile)
    if any(_follows(cell, recipe, free) for recipe in recipes):
        return True
    # If no recipe lands, landing would double the measurements of the broadest profile.
    if _breadth(entry, profile) != "suited" or cell.saving != DEFAULT_SAVING:
        return False
    if any(cell.method == recipe.method for recipe in recipes):
        return True
    return _suited(cell, entry, adapter) and any(_follows(cell, recipe, (True, *free[1:])) for recipe in recipes)


def _suited(cell: Cell, entry: PlannedProblem, adapter: Adapter) -> bool:
    """Return whether a method is of a kind that a problem takes."""
    method = adapter.method(cell.method)
    return method.adaptive and (takes_both(entry.facts) or method.stiff != takes_explicit(entry.facts))


def _follows(cell: Cell, recipe: Recipe, free: tuple[bool, ...]) -> bool:
    axes = (
        (cell.method, recipe.method),
        (cell.sensitivity, recipe.sensitivity),
        (cell.mode, recipe.mode),
        (cell.saving, recipe.saving),
    )
    return all(is_free or mine == theirs for (mine, theirs), is_free in zip(axes, free, strict=True))


def _partners(
    entry: PlannedProblem, adapters: Mapping[str, Adapter], selected: Mapping[str, Sequence[Cell]], profile: Profile
) -> set[Cell]:
    """Cells that are not a recipe of their own adapter, but match one of another adapter: one per adapter and match.

    A recipe that cannot run on the problem asks for no match.
    """
    if _breadth(entry, profile) == "first" or not (entry.named or entry.tier in profile.tiers):
        return set()
    partners: set[Cell] = set()
    for name, adapter in adapters.items():
        for recipe in _taken(adapter, entry, profile):
            if not _runs(recipe, adapter, entry):
                continue
            wanted = _kind(adapter, recipe.method, recipe.sensitivity)
            for other_name, other in adapters.items():
                if other_name != name:
                    partners |= _match(wanted, entry, other, selected[other_name], profile)
    return partners


def _match(
    wanted: tuple[str, int, str], entry: PlannedProblem, adapter: Adapter, cells: Sequence[Cell], profile: Profile
) -> set[Cell]:
    """The first cell of this kind for each precision and device, in the adapter's first recommended mode, unless a
    taken one is of this kind."""
    recipes = _taken(adapter, entry, profile)
    if not recipes or any(_kind(adapter, r.method, r.sensitivity) == wanted for r in recipes):
        return set()
    found: dict[tuple[str, str], Cell] = {}
    for cell in cells:
        if cell.mode == recipes[0].mode and _kind(adapter, cell.method, cell.sensitivity) == wanted:
            found.setdefault((cell.precision, cell.device), cell)
    return set(found.values())


def _kind(adapter: Adapter, method: str, sensitivity: str) -> tuple[str, int, str]:
    """The properties that matching cells share: method family, order, and sensitivity family."""
    declared = adapter.method(method)
    family = sensitivity.partition(_MEANS)[0]
    return declared.family, declared.order, _SENSITIVITY_FAMILY.get(family, family)


def _with_groups(planned: Sequence[Planned], adapters: Mapping[str, Adapter]) -> tuple[Planned, ...]:
    """Return the cells, with the name of their group if they have a counterpart in another adapter."""
    members: dict[tuple[object, ...], set[str]] = defaultdict(set)
    for item in planned:
        # A warm cell takes the same steps at the same speed as its cold one: it would be in the group twice. Models
        # have no families of methods: all frameworks share one table.
        if item.cell.caches == "cold" and adapters[item.cell.adapter].track == SOLVERS:
            members[_group_key(item.cell, adapters)].add(item.cell.adapter)
    return tuple(
        replace(item, group=_group_name(item.cell, adapters))
        if item.cell.caches == "cold" and len(members[_group_key(item.cell, adapters)]) > 1
        else replace(item, division="other")
        if item.division == "matched"
        else item
        for item in planned
    )


def _group_key(cell: Cell, adapters: Mapping[str, Adapter]) -> tuple[object, ...]:
    kind = _kind(adapters[cell.adapter], cell.method, cell.sensitivity)
    return (cell.problem, *kind, cell.precision, cell.device)


def _group_name(cell: Cell, adapters: Mapping[str, Adapter]) -> str:
    family, order, sensitivity = _kind(adapters[cell.adapter], cell.method, cell.sensitivity)
    return f"{family} of order {order}, {sensitivity}"
