"""Scripts of cells run without this package, and compute what the cells do."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from adapters.printed_errors import TOGETHER, error_in, error_of, hasty, run
from cases import others_slow
from needs import skip_without
from stubs import doses

from sciml_bench.errors import UsageError
from sciml_bench.planning.script import script_of_cell

FOLDER = Path(__file__).parents[1]
COMPARTMENTS = str(FOLDER / "emit" / "data" / "compartments.toml")
SIR = str(FOLDER / "references" / "public" / "sir-fit.toml")

SWITCHED = """
spec = 1
name = "switched"
title = "A decay whose rate jumps, with a start and a penalty of its own"
[time]
t1 = 3
save = { times = [0.5, 1, 2, 3] }
breakpoints = [1.25]
[parameters]
k = 0.7
a = 1.5
[states]
x = "a**2"
y = 0
[equations]
x = "-where(t >= 1.25, 3*k, k)*x"
y = "k*x - y"
[loss]
of = "y"
penalty = "0.1*k**2"
"""


ENSEMBLE = """
spec = 1
name = "ensemble"
title = "Three decays from different starts"
[time]
t1 = 2
save = { times = [0.5, 1, 2] }
[parameters]
k = 0.7
[states]
x = 1
y = 0
[equations]
x = "-k*x"
y = "k*x - y**2"
[batch]
size = 3
spread = 0.3
seed = 4
"""


BOUNCING = """
spec = 1
name = "bouncing"
title = "A ball whose event counts in both directions"
[time]
t1 = 2
save = { times = [1, 2] }
[parameters]
g = 9.81
r = 0.9
[states]
x = 1
v = 0
n = 0
[equations]
x = "v"
v = "-g"
n = "0*r"
[events.impact]
when = "x"
reset = { v = "-r*v", n = "n + 1" }
"""


@pytest.fixture
def ensemble(tmp_path: Path) -> str:
    path = tmp_path / "ensemble.toml"
    path.write_text(ENSEMBLE, encoding="utf-8")
    return str(path)


@pytest.fixture
def switched(tmp_path: Path) -> str:
    path = tmp_path / "switched.toml"
    path.write_text(SWITCHED, encoding="utf-8")
    return str(path)


SCIPY = (
    "scipy/odeint/forward/eager",
    "scipy/rk45/forward/eager",
    "scipy/radau/forward/eager",
    "scipy/bdf/forward/eager",
)


@pytest.mark.parametrize(
    ("problem", "cell"),
    [
        *(("lotka-volterra", cell) for cell in SCIPY),
        *((problem, SCIPY[0]) for problem in (SIR, "switched", "ensemble")),
    ],
)
def test_scipy(cell, problem, switched, ensemble, tmp_path):
    name = {"switched": switched, "ensemble": ensemble}.get(problem, problem)
    assert error_of(script_of_cell(name, cell.split("/"), 1e-7), tmp_path) < 1e-4


@pytest.mark.parametrize(
    ("problem", "method"),
    [
        ("robertson", "odeint"), ("robertson", "bdf"), ("hires", "odeint"),
        # Points in the order of a band, folded, and steps that land on times.
        ("brusselator-1d", "odeint"), ("brusselator-1d", "bdf"), ("heat", "rk45"), ("detest-stiff-a4", "lsoda"),
    ],
)  # fmt: skip
def test_scipy_with_numba(problem, method, tmp_path):
    skip_without("numba")
    assert error_of(script_of_cell(problem, ["scipy", method, "forward", "compiled"], 1e-7), tmp_path) < 1e-5


@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_conditions_of_an_experiment_are_solved_in_turn(mode, tmp_path):
    skip_without(*(["numba"] if mode == "compiled" else []))
    doses.made(tmp_path)
    name = str(next(tmp_path.glob("*.toml")))
    assert error_of(script_of_cell(name, ["scipy", "odeint", "forward", mode], 1e-7), tmp_path) < 1e-5


KINKED = """
spec = 1
name = "kinked"
title = "A parameter at its own kink, which has no derivative"
[time]
t1 = 2
[parameters]
a = 0.7
k = 0
[states]
x = 1
y = 0
[equations]
x = "-a*x - abs(k)*x"
y = "x - max(k, 0)*y + where(k > 0, k, 2*k)"
"""


def test_components_that_the_reference_has_not_are_left_out_of_the_error(tmp_path):
    path = tmp_path / "kinked.toml"
    path.write_text(KINKED, encoding="utf-8")
    text = script_of_cell(str(path), ["scipy", "odeint", "forward", "eager"], 1e-8)
    assert "CERTAIN = [0]" in text
    assert error_of(text, tmp_path) < 1e-5


def test_names_of_quoted_functions_are_free_for_constants(tmp_path):
    path = tmp_path / "clash.toml"
    path.write_text(CLASH, encoding="utf-8")
    assert error_of(script_of_cell(str(path), ["scipy", "odeint", "forward", "eager"], 1e-7), tmp_path) < 1e-4


CLASH = """
spec = 1
name = "clash"
title = "A ring of points whose numbers have the names of the script's own functions"
[time]
t1 = 1
save = { spacing = "linear", count = 5 }
[grids.x]
points = 24
first = 0
last = 1
boundary = "periodic"
[constants]
dense = 0.5
layout_of = 1.5
[parameters]
banded = 0.2
matrix = 0.3
[states]
u = { grid = ["x"], initial = "sin(2*pi*x)" }
[equations]
u = "banded*laplacian(u) + dense*layout_of*matrix*u"
"""


@pytest.mark.parametrize(
    ("problem", "cell"),
    [
        ("robertson", "radau/forward/eager/landing"),
        ("pleiades", "dop853/forward/eager"),
        ("pollution", "odeint/forward/eager"),
        ("pollution", "bdf/forward/eager"),
        (COMPARTMENTS, "rk45/forward/eager"),
        # Fields as arrays: LSODA has a band of blocks, Radau sparse matrices with coupling by differences.
        ("fisher-kpp", "odeint/forward/eager"),
        ("brusselator-1d", "radau/forward/eager"),
        # A matrix with and one without the coupling, of which the script takes the faster.
        ("hires", "odeint/forward/eager"),
    ],
)
def test_scipy_lands_shares_out_and_stores_sparse_matrices(problem, cell, tmp_path):
    assert error_of(script_of_cell(problem, ["scipy", *cell.split("/")], 1e-7), tmp_path) < 1e-4


CELLS = [
    ("diffrax/kvaerno5-chord/forward/compiled/landing", "robertson"),
    ("diffrax/tsit5/checkpointed/compiled", "spiral-node"),
    ("diffrax/tsit5/forward/compiled", "switched"),
    ("diffrax/dopri8/discrete/compiled", "kepler-e05"),
    ("diffrax/tsit5-fixed/forward/compiled", "lotka-volterra"),
    ("diffrax/tsit5/forward/compiled", COMPARTMENTS),
    ("diffrax/tsit5/checkpointed/compiled", "small-node-64"),
    ("diffrax/tsit5/forward/compiled", "ensemble"),
    ("diffrax/tsit5/backsolve/compiled", "lotka-volterra"),
    ("diffrax/tsit5/checkpointed/compiled", "neural-cde"),
    ("diffrax/reversible-heun/checkpointed/compiled", "neural-sde"),
    ("diffrax/dopri5/backsolve/compiled", "spiral-node"),
    # Events that the solution decides, and events at known times.
    ("diffrax/tsit5/forward/compiled", "bouncing-ball"),
    ("diffrax/tsit5/checkpointed/compiled", "thermostat"),
    ("diffrax/tsit5/checkpointed/compiled", "oral-doses"),
    ("torchdiffeq/dopri5/discrete/eager", "bouncing-ball"),
    ("torchdiffeq/dopri5/backsolve/eager", "bouncing-ball"),
    ("torchdiffeq/dopri5/discrete/eager", "oral-doses"),
    ("torchdiffeq/dopri5/discrete/eager", "bouncing"),
    ("torchdiffeq/dopri5/discrete/eager", "small-node-64"),
    ("torchdiffeq/dopri5/discrete/eager", "ensemble"),
    ("tensorflow/dormand_prince/forward/xla", "lotka-volterra"),
    ("tensorflow/bdf/forward/graph", "robertson"),
    ("tensorflow/dormand_prince/backsolve/xla", "spiral-node"),
    ("tensorflow/dormand_prince/backsolve/graph", "jumping"),
    ("tensorflow/rk4/discrete/xla", "spiral-node"),
    ("tensorflow/bdf/forward/graph", "hires"),
    ("tensorflow/dormand_prince/backsolve/xla", "ensemble"),
    ("tensorflow/dormand_prince/forward/graph", "switched"),
    ("tensorflow/rk4/discrete/graph", "latent-ode"),
    ("torchdiffeq/dopri5/backsolve/eager", "switched"),
    ("torchdiffeq/dopri5/backsolve-seminorm/eager", "spiral-node"),
    ("torchdiffeq/dopri5/backsolve/eager", "latent-ode"),
    ("torchdiffeq/rk4/backsolve/eager", "spiral-node"),
    ("torchode/tsit5/discrete/eager", "lotka-volterra"),
    ("torchode/dopri5/discrete/eager", COMPARTMENTS),
    ("torchode/tsit5/discrete/eager", "ensemble"),
    ("torchdiffeq/dopri5/discrete/eager", "lotka-volterra"),
    ("torchdiffeq/dopri8/discrete/eager/landing", "kepler-e05"),
    ("torchdiffeq/dopri5/discrete/eager", "spiral-node"),
    ("torchdiffeq/dopri5/discrete/eager", "switched"),
    ("torchdiffeq/dopri5/discrete/eager", COMPARTMENTS),
]


@pytest.fixture(scope="module")
def outputs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], dict[str, str]]:
    """What the scripts of one framework's chosen cells print, which run in one process."""
    items: list[Any] = [item for item in request.session.items if item.name.startswith("test_automatic_diff")]
    chosen = [item.callspec.params for item in items]

    @cache
    def of_framework(name: str) -> dict[str, str]:
        folder = tmp_path_factory.mktemp(name)
        # The last one has nothing around the solve.
        jumping = SWITCHED.replace('"a**2"', "2").replace("a = 1.5\n", "").partition("[loss]")[0]
        texts = {"switched": SWITCHED, "ensemble": ENSEMBLE, "jumping": jumping, "bouncing": BOUNCING}
        for stem, text in texts.items():
            (folder / f"{stem}.toml").write_text(text, encoding="utf-8")
        paths: dict[str, Path] = {}
        for cell, problem in ((params["cell"], params["problem"]) for params in chosen):
            if cell.partition("/")[0] == name:
                own = folder / f"{problem}.toml"
                path = paths[f"{cell}-{problem}"] = folder / f"script_{len(paths)}.py"
                text = script_of_cell(str(own) if own.is_file() else problem, cell.split("/"), 1e-7)
                path.write_text(hasty(text), encoding="utf-8")
        printed = json.loads(run([TOGETHER, *paths.values()], folder).splitlines()[-1])
        return {key: printed[str(path)] for key, path in paths.items()}

    return of_framework


SHOWN_AGAIN = {
    ("diffrax/tsit5/checkpointed/compiled", "spiral-node"), ("diffrax/dopri5/backsolve/compiled", "spiral-node"),
    ("diffrax/tsit5/checkpointed/compiled", "thermostat"), ("diffrax/tsit5/forward/compiled", COMPARTMENTS),
    ("tensorflow/dormand_prince/backsolve/xla", "ensemble"), ("tensorflow/bdf/forward/graph", "hires"),
    ("tensorflow/dormand_prince/forward/xla", "lotka-volterra"), ("tensorflow/rk4/discrete/xla", "spiral-node"),
    ("torchdiffeq/dopri5/discrete/eager", "lotka-volterra"), ("torchdiffeq/dopri5/discrete/eager", "spiral-node"),
    ("torchdiffeq/rk4/backsolve/eager", "spiral-node"), ("torchdiffeq/dopri5/backsolve/eager", "bouncing-ball"),
    ("torchode/tsit5/discrete/eager", "lotka-volterra"),
}  # fmt: skip


@pytest.mark.parametrize(("cell", "problem"), others_slow(CELLS, set(CELLS) - SHOWN_AGAIN))
def test_automatic_differentiation(cell, problem, outputs):
    framework = cell.partition("/")[0]
    skip_without(framework)
    assert error_in(outputs(framework)[f"{cell}-{problem}"]) < 1e-4


SPLIT = """
spec = 1
name = "split"
title = "A fast decay towards a slow oscillation"
[time]
t1 = 2
save = { times = [0.5, 1, 2] }
[parameters]
k = 50
w = 1.2
[states]
x = 1
y = 0.5
[equations]
x = "-k*(x - y)"
y = "w*cos(w*t) - 0.1*x*y"
[implicit]
x = "-k*(x - y)"
"""


@pytest.mark.parametrize("sensitivity", ["checkpointed", "forward"])
def test_split_equations(sensitivity, tmp_path):
    skip_without("diffrax")
    path = tmp_path / "split.toml"
    path.write_text(SPLIT, encoding="utf-8")
    text = script_of_cell(str(path), ["diffrax", "kencarp4", sensitivity, "compiled"], 1e-5)
    assert "ODETerm(lambda t, y, args: explicit_terms(t, y, *args))" in text
    assert "ODETerm(lambda t, y, args: implicit_terms(t, y, *args))" in text
    assert error_of(text, tmp_path) < 1e-3


CLASHING = """
spec = 1
name = "clashing"
title = "Matrices that bear names which a script would take"
[time]
t1 = 1
save = { times = [0.5, 1] }
[parameters]
k = 0.7
[states]
y = [1, 0]
[definitions]
SAVED = [[0, 1], [-1, 0]]
solved = [[-1, 0], [0, -2]]
[equations]
y = "k*(SAVED @ y) + solved @ y"
"""


@pytest.mark.parametrize(
    "cell",
    [
        "scipy/rk45/forward/eager",
        "diffrax/tsit5/forward/compiled",
        "torchdiffeq/dopri5/discrete/eager",
        "torchode/dopri5/discrete/eager",
        "tensorflow/dormand_prince/backsolve/graph",
    ],
)
def test_names_of_a_model_do_not_clash_with_those_of_its_script(cell, tmp_path):
    skip_without(cell.partition("/")[0])
    path = tmp_path / "clashing.toml"
    path.write_text(CLASHING, encoding="utf-8")
    assert error_of(script_of_cell(str(path), cell.split("/"), 1e-7), tmp_path) < 1e-4


@pytest.mark.parametrize(
    ("problem", "cell", "told"),
    [
        ("lotka-volterra", "julia/tsit5/gauss-zygote/compiled", "forward gradients alone"),
        ("digits-node", "scipy/odeint/forward/compiled", "cannot run digits-node"),
        ("lotka-volterra", "diffrax/tsit6/forward/compiled", "unknown method of diffrax 'tsit6'"),
        ("spiral-node", "scipy/rk45/forward/eager", "cannot run spiral-node"),
    ],
)
def test_what_has_no_script_is_named(problem, cell, told):
    with pytest.raises(UsageError, match=told):
        script_of_cell(problem, cell.split("/"), 1e-6)
