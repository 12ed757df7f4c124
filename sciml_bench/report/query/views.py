"""The views that a question may use, as SQL over the lines of a run's file.

``raw`` holds what the views need of each record; it is read from the file itself, and only what a question names is.
"""

from __future__ import annotations

from sciml_bench.store.migration import SCHEMA
from sciml_bench.task import GRADIENT_ERROR_BOUND

_CELL = "STRUCT(problem VARCHAR, adapter VARCHAR, method VARCHAR, sensitivity VARCHAR, mode VARCHAR, \
precision VARCHAR, device VARCHAR)"
_STEADY = 'STRUCT("class" VARCHAR, "start" BIGINT)'
_INSIDE = "STRUCT(ns BIGINT[], gc_ns BIGINT[], compile_ns BIGINT[])"
_POINT = f"""STRUCT(
    rtol DOUBLE, atol DOUBLE, outcome VARCHAR, phase VARCHAR, message VARCHAR,
    solve_outcome VARCHAR, gradient_outcome VARCHAR, first_solve_ns BIGINT, first_gradient_ns BIGINT,
    solve_ns BIGINT[], gradient_ns BIGINT[], warm_up_solve_ns BIGINT[], warm_up_gradient_ns BIGINT[],
    solve_scores STRUCT(scd DOUBLE, trajectory_error DOUBLE, below_reference BOOLEAN),
    gradient_scores STRUCT(
        error DOUBLE, log_relative_error DOUBLE, worst_component VARCHAR, worst_component_error DOUBLE,
        below_reference BOOLEAN),
    solve_statistics MAP(VARCHAR, DOUBLE), gradient_statistics MAP(VARCHAR, DOUBLE),
    memory_growth_bytes BIGINT, solve_working_bytes BIGINT, gradient_working_bytes BIGINT,
    trajectories STRUCT(size BIGINT, shared_steps BOOLEAN, n_steps BIGINT[]), truncated BOOLEAN,
    invariants MAP(VARCHAR, STRUCT("initial" DOUBLE, drift DOUBLE)),
    solve_steady {_STEADY}, gradient_steady {_STEADY},
    solve_inside {_INSIDE}, gradient_inside {_INSIDE})"""

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
    "environment_hash": "VARCHAR",
    "profile": "VARCHAR",
    "caches": "VARCHAR",
    "noisy": "VARCHAR[]",
    "attempt": "INTEGER",
    "points": f"{_POINT}[]",
    "training": _TRAINING,
}

# A record with very many samples is a long line.
_LONGEST_LINE_BYTES = 2**29

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
               maximum_object_size = {_LONGEST_LINE_BYTES})
WHERE record_id IS NOT NULL AND cell IS NOT NULL AND "schema" BETWEEN 1 AND {SCHEMA}"""


_CELL_COLUMNS = """cell.problem AS problem, cell.adapter AS adapter, cell.method AS method,
    cell.sensitivity AS sensitivity, cell.mode AS mode, cell.precision AS precision, cell.device AS device"""

# The record that counts: of the highest attempt, and of equal ones the later line (store.counting).
_COUNTED = """
CREATE VIEW counted AS
SELECT * REPLACE (coalesce(attempt, 0) AS attempt), row_number() OVER (
    PARTITION BY "run", cell_id, block ORDER BY coalesce(attempt, 0) DESC, "line" DESC) = 1 AS counts
FROM raw"""

_RECORDS = f"""
CREATE VIEW records AS
SELECT "run", record_id, cell_id, block, attempt, counts, {_CELL_COLUMNS},
    division, profile, outcome, phase, message, started_at, "order", seed, wall_s,
    time_to_first_gradient_ns.process / 1e9 AS first_gradient_s,
    time_to_first_gradient_ns.built / 1e9 AS first_gradient_from_built_s,
    peak_rss_bytes, peak_device_bytes, nullif(array_to_string(noisy, '; '), '') AS disturbed,
    coalesce(caches, 'cold') AS caches, environment_hash, phases_ns
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
SELECT "run", record_id, cell_id, block, attempt, counts, cell,
    generate_subscripts(points, 1) - 1 AS point, unnest(points) AS p
FROM counted"""


# Under its first name in records of the schemas before 3 (store.migration).
_GRADIENT_ERROR = "coalesce(p.gradient_scores.error, p.gradient_scores.log_relative_error)"
_GRADIENT_RIGHT = (
    f"p.gradient_outcome = 'ok' AND (coalesce({_GRADIENT_ERROR}, 0) <= {GRADIENT_ERROR_BOUND} "
    "OR coalesce(p.gradient_scores.below_reference, false))"
)


def _seconds(half: str, right: str) -> str:
    """The median of the calls that count; nothing where the half is not right (measure.point)."""
    counted = f'p.{half}_ns[coalesce(p.{half}_steady."start", 0) + 1 :]'
    return f"CASE WHEN {right} THEN list_median({counted}) / 1e9 END AS {half}_s"


_POINTS = f"""
CREATE VIEW points AS
SELECT "run", record_id, cell_id, block, attempt, counts, {_CELL_COLUMNS},
    point, p.rtol AS rtol, p.atol AS atol, p.outcome AS outcome, p.phase AS phase, p.message AS message,
    p.solve_outcome AS solve_outcome, p.gradient_outcome AS gradient_outcome,
    {_seconds("solve", "p.solve_outcome = 'ok'")},
    {_seconds("gradient", _GRADIENT_RIGHT)},
    len(p.solve_ns) AS solve_calls, len(p.gradient_ns) AS gradient_calls,
    p.solve_scores.scd AS scd, p.solve_scores.trajectory_error AS solution_error,
    {_GRADIENT_ERROR} AS gradient_error,
    p.gradient_scores.worst_component AS worst_component,
    p.gradient_scores.worst_component_error AS worst_component_error,
    p.solve_scores.below_reference AS solution_error_is_a_bound,
    p.gradient_scores.below_reference AS gradient_error_is_a_bound,
    p.solve_steady."class" AS solve_class, p.gradient_steady."class" AS gradient_class,
    p.memory_growth_bytes AS memory_growth_bytes, p.solve_working_bytes AS solve_working_bytes,
    p.gradient_working_bytes AS gradient_working_bytes, p.truncated AS truncated,
    p.trajectories.size AS trajectories, p.trajectories.shared_steps AS shared_steps,
    p.trajectories.n_steps AS trajectory_steps, p.invariants AS invariants,
    p.solve_statistics AS solve_statistics, p.gradient_statistics AS gradient_statistics
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
        first = f"CASE WHEN p.first_{half}_ns IS NULL THEN [] ELSE [p.first_{half}_ns] END"
        counted = (
            f"coalesce(p.{half}_outcome = 'ok' AND generate_subscripts(p.{half}_ns, 1) > "
            f'coalesce(p.{half}_steady."start", 0), false)'
        )
        found += [
            _loop(half, "first", first, "false"),
            _loop(half, "warm_up", f"p.warm_up_{half}_ns", "false"),
            _loop(half, "steady", f"p.{half}_ns", counted, f"p.{half}_inside.ns"),
        ]
    return found


_SAMPLES = f"CREATE VIEW samples AS {' UNION ALL '.join(_loops())}"

OF_POINTS = (_UNNESTED, _POINTS, _SAMPLES)
"""The views that need the points of the records, in the order in which they are made."""
