"""What is counted of Julia's clock of compiling; needs no Julia."""

from __future__ import annotations

from types import SimpleNamespace

from sciml_bench.adapters.julia.calls import Calls


def test_a_call_that_looks_up_code_has_compiled_nothing():
    calls = Calls()
    for compile_ns in (0, 1_400, 24_066, 56_343):
        calls.note("gradient", SimpleNamespace(compile_ns=compile_ns))
    assert calls.compiling == 0
    calls.note("solve", SimpleNamespace(compile_ns=3_698_244))
    assert calls.compiling == 1
    assert calls.phases_ns() == {"gradient_compile": 81_809, "solve_compile": 3_698_244}
