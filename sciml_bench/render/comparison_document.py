"""A comparison as plain JSON values, unrounded; infinite or unknown values are ``null``."""

from __future__ import annotations

import dataclasses
from typing import Any

from sciml_bench.analysis.comparison.compare import Compared, Comparison
from sciml_bench.analysis.tables.formatting import finite
from sciml_bench.stats.verdict import Verdict


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """Everything that the text shows, and more."""
    return {
        "base": comparison.base,
        "new": comparison.new,
        "paired_by_block": not comparison.between_runs,
        "run_effect": None
        if comparison.effect is None
        else {
            "sd_log": {quantity.value: sd for quantity, sd in comparison.effect.sd.items()},
            "runs": comparison.effect.runs,
            "degrees_of_freedom": comparison.effect.df,
        },
        "band": comparison.band,
        "family": comparison.family,
        "counts": {verdict.value: comparison.count(verdict) for verdict in Verdict},
        "worse": comparison.worse,
        "changes": [dataclasses.asdict(item) for item in comparison.changes],
        "lost": [dataclasses.asdict(item) for item in comparison.lost],
        "gained": [dataclasses.asdict(item) for item in comparison.gained],
        "only_base": list(comparison.only_base),
        "only_new": list(comparison.only_new),
        "noisy_processes": {"base": comparison.noisy[0], "new": comparison.noisy[1]},
        "comparisons": [_line(line) for line in comparison.lines],
        "not_compared": [dataclasses.asdict(item) for item in comparison.uncompared],
        "geometric_means": {name: finite(dataclasses.asdict(mean)) for name, mean in comparison.means.items()},
    }


def _line(line: Compared) -> dict[str, Any]:
    series, judgement = line.series, line.judgement
    return {
        "base_cell": series.base_label,
        "new_cell": series.new_label,
        "quantity": series.quantity.value,
        "at": series.at,
        "base_s": line.base_s,
        "new_s": line.new_s,
        "ratio": finite(dataclasses.asdict(judgement.ratio)),
        "verdict": judgement.verdict.value,
        "adjusted_p": judgement.adjusted_p,
        "more_processes": judgement.more_processes,
        "held": judgement.held,
        "bound": series.bound,
        "bootstrap": None if line.check is None else finite(dataclasses.asdict(line.check)),
        "bootstrap_disagrees": line.disagrees,
        "blocks_left_out": list(line.left_out),
        "notes": list(series.notes),
    }
