"""``import``, and a Python function in the place of a problem."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from sciml_bench.cli import exit_codes
from sciml_bench.cli.importing import as_problem_file
from sciml_bench.cli.main import main
from sciml_bench.execution import advising

MODEL = "y0 = [1.0, 0.0]\np = [0.5]\nt_span = (0, 4)\ndef Decay(t, y, p):\n    return [-p[0]*y[0], p[0]*y[0]]\n"


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(MODEL)
    return "model.py:Decay"


def test_a_problem_file_is_printed_or_written(model: str, capsys: pytest.CaptureFixture[str]):
    assert main(["import", model]) == exit_codes.OK
    printed = capsys.readouterr().out
    assert 'y2 = "p*y1"' in printed
    assert main(["import", model, "-o", "decay.toml", "--y0", "2,0", "--t-span", "0,1"]) == exit_codes.OK
    assert "next: sciml-bench advise decay.toml" in capsys.readouterr().out
    assert main(["describe", "decay.toml", "--json"]) == exit_codes.OK
    assert "2.0" in Path("decay.toml").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model.toml"], "write FILE.py:NAME"),
        (["model.py:nothing"], "it has no function 'nothing'"),
        (["absent.py:f"], "absent.py: there is no such file"),
        (["model.py:Decay", "--y0", "1,x"], "is not a list of numbers"),
        (["model.py:Decay", "--t-span", "1"], "two numbers"),
    ],
)
def test_wrong_usage(model: str, words: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    assert main(["import", *words]) == exit_codes.USAGE
    assert message in capsys.readouterr().err


def test_a_function_stands_for_a_problem(model: str, capsys: pytest.CaptureFixture[str]):
    path = as_problem_file(model, Path("results"))
    assert path == str(Path("results/imported/decay.toml"))
    assert "wrote" in capsys.readouterr().err
    assert main(["describe", path]) == exit_codes.OK
    assert main(["describe", model]) == exit_codes.OK
    Path("shared.py").write_text("y0, p, t_span = [1.0, 0.0], [0.5], (0, 4)\ndef f(t, y, p):\n"
                                 "    r = p[0]*y[0]/(1 + y[0])\n    return [-r, r]\n")  # fmt: skip
    assert main(["describe", "shared.py:f"]) == exit_codes.OK
    said = capsys.readouterr()
    assert "  v1 = p*y1/(y1 + 1)\n" in said.out
    assert "wrote" in said.err
    assert main(["plan", model, "--adapter", "scipy"]) == exit_codes.OK
    assert "wrote" in capsys.readouterr().err
    assert as_problem_file("robertson", Path("results")) == "robertson"


def test_a_function_competes_as_it_is(tmp_path, capsys, monkeypatch):
    """However slow: its way is measured in full, and named with the factor that the recommended way gains."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(advising, "RACING", dataclasses.replace(advising.RACING, processes=2))
    (tmp_path / "model.py").write_text(
        "y0, t_span, p = [1.0, 0.5], (0, 2), {'a': 1.5}\n\n\n"
        "def rhs(t, y, p):\n    return [-p['a'] * y[0], p['a'] * y[0] - y[1]]\n",
        encoding="utf-8",
    )
    assert main(["advise", "model.py:rhs", "--in", "scipy", "--json"]) == exit_codes.OK
    found = json.loads(capsys.readouterr().out)
    assert found["sentences"][0].startswith("Take scipy ")
    (line,) = found["compared"]
    assert line.startswith("Your function as it is, in ")
    assert " differences eager, takes " in line
    assert line.endswith("times as long as the first way.")
    for folder in found["runs"]:
        assert main(["verify", folder]) == exit_codes.OK
        assert str(tmp_path) not in (tmp_path / folder / "plan.json").read_text(encoding="utf-8")
