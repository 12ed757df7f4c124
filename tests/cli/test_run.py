"""The whole way of the data: plan → workers → records → report, with stub programs."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path

import pytest
from stubs.suite import problem_text

from sciml_bench.cli import exit_codes, machine
from sciml_bench.engine import local
from sciml_bench.engine.interface import OneByOne, UnitEnded
from sciml_bench.host.doctor import other_work
from sciml_bench.host.doctor.finding import Finding, Status
from sciml_bench.planning.profiles import profile_named
from sciml_bench.record.run_folder import Run

SMOKE = ("--profile", "smoke")


def only_run(folder: str = "results") -> Run:
    (path,) = Path(folder).iterdir()
    return Run.open(path)


def cell(method: str, adapter: str = "alpha", problem: str = "decay") -> str:
    return f"{problem}/{adapter}/{method}/discrete/eager/float64/cpu"


def test_a_suite_is_measured_and_reported(cli):
    done = cli("stiff", *SMOKE)
    assert done.code == exit_codes.OK, done.err
    assert "profile smoke: 2 cells on 1 problem, 1 process each" in done.out
    finished = [line for line in done.out.splitlines() if line.startswith("[")]
    assert [line.split("]")[0] for line in finished] == ["[1/2", "[2/2"]
    assert all(" ok " in line and "points 2/2" in line for line in finished)
    assert "decay: Decay of decay" in done.out
    assert "2 cells measured, 0 failed; 110 others are not part of this run" in done.out
    assert "skipped 56: not in profile smoke (tier standard)" in cli("show", "--all").out
    assert "NOT COMPARABLE" in done.out
    run = only_run()
    assert f"run folder: {run.folder}" in done.out
    assert run.plan["command"] == "sciml-bench stiff --profile smoke"
    assert len(list(run.records())) == 2


def test_suite_verbs_are_aliases_of_run(cli):
    plain = cli("run", "--suite", "nonstiff", *SMOKE, "--json", "--new").json
    alias = cli("nonstiff", *SMOKE, "--json", "--new").json
    assert [c["label"] for p in plain["problems"] for c in p["cells"]] == [
        c["label"] for p in alias["problems"] for c in p["cells"]
    ]


def test_blocks_give_one_process_per_cell_and_block(cli):
    done = cli("run", "--cell", cell("fine"), "--profile", "quick", "--json")
    assert done.code == exit_codes.OK, done.err
    (measured,) = done.json["problems"][0]["cells"]
    assert measured["processes"] == 3
    assert measured["point_outcomes"] == {"ok": 3 * len(profile_named("quick").rtols)}
    assert {record.block for record in only_run().records()} == {0, 1, 2}


def test_json_goes_to_stdout_and_everything_else_to_stderr(cli):
    done = cli("run", "--cell", cell("fine"), *SMOKE, "--json")
    assert done.json["account"]["measured"] == 1
    assert "[1/1]" in done.err
    assert "run folder:" in done.err


def test_a_problem_of_ones_own(cli):
    Path("mine.toml").write_text(problem_text("mine"), encoding="utf-8")
    done = cli("run", "mine.toml", *SMOKE)
    assert done.code == exit_codes.OK, done.err
    assert "mine: Decay" in done.out
    assert only_run().folder.name.endswith("_mine_smoke")


TRAINING = """
[training]
optimiser = "sgd"
learning_rate = 0.5
steps = 40
rtol = 1e-6
atol = 1e-8
target = 1.0
"""


def test_a_problem_with_a_training_is_trained(cli):
    """Both adapters train the same way from the same start, so their curves and their ends are the same."""
    Path("mine.toml").write_text(problem_text("mine") + TRAINING, encoding="utf-8")
    done = cli("run", "mine.toml", *SMOKE)
    assert done.code == exit_codes.OK, done.err
    assert "training: 10 steps of sgd (learning rate 0.5) from the same start, at rtol 1e-6" in done.out
    assert [line for line in done.out.splitlines() if line.startswith("[") and line.endswith(", training 10/10")]
    run = only_run()
    first, second = (record.training for record in run.records())
    assert first is not None
    assert second is not None
    assert first.settings == second.settings
    assert (first.losses, first.theta) == (second.losses, second.theta)
    assert len(first.losses) == 10
    told = cli("show", "--json").json["problems"][0]["training"]
    assert [item["relative"] for item in told["distances"]] == [0.0]
    verified = cli("verify", str(run.folder))
    assert "training" not in verified.out, verified.out


def test_a_changed_training_is_another_run(cli):
    path = Path("mine.toml")
    for rate in ("0.5", "0.6"):
        path.write_text(problem_text("mine") + TRAINING.replace("0.5", rate), encoding="utf-8")
        assert cli("run", "mine.toml", *SMOKE).code == exit_codes.OK
    runs = [Run.open(folder) for folder in Path("results").iterdir()]
    assert len(runs) == 2
    hashes = {record.training.settings.hash for run in runs for record in run.records() if record.training}
    assert len(hashes) == 2


def test_honest_failures_are_results(cli):
    """Timeouts and their like say something about the solver: the suite has done its work."""
    done = cli("run", "--cell", f"{cell('stuck')},{cell('wrong')},{cell('hangs')}", *SMOKE, "--timeout", "2")
    assert done.code == exit_codes.OK, done.err
    assert "2 failed (" in done.out
    assert "inaccurate 1" in done.out
    assert "timeout 1" in done.out
    assert f"  {cell('hangs')}  timeout in build: " in done.out
    assert f"    rerun: sciml-bench run --cell {cell('hangs')} --profile smoke --timeout 2" in done.out
    assert "max_steps in solve at 1 of 2 points: 4096 steps" in done.out


def test_the_printed_rerun_command_reruns_that_cell(cli):
    done = cli("run", "--cell", cell("wrong"), *SMOKE)
    command = next(line for line in done.out.splitlines() if "rerun:" in line).partition("sciml-bench ")[2]
    again = cli(*command.split(), "--out", "again", "--json")
    assert again.json["failures"][0]["label"] == cell("wrong")


def test_a_crash_gives_exit_code_3_and_the_others_still_run(cli):
    done = cli("run", "--cell", f"{cell('dies')},{cell('fine')}", *SMOKE)
    assert done.code == exit_codes.BROKEN_CELLS
    assert "1 cell measured, 1 failed (crash 1)" in done.out
    assert "SIGSEGV" in done.out


def test_what_is_settled_to_fail_is_not_run_again(cli):
    chosen = f"{cell('dies')},{cell('wrong')},{cell('hangs')}"
    cli("run", "--cell", chosen, "--profile", "quick", "--timeout", "2")
    methods = [record.cell.method for record in only_run().records()]
    assert methods.count("hangs") in (1, 2), "twice where other work disturbed the first"
    assert methods.count("dies") == 2
    assert methods.count("wrong") == 3, "its gradients are good"


def interrupt_after(monkeypatch, n_cells: int) -> None:
    """Press Ctrl-C when this many processes have finished."""
    measure, seen = local.measure_group, []

    def measured(*arguments, **options):
        for measurement in measure(*arguments, **options):
            if len(seen) == n_cells:
                raise KeyboardInterrupt
            seen.append(None)
            yield measurement

    monkeypatch.setattr(local, "measure_group", measured)


def test_an_interrupted_run_is_continued_by_the_same_command(cli, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_after(patch, 1)
        done = cli("stiff", *SMOKE)
    assert done.code == exit_codes.INTERRUPTED
    assert "interrupted; resume with: sciml-bench stiff --profile smoke" in done.err
    assert "1 not run yet" in done.out
    again = cli("stiff", *SMOKE)
    assert again.code == exit_codes.OK
    assert "resuming" in again.err
    assert "1 of 2 processes to run" in again.out
    assert "[2/2]" in again.out
    assert "[1/2]" not in again.out
    assert "not run yet" not in again.out
    assert len(list(only_run().records())) == 2


def test_a_finished_run_is_not_continued(cli):
    cli("stiff", *SMOKE)
    cli("stiff", *SMOKE)
    assert len(list(Path("results").iterdir())) == 2


def test_new_starts_anew(cli, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_after(patch, 1)
        cli("stiff", *SMOKE)
    assert cli("stiff", *SMOKE, "--new").code == exit_codes.OK
    assert len(list(Path("results").iterdir())) == 2


def test_another_plan_does_not_continue_it(cli, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_after(patch, 1)
        cli("stiff", *SMOKE)
    cli("stiff", *SMOKE, "--seed", "1")
    assert len(list(Path("results").iterdir())) == 2


def test_another_environment_does_not_continue_it(cli, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_after(patch, 1)
        cli("stiff", *SMOKE)
    environment = only_run().folder / "environment.json"
    environment.write_text(json.dumps(json.loads(environment.read_text()) | {"python": "2.7"}))
    refused = cli("stiff", *SMOKE, "--resume")
    assert refused.code == exit_codes.USAGE
    assert "was made in another environment" in refused.err
    assert cli("stiff", *SMOKE).code == exit_codes.OK
    assert len(list(Path("results").iterdir())) == 2


def test_nothing_to_resume(cli):
    done = cli("stiff", *SMOKE, "--resume")
    assert done.code == exit_codes.USAGE
    assert "nothing to resume in results: no unfinished run of this plan was found" in done.err


@pytest.fixture
def heeds_interrupts():
    """Shells start background jobs with SIGINT ignored, ``nohup`` with SIGHUP, and the tests may be one."""
    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler),
        signal.SIGHUP: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    }
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_hangup_that_is_ignored_stays_ignored(cli, heeds_interrupts):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGHUP))
    timer.start()
    assert cli("run", "--cell", cell("fine"), *SMOKE).code == exit_codes.OK
    timer.join()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_a_valid_run_and_no_worker(cli, number, heeds_interrupts):
    timer = threading.Timer(3.0, os.kill, (os.getpid(), number))
    timer.start()
    done = cli("run", "--cell", cell("hangs"), *SMOKE, "--timeout", "60")
    timer.cancel()
    assert done.code == exit_codes.INTERRUPTED
    assert "1 not run yet" in done.out
    assert list(only_run().records()) == []


def test_earlier_runs_give_the_costs(cli):
    cli("run", "--cell", cell("fine"), *SMOKE)
    (planned,) = cli("plan", "--cell", cell("fine"), *SMOKE, "--json").json["cells"]
    (record,) = only_run().records()
    assert planned["estimated_s"] == pytest.approx(record.wall_s, abs=0.06)


def test_within_a_time_blocks_that_do_not_fit_are_left_for_later(cli):
    words = ("run", "--problem", "decay", "--adapter", "beta", "--method", "fine", "--mode", "eager")
    nothing = cli(*words, "--within", "0.001s")
    assert nothing.code == 0
    assert "time is up: 3 blocks left; the same command continues with them" in nothing.err
    whole = cli(*words, "--within", "1h")
    assert "time is up" not in whole.err
    assert "resuming" in whole.err
    assert "1 cell measured" in whole.out


def test_the_machine_is_looked_at_before_the_first_process(cli, monkeypatch):
    busy = Finding("load", "load", Status.DISTURBS, "7.00, 7.00, 7.00 in the last 1, 5 and 15 minutes")
    monkeypatch.setattr(other_work, "examine", lambda _readings: [busy])
    done = cli("run", "--problem", "calm", "--adapter", "alpha", *SMOKE, "--wait")
    assert done.err.startswith("this machine is disturbed: load: 7.00")
    assert "--wait-quiet waits for one" in done.err


def test_smoke_needs_no_machine_for_itself(cli, monkeypatch):
    monkeypatch.setattr(other_work, "examine", lambda _readings: pytest.fail("nobody compares times of smoke"))
    assert cli("run", "--problem", "calm", "--adapter", "alpha", *SMOKE).code == 0


def test_a_run_can_wait_until_the_machine_is_quiet(cli, monkeypatch):
    busy = Finding("load", "load", Status.DISTURBS, "7.00, 7.00, 7.00 in the last 1, 5 and 15 minutes")
    looks = iter([[busy], [busy], []])
    monkeypatch.setattr(other_work, "examine", lambda _readings: next(looks))
    monkeypatch.setattr(machine.time, "sleep", lambda _s: None)
    done = cli("run", "--problem", "calm", "--adapter", "alpha", *SMOKE, "--wait-quiet")
    assert done.code == 0
    assert done.err.count("waiting for a quiet machine; now load: 7.00") == 1
    assert next(looks, None) is None, "it looked until it was quiet"


def test_a_lost_unit_is_named_and_has_its_exit_code(cli, monkeypatch):
    class Losing(OneByOne):
        name = "losing"

        def carry_out(self, unit, on):
            on(UnitEnded(unit, "its node burned down"))

    monkeypatch.setattr("sciml_bench.cli.run.check_cluster", lambda *_: None)
    monkeypatch.setattr("sciml_bench.cli.run.engine_of", lambda *_: Losing())
    done = cli("stiff", *SMOKE, "--engine", "slurm")
    assert done.code == exit_codes.BROKEN_CELLS
    assert "lost: 000-decay: its node burned down" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--partition", "low"), "--partition needs --engine slurm."),
        (("--engine", "dask", "--cores", "2"), "--cores needs --engine slurm."),
        (("--engine", "slurm", "--scheduler", "tcp://node:1"), "--scheduler needs --engine dask."),
        (("--time", "5min"), "--time needs --engine slurm or dask."),
        (("--engine", "files", "--any-node"), "--any-node needs --engine slurm or dask."),
        (("--engine", "slurm", "--cores", "2", "--threads", "2"), "--cores 2 is too few: a worker has 2 threads"),
    ],
)
def test_options_of_another_engine_are_refused(cli, words, said):
    done = cli("stiff", *SMOKE, *words)
    assert done.code == exit_codes.USAGE
    assert said in done.err
    assert not Path("results").exists()


def test_a_dry_run_needs_a_cluster_and_writes_nothing(cli):
    done = cli("stiff", *SMOKE, "--dry-run")
    assert done.code == exit_codes.USAGE
    assert "add --engine slurm or dask" in done.err
    done = cli("stiff", *SMOKE, "--engine", "dask", "--dry-run")
    assert done.code == exit_codes.OK
    assert done.out == "1 task, each a block of one problem\n"
    assert not Path("results").exists()
