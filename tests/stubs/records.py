"""Measurements and records, as a worker would leave them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from stubs.tasks import stub_task

from sciml_bench.record.jsonl import sealed
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import GradientResult, PointResult, SolveResult
from sciml_bench.record.record import Measurement, Placement, Record


def stub_measurement(**changes: Any) -> Measurement:
    """A cell with one good point and one that ran out of steps."""
    good = PointResult(
        rtol=1e-4,
        atol=1e-4,
        outcome=Outcome.OK,
        solve=SolveResult(
            outcome=Outcome.OK,
            first_ns=2_000_000,
            ns=(1_000_000, 1_100_000, 1_050_000),
            warm_up_ns=(1_500_000,),
            scores={"scd": 4.2, "mescd": 4.6, "trajectory_error": 1e-4, "below_reference": False},
            statistics={"steps": 12.0},
            end_state=(0.3, 0.4),
            state_size=2,
        ),
        gradient=GradientResult(
            outcome=Outcome.OK,
            first_ns=9_000_000,
            ns=(3_000_000, 3_100_000, 3_050_000),
            warm_up_ns=(4_500_000,),
            scores={
                "error": None,
                "worst_group": None,
                "worst_component": "p[1]",
                "worst_component_error": 2e-3,
                "norm_error": 1e-3,
                "below_reference": False,
            },
            loss=1.5,
            values=(0.1, None),
            size=2,
        ),
        memory_growth_bytes=0,
    )
    failed = PointResult(
        1e-8,
        1e-8,
        Outcome.MAX_STEPS,
        "solve",
        "4096 steps",
        solve=SolveResult(Outcome.MAX_STEPS),
        gradient=GradientResult(Outcome.OK),
    )
    measurement = Measurement(
        outcome=Outcome.OK,
        phase=None,
        message="",
        stderr_tail="a warning: µ",
        started_at="2026-11-21T10:31:05.123+00:00",
        wall_s=1.25,
        phases_ns={"spawn": 1, "interpreter": 2},
        time_to_first_gradient_ns={"process": 5, "built": 3},
        points=(good, failed),
        peak_rss_bytes=100,
        threads={"affinity": "1"},
        versions={"python": "3.11.7"},
        compile_cache_files={"before": 0, "after": 3},
        conditions={"before": {"load_1min": 1.0}, "after": {"load_1min": 1.2}, "during": {"other_cpus": 0.01}},
        energy={"not_measurable": "this machine shows no energy counter of its processor"},
    )
    return dataclasses.replace(measurement, **changes)


def stub_record(cell_id: str = "0123456789ab", block: int = 0, **changes: Any) -> Record:
    """The record of :func:`stub_measurement`; ``changes`` go to the measurement."""
    placement = Placement(cell_id, block, 3, "idiomatic", "smoke", smoke_only=True, spec_hash="spec")
    return Record.of(stub_measurement(**changes), stub_task(), placement, "environment")


def sealed_line(record: Mapping[str, Any]) -> str:
    """The line of a record that is an edited one, with its own checksum."""
    return sealed(json.dumps({name: value for name, value in record.items() if name != "sha256"}))
