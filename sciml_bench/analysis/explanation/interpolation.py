"""The cost of interpolating values at saved times, if the same cell was also measured with steps that end there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sciml_bench.analysis.ranking import time_of
from sciml_bench.analysis.rows import Row
from sciml_bench.analysis.tables import formatting
from sciml_bench.record.task import DEFAULT_SAVING, LANDING
from sciml_bench.stats.axis_error import on_axis
from sciml_bench.stats.ratio import paired_ratio


def interpolation_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a sentence for each cell that was measured both ways: times of one over the other at equal accuracy."""
    known = {row.summary.cell: row for row in rows}
    for cell, landing in known.items():
        twin = known.get(replace(cell, saving=DEFAULT_SAVING))
        if cell.saving != LANDING or twin is None:
            continue
        told = [text for quantity in ("solve", "gradient") if (text := _factor(landing, twin, quantity))]
        if told:
            made = " and ".join(told)
            yield f"{twin.name}: interpolating at the saved times, instead of ending steps there, makes {made}"


def _factor(landing: Row, twin: Row, quantity: str) -> str:
    base, new = time_of(landing, quantity), time_of(twin, quantity)
    pairs = [
        (time, other) for block, time in base.blocks.items() if time is not None and (other := new.blocks.get(block))
    ]
    if not pairs:
        missing = base.seconds is not None and new.seconds is None and bool(new.reason)
        return f"a {quantity} miss the accuracy of the table ({new.reason})" if missing else ""
    if base.at_most and new.at_most:
        return ""
    found = paired_ratio([time for time, _ in pairs], [other for _, other in pairs])
    found = on_axis(found, base.axis, new.axis)
    interval = "" if found.n == 1 else f" [{formatting.ratio(found.low)}, {formatting.ratio(found.high)}]"
    bound = "at least " if base.at_most else "at most " if new.at_most else ""
    return f"a {quantity} take {bound}{formatting.ratio(found.estimate)}{interval} times as long at equal accuracy"
