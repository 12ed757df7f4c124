"""Units as files, the shards that they leave, and joining these to the run: what does not belong there is refused."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from execution.shared_study import HERE, NODE, Study
from stubs.carried import NOISE, Measure, made_plan, noisy_at, use
from stubs.records import stub_measurement

import sciml_bench
from sciml_bench.engine.files import UNITS, FilesEngine
from sciml_bench.engine.unit import Unit
from sciml_bench.errors import StoreError
from sciml_bench.execution.cluster.status import Progress, status
from sciml_bench.execution.executor import execute
from sciml_bench.execution.merge import merge
from sciml_bench.execution.schedule import remaining
from sciml_bench.execution.shard import Shard, carry_out
from sciml_bench.record.record import Measurement
from sciml_bench.record.run_folder import ENVIRONMENTS, Run
from sciml_bench.record.task import Task
from sciml_bench.verification.evidence import read_lines
from sciml_bench.verification.verify import verify


def test_units_are_written_and_nothing_is_measured(study: Study):
    assert [path.stem[:4] for path in study.units] == ["000-", "000-", "001-", "001-"]
    assert study.lines() == []
    unit = Unit.read(study.units[0])
    assert (unit.plan_hash, unit.sciml_bench, len(unit.jobs)) == (study.plan.hash, sciml_bench.__version__, 2)


def test_a_unit_reads_as_what_was_written(study: Study):
    unit = Unit.read(study.units[0])
    unit.write(study.shards.parent / "again.json")
    assert Unit.read(study.shards.parent / "again.json") == unit
    assert (study.shards.parent / "again.json").read_bytes() == study.units[0].read_bytes()


def test_shards_of_two_machines_in_any_order_make_a_whole_run(study: Study):
    shards = [study.shard(number, host) for number, host in ((3, "b"), (0, "a"), (2, "a"), (1, "b"))]
    assert merge(study.run, shards[:1]).missing == tuple(sorted(study.units[i].stem for i in (0, 1, 2)))
    done = merge(study.run, [study.shards])
    assert (len(done.added), len(done.known), done.records, done.missing) == (3, 1, 6, ())
    assert remaining(study.plan, study.run) == []
    records = list(study.run.records())
    assert {record.host for record in records} == {"a", "b"}
    # Cells that are compared stay together.
    assert len({(record.cell.problem, record.block, record.host) for record in records}) == 4
    assert {path.stem for path in (study.run.folder / ENVIRONMENTS).iterdir()} == {records[0].environment_hash}


def test_a_merged_unit_is_measured_for_the_status(study: Study):
    merge(study.run, [study.shard(0)])
    found = {unit.unit: unit.progress for unit in status(study.run.folder).units}
    assert found == {path.stem: Progress.WRITTEN for path in study.units} | {study.units[0].stem: Progress.MEASURED}


def test_a_unit_of_which_a_record_is_missing_is_not_measured(study: Study):
    merge(study.run, [study.shard(0)])
    lines = study.run.records_path.read_text(encoding="utf-8").splitlines(keepends=True)
    assert len(lines) == 2
    study.run.records_path.write_text(lines[0], encoding="utf-8")
    assert {unit.progress for unit in status(study.run.folder).units} == {Progress.WRITTEN}


def test_merging_twice_changes_nothing(study: Study):
    shard = study.shard(0)
    merge(study.run, [shard])
    before = study.lines()
    assert merge(study.run, [shard]).records == 0
    assert study.lines() == before


def test_a_merge_that_a_crash_stopped_is_completed(study: Study):
    shard = study.shard(0)
    merge(study.run, [shard])
    whole = study.run.records_path.read_bytes()
    cut = whole.index(b"\n") + 40
    study.run.records_path.write_bytes(whole[:cut])
    assert merge(study.run, [shard]).records == 1
    assert study.run.records_path.read_bytes() == whole


def test_what_is_left_can_be_measured_here(study: Study):
    merge(study.run, [study.shard(1)])
    assert not execute(study.plan, study.run)
    assert remaining(study.plan, study.run) == []
    assert [record.host for record in study.run.records()] == ["node"] * 2 + [""] * 6


def test_groups_that_were_begun_here_are_not_handed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupted(_task: Task, number: int) -> Measurement:
        if number == 1:
            raise KeyboardInterrupt
        return stub_measurement()

    use(monkeypatch, interrupted)
    plan = made_plan()
    run = Run.create(tmp_path, "begun", plan=plan.to_dict() | {"hash": plan.hash}, environment=HERE)
    with pytest.raises(KeyboardInterrupt):
        execute(plan, run)
    rest = execute(plan, run, engine=FilesEngine(run.folder / UNITS))
    assert (rest.begun, [path.stem for path in rest.handed_over]) == (["000-decay"], ["001-decay"])


def test_units_that_were_handed_over_stay_as_they_are(study: Study):
    merge(study.run, [study.shard(0)])
    before = {path: path.read_bytes() for path in study.units}
    rest = execute(study.plan, study.run, engine=FilesEngine(study.run.folder / UNITS))
    assert rest.handed_over == study.units[1:]
    assert {path: path.read_bytes() for path in study.units} == before


@pytest.mark.parametrize("rerun_noisy", [True, False])
def test_a_disturbed_unit_is_measured_again_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rerun_noisy: bool
):
    use(monkeypatch, noisy_at(0))
    plan = made_plan(processes=1, rerun_noisy=rerun_noisy)
    run = Run.create(tmp_path, "noisy", plan=plan.to_dict() | {"hash": plan.hash}, environment=HERE)
    (path,) = execute(plan, run, engine=FilesEngine(run.folder / UNITS)).handed_over
    shard = Shard.begin(Unit.read(path), tmp_path / "shard", NODE)
    carry_out(shard, "node")
    assert [record.attempt for record in shard.records()] == ([0, 0, 1, 1] if rerun_noisy else [0, 0])
    merge(run, [shard.folder])
    assert remaining(plan, run) == []
    assert next(run.records()).noisy == NOISE


def test_an_interrupted_shard_is_refused_and_then_finished(study: Study, monkeypatch: pytest.MonkeyPatch):
    def interrupted(_task: Task, number: int) -> Measurement:
        if number == 1:
            raise KeyboardInterrupt
        return stub_measurement()

    use(monkeypatch, interrupted)
    with pytest.raises(KeyboardInterrupt):
        study.shard(0)
    folder = study.shards / f"node-{study.units[0].stem}"
    study.refuses("not finished", folder)
    use(monkeypatch, noisy_at())
    assert study.shard(0) == folder
    assert len(Shard.open(folder).records()) == 2
    assert merge(study.run, [folder]).records == 2


def test_a_shard_goes_on_only_on_its_machine(study: Study, monkeypatch: pytest.MonkeyPatch):
    interrupt: Measure = lambda _task, number: stub_measurement() if number == 0 else _interrupt()  # noqa: E731
    use(monkeypatch, interrupt)
    with pytest.raises(KeyboardInterrupt):
        study.shard(0)
    unit, folder = Unit.read(study.units[0]), study.shards / f"node-{study.units[0].stem}"
    with pytest.raises(StoreError, match="another machine"):
        carry_out(Shard.begin(unit, folder, NODE), "elsewhere")
    with pytest.raises(StoreError, match="another environment"):
        Shard.begin(unit, folder, HERE)


def _interrupt() -> Measurement:
    raise KeyboardInterrupt


def test_a_folder_that_holds_something_else_is_left_alone(study: Study, tmp_path: Path):
    unit = Unit.read(study.units[0])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("done")
    with pytest.raises(StoreError, match="not empty"):
        Shard.begin(unit, tmp_path / "mine", NODE)
    with pytest.raises(StoreError, match="another unit"):
        Shard.begin(unit, study.shard(1), NODE)
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "done"


def test_two_shards_of_one_block_are_refused(study: Study):
    a, b = study.shard(0, "a"), study.shard(0, "b")
    study.refuses("both measured block 0", a, b)
    merge(study.run, [a])
    study.refuses("measured elsewhere", b)
    # Nothing of the good one beside it was added either.
    study.refuses("measured elsewhere", study.shard(1), b)


def test_shards_of_another_plan_are_refused(study: Study, tmp_path: Path):
    plan = made_plan(processes=1)
    run = Run.create(tmp_path, "other", plan=plan.to_dict() | {"hash": plan.hash}, environment=HERE)
    (path,) = execute(plan, run, engine=FilesEngine(run.folder / UNITS)).handed_over
    shard = Shard.begin(Unit.read(path), tmp_path / "other shard", NODE)
    carry_out(shard, "node")
    study.refuses("of another plan", shard.folder)


def test_other_software_is_refused_by_name(study: Study):
    other = {**NODE, "packages": {"numpy": "2.2.0"}, "sciml_bench": "0"}
    study.refuses(
        r"packages\.numpy 2\.2\.0, the run's is 2\.3\.0; sciml_bench 0, the run's is 1",
        study.shard(0, environment=other),
    )


def test_what_is_not_a_shard_is_refused_by_name(study: Study, tmp_path: Path):
    study.refuses("is a run, not a shard", study.run.folder)
    study.refuses("is not a shard", tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    study.refuses("is not a shard", tmp_path / "empty")


def test_a_unit_of_another_version_is_not_carried_out(study: Study):
    unit = dataclasses.replace(Unit.read(study.units[0]), sciml_bench="0.0.1")
    with pytest.raises(StoreError, match=r"written by sciml-bench 0\.0\.1"):
        unit.check_version()


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"jobs": [], "hash": 1}', "\x00"])
def test_files_that_are_not_units_are_refused(tmp_path: Path, text: str):
    (tmp_path / "unit.json").write_text(text)
    with pytest.raises(StoreError, match=r"unit\.json"):
        Unit.read(tmp_path / "unit.json")


def test_units_without_jobs_or_of_two_problems_are_refused(study: Study, tmp_path: Path):
    one, other = (Unit.read(path) for path in study.units[:2])
    for wrong in (dataclasses.replace(one, jobs=()), dataclasses.replace(one, jobs=(*one.jobs, *other.jobs))):
        wrong.write(tmp_path / "wrong.json")
        with pytest.raises(StoreError, match="do not belong to one problem and one block"):
            Unit.read(tmp_path / "wrong.json")


def judged(study: Study, rule: str) -> list[str]:
    """What a rule finds in the run."""
    result = verify(
        study.run.plan, study.run.environments, read_lines(study.run.records_path), lambda _name: "not looked at"
    )
    return [breach.found for breach in result.breaches if breach.rule.id == rule]


def test_rules_of_order_and_environment_hold_for_merged_runs(study: Study):
    for number, host in ((3, "b"), (0, "a"), (2, "a"), (1, "b")):
        merge(study.run, [study.shard(number, host)])
    for rule in ("sequence", "environment", "complete", "place", "cell"):
        assert judged(study, rule) == [], rule


def test_rules_find_a_block_that_two_machines_measured(study: Study):
    merge(study.run, [study.shard(0)])
    lines = study.lines()
    moved = json.loads(lines[1]) | {"host": "elsewhere"}
    study.run.records_path.write_text("\n".join([lines[0], json.dumps(moved)]) + "\n")
    (found,) = judged(study, "sequence")
    assert "more than one machine" in found


def test_rules_find_an_environment_that_was_edited(study: Study):
    merge(study.run, [study.shard(0)])
    (path,) = (study.run.folder / ENVIRONMENTS).iterdir()
    path.write_text(json.dumps(HERE))
    with pytest.raises(StoreError, match="does not hash to its name"):
        _ = Run.open(study.run.folder).environments
    path.unlink()
    study.run = Run.open(study.run.folder)
    assert len(judged(study, "environment")) == 2


@pytest.mark.parametrize(
    ("hosts", "starts", "found"),
    [
        pytest.param("ab", (0, 1, 0, 1), 0, id="two machines at once"),
        pytest.param("ab", (4, 5, 0, 1), 0, id="two machines, clocks apart"),
        pytest.param("aa", (4, 5, 0, 1), 0, id="one machine, the second unit first"),
        pytest.param("aa", (0, 2, 1, 3), 1, id="one machine, two units at once"),
        pytest.param("ab", (0, 1, 1, 0), 1, id="one machine, its clock set back"),
    ],
)
def test_each_machine_has_its_own_clock(study: Study, hosts: str, starts: tuple[int, ...], found: int):
    merge(study.run, [study.shard(0, hosts[0])])
    merge(study.run, [study.shard(1, hosts[1])])
    timed = [
        dataclasses.replace(record, started_at=f"2026-01-01T00:00:{2 * start:02}.000+00:00", wall_s=2.0)
        for record, start in zip(study.run.records(), starts, strict=True)
    ]
    study.run.records_path.write_text("".join(record.to_json() + "\n" for record in timed))
    assert len(judged(study, "clock")) == found
