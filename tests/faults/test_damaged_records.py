"""One damaged line in a run's records never ends a command: it is left out and named, or read for what it says."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from faults.damage import changed, damaged

from sciml_bench.cli import exit_codes
from sciml_bench.cli.main import main

RUN = Path(__file__).resolve().parents[2] / "results" / "stiff-quick"
SEALED = RUN.parent / "events-julia"
COUNTED = "SELECT record_id, rtol, gradient_s FROM points ORDER BY ALL"
ADAPTER = '"adapter":"scipy"'
CODES = (exit_codes.OK, exit_codes.CHECK_FAILED, exit_codes.USAGE)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with the records of one adapter, so that reading takes little."""
    folder = tmp_path_factory.mktemp("small") / "run"
    shutil.copytree(RUN, folder, ignore=shutil.ignore_patterns("*.html", "*.png"))
    records = folder / "records.jsonl"
    kept = [line for line in records.read_text().splitlines() if ADAPTER in line.replace(" ", "")]
    assert len(kept) > 3
    records.write_text("\n".join(kept) + "\n")
    return folder


def commands(folder: Path, whole: Path, out: Path) -> list[list[str]]:
    """Everything that reads records."""
    return [
        ["show", str(folder), "--all"],
        ["verify", str(folder)],
        ["compare", str(whole), str(folder)],
        ["export", str(folder), "--to", "csv", "-o", str(out / "samples.csv")],
        ["report", str(folder), "-o", str(out / "report.html")],
        ["query", "SELECT count(*) FROM cells, points", str(folder)],
        ["plan", "lotka-volterra", "--adapter", "scipy", "--profile", "smoke", "--out", str(folder.parent)],
    ]


def tried(folder: Path, whole: Path, out: Path) -> None:
    """Run every command; whatever it raises is the failure."""
    for command in commands(folder, whole, out):
        assert main(command) in CODES, command


@pytest.mark.parametrize("seed", range(24))
def test_a_damaged_line_ends_no_command(small: Path, tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]):
    chance = random.Random(seed)
    folder = tmp_path / "run"
    shutil.copytree(small, folder)
    records = folder / "records.jsonl"
    lines = records.read_text().splitlines()
    at = chance.randrange(len(lines))
    lines[at] = damaged(lines[at], chance)
    records.write_text("\n".join(lines) + "\n", encoding="utf-8")
    tried(folder, small, tmp_path)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("share", [1 / 3, 3])
def test_changed_times_are_in_no_table(tmp_path: Path, share: float, capsys: pytest.CaptureFixture[str]):
    folder = tmp_path / "run"
    shutil.copytree(SEALED, folder, ignore=shutil.ignore_patterns("*.html", "*.png"))
    records = folder / "records.jsonl"
    lines = records.read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if json.loads(line)["points"][-1]["gradient"]["ns"])
    record = json.loads(lines[at])
    for point in record["points"]:
        point["gradient"]["ns"] = [round(share * ns) for ns in point["gradient"]["ns"]]
    changed = lines.copy()
    changed[at] = json.dumps(record, separators=(",", ":"))
    shown: dict[str, list[str]] = {}
    for name, kept in {"changed": changed, "without": lines[:at] + lines[at + 1 :]}.items():
        records.write_text("\n".join(kept) + "\n")
        shown[name] = []
        for command in (["show", str(folder), "--json"], ["query", COUNTED, str(folder)]):
            assert main(command) == exit_codes.OK
            out, err = capsys.readouterr()
            shown[name].append(out)
            assert ("its checksum does not match" in err or "1 line" in err) is (name == "changed"), err
    assert shown["changed"] == shown["without"]
    assert main(["verify", str(folder), "--all"]) == exit_codes.CHECK_FAILED
    records.write_text("\n".join(changed) + "\n")
    capsys.readouterr()
    assert main(["verify", str(folder), "--all"]) == exit_codes.CHECK_FAILED
    assert "times as long as in the" in capsys.readouterr().out


NUMBERS = [(name, value) for name in ("error", "scd", "trajectory_error") for value in ("x", [], {"a": 1}, True)]
OTHERS = [
    ("worst_component", 3), ("worst_component", ["x"]), ("unresolved", "x"), ("unresolved", [3]), ("excused", 0.5),
    ("below_reference", 1), ("below_reference", "x"), ("unresolved_count", 2**70),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), NUMBERS + OTHERS)
def test_a_score_of_another_type_leaves_its_record_out(
    small: Path, tmp_path: Path, name: str, value: object, capsys: pytest.CaptureFixture[str]
):
    folder = tmp_path / "run"
    shutil.copytree(small, folder)
    records = folder / "records.jsonl"
    lines = records.read_text().splitlines()
    record = json.loads(lines[0])
    half = "solve" if name in ("scd", "trajectory_error") else "gradient"
    record["points"][0][half]["scores"][name] = value
    lines[0] = json.dumps(record)
    records.write_text("\n".join(lines) + "\n")
    assert main(["show", str(folder)]) in CODES
    assert f".scores.{name}" in capsys.readouterr().err


def test_each_damage_changes_its_line():
    record = {"a": [1, 2, {"b": None}], "c": "text"}
    found = {damaged(json.dumps(record), random.Random(seed)) for seed in range(200)}
    assert len(found) > 100
    assert json.dumps(record) not in found


def test_values_reach_every_depth():
    chance = random.Random(0)
    places = {json.dumps(changed({"a": {"b": {"c": [1]}}}, chance)).count("{") for _ in range(100)}
    assert len(places) > 2


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (("time_to_first_gradient_ns", "process"), -1),
        (("cell", "device"), "cpu/"),
        (("cell", "saving"), "x/"),
        (("points", 0, "batch"), 3),
    ],
)
def test_a_value_that_makes_no_sense_ends_no_command(
    small: Path, tmp_path: Path, field: tuple[Any, ...], value: object, capsys: pytest.CaptureFixture[str]
):
    folder = tmp_path / "run"
    shutil.copytree(small, folder)
    records = folder / "records.jsonl"
    lines = records.read_text().splitlines()
    record = place = json.loads(lines[0])
    for name in field[:-1]:
        place = place[name]
    place[field[-1]] = value
    lines[0] = json.dumps(record)
    records.write_text("\n".join(lines) + "\n")
    tried(folder, small, tmp_path)
    assert "Traceback" not in capsys.readouterr().err
