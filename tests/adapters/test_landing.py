"""Steps that end at the saved times: who can take them, how cells name them, and that they do end there."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.integrate import BDF, DOP853, RK45, Radau

from sciml_bench.adapters.base import ProblemTraits
from sciml_bench.adapters.registry import adapter
from sciml_bench.adapters.scipy.odeint import integrate
from sciml_bench.adapters.scipy.solve_ivp import Integrate, by_solve_ivp
from sciml_bench.adapters.segments import Segment
from sciml_bench.analysis.advice.experience import way_of
from sciml_bench.errors import UsageError
from sciml_bench.planning.selection import Selection
from sciml_bench.record.task import LANDING, Cell

CELL = Cell("robertson", "diffrax", "kvaerno5", "forward", "compiled", saving=LANDING)
FACTS = ProblemTraits("any", "stiff", 3, 3, 0, "parameters", True, n_saved=5)


def test_the_label_names_the_landing_and_leads_back_to_the_cell():
    assert CELL.label == "robertson/diffrax/kvaerno5/forward/compiled/float64/cpu/landing"
    assert way_of(CELL) != way_of(replace(CELL, saving="default"))
    assert CELL.solver == "diffrax kvaerno5 forward compiled landing"
    usual = replace(CELL, saving="default")
    assert usual.label == CELL.label.removesuffix("/landing")
    assert [Cell.from_label(cell.label) for cell in (CELL, usual)] == [CELL, usual]
    with pytest.raises(ValueError, match="not the label"):
        Cell.from_label("robertson/diffrax")
    with pytest.raises(ValueError, match="not the label"):
        Cell.from_label(f"{usual.label}/default")


def test_one_saved_time_refuses_the_landing():
    diffrax = adapter("diffrax")
    assert diffrax.why_not(CELL, FACTS) is None
    assert "only saved time" in (diffrax.why_not(CELL, replace(FACTS, n_saved=1)) or "")


def test_a_selection_takes_one_way_of_saving():
    chosen = Selection(savings=(LANDING,))
    chosen.check({"diffrax": adapter("diffrax")})
    assert chosen.contains(CELL)
    assert not chosen.contains(replace(CELL, saving="default"))
    with pytest.raises(UsageError, match="way of saving"):
        Selection(savings=("ashore",)).check({"diffrax": adapter("diffrax")})
    with pytest.raises(UsageError, match="way of saving of lsoda"):
        Selection(cells=("robertson/scipy/lsoda/forward/eager/float64/cpu/landing",)).check({"scipy": adapter("scipy")})


def _by_odeint(lands: bool) -> Integrate:
    return partial(integrate, lands=lands)


@pytest.mark.parametrize("make", [
    *(lambda lands, solver=solver: by_solve_ivp(solver, lands) for solver in (RK45, DOP853, Radau, BDF)), _by_odeint,
])  # fmt: skip
def test_scipy_steps_end_at_every_saved_time(make):
    times = np.linspace(0.01, 1.0, 100)
    steps = {lands: _solved(make(lands), times) for lands in (False, True)}
    assert steps[False] < len(times) <= steps[True]


def _solved(integrate: Integrate, times: np.ndarray) -> int:
    segment = Segment(0.0, 1.0, tuple(times), len(times), -np.inf, np.inf)
    found = integrate(lambda _t, y: -y, segment, times, np.ones(1), 1e-6, np.array([1e-9]), {}, ())
    assert found.status == 0
    np.testing.assert_allclose(found.y[0], np.exp(-times), rtol=1e-4)
    return found.n_steps
