"""Records of earlier schemas, brought to the fields of the newest one. Measurements that did not exist then stay
unknown.

Schema 2 (from 1): cold and warm compile caches are distinguished, phases do not contain each other, and conditions,
disturbances, energy and the attempt are recorded. All cells of schema 1 were cold and measured once; frameworks' work
inside a first call was not reported, so that call's phase is still whole.

Schema 3 (from 2): the error of a gradient is that of d loss / d log p with no component left out, and the worst
component has a name. Before, points were accepted by the relative error of the raw gradient, now ``norm_error``; the
relative error of d loss / d log p was kept beside it and is read as ``error``. In it all components were one group,
each weight of a network was measured by its own magnitude, and components of theta that are zero did not count.

Schema 4 (from 3): the solves and the gradients of a point have one form, under ``solve`` and ``gradient``; before, each
of their fields had its own name, ``solve_ns`` and ``gradient_ns``. Gradients without a reference are checked by
differences of the loss, or ``unchecked``; before, they were ``ok``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

SCHEMA = 4
"""The schema in which records are written."""

FROM_SCHEMA = "from_schema"
"""The key under which a record that was read in an earlier schema, and written again, says in which."""

SAME_CONTENT = 3
"""From this schema on records hold the same: only the places of their fields have changed since."""

SCORED_BY_COMPONENT = 3
"""The first schema whose gradients were compared with their bound component by component."""


CHECKED_WITHOUT_REFERENCE = 4
"""The first schema in which a gradient is ok only if something checked it."""


def migrated(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with the fields of the newest schema; ``schema`` remains the one it was written in.

    ``ValueError`` when it has no schema, or one that this version does not know.
    """
    schema = data.get("schema")
    if not _is_schema(schema):
        raise ValueError("not a record: it has no schema version")
    if schema > SCHEMA:
        raise ValueError(f"written by a newer version (schema {schema}, known up to {SCHEMA}): upgrade sciml-bench")
    record = dict(data)
    for step in _STEPS[schema - 1 :]:
        record = step(record)
    first = data.get(FROM_SCHEMA, schema)
    if not _is_schema(first) or first > schema:
        raise ValueError(f"{FROM_SCHEMA}: a schema up to {schema} expected")
    return record | {"schema": first}


def stamp(first: int) -> dict[str, Any]:
    """What a line says of its schema whose record was first written in the schema ``first``."""
    return {"schema": SCHEMA} | ({} if first == SCHEMA else {FROM_SCHEMA: first})


def _is_schema(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


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


_HALF_OF_3 = {
    "outcome": "{half}_outcome", "first_ns": "first_{half}_ns", "warm_up_ns": "warm_up_{half}_ns", "ns": "{half}_ns",
    "steady": "{half}_steady", "inside": "{half}_inside", "statistics": "{half}_statistics",
    "scores": "{half}_scores", "working_bytes": "{half}_working_bytes",
}  # fmt: skip
PLACES_OF_3 = {
    "solve": {
        **{name: old.format(half="solve") for name, old in _HALF_OF_3.items()},
        "end_state": "end_state", "state_size": "state_size", "trajectories": "trajectories",
        "invariants": "invariants",
    },
    "gradient": {
        **{name: old.format(half="gradient") for name, old in _HALF_OF_3.items()},
        "loss": "loss", "values": "gradient", "size": "gradient_size", "slopes": "slopes",
    },
}  # fmt: skip
"""Where schema 3 has the fields of each half of a point."""


def _from_3(record: dict[str, Any]) -> dict[str, Any]:
    points = record.get("points", [])
    if isinstance(points, list) and all(isinstance(point, dict) for point in points):
        record = record | {"points": [_in_halves(point) for point in points]}
    return record


_MOVED = frozenset(old for places in PLACES_OF_3.values() for old in places.values())


def _in_halves(point: dict[str, Any]) -> dict[str, Any]:
    halves = {
        half: {name: point[old] for name, old in places.items() if old in point} for half, places in PLACES_OF_3.items()
    }
    return {key: value for key, value in point.items() if key not in _MOVED} | halves


_STEPS: tuple[Callable[[dict[str, Any]], dict[str, Any]], ...] = (_from_1, _from_2, _from_3)
