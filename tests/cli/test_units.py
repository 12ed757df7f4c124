"""A run whose units are carried out one by one, as on other machines, and merged: real workers of stub programs."""

from __future__ import annotations

import json
from pathlib import Path

from sciml_bench.cli import exit_codes
from sciml_bench.record.run_folder import Run

STUDY = ("run", "--problem", "decay", "--profile", "quick")


def handed_over(cli) -> tuple[Path, list[Path]]:
    """The run, and the files of its units."""
    document = cli(*STUDY, "--engine", "files", "--json").json
    return Path(document["folder"]), [Path(path) for path in document["units"]]


def test_units_carried_out_elsewhere_make_the_run_that_one_machine_makes(cli):
    run, units = handed_over(cli)
    assert [path.stem for path in units] == ["000-decay", "001-decay", "002-decay"]
    for path in reversed(units):
        done = cli("worker", "--unit", str(path), "--out", f"shards/{path.stem}")
        assert done.code == exit_codes.OK, done.err
        assert "[4/4] ok" in done.out
    first = cli("merge", "shards/001-decay", "-o", str(run))
    assert "still missing: 2 of 3 units: 000-decay, 002-decay" in first.out
    rest = cli("merge", "shards", "-o", str(run), "--json").json
    assert (rest["added"], rest["already_there"]) == (["000-decay", "002-decay"], ["001-decay"])
    assert (rest["records"], rest["missing"]) == (8, [])
    verified = cli("verify", str(run), "--json").json
    assert verified["valid"], verified["breaches"]

    local = cli(*STUDY, "--new", "--json").json
    merged = cli("show", str(run), "--json").json
    assert merged["account"] == local["account"]
    kept = ("label", "processes", "point_outcomes", "division", "worst_outcome")
    both = [
        [{key: cell.get(key) for key in kept} for problem in document["problems"] for cell in problem["cells"]]
        for document in (merged, local)
    ]
    assert both[0] == both[1]


def test_the_same_command_says_what_is_left_to_do(cli):
    first = cli(*STUDY, "--engine", "files")
    assert first.code == exit_codes.OK
    assert "units to carry out: 3" in first.out
    assert "sciml-bench worker --unit" in first.out
    run, units = handed_over(cli)
    assert len(list(Path("results").iterdir())) == 1
    for path in units:
        cli("worker", "--unit", str(path), "--out", f"shards/{path.stem}")
    cli("merge", "shards", "-o", str(run))
    assert cli("worker", "--unit", str(units[0]), "--out", "shards/000-decay").out == (
        "shards/000-decay is finished already\n"
    )


def test_a_unit_that_was_changed_is_not_carried_out(cli):
    run, units = handed_over(cli)
    data = json.loads(units[0].read_text())
    data["jobs"][0]["task"]["source"] = "raise SystemExit"
    units[0].write_text(json.dumps(data))
    done = cli("worker", "--unit", str(units[0]), "--out", "shard")
    assert (done.code, done.out) == (exit_codes.USAGE, "")
    assert done.err.startswith(f"ERROR: {units[0]} was changed after it was written.")
    assert not Path("shard").exists()
    assert list(Run.open(run).records()) == []


def test_what_does_not_belong_to_the_run_is_refused_in_one_line(cli):
    run, units = handed_over(cli)
    cli("worker", "--unit", str(units[0]), "--out", "a")
    cli("worker", "--unit", str(units[0]), "--out", "b")
    done = cli("merge", "a", "b", "-o", str(run))
    assert (done.code, done.out) == (exit_codes.USAGE, "")
    assert len(done.err.splitlines()) == 1
    assert "both measured block 0 of decay" in done.err
    assert cli("merge", "a", "-o", "nowhere").code == exit_codes.USAGE
    assert list(Run.open(run).records()) == []
