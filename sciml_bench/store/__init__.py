"""Run folders, records and environments: what was measured, kept so that nothing measured is ever lost."""

from __future__ import annotations

from sciml_bench.store.counting import counting_records, supersedes
from sciml_bench.store.environment import environment_facts, environment_hash
from sciml_bench.store.lines import DamagedLine
from sciml_bench.store.migration import SCHEMA, SCORED_BY_COMPONENT
from sciml_bench.store.record import Placement, Record, read_records
from sciml_bench.store.run import Run

__all__ = [
    "SCHEMA",
    "SCORED_BY_COMPONENT",
    "DamagedLine",
    "Placement",
    "Record",
    "Run",
    "counting_records",
    "environment_facts",
    "environment_hash",
    "read_records",
    "supersedes",
]
