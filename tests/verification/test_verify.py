"""Every rule: an untouched run satisfies all, and a copy that was tampered with breaks exactly the right one."""

from __future__ import annotations

import copy
import datetime
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stubs.verifiable import MadeRun, known_decay, made_run

from sciml_bench.render.verification import lines
from sciml_bench.verification.rules import Severity, edition
from sciml_bench.verification.verify import IDS, Verification, verification_document


def broken(result: Verification) -> set[str]:
    return {breach.rule.id for breach in result.breaches if breach.invalid}


def told(result: Verification) -> str:
    return "\n".join(lines(result))


def test_the_rules_of_the_file_are_those_that_are_checked():
    assert set(edition().rules) == set(IDS)
    for rule in edition().rules.values():
        assert rule.title
        assert rule.demand.endswith(".")
        assert rule.cure.endswith(".")


NO_CHECKSUM = {("changed", "it has no checksum"): 6}


def test_an_untouched_run_is_valid(tmp_path: Path):
    result = made_run().verified(tmp_path)
    assert [(breach.rule.id, breach.found) for breach in result.breaches] == []
    assert result.valid
    assert result.unchecked == NO_CHECKSUM
    assert len(result.judged) == 6
    assert all(item.valid for item in result.judged)
    assert "\nVALID: 6 records by" in told(result)
    assert result.cell_tally == "planned 4 = measured 2 + failed 0 + skipped 2"


def point(run: MadeRun, line: int = 1, index: int = 0) -> dict[str, Any]:
    return run.records[line - 1]["points"][index]


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
        "a second attempt without need": ("rerun", lambda: run.records.append(_again(run.records[5], 1))),
        "a noisy group that was not run again": (
            "rerun",
            lambda: record.update(noisy=["other_load: something else ran"]),
        ),
        "a cell is planned and skipped": (
            "account",
            lambda: run.plan["skipped"][0]["cells"].append(run.plan["cells"][0]["label"]),
        ),
    }  # fmt: skip


def _again(record: dict[str, Any], attempt: int) -> dict[str, Any]:
    again = copy.deepcopy(record) | {
        "attempt": attempt,
        "record_id": "again",
        "started_at": "2026-02-01T00:00:00+00:00",
    }
    for item in again["points"]:
        item["solve"]["ns"] = [ns + 1 for ns in item["solve"]["ns"]]
    return again


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


def test_a_graph_that_a_cold_process_compiled_and_found_again_is_its_own(tmp_path: Path):
    run = made_run()
    for record in run.records:
        if record["cell"]["mode"] == "eager":
            record.update(compile_cache_hits=1, compile_cache_files={"before": 0, "after": 58})
    assert broken(run.verified(tmp_path)) == set()


def test_a_half_that_was_not_asked_for_needs_no_outcome(tmp_path: Path):
    run = made_run()
    for record in run.records:
        for found in record["points"]:
            found["gradient"] = {}
        record["time_to_first_gradient_ns"] = {}
    assert "outcome" in broken(run.verified(tmp_path))
    for cell in run.plan["cells"]:
        cell["calls"] = ["solve"]
    run.seal()
    assert broken(run.verified(tmp_path)) == set()


def test_samples_of_a_loop_that_failed_fit_into_the_process_and_not_into_its_phase(tmp_path: Path):
    """The phase of a loop does not complete if a call of it fails; the samples before it are kept."""
    run = made_run()
    found, phases = point(run, 2), run.records[1]["phases_ns"]
    failed = {"outcome": "max_steps", "phase": "steady_gradient", "message": "too many steps"}
    found.update(failed)
    found["gradient"]["outcome"] = "max_steps"
    steady_ns = sum(ns for each in run.records[1]["points"] for ns in each["solve"]["ns"] + each["gradient"]["ns"])
    # The samples of the failed loop alone would not fit.
    phases["steady"] = steady_ns - sum(found["gradient"]["ns"])
    assert "wall" not in broken(run.verified(tmp_path))
    found["gradient"]["ns"] = [ns * 10**4 for ns in found["gradient"]["ns"]]
    assert "wall" in broken(run.verified(tmp_path))


def test_only_the_record_that_is_to_blame_is_invalid(tmp_path: Path):
    run = made_run()
    point(run, 2)["solve"]["ns"][0] = 0
    result = run.verified(tmp_path)
    assert [item.line for item in result.judged if not item.valid] == [2]
    assert "line 2, decay/stub/" in told(result)


def test_damaged_lines_are_named_and_the_rest_is_judged(tmp_path: Path):
    run = made_run()
    rows = run.text.splitlines(keepends=True)
    rows[2] = rows[2][: len(rows[2]) // 2] + "\n"
    rows[5] = rows[5].rstrip("\n")[:-40]
    result = run.verified(tmp_path, "".join(rows))
    assert {breach.line for breach in result.breaches if breach.rule.id == "lines"} == {3, 6}
    assert sum(item.valid for item in result.judged) == 4
    assert "the line is cut off" in told(result)


def test_a_resumed_run_whose_cell_failed_in_its_solver_is_complete(tmp_path: Path):
    """What failed throughout is not repeated in later blocks: nothing is missing."""
    run = made_run()
    label = run.records[0]["cell_id"]
    for item in run.records[0]["points"]:
        item["outcome"] = "timeout"
        for half in (item["solve"], item["gradient"]):
            half.update(outcome="timeout", ns=[], steady=None)
    run.records[0]["outcome"] = "timeout"
    run.records = [r for index, r in enumerate(run.records) if index == 0 or r["cell_id"] != label]
    result = run.verified(tmp_path)
    assert broken(result) == set()
    assert result.cell_tally == "planned 4 = measured 1 + failed 1 (timeout 1) + skipped 2"


def test_what_failed_may_be_measured_again(tmp_path: Path):
    run = made_run()
    failed = copy.deepcopy(run.records[0]) | {"outcome": "crash", "points": [], "record_id": "first"}
    failed["points"] = copy.deepcopy(run.records[0]["points"])
    for item in failed["points"]:
        item["outcome"] = "crash"
        for half in (item["solve"], item["gradient"]):
            half.update(outcome="crash", ns=[], steady=None)
    later = run.records[0] | {"started_at": "2026-02-01T00:00:00.000+00:00"}
    run.records = [failed, *run.records[1:], later]
    assert broken(run.verified(tmp_path)) == set()


def test_a_noisy_group_that_was_run_again_by_the_rule(tmp_path: Path):
    run = made_run()
    run.records[5]["noisy"] = ["other_load: something else ran"]
    run.records += [_again(run.records[4], 1), _again(run.records[5], 1)]
    without = copy.deepcopy(run)
    without.records.pop()
    assert broken(without.verified(tmp_path)) == {"rerun"}
    for number, record in enumerate(run.records[6:]):
        record["record_id"] = f"again {number}"
        record["started_at"] = f"2026-02-0{number + 1}T00:00:00.000+00:00"
    assert broken(run.verified(tmp_path)) == set()


def test_a_problem_that_has_changed_since_is_told_and_the_run_stands(tmp_path: Path):
    result = made_run().verified(tmp_path, known=lambda _name: known_decay(spec_hash="new" * 20))
    assert result.valid
    assert {breach.rule.id for breach in result.breaches} == {"catalog"}
    assert all(breach.rule.severity is Severity.WARNING for breach in result.breaches)
    assert result.unchecked == {("scores", "the problem has changed since"): 6} | NO_CHECKSUM
    text = told(result)
    assert "WARNING catalog" in text
    assert "not checked: scores recomputed, for 6 records: the problem has changed since" in text


def test_a_source_that_has_changed_since_is_told(tmp_path: Path):
    result = made_run().verified(tmp_path, known=lambda _name: known_decay(source_hash=lambda _adapter: "0" * 64))
    assert result.valid
    assert "the emitted source has changed" in told(result)


def test_an_unknown_problem_is_told_as_not_checked(tmp_path: Path):
    result = made_run().verified(tmp_path, known=lambda _name: "there is no problem 'decay'")
    assert result.valid
    assert result.unchecked["scores", "there is no problem 'decay'"] == 6


def test_a_liar_with_consistent_scores_is_caught_by_the_reference(tmp_path: Path):
    """Outcome, scores and samples agree with each other; only the end state does not agree with the truth."""
    run = made_run()
    for item in run.records[2]["points"]:
        item["solve"]["end_state"] = [0.9, 0.9]
    result = run.verified(tmp_path)
    assert broken(result) == {"scores"}
    assert "the solution is ok, but the mixed error at t1 is" in told(result)


def test_only_a_few_breaches_of_a_rule_are_named(tmp_path: Path):
    run = made_run()
    for record in run.records:
        record["environment_hash"] = "0"
    result = run.verified(tmp_path)
    assert "and 1 more; --all names them" in told(result)
    everything = list(lines(result, everything=True))
    assert sum("environment 0…" in line for line in everything) == 6
    assert sum(line.startswith("line ") and "INVALID" in line for line in everything) == 6


def test_the_document_is_plain_json(tmp_path: Path):
    run = made_run()
    point(run)["solve"]["ns"][0] = 0
    document = json.loads(json.dumps(verification_document(run.verified(tmp_path)), allow_nan=False))
    assert not document["valid"]
    assert document["records"][0] == {
        "line": 1,
        "record_id": run.records[0]["record_id"],
        "label": document["records"][0]["label"],
        "block": 0,
        "verdict": "INVALID",
        "rules": ["sample_values"],
    }
    assert document["rules"]["sample_values"]["cure"]
    assert document["breaches"][0]["line"] == 1


def test_cells_that_take_turns_live_at_the_same_time(tmp_path):
    run = made_run()
    first, second = run.records[:2]
    start = datetime.datetime.fromisoformat(first["started_at"])
    first["waited_s"] = second["waited_s"] = 0.01
    second["started_at"] = (start + datetime.timedelta(seconds=0.5)).isoformat(timespec="milliseconds")
    assert all(item.valid for item in run.verified(tmp_path).judged)
    # The next group begins when this one has ended, whichever of its processes ended last.
    run.records[2]["started_at"] = (start + datetime.timedelta(seconds=0.6)).isoformat(timespec="milliseconds")
    found = run.verified(tmp_path)
    assert {breach.rule.id for breach in found.breaches} == {"clock"}
    # Alone nobody overlaps.
    first["waited_s"] = second["waited_s"] = 0.0
    assert "clock" in {breach.rule.id for breach in run.verified(tmp_path).breaches}


@pytest.mark.parametrize(("stage", "valid"), [("screen", True), ("race", False)])
def test_cells_in_a_shared_process_have_its_start_in_their_times(tmp_path, stage, valid):
    """The second cell starts when the first one has ended: its process was there already, for both."""
    run = made_run()
    run.plan["advised"] = {"stage": stage, "call": "gradient", "count": 1000, "accuracy": 1e-6, "points": {}}
    first, second = run.records[:2]
    startup_s = sum(first["phases_ns"].get(phase, 0) for phase in ("spawn", "interpreter", "import")) / 1e9
    start = datetime.datetime.fromisoformat(first["started_at"])
    ended = start + datetime.timedelta(seconds=first["wall_s"] - startup_s + 1.0)
    first["wall_s"] += 10.0
    first["phases_ns"]["import"] = first["phases_ns"].get("import", 0) + 10 * 10**9
    second["started_at"] = ended.isoformat(timespec="milliseconds")
    found = {breach.rule.id for breach in run.verified(tmp_path).breaches}
    assert ("clock" not in found) is valid
