"""``sciml_bench.testing``: a gradient of another library against the certified one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sciml_bench.cli import exit_codes
from sciml_bench.cli.main import main
from sciml_bench.errors import SciMLBenchError, StoreError, UsageError
from sciml_bench.references.statement import Component, Statement, read
from sciml_bench.testing import assert_gradient, certified

# Of Robertson's problem, from its file; the first digits.
K = {"k1": 1238.8224079973244, "k2": -1.7086104255600667e-06, "k3": -0.0009624218906603701}


def test_a_right_gradient_passes_by_name_and_in_order():
    assert_gradient(K, "robertson", rtol=1e-14)
    assert_gradient(dict(reversed(K.items())), "robertson", rtol=1e-14)
    assert_gradient(np.array([*K.values()]).reshape(3, 1), "robertson", rtol=1e-14, objective=67.0966428509697)


@pytest.mark.parametrize("name", K)
@pytest.mark.parametrize("off", [1 + 2e-6, 1 - 2e-6, -1.0, 0.0, float("nan"), float("inf")])
def test_each_component_is_compared_by_its_own_size(name: str, off: float):
    """k2's is a billionth of k1's: an error in it is lost in any norm."""
    with pytest.raises(AssertionError, match=rf"1 of 3 numbers are off by more than 1e-06:\n  {name}: "):
        assert_gradient({**K, name: K[name] * off}, "robertson")
    assert_gradient({**K, name: K[name] * (1 + 5e-7)}, "robertson")


def test_a_wrong_objective_is_named():
    with pytest.raises(AssertionError, match=r"1 of 4 .*\n  the objective: 67.2"):
        assert_gradient(K, "robertson", objective=67.2)


@pytest.mark.parametrize(
    ("mine", "problem", "rtol", "message"),
    [
        ([1.0, 2.0], "robertson", 1e-6, "3 components, not 2"),
        ({"k1": 1.0}, "robertson", 1e-6, "by k1, k2, k3; not by k1"),
        (K, "robertson", 1e-25, "rtol = 1e-25 asks for more"),
        (K, "robertson", 0.0, "between 0 and 1"),
        (K, "robertsn", 1e-6, "robertson"),
    ],
)
def test_wrong_use_is_no_failed_comparison(mine: object, problem: str, rtol: float, message: str):
    with pytest.raises(UsageError, match=message):
        assert_gradient(mine, problem, rtol)  # pyright: ignore[reportArgumentType]


def statement(**gradient: Component) -> Statement:
    return Statement("made", "0" * 64, Component("2.5", 20.0), gradient, "by hand")


def test_negligible_components_may_be_noise_of_the_largest(tmp_path: Path):
    """0 is certified to lie below 1e-30; a solver in doubles has rounding errors there."""
    path = tmp_path / "g.json"
    path.write_text(statement(a=Component("4.0", 20.0), b=Component("0", 32.0, 1e-30)).to_json())
    assert_gradient([4.0, 1e-9], path)
    with pytest.raises(AssertionError, match=r"b: 1e-05 for 0\.0"):
        assert_gradient([4.0, 1e-5], path)


def test_what_is_not_certified_is_not_compared(tmp_path: Path):
    path = tmp_path / "g.json"
    path.write_text(statement(a=Component("4.0", 20.0), b=Component("7", 0.0)).to_json())
    assert read(path).uncertified == ("b",)
    with pytest.raises(UsageError, match=r"0\.0 digits of the gradient by b"):
        assert_gradient([4.0, 7.0], path)
    path.write_text(statement().to_json())
    with pytest.raises(UsageError, match="no gradient is certified"):
        assert_gradient([], path)


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"certified_gradient": 2}', '{"certified_gradient": 1, "problem": "x"}',
        '{"certified_gradient": 1, "problem": "x", "spec_hash": "", "method": "",'
        ' "objective": {"value": "NaN", "digits": 3}, "gradient": {}}',
    ],
)  # fmt: skip
def test_other_files_are_refused(tmp_path: Path, text: str):
    path = tmp_path / "g.json"
    path.write_text(text)
    with pytest.raises(StoreError, match=r"g\.json"):
        assert_gradient([1.0], path)


def test_every_certified_gradient_of_the_catalog_is_readable():
    from sciml_bench.spec import catalog

    found = 0
    for name in catalog.names():
        if catalog.path(name).with_suffix(".reference.json").is_file() and catalog.header(name).suite != "conventional":
            truth = certified(name)
            usable = {part: float(each.value) for part, each in truth.gradient.items()}
            if usable and not truth.uncertified:
                assert_gradient(usable, name, rtol=1e-5)
                found += 1
    assert found > 20


def test_models_of_the_conventional_track_have_no_such_gradient():
    with pytest.raises(SciMLBenchError):
        certified("lenet-digits")


def test_it_needs_numpy_alone():
    code = (
        "import sys, sciml_bench.testing; print([m for m in ('sympy', 'flint', 'scipy', 'click') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


DECAY = """
spec = 1
name = "decay"
title = "A decay"
[time]
t1 = 1
save = { times = [1] }
[parameters]
k = 2
[states]
y = 1
[equations]
y = "-k*y"
"""


def test_certify_writes_a_file_for_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """The loss is y(1)² = exp(-2 k), its derivative by k is -2 exp(-2 k)."""
    (tmp_path / "decay.toml").write_text(DECAY)
    target = tmp_path / "g.json"
    assert main(["certify", str(tmp_path / "decay.toml"), "-o", str(target)]) == exit_codes.OK
    assert_gradient([-2 * np.exp(-4)], target, rtol=1e-14, objective=float(np.exp(-4)))
    # Again, from the reference that is now stored.
    capsys.readouterr()
    assert main(["certify", str(tmp_path / "decay.toml")]) == exit_codes.OK
    assert capsys.readouterr().out == target.read_text()


def test_certify_takes_functions_and_refuses_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model = tmp_path / "m.py"
    model.write_text("y0, p, t_span, t_eval = [1.0], [2.0], (0, 1), [1.0]\ndef f(t, y, p):\n    return [-p[0]*y[0]]\n")
    target = tmp_path / "g.json"
    assert main(["certify", f"{model}:f", "-o", str(target), "--out", str(tmp_path)]) == exit_codes.OK
    assert_gradient({"p": -2 * np.exp(-4)}, target)
    assert main(["certify", "lenet-digits"]) == exit_codes.USAGE
    assert "conventional track" in capsys.readouterr().err


def test_certify_says_when_the_gradient_cannot_be_certified(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """y stays at the kink of its own equation: the derivative there is a matter of definition."""
    text = DECAY.replace('"-k*y"', '"abs(k - 2)*y"')
    (tmp_path / "kink.toml").write_text(text)
    assert main(["certify", str(tmp_path / "kink.toml")]) == exit_codes.CHECK_FAILED
    assert "k" in capsys.readouterr().err
