"""Every rule: an untouched run satisfies all, and a copy that was tampered with breaks exactly the right one."""

from __future__ import annotations

import copy
import datetime
import json
from pathlib import Path

import pytest
from stubs.verifiable import again, known_decay, made_run, point

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
    run.records += [again(run.records[4], 1), again(run.records[5], 1)]
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
