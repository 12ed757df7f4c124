"""A record that was changed after it was written, and by how much that would change the tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from sciml_bench.record.record import Record

Times = Mapping[tuple[str, float], float]
"""The medians of a record's loops in ns, by the kind of call and the relative tolerance."""


def times_of(record: Record) -> Times:
    """The medians of a record's loops."""
    return {
        (kind, point.rtol): median(half.ns)
        for point in record.points
        for kind, half in point.halves.items()
        if len(half.ns) > 0
    }


@dataclass(frozen=True)
class Changed:
    """A changed record: its cell and that cell's label, and its times."""

    cell_id: str
    label: str
    times: Times

    def against(self, unchanged: Mapping[str, Sequence[Times]]) -> str:
        """The largest difference from the unchanged records of its cell, for a sentence."""
        found: dict[tuple[str, float], tuple[float, int]] = {}
        for key, ns in self.times.items():
            others = [times[key] for times in unchanged.get(self.cell_id, ()) if key in times]
            if others and ns > 0 and median(others) > 0:
                found[key] = ns / median(others), len(others)
        if not found:
            return "and no other process of the cell has the same loops"
        (kind, rtol), (ratio, count) = max(found.items(), key=lambda item: abs(math.log(item[1][0])))
        processes = "the other process" if count == 1 else f"the {count} other processes"
        return (
            f"and it is in no table: its {kind}s at rtol {rtol:g} took {ratio:.3g} times as long as in {processes} of "
            "the cell"
        )
