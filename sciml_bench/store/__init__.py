"""Run folders, records and environments: what was measured, kept so that nothing measured is ever lost."""

from __future__ import annotations

from sciml_bench.store.environment import environment_facts, environment_hash
from sciml_bench.store.lines import DamagedLine
from sciml_bench.store.record import SCHEMA, Placement, Record, read_records
from sciml_bench.store.run import Run

__all__ = [
    "SCHEMA",
    "DamagedLine",
    "Placement",
    "Record",
    "Run",
    "environment_facts",
    "environment_hash",
    "read_records",
]
