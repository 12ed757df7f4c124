"""``adapter check`` prints what the conformance suite finds, and its exit code says whether all is well."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from stubs.suite import stub_adapter, stub_adapters

from sciml_bench.adapters import conformance, registry
from sciml_bench.adapters.conformance import Check
from sciml_bench.adapters.conformance.checks import Status
from sciml_bench.cli import exit_codes
from sciml_bench.host.extras import install_command


def finding(*statuses: Status):
    """A conformance suite that finds this of every cell."""

    def check(_adapter: Any, cells: Any, _timeout_s: float) -> Iterator[Check]:
        for cell in cells:
            for status in statuses:
                yield Check(cell.method, "solution", status, "because")

    return check


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        ((Status.PASSED,), exit_codes.OK),
        ((Status.PASSED, Status.REFUSED), exit_codes.OK),
        ((Status.PASSED, Status.FAILED), exit_codes.CHECK_FAILED),
    ],
)
def test_exit_codes(cli, monkeypatch, statuses, code):
    monkeypatch.setattr(conformance, "check", finding(*statuses))
    assert cli("adapter", "check", "alpha").code == code


def test_findings_are_printed_as_they_come(cli, monkeypatch):
    monkeypatch.setattr(conformance, "check", finding(Status.FAILED))
    done = cli("adapter", "check", "alpha", "-k", "stuck")
    assert done.out == "failed   stuck  solution: because\nalpha: 1 checks of 1 cells, 1 failed\n"


def test_as_json(cli, monkeypatch):
    monkeypatch.setattr(conformance, "check", finding(Status.PASSED))
    done = cli("adapter", "check", "alpha", "-k", "stuck", "--json")
    assert done.json == [{"cell": "stuck", "check": "solution", "status": "passed", "message": "because"}]


def test_all_checks_every_combination(cli, monkeypatch):
    monkeypatch.setattr(conformance, "check", finding(Status.PASSED))
    some, every = (cli("adapter", "check", "alpha", *words, "--json").json for words in ((), ("--all",)))
    assert len(every) > len(some)


def test_bad_input(cli, monkeypatch):
    assert "did you mean alpha?" in cli("adapter", "check", "alfa").err
    assert cli("adapter", "check", "alpha", "-k", "nothing_like_this").code == exit_codes.NOTHING_SELECTED
    away = stub_adapter("away", packages={"no_such_framework": "no-such-framework"}, extra="away")
    monkeypatch.setattr(registry, "_all", lambda: {**stub_adapters(), "away": away})
    done = cli("adapter", "check", "away")
    assert done.code == exit_codes.USAGE
    assert f"cannot be checked here: no-such-framework is not installed; run: {install_command('away')}" in done.err
