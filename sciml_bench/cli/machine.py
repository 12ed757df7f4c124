"""This machine for one benchmark: its lock, and quiet before the first process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from sciml_bench.cli.main import typed_command

if TYPE_CHECKING:
    from sciml_bench.host.doctor.finding import Finding
    from sciml_bench.planning.profiles import Profile

TURN, QUIET = "turn", "quiet"

_PAUSE_S = 5.0
_MOST_S = 1800.0


def wait_options(command: Callable[..., int]) -> Callable[..., int]:
    """``--wait`` and ``--wait-quiet``, as the argument ``wait`` of :func:`one_at_a_time`."""
    quiet = click.option("--wait-quiet", "wait", flag_value=QUIET, help="Also wait until the machine is quiet.")
    turn = click.option(
        "--wait", "wait", flag_value=TURN, default=None, help="Wait while another benchmark runs on this host."
    )
    return turn(quiet(command))


@contextmanager
def one_at_a_time(wait: str | None, profile: Profile | None = None) -> Iterator[None]:
    """Hold this host in the body, and report other work on it.

    Another benchmark refuses ours, unless we ``wait``. A ``profile`` whose times are not compared needs no host for
    itself.
    """
    from sciml_bench.host.lock import holder, host_lock

    if wait is None and profile is not None and not profile.comparable:
        if other := holder():
            _say(f"another benchmark runs on this host ({other}); this check disturbs it")
        yield
        return
    with host_lock(label=typed_command(), wait_s=0.0 if wait is None else None, announce=_say):
        if wait == QUIET:
            wait_for_quiet()
        else:
            reportother_work()
        yield


def reportother_work() -> None:
    """Print on standard error what other work does to this machine now."""
    from sciml_bench.host.doctor.other_work import other_work

    if found := other_work():
        _say(f"this machine is disturbed: {_listed(found)}")
        _say("  verdicts need a quiet machine: --wait-quiet waits for one; without it the answer is provisional")


def wait_for_quiet() -> None:
    """Return as soon as no other work disturbs this machine, or after half an hour."""
    from sciml_bench.host.doctor.other_work import PASSING, other_work

    for look in range(int(_MOST_S / _PAUSE_S)):
        found = [finding for finding in other_work() if finding.id in PASSING]
        if not found:
            return
        if not look:
            _say(f"waiting for a quiet machine; now {_listed(found)}. Ctrl-C ends the wait")
        time.sleep(_PAUSE_S)
    _say(f"still disturbed after {_MOST_S / 60:g} min: the answer is provisional")


def _listed(found: list[Finding]) -> str:
    return "; ".join(f"{finding.title}: {finding.found}" for finding in found)


def _say(text: str) -> None:
    click.echo(text, err=True)
