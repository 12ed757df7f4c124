"""Records of earlier schemas, brought to the fields of the newest one. What was not measured then stays unknown.

Schema 2 (from 1): cold and warm compile caches are told apart, phases do not contain each other, and conditions,
disturbances, energy and the attempt are recorded. All cells of schema 1 were cold and measured once; what frameworks
did inside a first call was not told, so that call's phase is still whole.

Schema 3 (from 2): the error of a gradient is that of d loss / d log p with no component left out, and the worst
component has a name. Before, points were accepted by the relative error of the raw gradient, now ``norm_error``; the
relative error of d loss / d log p was kept beside it and is read as ``error``. In it all components were one group,
each weight of a network was measured by its own magnitude, and components of theta that are zero did not count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

SCHEMA = 3
"""The schema in which records are written."""

SCORED_BY_COMPONENT = 3
"""The first schema whose gradients were held against their bound component by component."""


def migrated(data: Mapping[str, Any]) -> dict[str, Any]:
    """The same record with the fields of the newest schema; ``schema`` keeps saying in which it was written.

    ``ValueError`` when it has no schema, or one that this version does not know.
    """
    schema = data.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise ValueError("not a record: it has no schema version")
    if schema > SCHEMA:
        raise ValueError(f"written by a newer version (schema {schema}, known up to {SCHEMA}): upgrade sciml-bench")
    record = dict(data)
    for step in _STEPS[schema - 1 :]:
        record = step(record)
    return record


_UNKNOWN_OF_POINTS = (
    "solve_steady", "gradient_steady", "solve_inside", "gradient_inside", "solve_working_bytes",
    "gradient_working_bytes", "trajectories", "slopes", "invariants", "batch",
)  # fmt: skip


def _from_1(record: dict[str, Any]) -> dict[str, Any]:
    added: dict[str, Any] = {
        "attempt": 0,
        "caches": "cold",
        "compile_cache_hits": None,
        "conditions": {},
        "energy": None,
        "fill_s": 0.0,
        "framework_phases_ns": {},
        "noisy": [],
        "stability": [],
        "peak_device_bytes": None,
        "training": None,
        "waited_s": 0.0,
    }
    points = record.get("points", [])
    if isinstance(points, list) and all(isinstance(point, dict) for point in points):
        unknown = dict.fromkeys(_UNKNOWN_OF_POINTS)
        record = record | {"points": [unknown | point for point in points]}
    return added | record


_SCORES_OF_2 = {
    "log_relative_error": "error",
    "relative_error": "norm_error",
    "worst_component_error": "worst_component_error",
    "below_reference": "below_reference",
}


def _from_2(record: dict[str, Any]) -> dict[str, Any]:
    points = record.get("points", [])
    if isinstance(points, list) and all(isinstance(point, dict) for point in points):
        record = record | {"points": [_rescored(point) for point in points]}
    return record


def _rescored(point: dict[str, Any]) -> dict[str, Any]:
    scores = point.get("gradient_scores")
    # Those of models are other ones, and have not changed.
    if not isinstance(scores, dict) or "relative_error" not in scores:
        return point
    again = {name: scores.get(old) for old, name in _SCORES_OF_2.items()}
    return point | {"gradient_scores": again | {"worst_component": None}}


_STEPS: tuple[Callable[[dict[str, Any]], dict[str, Any]], ...] = (_from_1, _from_2)
