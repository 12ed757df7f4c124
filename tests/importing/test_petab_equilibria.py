"""PEtab problems whose measurements follow an equilibrium, which a long first period reaches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from importing.petab_files import VERSION_1, VERSION_2, written
from needs import skip_without

from sciml_bench.errors import ProblemError
from sciml_bench.importing.importer import of_petab
from sciml_bench.importing.petab.equilibrium import settling_time
from sciml_bench.importing.python.refusals import Unsupported
from sciml_bench.references.batch_certificate import certified
from sciml_bench.spec import load_problem
from sciml_bench.spec.model import Problem

FROM_1 = VERSION_1 | {
    "conditions": "conditionId\tfeed\nrest\tfactor\nlow\t0\nhigh\t3\n",
    "observables": "observableId\tobservableFormula\tnoiseFormula\na\tA + offset\tsd\n",
    "measurements": "observableId\tpreequilibrationConditionId\tsimulationConditionId\tmeasurement\ttime\n"
    "a\trest\tlow\t4\t0\na\trest\tlow\t3\t1\na\trest\thigh\t5\t2\n",
    "parameters": "parameterId\tparameterScale\tlowerBound\tupperBound\tnominalValue\testimate\n"
    "k\tlog10\t1e-5\t1e5\t0.5\t1\nfactor\tlin\t0\t10\t2\t1\nsd\tlin\t1e-5\t1e5\t0.2\t1\noffset\tlin\t0\t10\t0.25\t0\n",
}
FROM_2 = VERSION_2 | {
    "parameters": "parameterId\tlowerBound\tupperBound\tnominalValue\testimate\n"
    "k\t1e-5\t1e5\t0.5\ttrue\nfactor\t0\t10\t2\ttrue\nsd\t1e-5\t1e5\t0.2\ttrue\noffset\t\t\t0.25\tfalse\n",
    "conditions": "conditionId\ttargetId\ttargetValue\nrest\tfeed\tfactor\nnone\tfeed\t0\nmore\tfeed\t3\n",
    "experiments": "experimentId\ttime\tconditionId\nlow\t-inf\trest\nlow\t0\tnone\nhigh\t-inf\trest\nhigh\t0\tmore\n",
    "observables": "observableId\tobservableFormula\tnoiseFormula\na\tA + offset\tsd\n",
    "measurements": "observableId\texperimentId\ttime\tmeasurement\na\tlow\t0\t4\na\tlow\t1\t3\na\thigh\t2\t5\n",
}
P = np.array([0.5, 2.0, 0.2])


def objective(p: np.ndarray) -> float:
    """The negative log-likelihood, from the equilibrium factor/k on."""
    from scipy import stats

    k, factor, sd = p

    def value(feed: float, t: float) -> float:
        return feed / k + (factor / k - feed / k) * np.exp(-k * t) + 0.25

    values = [value(0, 0), value(0, 1), value(3, 2)]
    return -float(stats.norm.logpdf([4, 3, 5], values, sd).sum())


@pytest.fixture(autouse=True)
def _petab() -> None:
    skip_without("petab")


def loaded(tmp_path: Path, text: str, files: dict[str, str] | None = None) -> Problem:
    for name, content in (files or {}).items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    (tmp_path / "made.toml").write_text(text, encoding="utf-8")
    return load_problem(tmp_path / "made.toml")


@pytest.mark.parametrize("problem", [FROM_1, FROM_2], ids=["version 1", "version 2"])
def test_the_objective_and_its_gradient_begin_in_the_equilibrium(tmp_path, problem):
    text, files, notes = of_petab(written(tmp_path, problem), "made")
    made = loaded(tmp_path, text, dict(files))
    assert any("in the place of equilibria" in note for note in notes)
    # The slowest difference from the equilibrium falls as exp(-t/2).
    assert -300 < float(made.t0) < -80
    found = certified(made)
    assert float(found.loss) == pytest.approx(objective(P), rel=1e-14)
    for i, value in enumerate(found.gradient):
        step = 1e-6 * np.eye(3)[i]
        assert float(value) == pytest.approx((objective(P + step) - objective(P - step)) / 2e-6, rel=1e-6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"measurements": ("a\trest\tlow\t4", "a\t\tlow\t4")}, "some measurements follow an equilibrium"),
        ({"measurements": ("a\trest\tlow\t4", "a\tnone\tlow\t4")}, "an unknown condition 'none'"),
        ({"conditions": ("feed\nrest\tfactor\nlow\t0\nhigh\t3", "feed\tA\nrest\tfactor\t1\nlow\t0\t2\nhigh\t3\t2")},
         "change the state 'A' at 0"),
        ({"parameters": ("offset\tlin\t0\t10\t0.25\t0", "offset\tlin\t0\t10\t0.25\t0\nknown\tlin\t-1\t1\t-1\t0")},
         "the equilibrium before the measurements is not reached"),
    ],
)  # fmt: skip
def test_equilibria_that_cannot_be_read_are_refused(tmp_path, changes, message):
    with pytest.raises(ProblemError) as caught:
        of_petab(written(tmp_path, FROM_1, **changes), "made")
    assert message in str(caught.value)


STATES = """
spec = 1
name = "rests"
title = "rests"
[time]
t0 = -1.0
t1 = 1.0
save = { spacing = "linear", count = 5 }
[states]
x = 1.0
y = 0.5
[equations]
"""


@pytest.mark.parametrize(
    ("equations", "least"),
    [
        ('x = "-x"\ny = "x - 0.1*y"', 400.0),  # the slowest rate
        ('x = "y - x"\ny = "x - y"', 20.0),  # a conserved sum
        ('x = "1 - x**2"\ny = "100*(x - y)"', 20.0),
        ('x = "x"\ny = "-y"', None),  # it grows
        ('x = "0*x + 1"\ny = "-y"', None),  # it drifts
        ('x = "y"\ny = "-x"', None),  # it oscillates
        ('x = "-x**3"\ny = "-y"', None),  # it falls by a power of the time
    ],
)
def test_the_time_to_an_equilibrium(tmp_path, equations, least):
    problem = loaded(tmp_path, STATES + equations)
    if least is None:
        with pytest.raises(Unsupported, match="is not reached"):
            settling_time(problem, [0])
    else:
        assert least <= settling_time(problem, [0]) < 50 * least
