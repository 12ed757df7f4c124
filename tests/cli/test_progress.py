"""What is seen during a run."""

from __future__ import annotations

import io
import os
import re
import sys
import threading
from contextlib import suppress

import pytest
from stubs.reported import cell, point, record
from stubs.suite import stub_adapters

from sciml_bench.cli.progress import announcement, watching
from sciml_bench.execution.executor import Step
from sciml_bench.execution.finished import Finished
from sciml_bench.execution.schedule import placement
from sciml_bench.measure.protocol import Enter, TrainingDone
from sciml_bench.planning.plan import Plan, make_plan
from sciml_bench.planning.profiles import profile_named
from sciml_bench.planning.selection import Selection
from sciml_bench.planning.settings import Settings
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Record
from sciml_bench.record.task import Training
from sciml_bench.record.training import Trained

SGD = Training("sgd", 0.1, 300, 1e-6, 1e-6)


def line_of(place: int, total: int, of: Record) -> str:
    return str(Finished(place, total, of))


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def plan(cli) -> Plan:
    """Two cells, two processes; the fixture ``cli`` brings the stub problems."""
    return make_plan(Selection(problems=("decay",)), stub_adapters(), profile_named("smoke"), Settings())


def first_step(plan: Plan) -> Step:
    slot = plan.slots[0]
    return Step(plan.planned[slot.index].cell, placement(plan, slot), 1, 2)


def finish_one(plan: Plan, *, to_stderr: bool = False) -> None:
    step = first_step(plan)
    with watching(plan, plan.slots, to_stderr=to_stderr) as watcher:
        watcher.started(step)
        watcher.event(Enter("first_gradient"))
        watcher.event(Enter("steady_solve", 1))
        watcher.finished(step, record(step.cell, [point(1e-4), point(1e-8)]))


def test_without_a_terminal_there_are_only_lines(plan, capsys):
    finish_one(plan)
    captured = capsys.readouterr()
    assert captured.out.startswith("[1/2] ok ")
    assert captured.out.count("\n") == 1
    assert captured.err == ""


def test_on_a_terminal_the_live_line_tells_the_cell_and_its_phase(plan, capsys, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "150")
    finish_one(plan)
    assert "/fine/discrete: steady_solve, point 2" in terminal.getvalue()
    assert capsys.readouterr().out.startswith("[1/2] ok "), "lines still reach the pipe"


def screen(output: str) -> list[str]:
    """The lines that a terminal shows in the end, for the few control sequences that rich writes."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[[?\d;]*[A-Za-z]|[\r\n]|[^\x1b\r\n]+", output):
        if part == "\r":
            column = 0
        elif part == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif part.startswith("\x1b["):
            if part.endswith("A"):
                row -= int(part[2:-1])
            elif part == "\x1b[2K":
                lines[row] = ""
            else:
                assert part[-1] in "mhl", part
        else:
            lines[row] = lines[row][:column].ljust(column) + part + lines[row][column + len(part) :]
            column += len(part)
    return [line.rstrip() for line in lines if line.strip()]


def test_the_live_line_leaves_no_debris_among_the_lines(plan, monkeypatch):
    master, slave = os.openpty()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    written: list[bytes] = []

    def read() -> None:
        with suppress(OSError):  # a terminal that nobody writes to any more
            while part := os.read(master, 1 << 16):
                written.append(part)

    reader = threading.Thread(target=read)
    reader.start()
    with os.fdopen(slave, "w", buffering=1) as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        monkeypatch.setattr(sys, "stderr", terminal)
        finish_one(plan)
        monkeypatch.undo()
    reader.join()
    os.close(master)
    output = b"".join(written).decode()
    assert " left" in output, "the live line was there"
    assert [line[:9] for line in screen(output)] == ["[1/2] ok "]


def test_a_training_is_followed(plan, capsys, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "150")
    with watching(plan, plan.slots, to_stderr=False) as watcher:
        watcher.started(first_step(plan))
        told = Trained(SGD, Outcome.OK, losses=(1.0,) * 120, step_ns=(1,) * 120)
        watcher.event(TrainingDone(told, complete=False))
    assert "training, step 120 of 300" in terminal.getvalue()


def test_the_line_tells_how_the_training_ended():
    whole = Trained(SGD, Outcome.OK, losses=(1.0,) * 300, step_ns=(1,) * 300)
    gone = Trained(SGD, Outcome.NONFINITE, losses=(1.0,) * 7, step_ns=(1,) * 7)
    assert line_of(1, 2, record(cell(), [point(1e-4)], training=whole)).endswith(", training 300/300")
    assert line_of(1, 2, record(cell(), [point(1e-4)], training=gone)).endswith(", training nonfinite 7/300")


def test_lines_go_to_stderr_when_stdout_is_for_json(plan, capsys):
    finish_one(plan, to_stderr=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("[1/2] ok ")


def test_lines_tell_what_matters():
    good = record(cell(), [point(1e-4, gradient_ms=2), point(1e-8, gradient_ms=30)])
    assert line_of(3, 12, good) == (
        "[ 3/12] ok             robertson/diffrax/kvaerno5/discrete/jit/float64/cpu  12.5 s  "
        "1st gradient 8.00 s, gradient 30.0 ms at rtol 1e-08, points 2/2"
    )
    bad = record(cell(), [point(1e-4, outcome=Outcome.MAX_STEPS, message="4096 steps\nand more")])
    assert line_of(12, 12, bad) == (
        "[12/12] max_steps      robertson/diffrax/kvaerno5/discrete/jit/float64/cpu  12.5 s  4096 steps"
    )


def test_line_says_that_a_process_was_disturbed_and_that_it_is_a_repetition():
    noisy = record(cell(), [point(1e-4)], noisy=("other_load: somebody compiles",))
    again = record(cell(), [point(1e-4)], attempt=1)
    assert "/float64/cpu  12.5 s, noisy  1st gradient" in line_of(1, 2, noisy)
    assert "/float64/cpu  12.5 s, again  1st gradient" in line_of(1, 2, again)


def test_the_cost_is_told_before_the_start(plan):
    assert announcement(plan, plan.slots) == (
        "profile smoke: 2 cells on 1 problem, 1 process each, about 14 s; phase limit 30 s"
    )
    assert ", 1 of 2 processes to run, about 7 s;" in announcement(plan, plan.slots[1:])
