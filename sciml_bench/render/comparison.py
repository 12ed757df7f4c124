"""A comparison for people: failures first, then verdicts, then one line per cell and quantity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sciml_bench.analysis.comparison.compare import Change, Compared, Comparison
from sciml_bench.analysis.comparison.series import Quantity
from sciml_bench.analysis.tables import formatting
from sciml_bench.analysis.tables.formatting import wrapped
from sciml_bench.stats.ratio import Ratio
from sciml_bench.stats.verdict import Held, Verdict

_SHORT = {
    Quantity.FIRST_FROM_START: "1st grad. start",
    Quantity.FIRST_FROM_BUILT: "1st grad. built",
    Quantity.SOLVE: "solve",
    Quantity.GRADIENT: "gradient",
}

_LOOPS = (Quantity.SOLVE, Quantity.GRADIENT)

# Cells with what a reader looks for come first.
_ORDER = (Verdict.SLOWER, Verdict.FASTER, Verdict.UNDECIDED, Verdict.SAME)

HEADINGS = ["base cell", "new cell", "quantity", "at", "base", "new", "ratio", "95 % interval", "verdict", "p", "n",
            "notes"]  # fmt: skip


def comparison_head(comparison: Comparison, width: int) -> Iterator[str]:
    """The head of a comparison: its subject, failures, changes, and the verdicts in numbers."""
    if comparison.between_runs:
        yield f"BASE  {comparison.base}"
        yield f"NEW   {comparison.new}"
    else:
        yield f"run   {comparison.base}"
    yield from _failures(comparison, width)
    if comparison.changes:
        yield ""
        yield "changed between the runs"
        for item in comparison.changes:
            yield from wrapped(f"{item.what}: {item.base} → {item.new}", width, "  ")
    yield ""
    counts = ", ".join(f"{comparison.count(verdict)} {verdict}" for verdict in _ORDER)
    yield from wrapped(f"{counts}  (NEW against BASE)" if comparison.between_runs else counts, width, "")
    yield from wrapped(
        f"family: {comparison.family}; p by Benjamini–Hochberg; same: within ±{100 * comparison.band:g} %", width, ""
    )
    yield from wrapped(_pairing(comparison), width, "")
    if any(comparison.noisy):
        told = f"{comparison.noisy[0]} in BASE, {comparison.noisy[1]} in NEW"
        yield from wrapped(f"disturbed processes among them: {told}", width, "")


def comparison_table(comparison: Comparison, width: int) -> Iterator[str]:
    """Lines of a terminal: a heading per cell, and below it one line per quantity."""
    groups: dict[tuple[str, str], list[Compared]] = {}
    for line in comparison.lines:
        groups.setdefault((line.series.base_label, line.series.new_label), []).append(line)
    for labels, lines in sorted(groups.items(), key=lambda group: min(_rank(line) for line in group[1])):
        yield ""
        yield _heading(labels)
        places = {line.series.at for line in lines if line.series.quantity in _LOOPS}
        if len(places) == 1:
            yield from wrapped(f"solve and gradient at {places.pop()}", width, "  ")
        for line in lines:
            yield _row(line)
            for note in _notes(line, at=bool(places)):
                yield from wrapped(note, width, "    ")
    yield from _tail(comparison, width)


def comparison_rows(comparison: Comparison) -> list[list[str]]:
    """One row per cell and quantity, for pipes, under :data:`HEADINGS`."""
    return [
        [
            line.series.base_label,
            line.series.new_label,
            line.series.quantity,
            line.series.at,
            formatting.duration(line.base_s),
            formatting.duration(line.new_s),
            formatting.ratio(line.judgement.ratio.estimate),
            _interval(line.judgement.ratio),
            line.judgement.verdict,
            _p(line),
            str(line.judgement.ratio.n),
            "; ".join(_notes(line, at=False)),
        ]
        for line in comparison.lines
    ]


def comparison_tail(comparison: Comparison) -> Iterator[str]:
    """The lines after a plain table."""
    yield from _tail(comparison, 10_000)


def _failures(comparison: Comparison, width: int) -> Iterator[str]:
    for heading, found in (
        ("LOST: worked in BASE, not in NEW", comparison.lost),
        ("gained: works in NEW, not in BASE", comparison.gained),
    ):
        if found:
            yield ""
            yield heading
            yield from _listed(found, width)
    for name, labels in (("BASE", comparison.only_base), ("NEW", comparison.only_new)):
        if labels:
            yield ""
            yield f"only in {name}"
            yield from (f"  {label}" for label in labels)


def _listed(found: Sequence[Change], width: int) -> Iterator[str]:
    for item in found:
        yield f"  {item.label}"
        yield from wrapped(f"{item.what}{f': {item.reason}' if item.reason else ''}", width, "    ")


def _pairing(comparison: Comparison) -> str:
    if not comparison.between_runs:
        return "paired by block: both cells of a pair were measured next to each other in time"
    apart = "not paired: two runs at different times, and a change of the machine between them looks like one of the "
    effect = comparison.effect
    if effect is None:
        return (
            f"{apart}program; how far runs of the same program differ is not known here, so the intervals leave it out "
            "and a winner is named from a factor of 2 on; name repeated runs of either with --repeated"
        )
    listed = ", ".join(f"{quantity} {100 * sd:.1f} %" for quantity, sd in effect.sd.items())
    return (
        f"{apart}program; the intervals hold how far runs differ, {listed} (sd, from {effect.runs} runs of the same "
        f"software, {effect.df} degrees of freedom)"
        + ("" if effect.known else "; one repetition tells too little: a winner is named from a factor of 2 on")
    )


def _heading(labels: tuple[str, str]) -> str:
    base, new = labels
    if base == new:
        return base
    problem, _, rest = base.partition("/")
    return f"{problem}: {rest}\n  → {new.partition('/')[2]}"


def _row(line: Compared) -> str:
    times = f"{formatting.duration(line.base_s)} → {formatting.duration(line.new_s)}"
    ratio = line.judgement.ratio
    measured = f"{formatting.ratio(ratio.estimate)} {_interval(ratio)}"
    name = _SHORT[line.series.quantity]
    return f"  {name:<15} {times:<17}  {measured:<18} {line.judgement.verdict:<9} p {_p(line):<6} n {ratio.n}"


def _notes(line: Compared, at: bool = True) -> Iterator[str]:
    series = line.series
    if at and series.quantity in _LOOPS:
        yield f"at {series.at}"
    if series.bound:
        side = "the first" if series.bound == "base" else "the second"
        yield f"{side} is known from above only: its loosest tolerance is already more accurate"
    if line.judgement.verdict is Verdict.UNDECIDED and not series.bound:
        yield _undecided(line)
    if line.disagrees and line.check is not None:
        yield f"the bootstrap disagrees: [{formatting.ratio(line.check.low)}, {formatting.ratio(line.check.high)}]"
    if line.left_out:
        yield f"without block {', '.join(map(str, line.left_out))}: no time on both sides"
    yield from series.notes


def _undecided(line: Compared) -> str:
    """Return why a line is undecided, or what would decide it."""
    if line.judgement.ratio.n < 2:
        return "undecided: a single process shows no spread"
    if line.judgement.held in (Held.RUN, Held.ALIKE, Held.DISTURBED):
        return f"undecided: {line.judgement.held}"
    more = line.judgement.more_processes
    return f"{more} more processes would decide" if more else "at the edge of the band, or too few processes to decide"


def _tail(comparison: Comparison, width: int) -> Iterator[str]:
    if comparison.uncompared:
        yield ""
        yield "not compared"
        grouped: dict[tuple[str, str], list[str]] = {}
        for item in comparison.uncompared:
            grouped.setdefault((item.label, item.reason), []).append(item.what)
        for (label, reason), changes in grouped.items():
            yield f"  {label}"
            yield from wrapped(f"{', '.join(changes)}: {reason}", width, "    ")
    if comparison.means:
        yield ""
        yield "geometric mean of the ratios, with its interval over the lines above"
        for quantity, mean in comparison.means.items():
            missing = f", {mean.missing} without a ratio" if mean.missing else ""
            interval = f"[{formatting.ratio(mean.low)}, {formatting.ratio(mean.high)}]"
            yield f"  {_SHORT[quantity]:<15}  {formatting.ratio(mean.estimate)} {interval} over {mean.n}{missing}"


def _rank(line: Compared) -> int:
    return _ORDER.index(line.judgement.verdict)


def _p(line: Compared) -> str:
    p = line.judgement.adjusted_p
    return "<0.001" if p < 0.001 else f"{p:.3f}" if line.judgement.ratio.n > 1 else "–"


def _interval(ratio: Ratio) -> str:
    return f"[{formatting.ratio(ratio.low)}, {formatting.ratio(ratio.high)}]"
