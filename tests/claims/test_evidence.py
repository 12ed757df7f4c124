"""The numbers of both sides of a claim."""

from __future__ import annotations

import pytest
from stubs.reported import cell, plan, point, record

from sciml_bench.analysis.summary import summarise
from sciml_bench.claims.collection import find
from sciml_bench.claims.evidence import evidence
from sciml_bench.record.point import PointResult


def test_a_step_is_a_solve_over_its_accepted_steps():
    sides = {"fair.fast": cell("fast", "torchode"), "fair.slow": cell("slow", "torchdiffeq")}
    told = plan(list(sides.values()))
    claim = find("C09-step")
    told |= {"claimed": {"claim": claim.id, "cells": {name: which.label for name, which in sides.items()}}}

    def ran(ms: float, steps: float) -> list[PointResult]:
        solve = {"statistics": {"n_accepted": steps}}
        return [point(1e-4, solve_ms=ms, mescd=4.0, solve=solve), point(1e-6, solve_ms=ms, mescd=6.0, solve=solve)]

    # Four times as long a solve, but twice as many steps: a step takes twice as long.
    records = [record(sides["fair.fast"], ran(10.0, 50.0)), record(sides["fair.slow"], ran(40.0, 100.0))]
    for found in evidence(claim, "fair", summarise(told, records)):
        assert found.ratio is not None
        assert found.ratio.estimate == pytest.approx(2.0)
        assert found.fast.blocks[0] == pytest.approx(10e-3 / 50)


def test_a_solve_without_counted_steps_has_no_time_of_a_step():
    sides = {"fair.fast": cell("fast", "torchode"), "fair.slow": cell("slow", "torchdiffeq")}
    claim = find("C09-step")
    told = plan(list(sides.values()))
    told |= {"claimed": {"claim": claim.id, "cells": {name: which.label for name, which in sides.items()}}}
    records = [record(which, [point(1e-4, solve_ms=1.0)]) for which in sides.values()]
    assert all(found.ratio is None for found in evidence(claim, "fair", summarise(told, records)))
