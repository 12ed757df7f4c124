"""``doctor`` on the machine that runs the tests, whatever it is."""

from __future__ import annotations

from sciml_bench.cli import exit_codes
from sciml_bench.host.doctor import readings


def test_it_looks_at_this_machine_and_changes_nothing(cli):
    done = cli("doctor", "--window", "0.05")
    assert done.code == exit_codes.OK, done.err
    assert "address layout" in done.out
    assert done.out.endswith("Nothing was changed.\n")


def test_json(cli):
    done = cli("doctor", "--window", "0.05", "--json")
    assert done.code == exit_codes.OK
    assert sum(done.json["counts"].values()) == len(done.json["findings"])
    assert {"id", "title", "status", "found", "why", "cure"} == set(done.json["findings"][0])


def test_a_window_of_no_length(cli):
    assert cli("doctor", "--window", "0").code == exit_codes.USAGE


def test_a_machine_that_shows_nothing_is_an_error(cli, monkeypatch):
    monkeypatch.setattr(readings, "gather", lambda _window_s: readings.Readings(before={}, after={}))
    done = cli("doctor")
    assert done.code == exit_codes.USAGE
    assert "nothing can be read here" in done.err
