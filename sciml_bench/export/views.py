"""The views that a question may use, as SQL over the lines of a run's file."""

from __future__ import annotations

from sciml_bench.export.sql_types import columns
from sciml_bench.record.jsonl import LONGEST_LINE_BYTES
from sciml_bench.record.record import SCHEMA, Record
from sciml_bench.record.task import GRADIENT, GRADIENT_ERROR_BOUND, SOLVE, Cell

_WAYS = ("to", "from")
_HALVES = (SOLVE, GRADIENT)
_READ = (
    "record_id", "cell", "cell_id", "block", "order", "seed", "started_at", "division", "outcome", "phase", "message",
    "wall_s", "phases_ns", "time_to_first_gradient_ns", "peak_rss_bytes", "peak_device_bytes", "peak_array_bytes",
    "environment_hash", "profile", "caches", "noisy", "attempt", "points", "training",
)  # fmt: skip
"""The fields of a record that the views read; the others would take time and memory."""
_COLUMNS = {"schema": "INTEGER"} | {name: kind for name, kind in columns(Record).items() if name in _READ}

CREATE_RAW = f"""
CREATE TABLE raw ("run" VARCHAR, "line" BIGINT, {", ".join(f'"{name}" {kind}' for name, kind in _COLUMNS.items())})"""


def insert_raw(with_points: bool, with_training: bool) -> str:
    """Read one run's file into ``raw``: its first parameter is the run's name, its second the file.

    Lines that hold no record are left out. Without points and training, as records alone need them not, much less is
    read.
    """
    wanted = {"points": with_points, "training": with_training}
    read = {name: kind for name, kind in _COLUMNS.items() if wanted.get(name, True)}
    described = ", ".join(f"'{name}': '{kind}'" for name, kind in read.items())
    chosen = ", ".join(f'"{name}"' for name in read)
    return f"""
INSERT INTO raw BY NAME
SELECT ? AS "run", row_number() OVER () AS "line", {chosen}
FROM read_json(?, format = 'newline_delimited', columns = {{{described}}}, ignore_errors = true,
               maximum_object_size = {LONGEST_LINE_BYTES})
WHERE record_id IS NOT NULL AND cell IS NOT NULL AND "schema" = {SCHEMA}"""


_CELL_COLUMNS = ", ".join(f"cell.{name} AS {name}" for name in columns(Cell))

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
    time_to_first_gradient_ns['process'] / 1e9 AS first_gradient_s,
    time_to_first_gradient_ns['built'] / 1e9 AS first_gradient_from_built_s,
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
            _loop(half, "steady", f"{half}.ns", counted, f"{half}.inside['ns']"),
        ]
    return found


_SAMPLES = f"CREATE VIEW samples AS {' UNION ALL '.join(_loops())}"

OF_POINTS = (_UNNESTED, _POINTS, _SAMPLES)
"""The views that need the points of the records, in the order in which they are made."""
