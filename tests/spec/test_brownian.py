"""Brownian motions that drive equations: the same numbers everywhere, and clear errors."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from stubs.latents import DRAWN, HEAD, STOCHASTIC, stochastic
from sympy import Rational

from sciml_bench.emit import source
from sciml_bench.errors import ProblemError
from sciml_bench.planning.problems import entries
from sciml_bench.planning.selection import Selection
from sciml_bench.spec import catalog, load_problem
from sciml_bench.spec.language.noise import parts
from sciml_bench.spec.tables.brownian import Brownian
from sciml_bench.spec.variant import family


def test_paths_are_those_of_their_seed():
    rows = np.array(Brownian(2, 3, 7, 1.5).rows(2)).reshape(2, 4, 2)
    draws = np.random.RandomState(7).standard_normal((2, 3, 2)) * np.sqrt(0.5)
    assert np.array_equal(rows[:, 0], np.zeros((2, 2)))
    assert np.diff(rows, axis=1) == pytest.approx(draws, rel=1e-5)
    assert np.array_equal(rows, rows.astype(np.float32))


def test_a_larger_batch_begins_with_the_paths_of_a_smaller_one():
    motion = Brownian(3, 5, 7, 1.0)
    assert motion.rows(4)[:2] == motion.rows(2)


def test_increments_have_the_variance_of_their_steps():
    increments = np.diff(np.array(Brownian(1, 4000, 1, 8.0).rows(1)[0]))
    # The standard deviation of this estimate is sqrt(2/4000) = 2.2 %.
    assert np.var(increments) == pytest.approx(8.0 / 4000, rel=0.08)


def test_each_trajectory_has_its_own_path_and_the_same_start(tmp_path):
    problem = stochastic(tmp_path, 3)
    (path,) = problem.given
    assert (path.name, path.shape, len(path.rows)) == ("W_values", (9, 2), 3)
    assert len(set(path.rows)) == 3
    assert problem.numbers().y0 == (1, 0, 0.5) * 3
    assert problem.breakpoints == tuple(Rational(k, 8) for k in range(1, 8))
    assert [t.given[0].rows for t in problem.trajectories()] == [(row,) for row in path.rows]
    assert stochastic(tmp_path, 1).spec_hash != problem.spec_hash


def test_drift_and_noise_are_taken_apart(tmp_path):
    found = parts(stochastic(tmp_path))
    assert found is not None
    assert {name: str(expr) for name, expr in found.drift.items()} == {"z": "-z + NetworkOutput(f, z)", "u": "-u"}
    assert {name: str(expr) for name, expr in found.diffusion.items()} == {"z": "NetworkOutput(g, z)", "u": "0"}
    assert entries(Selection(), [tmp_path / "stochastic.toml"])[0].facts.stochastic


@pytest.mark.parametrize(
    "change",
    [
        ('ddt(W)) - z"', 'ddt(W))*0.5 - z"'),
        ('u = "-u"', 'u = "-u*ddt(W)[0]"'),
        ("save = { times", "breakpoints = [0.3]\nsave = { times"),
    ],
)
def test_other_noise_stays_in_one_right_hand_side(tmp_path, change):
    stochastic(tmp_path)
    path = tmp_path / "stochastic.toml"
    path.write_text(path.read_text(encoding="utf-8").replace(*change), encoding="utf-8")
    problem = load_problem(path)
    assert parts(problem) is None
    assert "def diffusion" not in source(problem, "jax")


def test_the_source_draws_the_very_paths(tmp_path):
    problem = stochastic(tmp_path, 2)
    text = source(problem, "jax")
    drawing = text[text.index("def brownian_motions") :].partition("\n\n")[0]
    namespace = {"np": np}
    exec(drawing, namespace)
    drawn = eval("brownian_motions(2, 8, 2, 1.0, 4)", namespace)
    assert "brownian_motions(2, 8, 2, 1.0, 4)" in text
    assert np.array_equal(drawn.reshape(2, -1), np.array(problem.given[0].rows))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("channels = 2", "channels = 3"), "not 4 and 3"),
        (("seed = 4 }", "seed = 4 }\nsha256 = \"" + "0" * 64 + '"'), "the first path of 'W' has the hash"),
        (("seed = 4 }", "seed = 4 }\ntimes = [0, 1]"), "a Brownian motion has no 'times'"),
        (("steps = 8", "steps = 1"), "'steps'"),
        (("[control.W]\nbrownian = { channels = 2, steps = 8, seed = 4 }", "[control.W]\nbrownian = 3"), "must be a table"),  # noqa: E501
        (("seed = 4", "sead = 4"), "sead"),
        (("size = 1", "size = 2\nspread = 0.1"), "trajectories differ by their Brownian motions"),
        (("size = 1", "size = 2000000"), "'size' must be"),
    ],
)  # fmt: skip
def test_mistakes_are_told(tmp_path, change, told):
    path = tmp_path / "wrong.toml"
    text = HEAD + STOCHASTIC.format(draw=DRAWN) + "[batch]\nsize = 1\n"
    path.write_text(text.replace(*change), encoding="utf-8")
    with pytest.raises(ProblemError) as caught:
        load_problem(path)
    assert told in str(caught.value)


def test_paths_that_are_too_many_to_hold_are_refused(tmp_path):
    path = tmp_path / "wrong.toml"
    text = HEAD + STOCHASTIC.format(draw=DRAWN) + "[batch]\nsize = 100000\n"
    path.write_text(text.replace("steps = 8", "steps = 800"), encoding="utf-8")
    with pytest.raises(ProblemError, match="have more than 10000000 numbers together"):
        load_problem(path)


def test_the_schema_knows_motions(tmp_path):
    import tomllib

    stochastic(tmp_path)
    shipped = json.loads((catalog.folder() / "problem.schema.json").read_text(encoding="utf-8"))
    data = tomllib.loads((tmp_path / "stochastic.toml").read_text(encoding="utf-8"))
    jsonschema.validate(data, shipped)
    data["control"]["W"]["data"] = "x"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**data, "control": {"W": {**data["control"]["W"], "times": [0, 1]}}}, shipped)


def test_a_sweep_over_the_batch_draws_more_paths(tmp_path: Path):
    stochastic(tmp_path)
    found = family(tmp_path / "stochastic.toml", "batch", (1, 3))
    single, several = (load_problem(path) for path in found.write(tmp_path / "variants"))
    assert several.given[0].rows[:1] == single.given[0].rows
    assert several.numbers().y0 == (1, 0, 0.5) * 3
