"""The views that a question may use, as SQL over the lines of a run's file."""

from __future__ import annotations

from collections.abc import Mapping

from sciml_bench.record.jsonl import LONGEST_LINE_BYTES
from sciml_bench.record.record import SCHEMA
from sciml_bench.record.task import GRADIENT, GRADIENT_ERROR_BOUND, SOLVE

_CELL = "STRUCT(problem VARCHAR, adapter VARCHAR, method VARCHAR, sensitivity VARCHAR, mode VARCHAR, \
precision VARCHAR, device VARCHAR, saving VARCHAR)"
_STEADY = 'STRUCT("class" VARCHAR, "start" BIGINT)'
_WAYS = ("to", "from")
_INSIDE = "STRUCT(ns BIGINT[], gc_ns BIGINT[], compile_ns BIGINT[])"
_HALF = {
    "outcome": "VARCHAR", "first_ns": "BIGINT", "warm_up_ns": "BIGINT[]", "ns": "BIGINT[]", "steady": _STEADY,
    "inside": _INSIDE, "prepare_ns": "BIGINT", "statistics": "MAP(VARCHAR, DOUBLE)", "working_bytes": "BIGINT",
    "to_device_ns": "BIGINT[]", "from_device_ns": "BIGINT[]",
}  # fmt: skip
_SOLVE = _HALF | {
    "scores": "STRUCT(scd DOUBLE, trajectory_error DOUBLE, below_reference BOOLEAN)",
    "trajectories": "STRUCT(size BIGINT, shared_steps BOOLEAN, n_steps BIGINT[])",
    "invariants": 'MAP(VARCHAR, STRUCT("initial" DOUBLE, drift DOUBLE))',
}
_GRADIENT = _HALF | {
    "scores": "STRUCT(error DOUBLE, worst_component VARCHAR, worst_component_error DOUBLE, below_reference BOOLEAN)"
}
_HALVES = {SOLVE: _SOLVE, GRADIENT: _GRADIENT}


def _struct(fields: Mapping[str, str]) -> str:
    return f"STRUCT({', '.join(f'{name} {kind}' for name, kind in fields.items())})"


_OF_POINT = {
    "rtol": "DOUBLE", "atol": "DOUBLE", "outcome": "VARCHAR", "phase": "VARCHAR", "message": "VARCHAR",
    "batch": "BIGINT", "memory_growth_bytes": "BIGINT", "truncated": "BOOLEAN",
    SOLVE: _struct(_SOLVE), GRADIENT: _struct(_GRADIENT),
}  # fmt: skip
_POINT = _struct(_OF_POINT)

_TRAINING = """STRUCT(
    settings STRUCT(optimiser VARCHAR, learning_rate DOUBLE, steps BIGINT, target DOUBLE, rtol DOUBLE, atol DOUBLE),
    outcome VARCHAR, message VARCHAR, losses DOUBLE[], step_ns BIGINT[])"""

_COLUMNS = {
    "schema": "INTEGER",
    "record_id": "VARCHAR",
    "cell": _CELL,
    "cell_id": "VARCHAR",
    "block": "INTEGER",
    "order": "INTEGER",
    "seed": "BIGINT",
    "started_at": "VARCHAR",
    "division": "VARCHAR",
    "outcome": "VARCHAR",
    "phase": "VARCHAR",
    "message": "VARCHAR",
    "wall_s": "DOUBLE",
    "phases_ns": "MAP(VARCHAR, BIGINT)",
    "time_to_first_gradient_ns": "STRUCT(process BIGINT, built BIGINT)",
    "peak_rss_bytes": "BIGINT",
    "peak_device_bytes": "BIGINT",
    "peak_array_bytes": "BIGINT",
    "environment_hash": "VARCHAR",
    "profile": "VARCHAR",
    "caches": "VARCHAR",
    "noisy": "VARCHAR[]",
    "attempt": "INTEGER",
    "points": f"{_POINT}[]",
    "training": _TRAINING,
}

CREATE_RAW = f"""
CREATE TABLE raw ("run" VARCHAR, "line" BIGINT, {", ".join(f'"{name}" {kind}' for name, kind in _COLUMNS.items())})"""


def insert_raw(with_points: bool, with_training: bool) -> str:
    """Read one run's file into ``raw``: its first parameter is the run's name, its second the file.

    Lines that hold no record are left out. Without points and training, as records alone need them not, much less is
    read.
    """
    wanted = {"points": with_points, "training": with_training}
    columns = {name: kind for name, kind in _COLUMNS.items() if wanted.get(name, True)}
    described = ", ".join(f"'{name}': '{kind}'" for name, kind in columns.items())
    chosen = ", ".join(f'"{name}"' for name in columns)
    return f"""
INSERT INTO raw BY NAME
SELECT ? AS "run", row_number() OVER () AS "line", {chosen}
FROM read_json(?, format = 'newline_delimited', columns = {{{described}}}, ignore_errors = true,
               maximum_object_size = {LONGEST_LINE_BYTES})
WHERE record_id IS NOT NULL AND cell IS NOT NULL AND "schema" = {SCHEMA}"""


_CELL_COLUMNS = """cell.problem AS problem, cell.adapter AS adapter, cell.method AS method,
    cell.sensitivity AS sensitivity, cell.mode AS mode, cell.precision AS precision, cell.device AS device,
    cell.saving AS saving"""

# The record that counts: of the highest attempt, and of equal ones the later line (store.counting).
_COUNTED = """
CREATE VIEW counted AS
SELECT *, row_number() OVER (
    PARTITION BY "run", cell_id, block ORDER BY attempt DESC, "line" DESC) = 1 AS counts
FROM raw"""

_RECORDS = f"""
CREATE VIEW records AS
SELECT "run", record_id, cell_id, block, attempt, counts, {_CELL_COLUMNS},
    division, profile, outcome, phase, message, started_at, "order", seed, wall_s,
    time_to_first_gradient_ns.process / 1e9 AS first_gradient_s,
    time_to_first_gradient_ns.built / 1e9 AS first_gradient_from_built_s,
    peak_rss_bytes, peak_device_bytes, peak_array_bytes, nullif(array_to_string(noisy, '; '), '') AS disturbed,
    caches, environment_hash, phases_ns
FROM counted"""

_TRAININGS = f"""
CREATE VIEW trainings AS
SELECT "run", record_id, cell_id, block, attempt, counts, {_CELL_COLUMNS}, profile,
    training.settings.optimiser AS optimiser, training.settings.learning_rate AS learning_rate,
    training.settings.rtol AS rtol, training.settings.atol AS atol, training.settings.target AS target,
    training.outcome AS outcome, training.message AS message,
    generate_subscripts(training.step_ns, 1) AS step, unnest(training.step_ns) / 1e9 AS seconds,
    unnest(training.losses) AS loss
FROM counted"""

OF_RECORDS = (_COUNTED, _RECORDS, _TRAININGS)
"""The views that need no points, in the order in which they are made."""


_UNNESTED = """
CREATE VIEW unnested AS
SELECT *, p.solve AS solve, p.gradient AS gradient
FROM (
    SELECT "run", record_id, cell_id, block, attempt, counts, cell,
        generate_subscripts(points, 1) - 1 AS point, unnest(points) AS p
    FROM counted)"""

_GRADIENT_RIGHT = (
    "gradient.outcome = 'ok' AND (p.batch IS NOT NULL OR gradient.scores IS NOT NULL) "
    f"AND (coalesce(gradient.scores.error, 0) <= {GRADIENT_ERROR_BOUND} "
    "OR coalesce(gradient.scores.below_reference, false))"
)


def _seconds(half: str, right: str) -> str:
    """The median of the calls that count; nothing where the half is not right (measure.point)."""
    counted = f'{half}.ns[coalesce({half}.steady."start", 0) + 1 :]'
    return f"CASE WHEN {right} THEN list_median({counted}) / 1e9 END AS {half}_s"


_POINTS = f"""
CREATE VIEW points AS
SELECT "run", record_id, cell_id, block, attempt, counts, {_CELL_COLUMNS},
    point, p.rtol AS rtol, p.atol AS atol, p.outcome AS outcome, p.phase AS phase, p.message AS message,
    solve.outcome AS solve_outcome, gradient.outcome AS gradient_outcome,
    {_seconds("solve", "solve.outcome = 'ok'")},
    {_seconds("gradient", _GRADIENT_RIGHT)},
    len(solve.ns) AS solve_calls, len(gradient.ns) AS gradient_calls,
    solve.scores.scd AS scd, solve.scores.trajectory_error AS solution_error,
    gradient.scores.error AS gradient_error,
    gradient.scores.worst_component AS worst_component,
    gradient.scores.worst_component_error AS worst_component_error,
    solve.scores.below_reference AS solution_error_is_a_bound,
    gradient.scores.below_reference AS gradient_error_is_a_bound,
    solve.steady."class" AS solve_class, gradient.steady."class" AS gradient_class,
    p.memory_growth_bytes AS memory_growth_bytes, solve.working_bytes AS solve_working_bytes,
    gradient.working_bytes AS gradient_working_bytes, p.truncated AS truncated,
    {", ".join(f"list_median({h}.{way}_device_ns) / 1e9 AS {h}_{way}_device_s" for h in _HALVES for way in _WAYS)},
    solve.trajectories.size AS trajectories, solve.trajectories.shared_steps AS shared_steps,
    solve.trajectories.n_steps AS trajectory_steps, solve.invariants AS invariants,
    solve.statistics AS solve_statistics, gradient.statistics AS gradient_statistics
FROM unnested"""


def _loop(half: str, loop: str, samples: str, counted: str, inside: str = "[]") -> str:
    """One loop; of calls behind a bridge with what the framework itself timed of each."""
    return f"""
SELECT "run", record_id, cell_id, block, attempt, counts, {_CELL_COLUMNS}, point, p.rtol AS rtol,
    '{half}' AS "call", '{loop}' AS "loop", generate_subscripts({samples}, 1) AS "number",
    unnest({samples}) / 1e9 AS seconds, unnest(CAST({inside} AS BIGINT[])) / 1e9 AS inside_s, {counted} AS counted
FROM unnested"""


def _loops() -> list[str]:
    found: list[str] = []
    for half in ("solve", "gradient"):
        first = f"CASE WHEN {half}.first_ns IS NULL THEN [] ELSE [{half}.first_ns] END"
        counted = (
            f"coalesce({half}.outcome = 'ok' AND generate_subscripts({half}.ns, 1) > "
            f'coalesce({half}.steady."start", 0), false)'
        )
        found += [
            _loop(half, "first", first, "false"),
            _loop(half, "warm_up", f"{half}.warm_up_ns", "false"),
            _loop(half, "steady", f"{half}.ns", counted, f"{half}.inside.ns"),
        ]
    return found


_SAMPLES = f"CREATE VIEW samples AS {' UNION ALL '.join(_loops())}"

OF_POINTS = (_UNNESTED, _POINTS, _SAMPLES)
"""The views that need the points of the records, in the order in which they are made."""
