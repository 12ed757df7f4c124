"""``versions`` and ``env`` from the command line; a program stands in for uv, and stubs for libraries."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from stubs.uv_program import use_uv

from sciml_bench.analysis.releases.releases import Change, Found
from sciml_bench.cli import exit_codes
from sciml_bench.cli.releases import Releases
from sciml_bench.errors import UsageError
from sciml_bench.host import environments
from sciml_bench.planning.selection import Selection
from sciml_bench.record.task import Cell
from sciml_bench.stats.ratio import Ratio

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
        (("library==1.0",), "names one release, and two or more are compared"),
        (("library", "decay"), "does not name releases"),
        (("library==1.0,2.0", "decay"), "no adapter names the package library itself"),
        (("library==1.0,2.0", "--adapter", "alpha"), "name a problem or a suite"),
        (("library==1.0,9.9.9", "decay", "--adapter", "alpha"), "there is no version 9.9.9"),
        (("library==1.0,2.0", "decay", "--adapter", "nothing"), "unknown adapter"),
    ],
)
def test_what_cannot_be_compared_is_said(cli, words: tuple[str, ...], message: str):
    done = cli("versions", *words, "--profile", "smoke")
    assert done.code == exit_codes.USAGE
    assert message in done.err


def searched(monkeypatch: pytest.MonkeyPatch, first_bad: str, missing: str = "") -> list[tuple[str, ...]]:
    """Let `versions` find a way three times as slow from a release on; the versions of each run."""
    runs: list[tuple[str, ...]] = []

    def measured(self: Releases, chosen: Selection, versions: Sequence[str]) -> tuple[Change, ...]:
        if missing in versions:
            raise UsageError(f"there is no version {missing}")
        runs.append(tuple(versions))
        way = Cell("decay", "alpha", "euler", "forward", "eager")
        if len(runs) > 1:
            assert chosen == Selection(cells=(way.label,))
        return tuple(
            Change(
                way, quantity, f"library-{a}", f"library-{b}", found, Ratio(ratio, ratio / 1.1, ratio * 1.1, 0.01, 9)
            )
            for a, b in pairwise(versions)
            for quantity, ratio, found in (
                ("solve", 1.0, Found.SAME),
                ("gradient", 3.0, Found.SLOWER) if a < first_bad <= b else ("gradient", 1.0, Found.SAME),
            )
        )

    monkeypatch.setattr(Releases, "changes", measured)
    monkeypatch.setattr(environments, "releases", lambda _package, _first, _last: ("1.0", "1.1", "1.2", "1.3", "2.0"))
    return runs


def test_the_release_that_made_a_way_slower_is_found(cli, monkeypatch):
    runs = searched(monkeypatch, "1.3")
    done = cli("versions", "library==1.0..2.0", "decay", "--adapter", "alpha", "--profile", "quick")
    assert done.out == "slower since library 1.3, the last good one is 1.2\n"
    assert done.code == exit_codes.CHECK_FAILED
    assert "searching for the release: alpha euler forward eager, gradient" in done.err
    assert "1.2: good" in done.err
    assert runs == [("1.0", "2.0"), ("1.0", "1.2", "2.0"), ("1.0", "1.3", "2.0")]


def test_a_release_that_cannot_be_installed_is_left_between(cli, monkeypatch):
    searched(monkeypatch, "1.3", missing="1.2")
    done = cli("versions", "library==1.0..2.0", "decay", "--adapter", "alpha", "--json")
    assert done.json["found"] == {"good": "1.1", "bad": "1.3", "between": ["1.2"]}
    assert done.json["change"]["quantity"] == "gradient"
    assert "1.2: there is no version 1.2" in done.err


def test_a_step_of_the_search_measures_one_cell_in_three_environments(cli, monkeypatch):
    runs: list[tuple[Change, ...]] = []
    changes = Releases.changes

    def kept(self: Releases, chosen: Selection, versions: Sequence[str]) -> tuple[Change, ...]:
        found = changes(self, chosen, versions)
        assert found is not None
        runs.append(found)
        # The smoke profile gives no verdicts.
        return tuple(replace(change, found=Found.BROKEN) for change in found) if len(runs) == 1 else found

    monkeypatch.setattr(Releases, "changes", kept)
    monkeypatch.setattr(environments, "releases", lambda _package, _first, _last: ("1.0", "1.5", "2.0"))
    done = cli("versions", "library==1.0..2.0", "decay", "--adapter", "alpha", "--profile", "smoke")
    assert "1.5: undecided" in done.err, done.err
    assert "the last good one is 1.0; between them, undecided: 1.5" in done.out
    assert {(change.older, change.newer) for change in runs[1]} == {
        ("library-1.0", "library-1.5"),
        ("library-1.5", "library-2.0"),
    }
    assert len({change.way for change in runs[1]}) == 1


def test_nothing_is_searched_if_nothing_is_worse(cli, monkeypatch):
    runs = searched(monkeypatch, "3.0")
    done = cli("versions", "library==1.0..2.0", "decay", "--adapter", "alpha")
    assert done.out == "nothing is slower or broken in 2.0\n"
    assert done.code == exit_codes.OK
    assert len(runs) == 1


def test_releases_come_from_the_index_in_order(monkeypatch):
    listed = "library (2.0)\nAvailable versions: 2.0, 1.10, 1.9, 1.0\n"
    done = subprocess.CompletedProcess[str]([], 0, listed, "")
    monkeypatch.setattr(environments.subprocess, "run", lambda *_args, **_options: done)
    assert environments.releases("library", "1.0", "2.0") == ("1.0", "1.9", "1.10", "2.0")
    assert environments.releases("library", "1.9", "1.10") == ("1.9", "1.10")
    for first, last, message in (("1.1", "2.0", "has no release 1.1"), ("2.0", "1.0", "write library==1.0..2.0")):
        with pytest.raises(UsageError, match=message):
            environments.releases("library", first, last)
    done.stdout, done.stderr = "", "ERROR: No matching distribution found for library"
    with pytest.raises(UsageError, match=r"cannot be listed .ERROR: No matching"):
        environments.releases("library", "1.0", "2.0")


def test_environments_are_made_listed_and_removed(cli):
    made = cli("env", "make", "older", "library==1.0")
    assert made.code == exit_codes.OK, made.err
    assert made.out.startswith("older: Python 3")
    assert "older: library==1.0; Python 3" in cli("env", "list").out
    assert cli("env", "list", "--json").json[0]["requirements"] == ["library==1.0"]
    assert cli("env", "remove", "older").code == exit_codes.OK
    assert "no environments" in cli("env", "list").err
    assert cli("env", "remove", "older").code == exit_codes.USAGE


def test_a_damaged_environment_does_not_hide_the_others(cli):
    for name in ("one", "two"):
        assert cli("env", "make", name, "library==1.0").code == exit_codes.OK
    (environments.folder() / "one" / "environment.json").write_text("[]")
    done = cli("env", "list")
    assert "two: library==1.0" in done.out
    assert "left out" in done.err


def test_an_environment_of_nothing_is_refused(cli):
    done = cli("env", "make", "empty")
    assert done.code == exit_codes.USAGE
    assert "name a package" in done.err
