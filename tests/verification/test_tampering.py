"""A copy of a run that was tampered with breaks exactly the right rule."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stubs.verifiable import MadeRun, again, made_run, point
from verification.test_verify import broken, told

from sciml_bench.verification.rules import edition


def tampering(run: MadeRun) -> dict[str, tuple[str, Callable[[], Any]]]:
    """What a dishonest or unlucky hand does to a run, the rule that must catch it."""
    record = run.records[1]
    first = point(run, 2)

    def faster() -> None:
        first["solve"]["ns"] = sorted(first["solve"]["ns"])[:2]

    def slower() -> None:
        first["solve"]["ns"] = [ns * 10**3 for ns in first["solve"]["ns"]]

    def swap() -> None:
        run.records[0], run.records[1] = run.records[1], run.records[0]

    def swap_in_the_plan() -> None:
        run.plan["cells"].reverse()
        run.seal()

    def pretend() -> None:
        first["solve"]["scores"] = first["solve"]["scores"] | {"scd": 9.0, "mescd": 9.0, "trajectory_error": 1e-9}

    def pretend_a_gradient() -> None:
        first["gradient"]["scores"] = first["gradient"]["scores"] | {"error": 1e-12}

    def other_solution() -> None:
        first["solve"]["end_state"] = [value * 1.5 for value in first["solve"]["end_state"]]

    def hide_failure() -> None:
        run.plan["cells"] = run.plan["cells"][:1]

    def copied_block() -> None:
        copied = copy.deepcopy(run.records[0])
        kept = run.records[4]
        for name in ("block", "order", "seed", "started_at", "record_id", "cell", "cell_id", "compile_cache_files",
                     "compile_cache_hits", "caches"):  # fmt: skip
            copied[name] = kept[name]
        run.records[4] = copied

    def grown_caches() -> None:
        for warm in (record for record in run.records if record["cell"]["mode"] != "eager"):
            warm.update(compile_cache_hits=None, compile_cache_files={"before": 3, "after": 5})

    def ended(outcome: str, message: str) -> None:
        first.update(outcome=outcome, message=message)
        first["solve"].update(outcome=outcome)

    def hit_elsewhere() -> None:
        cold = [record for record in run.records if record["cell"]["mode"] == "eager"]
        for item in cold:
            item.update(compile_cache_hits=1, compile_cache_files={"before": 0, "after": 0})

    return {
        "a sample is negative": ("sample_values", lambda: first["solve"]["ns"].__setitem__(0, -5)),
        "a sample is half a nanosecond": ("lines", lambda: first["solve"]["ns"].__setitem__(0, 1.5)),
        "slow samples are left out": ("sample_counts", faster),
        "samples are scaled up": ("wall", slower),
        "the wall time is cut": ("wall", lambda: record.update(wall_s=1.1)),
        "phases are scaled up": ("wall", lambda: record["phases_ns"].update(points=10**10)),
        "the first gradient is made early": (
            "first_gradient",
            lambda: record.update(time_to_first_gradient_ns={"process": 10**6, "built": 10**5}),
        ),
        "records are put in another order": ("sequence", swap),
        "the plan's order is changed": ("place", swap_in_the_plan),
        "the position is changed": ("place", lambda: record.update(order=7)),
        "the plan is cut": ("plan", hide_failure),
        "the block does not exist": ("place", lambda: record.update(block=9)),
        "a record is removed": ("complete", lambda: run.records.pop(3)),
        "a record is copied": ("duplicates", lambda: run.records.append(copy.deepcopy(run.records[5]))),
        "samples are copied to another block": ("duplicates", copied_block),
        "the cell is none of the plan": ("cell", lambda: record.update(cell_id="ffffffffffff")),
        "the division is changed": ("cell", lambda: record.update(division="matched")),
        "the problem is another": ("spec", lambda: record.update(spec_hash="0" * 64)),
        "one process ran another source": ("source", lambda: record.update(source_hash="0" * 64)),
        "a tolerance is left out": ("ladder", lambda: record["points"].pop()),
        "the inputs are one's own": ("inputs", lambda: record.update(seed=3)),
        "an outcome is invented": ("outcome", lambda: record.update(outcome="excellent")),
        "a failed cell is called ok": ("outcome", lambda: first["gradient"].update(outcome="max_steps")),
        "the outcome of a half is invented": ("outcome", lambda: first["solve"].update(outcome="excellent")),
        "an ok point has no score": ("accuracy", lambda: first["solve"].update(scores=None)),
        "an ok gradient was never checked": ("accuracy", lambda: first["gradient"].update(scores=None)),
        "an inaccurate point is called ok": (
            "accuracy",
            lambda: first["gradient"]["scores"].update(error=0.9),
        ),
        "scores are invented": ("scores", pretend),
        "the score of a gradient is invented": ("scores", pretend_a_gradient),
        "the solution is another than scored": ("scores", other_solution),
        "scores against nothing": ("reference", lambda: record.update(reference_kind=None)),
        "a cold cache was warm": (
            "cold",
            lambda: [r["compile_cache_files"].update(before=2) for r in run.records if r["cell"]["mode"] == "eager"],
        ),
        "a cache elsewhere was warm": ("cold", hit_elsewhere),
        "a warm cache was cold": (
            "warm",
            lambda: [r.update(compile_cache_hits=0) for r in run.records if r["cell"]["mode"] != "eager"],
        ),
        "a warm cache grew": ("warm", grown_caches),
        "a loop compiled": ("recompiled", lambda: ended("recompiled", "traced 3 more times")),
        "an answer from memory": ("computed", lambda: ended("invalid", "4 solves returned the same output")),
        "a solve while inputs are prepared": ("computed", lambda: first["solve"].update(prepare_ns=10**10)),
        "two processors for one thread": ("pinned", lambda: record["threads"].update(affinity="0,1")),
        "the steady part starts behind the samples": (
            "steady",
            lambda: first["gradient"]["steady"].update(start=99),
        ),
        "the environment is another": ("environment", lambda: record.update(environment_hash="0" * 64)),
        "the environment file is edited": ("environment", lambda: run.environment.update(governor="performance")),
        "another version was loaded": ("versions", lambda: record["versions"].update(stub="2.0")),
        "the clock jumped back": ("clock", lambda: record.update(started_at="2025-06-01T00:00:00.000+00:00")),
        "the time is none": ("clock", lambda: record.update(started_at="noon")),
        "a schema of the future": ("schema", lambda: record.update(schema=99)),
        "a field of the wrong kind": ("lines", lambda: record.update(wall_s="long")),
        "a field is gone": ("lines", lambda: record.pop("phase")),
        "a second attempt without need": ("rerun", lambda: run.records.append(again(run.records[5], 1))),
        "a noisy group that was not run again": (
            "rerun",
            lambda: record.update(noisy=["other_load: something else ran"]),
        ),
        "a cell is planned and skipped": (
            "account",
            lambda: run.plan["skipped"][0]["cells"].append(run.plan["cells"][0]["label"]),
        ),
    }  # fmt: skip


# What else such a change breaks beside the rule that it is about.
ALSO = {
    "records are put in another order": {"clock"},
    "the plan's order is changed": {"sequence"},
    "the plan is cut": {"cell", "place"},
    "the block does not exist": {"complete", "inputs"},
    "a record is copied": {"clock"},
    "the cell is none of the plan": {"complete"},
    "an outcome is invented": {"complete"},
    "the outcome of a half is invented": {"complete"},
    "a sample is half a nanosecond": {"complete"},
    "an ok point has no score": {"scores"},
    "an inaccurate point is called ok": {"scores"},
    "a schema of the future": {"complete"},
    "an ok gradient was never checked": {"scores"},
    "a field of the wrong kind": {"complete"},
    "a field is gone": {"complete"},
}


@pytest.mark.parametrize("what", list(tampering(made_run())))
def test_a_tampered_copy_is_rejected_by_the_right_rule(tmp_path: Path, what: str):
    run = made_run()
    rule, change = tampering(run)[what]
    change()
    result = run.verified(tmp_path)
    assert rule in broken(result), f"not caught: {[b.found for b in result.breaches]}"
    assert broken(result) <= {rule} | ALSO.get(what, set())
    assert not result.valid
    text = told(result)
    assert f"INVALID {rule}: {edition().rules[rule].title}" in text
    assert edition().rules[rule].cure in text
    assert "INVALID: " in text.splitlines()[-2]
    assert not any(line.startswith("VALID") for line in text.splitlines())
