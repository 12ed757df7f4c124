"""What stands around the solve in problem files: data of trajectories, computed initial values, observed losses."""

from __future__ import annotations

from pathlib import Path

import pytest
from stubs.latents import CONTROLLED, DRAWN, HEAD, TABLES, TEXTS, controlled, latent
from sympy import Integer

from sciml_bench.emit import source
from sciml_bench.errors import ProblemError, UsageError
from sciml_bench.spec import load_problem
from sciml_bench.spec.given import Given


def test_each_trajectory_has_its_row(tmp_path):
    problem = latent(tmp_path, "classifier", 2)
    assert problem.batch.size == 2
    assert problem.given[0] == Given("u", (), ((0.5,), (-1.5,)))
    assert problem.given[2] == Given("w", (3,), ((0.5, -0.7, 1.5), (-0.3, 0.2, 0.1)))
    assert [t.given[0].rows for t in problem.trajectories()] == [((0.5,),), ((-1.5,),)]
    numbers = problem.numbers()
    assert (numbers.batch, numbers.wrt, numbers.y0) == (2, "parameters", (0, 0, 0.25) * 2)


def test_series_are_times_of_channels(tmp_path):
    problem = latent(tmp_path, "autoencoder")
    (x, w) = problem.given
    assert (x.shape, w.shape) == ((3, 2), (3,))
    assert [network.recurrent for network in problem.networks] == ["reverse", "forward", "", "", ""]
    encode = problem.networks[0]
    assert (encode.inputs, encode.outputs, len(encode.weights)) == (2, 5, 5 * 8)
    assert [network.name for network in problem.rhs_networks] == ["f"]
    assert problem.loss.target == (0, 0)
    assert problem.loss.given == "x"


def test_all_rows_are_taken_without_a_batch(tmp_path):
    latent(tmp_path, "classifier")
    path = tmp_path / "classifier.toml"
    path.write_text(path.read_text(encoding="utf-8").partition("[batch]")[0], encoding="utf-8")
    assert load_problem(path).batch.size == 3


def test_the_hash_tells_of_the_rows_that_are_used(tmp_path):
    first = latent(tmp_path, "classifier", 2).spec_hash
    changed = TABLES["classifier"].replace("0.75,3", "0.75,1")
    (tmp_path / "around.csv").write_text(changed, encoding="utf-8")
    assert load_problem(tmp_path / "classifier.toml").spec_hash == first
    (tmp_path / "around.csv").write_text(changed.replace("-1.5,0", "-1.5,1"), encoding="utf-8")
    assert load_problem(tmp_path / "classifier.toml").spec_hash != first


def test_initial_values_of_parameters_need_no_data(load, decay):
    problem = load(decay.replace("a = 1\n", 'a = "2*k"\n'))
    assert problem.latent
    assert problem.states[0].start_text == "2*k"
    assert not load(decay.replace("a = 1\n", 'a = "2*pi"\n')).latent


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("classifier", ("[batch]\nsize = 1", "[batch]\nsize = 4"), "the data have 3 rows for 4 trajectories"),
        ("classifier", ("size = 1", "size = 2\nspread = 1"), "'spread' belongs to batches that are drawn"),
        ("classifier", ('label = "label"', 'label = "w"'), "'w' is not a number among [data]"),
        ("classifier", ('at = "end"', 'at = "saved"'), "cross_entropy is taken at the end, of a label"),
        ("classifier", ("layers = [4]", "layers = [3]"), "line 4 of the data: the label is 3"),
        ("classifier", ('kind = "cross_entropy"', 'kind = "sum"'), "'label' belongs to the kind cross_entropy"),
        ("classifier", ("v[0]*u", "v[0]"), "'u' in [data] is never used"),
        ("classifier", ('"head(a + k*c, b)"', '"head(a + k*t, b)"'), "unknown name 't'"),
        ("classifier", ('"head(a + k*c, b)"', '"head(k, k)"'), "'of' must be a number or a vector that depends on"),
        ("classifier", ('c = "-c"', 'c = "-c*u"'), "unknown name 'u'"),
        ("classifier", ("[networks.encode]", "[grids.y]\npoints = 4\nfirst = 0\nlast = 1\nboundary = \"periodic\"\n[networks.encode]"), "have no data of trajectories, computed initial values"),  # noqa: E501
        ("autoencoder", ('"mean(h)"', '"mean(x)"'), "unknown name 'x'"),
        ("autoencoder", ('"encode(x)"', '"encode(w)"'), "encode is recurrent: it takes one series among [data] (x)"),
        ("autoencoder", ("inputs = 2\nlayers = [5]", "inputs = 3\nlayers = [5]"), "has 3 inputs, x has 2 channels"),
        ("autoencoder", ("layers = [5]", "layers = [5, 5]"), "a recurrent network has one layer"),
        ("autoencoder", ("reverse = true", "pointwise = true"), "a recurrent network has no 'pointwise'"),
        ("autoencoder", ("inputs = 4", "reverse = true\ninputs = 4"), "a dense network has no 'reverse'"),
        ("autoencoder", ('kind = "recurrent"', 'kind = "lstm"'), "'lstm' is no kind of network"),
        ("autoencoder", ("times = [0.25, 0.75, 1]", "times = [0.5, 1]"), "'x' is a 3×2, but the target is a 2×2"),
        ("autoencoder", ('"x", "w"', '"w", "x"'), "'columns' must list the quantities of the data file"),
        ("autoencoder", ("dot(m, w)", "m"), "'penalty' must be a scalar that depends on theta"),
        ("autoencoder", ('h = "encode(x)"', 'h = "encode(x)"\nidle = "2*k"'), "'idle' in [encoding] is never used"),
        ("autoencoder", ('target = "x"', 'data = "around.csv"'), "'data' is for losses of the states themselves"),
        ("autoencoder", ("[encoding]", "[encoding]\nx = 1"), "'x' is already declared in [data]"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told(tmp_path, name, change, told):
    old, new = change
    text = HEAD + TEXTS[name].format(draw=DRAWN) + "[batch]\nsize = 1\n"
    assert old in text
    (tmp_path / "around.csv").write_text(TABLES[name], encoding="utf-8")
    path = tmp_path / "problem.toml"
    text = text.replace(old, new, 1)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ProblemError) as caught:
        load_problem(path)
    assert told in str(caught.value)
    assert f"{path}:" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("autoencoder", ("*w\"", "*w*sum(w)\""), "mixes numbers of each trajectory with vectors"),
        ("classifier", ("encode(w)[0]", "encode(v[0], v[1], k)[0] + encode(w)[0]"), "gets the same inputs"),
    ],
)  # fmt: skip
def test_what_cannot_be_computed_for_many_trajectories_at_once(tmp_path, name, change, told):
    text = HEAD + TEXTS[name].format(draw=DRAWN)
    assert change[0] in text
    (tmp_path / "around.csv").write_text(TABLES[name], encoding="utf-8")
    path = tmp_path / "problem.toml"
    path.write_text(text.replace(*change) + "[batch]\nsize = 3\n", encoding="utf-8")
    with pytest.raises(ProblemError, match=told):
        load_problem(path)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("u,label,w[0],w[2]\n1,2,3,4\n", "column 4 is 'w[2]', wanted: 'w[1]'"),
        ("u,label,w[0,0],w[1,1]\n1,2,3,4\n", "column 4 is 'w[1,1]', wanted: 'w[0,1]'"),
        ("u,label,w[1],w[0]\n1,2,3,4\n", "'w[1]', wanted: 'w[0]'"),
        ("u,label,w[0,1],w[0,0]\n1,2,3,4\n", "column 3 is 'w[0,1]', wanted: 'w[0,0]'"),
        ("u,label,w-0\n1,2,3\n", "'w-0' cannot be a column"),
        ("u,label,w[0]\n", "around.csv has no rows"),
        ("u,label,w[0]\n1,,3\n", "around.csv, line 2: 'label' has no value"),
    ],
)
def test_mistakes_of_the_data_file_have_their_place(tmp_path: Path, table: str, told: str) -> None:
    latent(tmp_path, "classifier")
    (tmp_path / "around.csv").write_text(table, encoding="utf-8")
    with pytest.raises(ProblemError) as caught:
        load_problem(tmp_path / "classifier.toml")
    assert told in str(caught.value)


def test_a_drawn_batch_has_no_computed_initial_values(load, decay):
    text = decay.replace("a = 1\n", 'a = "2*k"\n') + "[batch]\nsize = 3\nspread = 1\n"
    with pytest.raises(ProblemError, match="the initial value of 'a' is computed, so it cannot be drawn at random"):
        load(text)


def test_a_path_has_its_knots_as_breakpoints(tmp_path):
    problem = controlled(tmp_path, "hermite", 2)
    assert problem.numbers().breakpoints == (0.25, 0.625)
    (control,) = problem.controls
    assert (control.name, control.data, control.channels, control.interpolation) == ("X", "x", 2, "hermite")
    assert problem.spec_hash != controlled(tmp_path, "linear", 2).spec_hash
    with pytest.raises(UsageError, match="driven by a path, which is emitted for JAX"):
        source(problem, "torch")


def test_slopes_of_a_path_are_continuous_and_begin_and_end_as_its_lines(tmp_path):
    (control,) = controlled(tmp_path, "hermite").controls
    values = tuple(map(Integer, (0, 1, 3, -2)))
    lines = [
        (b - a) / (t - s) for a, b, s, t in zip(values, values[1:], control.times, control.times[1:], strict=False)
    ]
    assert control.slope(0, values, control.times[0]) == lines[0]
    for k, line in enumerate(lines):
        assert control.slope(k, values, control.times[k + 1]) == line
        assert k == 0 or control.slope(k, values, control.times[k]) == lines[k - 1]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('data = "x"', 'data = "first"'), "'first' is not a series"),
        (("0.625, 1]", "1]"), "'times' must increase from t0 to t1, one for each time of the series"),
        (("[0, 0.25", "[0.25, 0.25"), "'times' must increase from t0 to t1"),
        (('"hermite"', '"quintic"'), "'quintic' is no interpolation"),
        (("ddt(X)", "ddt(z)"), "ddt takes a path of [control] (X)"),
        (("apply(f(z), ddt(X))", "apply(z, f(z))"), "apply takes the entries of a matrix, row by row, and a vector"),
        (("apply(f(z), ddt(X)) - z", "f(z)[0]*z"), "'X' in [control.X] is never used"),
    ],
)
def test_what_does_not_fit_of_a_path_is_told(tmp_path, change, told):
    text = HEAD + CONTROLLED.format(draw=DRAWN, interpolation="hermite") + "[batch]\nsize = 1\n"
    assert change[0] in text
    (tmp_path / "around.csv").write_text(TABLES["controlled"], encoding="utf-8")
    path = tmp_path / "problem.toml"
    path.write_text(text.replace(*change), encoding="utf-8")
    with pytest.raises(ProblemError) as caught:
        load_problem(path)
    assert told in str(caught.value)
