"""``sciml-bench reference``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from stubs.conditions import one
from stubs.small_problems import ORBIT

from sciml_bench.cli import exit_codes
from sciml_bench.cli.main import main


@pytest.fixture
def orbit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A problem file of the user's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "orbit.toml"
    path.write_text(ORBIT)
    return path


def test_compute_show_check(orbit: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["reference", "compute", str(orbit)]) == exit_codes.OK
    assert "orbit: certified (enclosed) to" in capsys.readouterr().out
    assert main(["reference", "show", str(orbit)]) == exit_codes.OK
    shown = capsys.readouterr().out
    assert "Radau IIA, 18 stages" in shown
    assert "invariant energy holds to" in shown
    assert "x = 0.37797774271298" in shown
    assert main(["reference", "show", str(orbit), "--json"]) == exit_codes.OK
    assert json.loads(capsys.readouterr().out)["theta"] == ["w"]
    assert main(["reference", "check", str(orbit)]) == exit_codes.OK
    assert "orbit: agrees to" in capsys.readouterr().out


def test_only_what_is_stale_is_computed_again(orbit: Path, capsys: pytest.CaptureFixture[str]):
    for expected in ("certified (enclosed) to", "", "certified (enclosed) to"):
        assert main(["reference", "compute", "--stale", str(orbit)]) == exit_codes.OK
        assert expected in (out := capsys.readouterr().out)
        assert bool(out) == bool(expected)
        if not expected:
            orbit.write_text(ORBIT.replace("1.7", "1.8"))


def test_a_stale_reference_fails_the_check(orbit: Path, capsys: pytest.CaptureFixture[str]):
    main(["reference", "compute", str(orbit)])
    orbit.write_text(ORBIT.replace("1.7", "1.8"))
    assert main(["reference", "check", str(orbit)]) == exit_codes.CHECK_FAILED
    assert "FAILED" in (out := capsys.readouterr().out)
    assert "stale" in out


def test_a_missing_reference_fails_the_check(orbit: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["reference", "check", str(orbit)]) == exit_codes.CHECK_FAILED
    assert "no reference is stored" in capsys.readouterr().out


def test_output_to_another_file(orbit: Path, tmp_path: Path):
    target = tmp_path / "elsewhere.json"
    assert main(["reference", "compute", str(orbit), "--output", str(target)]) == exit_codes.OK
    assert json.loads(target.read_text())["problem"] == "orbit"
    assert not orbit.with_name("orbit.reference.json").exists()


def test_a_solution_alone(orbit: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["reference", "compute", str(orbit), "--solution-only"]) == exit_codes.OK
    assert "its gradient is not certified" in capsys.readouterr().out
    stored = json.loads(orbit.with_name("orbit.reference.json").read_text())
    assert stored["gradient"] == []
    assert stored["command"].endswith("--solution-only")
    assert main(["reference", "check", str(orbit)]) == exit_codes.OK
    assert "gradient" not in capsys.readouterr().out
    main(["reference", "show", str(orbit)])
    assert "no gradient: it was computed with --solution-only" in capsys.readouterr().out


def test_a_derivative_that_is_not_certified_is_no_number(orbit: Path, capsys: pytest.CaptureFixture[str]):
    orbit.write_text(one("where(t >= k, 1, 0) - y", k=3.3))
    assert main(["reference", "compute", str(orbit)]) == exit_codes.OK
    assert "1 of 1 components of the gradient uncertified" in capsys.readouterr().out
    main(["reference", "show", str(orbit)])
    shown = capsys.readouterr().out
    assert "  k moves the time of a jump\n" in shown
    assert "  k: not certified\n" in shown
    assert main(["reference", "check", str(orbit)]) == exit_codes.OK


def test_what_cannot_be_certified_is_not_written(orbit: Path, capsys: pytest.CaptureFixture[str]):
    orbit.write_text(ORBIT.split("[invariants]")[0].replace('v = "-w*x"', 'v = "-w*x + v**3"'))
    assert main(["reference", "compute", str(orbit)]) == exit_codes.CHECK_FAILED
    assert "FAILED: the reference solution stops at t = " in capsys.readouterr().out
    assert not orbit.with_name("orbit.reference.json").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["compute"], "name a problem"),
        (["compute", "--all", "--output", "x"], "exactly one problem"),
        (["show", "no-such-problem"], "unknown problem"),
        (["compute", "robertson", "--limit", "-3"], "positive"),
    ],
)
def test_wrong_usage(words: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    assert main(["reference", *words]) == exit_codes.USAGE
    assert message in capsys.readouterr().err
