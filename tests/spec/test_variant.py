"""Variants of problems: one number changed, everything else kept, and refusals that say why."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import sympy

from sciml_bench.errors import ProblemError, UsageError
from sciml_bench.references.store import find
from sciml_bench.spec import catalog, load_problem
from sciml_bench.spec.model import Problem
from sciml_bench.spec.variant import SPREAD, family, parameters_at


def loaded(tmp_path: Path, name: str, over: str, values: list[int], **options: str) -> list[Problem]:
    return [load_problem(path) for path in family(catalog.path(name), over, values, **options).write(tmp_path)]


def test_a_batch_changes_its_size_only(tmp_path):
    base = catalog.load("small-node-64")
    small, same = loaded(tmp_path, "small-node-64", "batch", [4, 64])
    assert (small.name, small.batch.size) == ("small-node-64-batch-4", 4)
    assert (small.batch.spread, small.batch.seed) == (base.batch.spread, base.batch.seed)
    assert small.networks == base.networks
    assert same.spec_hash == base.spec_hash
    assert same.numbers() == base.numbers()


def test_a_smaller_batch_begins_as_the_larger_one(tmp_path):
    small, large = loaded(tmp_path, "small-node", "batch", [4, 16])
    assert large.numbers().y0[: 4 * large.n_states] == small.numbers().y0


def test_a_problem_without_a_batch_gets_one(tmp_path):
    single, few = loaded(tmp_path, "robertson", "batch", [1, 4])
    assert single.spec_hash == catalog.load("robertson").spec_hash
    assert (few.batch.size, few.batch.spread) == (4, SPREAD)


def test_a_width_changes_the_hidden_layers_and_drops_the_hash(tmp_path):
    narrow, same = loaded(tmp_path, "spiral-node", "width", [7, 50])
    assert [layer.outputs for layer in narrow.networks[0].layers] == [7, 2]
    assert "sha256" not in tomllib.loads(Path(narrow.path).read_text())["networks"]["f"]
    assert same.networks[0].sha256 == catalog.load("spiral-node").networks[0].sha256


def test_parameters_take_the_nearest_width(tmp_path):
    """A network of 2 inputs and 2 outputs with one hidden layer of width w has 5 w + 2 weights."""
    base = catalog.load("spiral-node")
    assert [parameters_at(base, "f", width) for width in (1, 2, 50)] == [7, 12, 252]
    found = loaded(tmp_path, "spiral-node", "parameters", [7, 30, 252, 1000])
    assert [problem.n_parameters for problem in found] == [7, 32, 252, 1002]
    assert {str(problem.equations) for problem in found} == {str(base.equations)}


def test_comments_and_order_are_kept(tmp_path):
    text = catalog.path("robertson").read_text().replace("[parameters]", "[parameters] # rates")
    own = tmp_path / "own.toml"
    own.write_text(text)
    (variant,) = family(own, "batch", [4]).variants
    assert "[parameters] # rates" in variant.text
    assert list(tomllib.loads(variant.text))[:3] == list(tomllib.loads(text))[:3]


def test_what_belongs_to_the_base_only_is_taken_out(tmp_path):
    (problem,) = loaded(tmp_path, "spiral-node", "width", [4])
    assert problem.training is None
    assert loaded(tmp_path, "allen-cahn", "points", [32])[0].published == ()


def test_the_base_under_another_name_keeps_its_reference(tmp_path):
    other, same = loaded(tmp_path, "spiral-node", "width", [6, 50])
    assert find(same) is not None
    assert not (tmp_path / f"{other.name}.reference.json").exists()
    assert (tmp_path / "spiral.csv").read_bytes() == catalog.path("spiral-node").with_name("spiral.csv").read_bytes()


@pytest.mark.parametrize(
    ("name", "beyond"),
    [("burgers", sympy.S.Zero), ("allen-cahn", sympy.S.One), ("fisher-kpp", sympy.S.Zero), ("heat", sympy.S.One)],
)
def test_points_change_on_the_same_stretch_of_space(tmp_path, name, beyond):
    """A periodic grid keeps its period; a grid between walls keeps the walls."""
    (base,) = catalog.load(name).grids
    (problem,) = loaded(tmp_path, name, "points", [20])
    (grid,) = problem.grids
    assert grid.points == 20
    assert sympy.simplify(grid.step - (grid.last - grid.first) / 19) == 0

    def wall(item, end, sign):
        return end + sign * beyond * item.step

    if beyond:
        assert sympy.simplify(wall(grid, grid.first, -1) - wall(base, base.first, -1)) == 0
        assert sympy.simplify(wall(grid, grid.last, 1) - wall(base, base.last, 1)) == 0
    else:
        assert grid.first == base.first
        assert sympy.simplify(grid.points * grid.step - base.points * base.step) == 0


def test_a_span_grows_by_whole_factors_with_as_many_saved_times(tmp_path):
    base = catalog.load("small-node")
    same, longer = loaded(tmp_path, "small-node", "span", [1, 3])
    assert same.spec_hash == base.spec_hash
    assert (longer.t0, longer.t1) == (base.t0, base.t0 + 3 * (base.t1 - base.t0))
    assert len(longer.save_times) == len(base.save_times)
    assert longer.save_times[-1] == longer.t1


def test_a_constant_that_is_the_step_follows_it(tmp_path):
    """Its exact solution is that of the new grid: the eigenvalue of the equations of 20 points."""
    (problem,) = loaded(tmp_path, "heat", "points", [20])
    h = sympy.Rational(1, 21)
    assert problem.grids[0].step == h
    decay = problem.exact["u"].atoms(sympy.exp).pop().args[0]
    rate = float(-decay.subs(dict.fromkeys(decay.free_symbols, 1)))
    assert rate == pytest.approx(float(4 / h**2 * sympy.sin(sympy.pi * h / 2) ** 2), rel=1e-12)


@pytest.mark.parametrize(
    ("name", "over", "values", "complaint"),
    [
        ("robertson", "width", [4], "robertson has no network"),
        ("robertson", "parameters", [40], "robertson has no network"),
        ("robertson", "points", [4], "robertson has no grid"),
        ("robertson", "batch", [1_000_001], "lies between 1 and 1000000"),
        ("spiral-node", "width", [10_001], "lies between 1 and 10000"),
        ("spiral-node", "parameters", [3], "at least 7"),
        ("spiral-node", "parameters", [30, 31], "the same width"),
        ("heat", "points", [2], "lies between 3 and"),
        ("brusselator-2d", "span", [2], "has breakpoints in its time span"),
        ("small-node", "span", [0], "lies between 1 and 1000"),
        ("brusselator-1d", "points", [20], "not the distance of its points"),
    ],
)
def test_what_cannot_be_changed_is_refused(name, over, values, complaint):
    with pytest.raises(UsageError, match=complaint):
        family(catalog.path(name), over, values)


def test_a_constant_that_equations_share_with_the_grid_is_refused(tmp_path):
    text = catalog.path("burgers").read_text().replace('last = "127/128"', 'last = "127*w"')
    own = tmp_path / "own.toml"
    own.write_text(text.replace("[parameters]", '[constants]\nw = "1/128"\n\n[parameters]'))
    (variant,) = family(own, "points", [20]).variants
    assert "w =" not in variant.text
    own.write_text(own.read_text().replace('w = "1/128"', 'w = "1/128 + 0"').replace("(x - 0.5)", "(x - 64*w)"))
    with pytest.raises(UsageError, match="used by its grid and elsewhere"):
        family(own, "points", [20])


def test_several_networks_need_a_name(tmp_path):
    text = catalog.path("spiral-node").read_text()
    second = text[text.index("[networks.f]") : text.index("[states]")].replace("networks.f", "networks.g")
    own = tmp_path / "own.toml"
    own.write_text(text.replace("[states]", f"{second}[states]").replace("f(u**3)", "f(u**3) + g(u)"))
    (tmp_path / "spiral.csv").write_bytes(catalog.path("spiral-node").with_name("spiral.csv").read_bytes())
    with pytest.raises(UsageError, match="several networks; name one with --network: f, g"):
        family(own, "width", [4])
    with pytest.raises(UsageError, match="no network 'h'"):
        family(own, "width", [4], network="h")
    (variant,) = family(own, "width", [4], network="g").variants
    networks = tomllib.loads(variant.text)["networks"]
    assert (networks["f"]["layers"], networks["g"]["layers"]) == ([50, 2], [4, 2])


def test_a_problem_that_allows_no_batch_says_so_as_ever(tmp_path):
    with pytest.raises(ProblemError, match="a batch is for problems of scalars"):
        loaded(tmp_path, "brusselator-1d", "batch", [4])


@pytest.mark.parametrize("over", ["span", "batch"])
def test_data_of_the_loss_are_left_out_where_there_would_be_none(tmp_path, over):
    made = family(catalog.path("spiral-node"), over, [1, 3])
    assert made.files == {}
    same, other = (load_problem(path) for path in made.write(tmp_path))
    # Of all sizes, or their losses would not be the same.
    assert same.loss.data == other.loss.data == ()
    assert "a loss without data" in same.title
    assert (float(other.t1), other.batch.size) == ((4.5, 1) if over == "span" else (1.5, 3))


def test_a_list_of_saved_times_is_stretched_with_the_span(tmp_path):
    base = catalog.load("robertson")
    (longer,) = loaded(tmp_path, "robertson", "span", [2])
    assert longer.save_times == tuple(2 * time for time in base.save_times)


def test_batches_of_data_are_their_first_rows(tmp_path):
    base = catalog.path("neural-cde")
    made = family(base, "batch", [2, 4])
    assert set(made.files) == {"turning.csv"}
    problems = [load_problem(path) for path in made.write(tmp_path)]
    assert [problem.batch.size for problem in problems] == [2, 4]
    assert problems[1].given[0].rows[:2] == problems[0].given[0].rows
    with pytest.raises(ProblemError, match="the data have 8 rows for 9 trajectories"):
        load_problem(family(base, "batch", [9]).write(tmp_path / "more")[0])


def test_observables_stay_or_are_left_out_like_data(tmp_path):
    (tmp_path / "x.csv").write_text("t,value\n1,0.3\n", encoding="utf-8")
    base = tmp_path / "decay.toml"
    base.write_text(
        'spec = 1\nname = "decay"\ntitle = "Decay"\n[time]\nt1 = 1\n[parameters]\nk = 1\n'
        '[networks.f]\ninputs = 1\nlayers = [4, 1]\nactivation = "tanh"\nweights = { draw = "glorot_uniform" }\n'
        '[states]\nx = { initial = 1, scale = 1 }\n[equations]\nx = "-k*x + f(x)[0]"\n'
        '[[observables]]\nof = "x"\ndata = "x.csv"\n',
        encoding="utf-8",
    )
    wide = family(base, "width", [8])
    assert set(wide.files) == {"x.csv"}
    (kept,) = (load_problem(path) for path in wide.write(tmp_path / "wide"))
    assert kept.loss.data == ((0.3,),)
    (many,) = (load_problem(path) for path in family(base, "batch", [3]).write(tmp_path / "many"))
    assert (many.batch.size, many.loss.data) == (3, ())
