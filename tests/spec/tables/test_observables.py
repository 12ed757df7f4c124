"""Observables: what was measured at times and with standard deviations of its own, in the loader and the emitters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emit.grammar import tree

from sciml_bench.emit import source
from sciml_bench.errors import ProblemError
from sciml_bench.spec import Problem
from sciml_bench.spec.load import load_problem
from sciml_bench.spec.model import to_double

HEAD = """
spec = 1
name = "measured"
title = "Measured"
[time]
t1 = 4
[parameters]
k = 0.5
x0 = 2
[states]
x = { initial = INITIAL, scale = 1 }
y = { initial = 0, scale = 1 }
[equations]
x = "-k*x"
y = "k*x - 0.1*y*x0"
"""
STATES = """
[[observables]]
of = "x"
times = [1, 2.5]
values = [1.2, 0.6]
sigma = 0.1
[[observables]]
of = "y"
times = [1, 3]
values = [0.7, 1]
sigma = [0.2, 0.4]
"""
EXPRESSIONS = """
[[observables]]
of = "x + 2*y"
times = [0, 1, 2.5]
values = [1.9, 1.2, 0.6]
sigma = 0.1
[[observables]]
of = "x0*y"
times = [4]
values = [1]
"""
X, Y = np.array([1.3, 0.8, 0.5, 0.3]), np.array([0.6, 0.9, 1.1, 1.2])


def problem_of(folder: Path, text: str, initial: str = '"x0"') -> Problem:
    path = folder / "measured.toml"
    path.write_text(HEAD.replace("INITIAL", initial) + text, encoding="utf-8")
    return load_problem(path)


def refusal(folder: Path, text: str, initial: str = '"x0"') -> str:
    with pytest.raises(ProblemError) as caught:
        problem_of(folder, text, initial)
    return str(caught.value)


def emitted(problem: Problem, target: str = "numpy") -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(compile(source(problem, target), target, "exec"), namespace)
    return namespace


def test_states_are_held_against_their_data_at_their_times(tmp_path):
    problem = problem_of(tmp_path, STATES, "2")
    assert [to_double(time) for time in problem.save_times] == [1, 2.5, 3, 4]
    assert problem.loss.of is None
    right = ((1.3 - 1.2) / 0.1) ** 2 + ((0.8 - 0.6) / 0.1) ** 2 + ((0.6 - 0.7) / 0.2) ** 2 + ((1.1 - 1) / 0.4) ** 2
    module, ys = emitted(problem), np.stack([X, Y], axis=1)
    assert float(module["loss"](ys)) == pytest.approx(right)
    slopes = module["loss_gradient"](ys)
    for k in range(4):
        for i in range(2):
            moved = ys.copy()
            moved[k, i] += 1e-6
            change = (float(module["loss"](moved)) - right) / 1e-6
            assert slopes[k, i] == pytest.approx(change, abs=1e-3)


def test_expressions_of_states_and_parameters_are_observed_also_at_the_start(tmp_path):
    problem = problem_of(tmp_path, EXPRESSIONS)
    assert [to_double(time) for time in problem.save_times] == [1, 2.5, 4]
    module = emitted(problem)
    ys, p = np.stack([X, Y], axis=1)[[0, 1, 3]], np.array([0.5, 2.0])
    right = ((1.3 + 1.2 - 1.2) / 0.1) ** 2 + ((0.8 + 1.8 - 0.6) / 0.1) ** 2 + (2 * 1.2 - 1) ** 2
    assert float(module["loss"](ys, p)) == pytest.approx(right)
    # What is measured at t0 depends on theta alone.
    y0, penalty = module["initial_state"](p)
    assert np.ravel(y0) == pytest.approx([2, 0])
    assert float(penalty) == pytest.approx(((2 - 1.9) / 0.1) ** 2)


def test_a_start_that_is_given_adds_a_constant_that_is_left_out(tmp_path):
    assert problem_of(tmp_path, EXPRESSIONS, "2").loss.penalty is None


def test_measurements_may_be_in_files(tmp_path):
    (tmp_path / "x.csv").write_text("t,value,sigma\n1,1.2,0.1\n2.5,0.6,0.1\n", encoding="utf-8")
    (tmp_path / "y.csv").write_text("t,value\n1,0.7\n3,1\n", encoding="utf-8")
    files = '[[observables]]\nof = "x"\ndata = "x.csv"\n[[observables]]\nof = "y"\ndata = "y.csv"\nsigma = [0.2, 0.4]\n'
    found, written = problem_of(tmp_path, files, "2"), problem_of(tmp_path, STATES, "2")
    assert found.save_times == written.save_times
    assert (found.loss.data, found.loss.weights) == (written.loss.data, written.loss.weights)


def test_data_decide_the_hash(tmp_path):
    one = problem_of(tmp_path, STATES)
    assert problem_of(tmp_path, STATES).spec_hash == one.spec_hash
    assert problem_of(tmp_path, STATES.replace("0.4]", "0.5]")).spec_hash != one.spec_hash


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("times = [1, 3]", "times = [3, 1]"), "must increase and lie between t0 and t1"),
        (("times = [1, 3]", "times = [1, 5]"), "must increase and lie between t0 and t1"),
        (("times = [1, 3]", "times = [1]"), "1 times, 2 values and 2 sigmas"),
        (("sigma = 0.1", "sigma = 0"), "each sigma of 'x' must be positive"),
        (("sigma = 0.1", "sigma = 1e-320"), "each sigma of 'x' must be positive"),
        (("times = [1, 3]", "times = [1.0000000000000002, 3]"), "the same except for rounding"),
        (('of = "x"', 'of = "2"'), "'of' must depend on a state or a parameter"),
        (('of = "x"', 'of = "z"'), "unknown name 'z'"),
        (("sigma = 0.1", 'data = "x.csv"'), "not both"),
        (("[time]", "[time]"), ""),
    ],
)
def test_what_is_wrong_is_told(tmp_path, change, told):
    if told:
        assert told in refusal(tmp_path, STATES.replace(*change))


def test_other_losses_and_saved_times_beside_observables_are_refused(tmp_path):
    assert "sum of squares of [[observables]]" in refusal(tmp_path, '[loss]\nkind = "sum"\n' + STATES)
    path = tmp_path / "measured.toml"
    text = HEAD.replace("INITIAL", "2").replace("t1 = 4", "t1 = 4\nsave = { times = [4] }")
    path.write_text(text + STATES, encoding="utf-8")
    with pytest.raises(ProblemError, match="the saved times come from"):
        load_problem(path)


@pytest.mark.parametrize("text", [STATES, EXPRESSIONS])
def test_julia_has_the_same_weights(tmp_path, text):
    found = source(problem_of(tmp_path, text), "julia")
    assert not tree(found).has_error
    assert "const LOSS_WEIGHTS = " in found
    assert ".* LOSS_WEIGHTS" in found


def saved_from_the_start(folder: Path, loss: str, initial: str = '"x0"') -> Problem:
    path = folder / "measured.toml"
    text = HEAD.replace("INITIAL", initial).replace("t1 = 4", "t1 = 4\nsave = { times = [0, 1, 4] }")
    path.write_text(text + loss, encoding="utf-8")
    return load_problem(path)


@pytest.mark.parametrize(
    ("loss", "right"),
    [
        ("", 2.0**2),
        ("[loss]\ntarget = [1.5, 0]\nweight = 3", 3 * 0.5**2),
        ('[loss]\nkind = "sum_of_magnitudes"\ntarget = [2.5, 0]', 0.5),
        ('[loss]\nof = "x*k + y"\npenalty = "k**2"', 1.0**2 + 0.25),
    ],
)
def test_a_loss_at_the_start_depends_on_what_the_start_depends_on(tmp_path, loss, right):
    problem = saved_from_the_start(tmp_path, loss)
    assert [to_double(time) for time in problem.save_times] == [1, 4]
    _, penalty = emitted(problem)["initial_state"](np.array([0.5, 2.0]))
    assert float(penalty) == pytest.approx(right)


def test_a_row_of_data_at_the_start_is_held_against_the_start(tmp_path):
    (tmp_path / "all.csv").write_text("t,x,y\n0,1.8,0\n1,1.2,0.7\n4,0.3,1\n", encoding="utf-8")
    problem = saved_from_the_start(tmp_path, '[loss]\ndata = "all.csv"')
    assert problem.loss.data == ((1.2, 0.7), (0.3, 1.0))
    _, penalty = emitted(problem)["initial_state"](np.array([0.5, 2.0]))
    assert float(penalty) == pytest.approx(0.2**2)
    assert saved_from_the_start(tmp_path, '[loss]\ndata = "all.csv"', "2").loss.penalty is None


def test_a_loss_at_the_start_is_refused_where_gradients_are_of_it(tmp_path):
    path = tmp_path / "free.toml"
    path.write_text(
        'spec = 1\nname = "free"\ntitle = "Free"\n[time]\nt1 = 1\nsave = { times = [0, 1] }\n'
        '[states]\nx = { initial = 1, scale = 1 }\n[equations]\nx = "-x"\n',
        encoding="utf-8",
    )
    with pytest.raises(ProblemError, match="gradients with respect to the initial state"):
        load_problem(path)


BATCH = "\n[batch]\nsize = 3\nspread = 0.1\n"


def test_drawn_batches_have_no_measurements(tmp_path):
    assert "the trajectories of a batch have no separate data" in refusal(tmp_path, STATES + BATCH, "2")


def test_drawn_batches_have_no_part_at_the_start(tmp_path):
    with pytest.raises(ProblemError, match="a batch draws its initial states"):
        saved_from_the_start(tmp_path, '[loss]\nof = "k*x + y"' + BATCH, "2")
