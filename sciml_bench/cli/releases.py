"""Runs of releases of a package, each in an environment, for ``versions``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from sciml_bench.analysis.releases.bisection import is_bad
from sciml_bench.analysis.releases.releases import Change, changes
from sciml_bench.api import load
from sciml_bench.cli import exit_codes
from sciml_bench.cli.machine import one_at_a_time
from sciml_bench.cli.main import typed_command
from sciml_bench.cli.plan import print_nothing
from sciml_bench.cli.progress import carry_out
from sciml_bench.errors import UsageError
from sciml_bench.execution.planning import planned
from sciml_bench.execution.session import open_session
from sciml_bench.planning.selection import Selection
from sciml_bench.record.task import AT


@dataclass
class Releases:
    """The settings that all runs share. After a run without changes ``exit_code`` says why there are none."""

    package: str
    adapters: Sequence[str]
    files: Sequence[Path]
    out: Path
    options: dict[str, Any]
    resume: bool | None
    offline: bool
    wait: str | None
    exit_code: int = exit_codes.OK
    why_not_comparable: str = ""

    def changes(self, chosen: Selection, versions: Sequence[str]) -> tuple[Change, ...] | None:
        """Measure the selection under each version in one run, and compare each with the one before it.

        ``None`` if nothing is planned, or after an interrupt.
        """
        names = tuple(_made(self.package, version, self.adapters, offline=self.offline) for version in versions)
        plan = planned(_in_environments(chosen, self.adapters, names), self.files, out=self.out, **self.options)
        if not plan.planned:
            self.exit_code = print_nothing(plan)
            return None
        with one_at_a_time(self.wait, plan.profile):
            session = open_session(
                plan, self.out, f"versions_{plan.profile.name}", resume=self.resume, command=typed_command()
            )
            carry_out(session, as_json=True)
        if session.interrupted:
            click.echo(f"interrupted; resume with: {typed_command(without=('--new',))}", err=True)
            self.exit_code = exit_codes.INTERRUPTED
            return None
        analysis = load(session.run.folder).analysis
        self.why_not_comparable = analysis.why_not_comparable
        return changes(analysis, names)

    def is_bad(self, wanted: Change, ends: tuple[str, str], say: Callable[[str], object], version: str) -> bool | None:
        """Measure a version between two, and return whether the wanted change is in it; ``None`` if undecided.

        Raises:
            KeyboardInterrupt: the run was interrupted.
        """
        try:
            found = self.changes(Selection(cells=(wanted.way.label,)), (ends[0], version, ends[1]))
        except UsageError as error:
            say(f"{version}: {error}")
            return None
        if found is None:
            raise KeyboardInterrupt
        same = [change for change in found if change.quantity == wanted.quantity]
        broken = [change for change in found if change.ratio is None]
        newer = f"{self.package}-{version}"
        before, after = (
            next((change for change in (*broken, *same) if getattr(change, side) == newer), None)
            for side in ("newer", "older")
        )
        verdict = is_bad(before, after)
        say(f"{version}: {'undecided' if verdict is None else 'bad' if verdict else 'good'}")
        return verdict


def _in_environments(chosen: Selection, adapters: Sequence[str], names: Sequence[str]) -> Selection:
    if not chosen.cells:
        return replace(chosen, adapters=tuple(f"{adapter}{AT}{name}" for adapter in adapters for name in names))
    # PROBLEM/ADAPTER/…
    parts = [label.split("/") for label in chosen.cells]
    cells = tuple("/".join((p, f"{adapter}{AT}{name}", *rest)) for p, adapter, *rest in parts for name in names)
    return replace(chosen, cells=cells, adapters=())


def _made(package: str, version: str, adapters: Sequence[str], *, offline: bool) -> str:
    """The name of the environment of a release, which is made if it is not there."""
    from sciml_bench.adapters import registry
    from sciml_bench.host import environments

    name, requirement = f"{package}-{version}", f"{package}=={version}"
    extras = registry.extras(adapters)
    if name in environments.names():
        known = environments.read(name)
        if known.requirements == (requirement,) and set(extras) <= set(known.extras) and known.broken is None:
            return name
    environments.make(name, [requirement], extras, offline=offline, say=lambda line: click.echo(line, err=True))
    return name
