"""What the frameworks' compilers tell: that they compiled again, how long it took, and what they found on the disk.

Each framework runs in processes of its own.
"""

from __future__ import annotations

import functools
import tempfile
from typing import Any

import pytest
from adapters.cells import one_state, source_task
from adapters.findings import findings
from adapters.in_compiler import METHODS, SOURCES
from cases import others_slow
from needs import skip_without

from sciml_bench.adapters import registry
from sciml_bench.engine.group import measure_cell
from sciml_bench.engine.limits import Limits
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Measurement
from sciml_bench.record.task import Cell

COMPILED = (("diffrax", "compiled"), ("torchdiffeq", "compiled"), ("tensorflow", "xla"))


@functools.cache
def found(adapter: str, mode: str) -> dict[str, Any]:
    """The findings of :mod:`adapters.in_compiler`, on compile caches that are empty."""
    skip_without(adapter)
    with tempfile.TemporaryDirectory() as folder:
        caches = dict.fromkeys(("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"), folder)
        return findings("in_compiler.py", ADAPTER=adapter, MODE=mode, **caches)


@pytest.mark.parametrize(("adapter", "mode"), others_slow(COMPILED, COMPILED[:2]))
def test_compiling_again_is_counted_and_calling_again_is_not(adapter: str, mode: str):
    gradient, first, second, third, other_shape, again = found(adapter, mode)["traces"]
    assert gradient > 0
    assert first == second == third
    assert other_shape > third
    assert again == other_shape


def test_program_that_compiles_nothing_counts_and_tells_nothing():
    told = found("torchdiffeq", "eager")
    assert set(told["traces"]) == {0}
    assert all(phases == {} for phases in told["phases"])
    assert told["cache_hits"] is None


@pytest.mark.parametrize(
    ("adapter", "mode", "names"),
    [
        ("diffrax", "compiled", {f"gradient_{phase}" for phase in ("trace", "lower", "compile")}),
        ("torchdiffeq", "compiled", {"trace", "lower", "compile"}),
        pytest.param("tensorflow", "xla", {"gradient_trace"}, marks=pytest.mark.slow),
    ],
)
def test_phases_of_a_first_gradient_are_told(adapter: str, mode: str, names: set[str]):
    before, after = found(adapter, mode)["phases"][:2]
    assert all(before.get(name, 0) == 0 for name in names)
    assert {name for name, ns in after.items() if ns > 0} == names


@pytest.mark.parametrize(("adapter", "mode"), others_slow(COMPILED, COMPILED[:2]))
def test_calls_that_compile_nothing_add_nothing(adapter: str, mode: str):
    first, second, third = found(adapter, mode)["phases"][2:5]
    assert first == second == third


def measured(adapter: str, mode: str) -> Measurement:
    skip_without(adapter)
    cell = Cell("any", adapter, *METHODS[adapter], mode)
    return measure_cell(source_task(SOURCES[adapter], one_state(), cell), Limits(timeout_s=300.0))


def declared() -> list[tuple[str, str]]:
    return [(name, mode) for name, adapter in registry.adapters().items() for mode in adapter.cached_modes]


def test_some_frameworks_keep_what_they_compile():
    assert {("diffrax", "compiled"), ("torchdiffeq", "compiled"), ("tensorflow", "xla")} <= set(declared())


@pytest.mark.parametrize(
    ("adapter", "mode"),
    # Three processes each, which import and compile for a quarter to half a minute.
    [pair if pair[0] == "diffrax" else pytest.param(*pair, marks=pytest.mark.slow) for pair in declared()],
)
def test_warm_cache_is_warm_and_a_cold_one_is_cold(adapter: str, mode: str):
    cold, warm = measured(adapter, mode), measured(adapter, f"{mode}-warm")
    assert (cold.outcome, warm.outcome) == (Outcome.OK, Outcome.OK)
    assert cold.compile_cache_files["before"] == 0
    assert warm.compile_cache_files["before"] > 0
    # It found everything: it had nothing to add.
    assert warm.compile_cache_files["after"] == warm.compile_cache_files["before"]
    if adapter == "tensorflow":
        # It tells neither of hits nor of how long it compiled.
        assert (cold.compile_cache_hits, warm.compile_cache_hits) == (None, None)
        assert warm.phases_ns["first_gradient"] < cold.phases_ns["first_gradient"]
        return
    assert cold.compile_cache_hits == 0
    assert warm.compile_cache_hits is not None
    assert warm.compile_cache_hits > 0
    assert cold.phases_ns["compile"] > 0
