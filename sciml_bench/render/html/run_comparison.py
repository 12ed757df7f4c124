"""The runs of a page against each other: comparable runs, and the obstacles for the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sciml_bench.analysis.comparison.compare import Compared, Comparison, compare_runs
from sciml_bench.analysis.comparison.requirements import refusals
from sciml_bench.analysis.comparison.sides import Side, read_side
from sciml_bench.analysis.tables.table import Column
from sciml_bench.errors import StoreError
from sciml_bench.planning.written_plan import written_plan
from sciml_bench.record.run_folder import Run
from sciml_bench.render import comparison
from sciml_bench.render.html.table import Entry, Table
from sciml_bench.stats.verdict import Verdict

_BAND = 0.05

_NUMBERS = ("base", "new", "ratio", "95 % interval", "p", "n")


@dataclass(frozen=True)
class Between:
    """The first run of the page against another: a table, or the differences that forbid one."""

    id: str
    base: str
    new: str
    lines: tuple[str, ...]
    table: Table | None
    refused: tuple[str, ...]


def between(runs: Sequence[Run]) -> Iterator[Between]:
    """The first run against each of the others; runs that test different claims have nothing to be compared in."""
    others = [(number, run) for number, run in enumerate(runs[1:], start=2) if not _of_different_claims(runs[0], run)]
    if not others:
        return
    base = _side(runs[0])
    for number, run in others:
        id_, names, new = f"between-{number}", (runs[0].folder.name, run.folder.name), _side(run)
        if base is None or new is None:
            lost = [name for name, side in zip(names, (base, new), strict=True) if side is None]
            told = tuple(f"the plan or the environment of {name} cannot be read" for name in lost)
            yield Between(id_, *names, (), None, told)
        else:
            yield _between(base, new, id_)


def _of_different_claims(base: Run, new: Run) -> bool:
    """Told by their plans alone, as reading all records of many claims takes long."""
    claims, others = _claims(base), _claims(new)
    return bool(claims and others) and not claims & others


def _claims(run: Run) -> set[str]:
    """The claims that a run tests; empty if its plan cannot be read."""
    try:
        return set(written_plan(run).sides)
    except StoreError:
        return set()


def _side(run: Run) -> Side | None:
    """A run to compare; ``None`` if it is incomplete for a comparison, which is no reason not to show it."""
    try:
        return read_side(run, lambda _line: None)
    except StoreError:
        return None


def _between(base: Side, new: Side, id_: str) -> Between:
    refused = [
        f"{side.name} was made with profile {side.plan.profile.name}, one process for each cell"
        for side in (base, new)
        if not side.plan.profile.comparable
    ]
    if base.record_ids & new.record_ids:
        refused.append("they hold the same records: one is a copy of the other")
    refused += map(str, refusals(base, new))
    if not refused and not set(base.cells) & set(new.cells):
        refused.append("they have no cell in common")
    if refused:
        return Between(id_, base.name, new.name, (), None, tuple(refused))
    compared = compare_runs(base, new, band=_BAND)
    lines = [*comparison.comparison_head(compared, 10_000), *comparison.comparison_tail(compared)]
    return Between(
        id_, base.name, new.name, tuple(line.strip() for line in lines if line.strip()), _table(compared, id_), ()
    )


def _table(compared: Comparison, id_: str) -> Table | None:
    if not compared.lines:
        return None
    rows = tuple(
        tuple(
            Entry(str(word), value=value, mark=_MARKS.get(str(word), ""))
            for word, value in zip(words, _values(line), strict=True)
        )
        for words, line in zip(comparison.comparison_rows(compared), compared.lines, strict=True)
    )
    headings = tuple(Column(name, name in _NUMBERS) for name in comparison.HEADINGS)
    return Table(f"{id_}-table", f"{compared.new} against {compared.base}", headings, rows)


_MARKS = {verdict.value: verdict.value for verdict in Verdict}


def _values(line: Compared) -> list[float | None]:
    """The sort values of a line's numbers, in the order of the headings."""
    judged = line.judgement
    known = {"base": line.base_s, "new": line.new_s, "ratio": judged.ratio.estimate, "95 % interval": judged.ratio.low,
             "p": judged.adjusted_p, "n": float(judged.ratio.n)}  # fmt: skip
    return [known.get(name) for name in comparison.HEADINGS]
