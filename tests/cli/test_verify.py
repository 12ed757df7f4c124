"""``verify`` on runs that real workers measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sciml_bench.cli import exit_codes
from sciml_bench.verification.rules import edition

SMOKE = ("--profile", "smoke")


def run_folder() -> Path:
    (path,) = Path("results").iterdir()
    return path


def change(**changes: Any) -> None:
    """Change the first record of the run."""
    path = run_folder() / "records.jsonl"
    first, *others = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([json.dumps(json.loads(first) | changes), *others]) + "\n", encoding="utf-8")


@pytest.fixture
def measured(cli):
    """A smoke run of two cells."""
    assert cli("stiff", *SMOKE).code == exit_codes.OK
    return cli


def test_our_own_untouched_run_is_valid(measured):
    done = measured("verify")
    assert done.code == exit_codes.OK, done.out
    assert f"VALID: 2 records by {len(edition().rules)} rules" in done.out
    assert "so it is never compared" in done.out
    assert "planned 112 = measured 2 + failed 0 + skipped 110" in done.out
    assert "not checked" not in done.out
    assert "WARNING" not in done.out


def test_failures_are_valid_results(cli):
    labels = ",".join(f"decay/alpha/{method}/discrete/eager/float64/cpu" for method in ("stuck", "wrong", "dies"))
    cli("run", "--cell", labels, *SMOKE)
    done = cli("verify", "--all")
    assert done.code == exit_codes.OK, done.out
    assert done.out.count("  VALID    decay/") == 3


def test_a_tampered_run_gives_exit_code_1_and_the_rule(measured):
    change(environment_hash="0")
    done = measured("verify", str(run_folder()))
    assert done.code == exit_codes.CHECK_FAILED
    assert "INVALID environment: known environment" in done.out
    assert "INVALID: 1 of 2 records" in done.out


def test_json(measured):
    change(seed=1)
    done = measured("verify", run_folder().name, "--json")
    assert done.code == exit_codes.CHECK_FAILED
    assert [record["verdict"] for record in done.json["records"]] == ["INVALID", "VALID"]
    assert [breach["rule"] for breach in done.json["breaches"]][:2] == ["changed", "inputs"]


def test_times_that_were_changed_by_hand_are_found(measured):
    path = run_folder() / "records.jsonl"
    first, *others = path.read_text(encoding="utf-8").splitlines()
    samples = json.dumps(json.loads(first)["points"][0]["solve"]["ns"], separators=(",", ":"))
    thirds = json.dumps([ns // 3 + 1 for ns in json.loads(samples)], separators=(",", ":"))
    path.write_text("\n".join([first.replace(samples, thirds), *others]) + "\n", encoding="utf-8")
    done = measured("verify", "--all")
    assert done.code == exit_codes.CHECK_FAILED
    assert "INVALID changed: records as they were written" in done.out
    # It is still read: a record without a checksum, of an earlier version, has none.
    assert measured("show").code == exit_codes.OK


@pytest.mark.parametrize(("before", "after"), [('"wall_s":', '"wall_s":-'), ('"started_at":"', '"started_at":"never ')])
def test_a_changed_record_is_named_whatever_it_holds(measured, before, after):
    path = run_folder() / "records.jsonl"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(before, after, 1), encoding="utf-8")
    assert path.read_text(encoding="utf-8") != text
    done = measured("verify", "--all")
    assert done.code == exit_codes.CHECK_FAILED
    assert "INVALID changed: records as they were written" in done.out


def test_an_interrupted_run_is_not_complete(measured):
    path = run_folder() / "records.jsonl"
    path.write_text(path.read_text(encoding="utf-8").splitlines()[0] + "\n", encoding="utf-8")
    done = measured("verify")
    assert done.code == exit_codes.CHECK_FAILED
    assert "INVALID complete" in done.out
    assert "has no record in block 0" in done.out


def test_a_run_without_records(measured):
    (run_folder() / "records.jsonl").unlink()
    assert measured("verify").code == exit_codes.CHECK_FAILED


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"schema": 1}', "plan.json is not a plan of this version: 'version' is missing"),
        ('{"schema": 1, "version": "0", "profile": []}', "version: profile: an object expected, found a list"),
    ],
)
def test_a_plan_of_another_kind_is_one_clear_error(measured, text, said):
    (run_folder() / "plan.json").write_text(text, encoding="utf-8")
    done = measured("verify")
    assert done.code == exit_codes.USAGE
    assert said in done.err
    assert "Traceback" not in done.err


def test_no_run(cli):
    assert cli("verify").code == exit_codes.USAGE
    assert cli("verify", "nowhere").code == exit_codes.USAGE
