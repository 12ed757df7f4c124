"""Two runs, or two selections of one run, read and compared; unsuitable pairs are refused with a reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from sciml_bench.analysis.comparison.compare import Comparison, compare_runs, compare_selections
from sciml_bench.analysis.comparison.requirements import refusals
from sciml_bench.analysis.comparison.run_effect import why_no_repeat
from sciml_bench.analysis.comparison.sides import Side, read_side
from sciml_bench.analysis.selftest.store import earlier
from sciml_bench.errors import UsageError
from sciml_bench.planning.keyword_expression import compile_keyword
from sciml_bench.record.jsonl import DamagedLine
from sciml_bench.record.run_folder import Run, find_run, runs_in

BAND = 0.05
"""Ratios within this of 1 count as the same, unless the user says otherwise."""

OnDamage = Callable[[DamagedLine], None]


def between_runs(
    base: Run,
    new: Run,
    *,
    repeated: Sequence[Run] = (),
    keyword: str = "",
    band: float = BAND,
    each_tolerance: bool = False,
    on_damage: OnDamage | None = None,
) -> Comparison | None:
    """The cells that two runs share, compared; ``None`` if they share none.

    ``repeated`` are runs that repeat one of them with the same software: how far runs of one program differ.

    Raises:
        UsageError: a run is of a profile whose times are never compared; one is a copy of another; they differ in
            machine, schema, problems or profile; or a repeated run repeats neither.
    """
    mine, theirs = _side(base, keyword, on_damage), _side(new, keyword, on_damage)
    if mine.record_ids & theirs.record_ids:
        raise UsageError(f"{mine.name} and {theirs.name} hold the same records: one is a copy of the other")
    found = refusals(mine, theirs)
    if found:
        listed = "\n".join(f"  {item}" for item in found)
        raise UsageError(
            f"{mine.name} and {theirs.name} cannot be compared:\n{listed}\n"
            "Measure both on the same machine with the same version of the problems and the same profile; "
            "use -k to exclude problems."
        )
    if not set(mine.cells) & set(theirs.cells):
        return None
    again = [_side(run, keyword, on_damage) for run in repeated]
    _check_repeats(mine, theirs, again)
    return compare_runs(mine, theirs, band=band, each_tolerance=each_tolerance, repeated=again)


def within_run(
    run: Run, of: str, others: str, *, keyword: str = "", band: float = BAND, on_damage: OnDamage | None = None
) -> Comparison | None:
    """Two selections of one run, given as keyword expressions, compared problem by problem; ``None`` without a pair.

    Raises:
        UsageError: an expression cannot be read, or times of the run's profile are never compared.
    """
    side = _side(run, keyword, on_damage)
    sides = (side.chosen(compile_keyword(expression)) for expression in (of, others))
    comparison = compare_selections(*sides, band=band, earlier=earlier(run))
    return comparison if comparison.lines or comparison.uncompared else None


def repeats(name: str, out: Path) -> list[Run]:
    """A repeated run, or all runs of a folder that is none itself."""
    folder = Path(name)
    if folder.is_dir() and not (folder / "plan.json").exists():
        found = list(runs_in(folder))
        if found:
            return found
    return [find_run(name, out)]


def _side(run: Run, keyword: str, on_damage: OnDamage | None) -> Side:
    matches = compile_keyword(keyword)
    side = read_side(run, on_damage=on_damage or (lambda _: None))
    if not side.plan.profile.comparable:
        raise UsageError(
            f"{run.folder} was made with profile {side.plan.profile.name}, one process per cell: its times are "
            "never compared. Use --profile quick or more."
        )
    return side.chosen(matches)


def _check_repeats(base: Side, new: Side, repeated: Sequence[Side]) -> None:
    seen = base.record_ids | new.record_ids
    for side in repeated:
        if side.record_ids & seen:
            raise UsageError(
                f"{side.name} has records of BASE, NEW or another repeated run: it repeats nothing; name another run"
            )
        seen |= side.record_ids
        reasons = [why_no_repeat(of, side) for of in (base, new)]
        if all(reasons):
            raise UsageError(
                f"{side.name} repeats neither {base.name} ({reasons[0]}) nor {new.name} ({reasons[1]}): leave it out "
                "of --repeated, or measure again with the software of one of them"
            )
