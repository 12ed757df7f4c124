"""Whatever is wrong with a command, one clear message, exit code 2, and no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from stubs.suite import problem_text, stub_adapter, stub_adapters

from sciml_bench.adapters import registry
from sciml_bench.cli import exit_codes
from sciml_bench.host.extras import install_command
from sciml_bench.host.lock import host_lock

SMOKE = ("--profile", "smoke")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("a = 0.5", "a = nan"), "a"),
        (("a = 0.5", "a = inf"), "a"),
        (('y = "-a*y"', 'y = "-a*w"'), "w"),
        (('y = "-a*y"', ""), "y"),
        (("spec = 1", "spec = 1 ="), ""),
    ],
)
def test_a_wrong_problem_file_is_named(cli, change, said):
    Path("mine.toml").write_text(problem_text("mine").replace(*change), encoding="utf-8")
    done = cli("run", "mine.toml", *SMOKE)
    assert done.code == exit_codes.USAGE
    assert done.err.startswith("ERROR: mine.toml:")
    assert said in done.err
    assert "Traceback" not in done.err
    assert not Path("results").exists()


def test_a_results_folder_that_cannot_be_written(cli):
    done = cli("stiff", *SMOKE, "--out", "/dev/null/results")
    assert done.code == exit_codes.USAGE
    assert done.err.startswith("ERROR: cannot create /dev/null/results")
    assert "Traceback" not in done.err


def test_a_results_folder_that_is_a_file(cli):
    Path("results").write_text("", encoding="utf-8")
    done = cli("stiff", *SMOKE)
    assert done.code == exit_codes.USAGE
    assert "ERROR:" in done.err
    assert "is a file" in done.err


def test_a_missing_framework_names_the_install_command(cli, monkeypatch):
    away = stub_adapter("away", packages={"no_such_framework": "no-such-framework"}, extra="away")
    monkeypatch.setattr(registry, "_all", lambda: {"away": away})
    done = cli("stiff", *SMOKE)
    assert done.code == exit_codes.USAGE
    assert done.err == (
        f"ERROR: nothing can run here. away: no-such-framework is not installed; run: {install_command('away')}\n"
    )


def test_a_missing_framework_does_not_stop_the_others(cli, monkeypatch):
    away = stub_adapter("away", packages={"no_such_framework": "no-such-framework"}, extra="away")
    monkeypatch.setattr(registry, "_all", lambda: {**stub_adapters(), "away": away})
    done = cli("run", "-k", "decay and fine and discrete and eager and not alpha", *SMOKE)
    assert done.code == exit_codes.OK
    assert f"no-such-framework is not installed; run: {install_command('away')}\n" in done.out


def test_nothing_selected(cli):
    done = cli("run", "-k", "nothing_like_this")
    assert done.code == exit_codes.NOTHING_SELECTED
    assert done.err.startswith("nothing is selected\n")


def test_nothing_in_the_profile(cli):
    done = cli("run", "--suite", "stiff", "-k", "fade", *SMOKE)
    assert done.code == exit_codes.NOTHING_SELECTED
    assert "skipped 56: not in profile smoke (tier standard)" in done.err
    assert "whatever the profile includes" in done.err


def test_another_benchmark_on_this_host(cli, tmp_path):
    with host_lock(label="the other one", path=tmp_path / "host.lock"):
        done = cli("stiff", "--profile", "quick")
    assert done.code == exit_codes.USAGE
    assert "another benchmark runs on this host ('the other one'" in done.err
    assert not Path("results").exists()


def test_smoke_goes_on_beside_another_benchmark_and_says_so(cli, tmp_path):
    with host_lock(label="the other one", path=tmp_path / "host.lock"):
        done = cli("run", "--problem", "calm", "--adapter", "alpha", *SMOKE)
    assert done.code == exit_codes.OK
    assert "another benchmark runs on this host ('the other one'" in done.err
    assert "this check disturbs it" in done.err


def test_debug_shows_the_traceback(cli):
    with pytest.raises(Exception, match="unknown problem 'dekay'"):
        cli("--debug", "run", "--problem", "dekay")
