"""A program for stub adapters: the cell's method names the stub that is run."""

from __future__ import annotations

from stubs import programs, training_programs, wrong_programs

from sciml_bench.adapters.program import Program
from sciml_bench.record.task import Task

METHODS = {
    "fine": training_programs.Trains,
    "finer": programs.Decay,
    "stuck": programs.MaxStepsAtTightPoint,
    "wrong": wrong_programs.WrongSolution,
    "dies": programs.CrashesAtOnce,
    "hangs": programs.HangsInBuild,
    "limited": programs.HangsAtTightPoint,
}


def build(task: Task) -> Program:
    """The stub that the method names."""
    return METHODS[task.cell.method](task)
