"""``versions`` and ``env`` from the command line; a program stands in for uv, and stubs for libraries."""

from __future__ import annotations

from pathlib import Path

import pytest
from stubs.uv_program import use_uv

from sciml_bench.cli import options as exits
from sciml_bench.host import environments

TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def _uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_uv(tmp_path, monkeypatch)
    own = environments.Environment.path.fget
    assert own is not None
    # Stub programs are imported from the tests.
    monkeypatch.setattr(environments.Environment, "path", property(lambda self: f"{own(self)}:{TESTS}"))


def test_releases_are_measured_in_their_environments(cli):
    done = cli("versions", "library==1.0,2.0", "decay", "--adapter", "alpha", "--profile", "smoke")
    assert "alpha" in done.out, done.err
    assert "library-2.0 against library-1.0" in done.out
    assert "no verdicts: profile smoke" in done.out
    assert environments.names() == ("library-1.0", "library-2.0")
    again = cli("versions", "library==1.0,2.0", "decay", "--adapter", "alpha", "--profile", "smoke", "--new", "--json")
    assert "choosing versions" not in again.err, "environments are kept"
    assert {row["older"] for row in again.json} == {"library-1.0"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("library==1.0",), "does not name releases"),
        (("library", "decay"), "does not name releases"),
        (("library==1.0,2.0", "decay"), "no adapter names the package library itself"),
        (("library==1.0,2.0", "--adapter", "alpha"), "name a problem or a suite"),
        (("library==1.0,9.9.9", "decay", "--adapter", "alpha"), "there is no version 9.9.9"),
        (("library==1.0,2.0", "decay", "--adapter", "nothing"), "unknown adapter"),
    ],
)
def test_what_cannot_be_compared_is_said(cli, words: tuple[str, ...], message: str):
    done = cli("versions", *words, "--profile", "smoke")
    assert done.code == exits.USAGE
    assert message in done.err


def test_environments_are_made_listed_and_removed(cli):
    made = cli("env", "make", "older", "library==1.0")
    assert made.code == exits.OK, made.err
    assert made.out.startswith("older: Python 3")
    assert "older: library==1.0; Python 3" in cli("env", "list").out
    assert cli("env", "list", "--json").json[0]["requirements"] == ["library==1.0"]
    assert cli("env", "remove", "older").code == exits.OK
    assert "no environments" in cli("env", "list").err
    assert cli("env", "remove", "older").code == exits.USAGE


def test_a_damaged_environment_does_not_hide_the_others(cli):
    for name in ("one", "two"):
        assert cli("env", "make", name, "library==1.0").code == exits.OK
    (environments.folder() / "one" / "environment.json").write_text("[]")
    done = cli("env", "list")
    assert "two: library==1.0" in done.out
    assert "left out" in done.err


def test_an_environment_of_nothing_is_refused(cli):
    done = cli("env", "make", "empty")
    assert done.code == exits.USAGE
    assert "name a package" in done.err
