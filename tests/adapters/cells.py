"""Tasks for adapters' programs, and what comes of them; for use inside a framework's own process."""

from __future__ import annotations

import importlib

import numpy as np

from sciml_bench.adapters import registry
from sciml_bench.adapters.program import FloatArray, Program
from sciml_bench.emit import source
from sciml_bench.record.outcome import SolverFailure
from sciml_bench.record.task import Cell, Numbers, Point, Sampling, Task
from sciml_bench.references.store import find
from sciml_bench.references.truth import truth
from sciml_bench.spec import catalog

LOTKA_VOLTERRA = np.array([51.1663461398, -218.668216215, 216.225188006, -710.964203416])
"""d(loss)/dp, on which DOP853 and Radau IIA at a relative tolerance of 1e-12 agree to these digits."""


def catalog_task(problem: str, adapter: str, method: str, sensitivity: str, mode: str, precision="float64") -> Task:
    """One cell on a problem of the catalog. The point is given to ``prepare``, so the task's own is any."""
    loaded = catalog.load(problem)
    cell = Cell(problem, adapter, method, sensitivity, mode, precision)
    return source_task(source(loaded, registry.adapter(adapter).target_of(cell)), loaded.numbers(), cell)


def source_task(text: str, numbers: Numbers, cell: Cell) -> Task:
    """One cell on emitted, or hand-made, source."""
    return Task(
        cell=cell,
        program=registry.adapter(cell.adapter).program,
        source=text,
        numbers=numbers,
        points=(Point(1e-6, 1e-8),),
        sampling=Sampling(warm_up_calls=1, steady_calls=1, steady_s=0.0, max_steady_calls=1, perturbation=0.0),
        seed=0,
        threads=1,
        error_bound=1e-3,
        gradient_error_bound=1e-2,
    )


def build(task: Task) -> Program:
    """The program of a task, as the worker builds it."""
    module, _, function = task.program.partition(":")
    return getattr(importlib.import_module(module), function)(task)


def one_state(t1: float = 2.0) -> Numbers:
    """One state that starts at 1, one parameter of 1, saved at a quarter of the time and at its end."""
    return Numbers((1.0,), (1.0,), 0.0, t1, (t1 / 4, t1), (), (1.0,), "parameters")


def outcome(text: str, cell: Cell, rtol: float = 1e-6) -> list[str]:
    """How building and a gradient of hand-made source end: the outcome and the message, or the gradient."""
    try:
        program = build(source_task(text, one_state(), cell))
        found = program.read_gradient(program.gradient(program.prepare(np.array([1.0]), Point(rtol, rtol))))
    except SolverFailure as raised:
        return [str(raised.outcome), str(raised)]
    return ["ok", str(found.gradient)]


def lotka_volterra_error(cell: Cell, rtol: float) -> float:
    """Relative error of the gradient of Lotka-Volterra."""
    theta = np.array(catalog.load("lotka-volterra").numbers().theta)
    task = catalog_task("lotka-volterra", cell.adapter, cell.method, cell.sensitivity, cell.mode, cell.precision)
    program = build(task)
    found = program.read_gradient(program.gradient(program.prepare(theta, Point(rtol, rtol * 1e-2)))).gradient
    return float(np.linalg.norm(found - LOTKA_VOLTERRA) / np.linalg.norm(LOTKA_VOLTERRA))


def gradient_error(problem: str, program: Program, point: Point) -> float:
    """Relative error of the gradient of a catalog problem, each derivative in units of its quantity."""
    loaded = catalog.load(problem)
    theta = np.array(loaded.numbers().theta)
    reference = find(loaded)
    assert reference is not None
    assert reference.gradient is not None
    inputs = program.prepare(theta, point)
    states = program.read_solution(program.solve(inputs)).ys
    assert states.shape == (len(reference.solution), len(reference.solution[0]))
    size = np.where(theta == 0, 1.0, np.abs(theta))
    expected = np.array([float(value) for value in reference.gradient])
    found = program.read_gradient(program.gradient(inputs)).gradient
    return float(np.linalg.norm(size * (found - expected)) / np.linalg.norm(size * expected))


def digits_of(problem: str, states: FloatArray) -> float:
    """Correct digits of the worst state of a catalog problem, at the worst saved time."""
    loaded = catalog.load(problem)
    reference = find(loaded)
    assert reference is not None
    expected = np.array([[float(value) for value in row] for row in reference.solution])
    assert states.shape == expected.shape
    scale = np.array(loaded.numbers().atol_scale) + np.abs(expected)
    return float(-np.log10(np.max(np.abs(states - expected) / scale)))


def robertson_errors(cell: Cell, rtol: float, atol: float = 1e-7) -> list[float]:
    """How far each component of Robertson's end state is off, in units of its own absolute tolerance."""
    problem = catalog.load("robertson")
    reference = truth(problem)
    assert reference is not None
    program = build(catalog_task("robertson", cell.adapter, cell.method, cell.sensitivity, cell.mode))
    inputs = program.prepare(np.array(problem.numbers().theta), Point(rtol, atol))
    end = program.read_solution(program.solve(inputs)).ys[-1]
    return list(np.abs(end - reference.solution[-1]) / (atol * np.array(problem.numbers().atol_scale)))


def steady_traces(problem: str, cell: Cell, rtols: tuple[float, ...]) -> list[int]:
    """Trace counts after a gradient and a solve at each tolerance, with different parameters every time."""
    program = build(catalog_task(problem, cell.adapter, cell.method, cell.sensitivity, cell.mode, cell.precision))
    return traces_of(program, problem, rtols)


def traces_of(program: Program, problem: str, rtols: tuple[float, ...]) -> list[int]:
    """:func:`steady_traces` of a program."""
    theta = np.array(catalog.load(problem).numbers().theta)
    counts: list[int] = []
    for index, rtol in enumerate(rtols):
        inputs = program.prepare((1 + 0.01 * index) * theta, Point(rtol, rtol))
        program.synchronise(program.gradient(inputs))
        program.synchronise(program.solve(inputs))
        counts.append(program.trace_count())
    return counts


def event_errors(program: Program, problem: str) -> tuple[float, float]:
    """Errors of a solve and of a gradient by d loss / d log p, at 1e-8, against the certified reference."""
    loaded = catalog.load(problem)
    truth = find(loaded)
    assert truth is not None
    theta = np.array(loaded.numbers().theta)
    inputs = program.prepare(theta, Point(1e-8, 1e-10))
    ys = program.read_solution(program.solve(inputs)).ys
    exact = np.array(truth.solution, dtype=float)
    solution = np.max(np.abs(ys - exact)) / np.max(np.abs(exact))
    by_log = program.read_gradient(program.gradient(inputs)).gradient * theta
    right = np.array(truth.gradient, dtype=float) * theta
    return float(solution), float(np.max(np.abs(by_log - right)) / np.max(np.abs(right)))
