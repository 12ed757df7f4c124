"""Scripts go through events, or are refused."""

from __future__ import annotations

import pytest
from adapters.printed_errors import error_of
from adapters.stone import write_two_stones

from sciml_bench.adapters.registry import adapters
from sciml_bench.errors import UsageError
from sciml_bench.planning.script import script_of_cell


@pytest.mark.parametrize(
    ("problem", "method"),
    [
        *((problem, "lsoda") for problem in ("bouncing-ball", "thermostat", "oral-doses", "integrate-and-fire")),
        ("bouncing-ball", "radau"), ("bouncing-ball", "dop853"),
    ],
)  # fmt: skip
def test_scipy_from_event_to_event(problem, method, tmp_path):
    assert error_of(script_of_cell(problem, ["scipy", method, "forward", "eager"], 1e-7), tmp_path) < 1e-4


@pytest.mark.parametrize("cell", ["scipy/rk45/forward/eager", "diffrax/tsit5/forward/compiled"])
def test_each_condition_has_events_of_its_own(cell, tmp_path):
    path = write_two_stones(tmp_path)
    assert error_of(script_of_cell(str(path), cell.split("/"), 1e-7), tmp_path) < 1e-4


WITHOUT_EVENTS = sorted(name for name, adapter in adapters().items() if adapter.script and not adapter.event_program)


@pytest.mark.parametrize("name", WITHOUT_EVENTS)
def test_no_script_leaves_events_out(name):
    """It would be wrong without a word."""
    adapter = adapters()[name]
    words = [name, adapter.methods[0].name, adapter.sensitivities[0], adapter.modes[0]]
    with pytest.raises(UsageError, match="cannot run bouncing-ball"):
        script_of_cell("bouncing-ball", words, 1e-6)
