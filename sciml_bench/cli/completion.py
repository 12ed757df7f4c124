"""Shell completion: the names that arguments and options take."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from sciml_bench.errors import SciMLBenchError

Source = Callable[[click.Context], Iterable[str]]
Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completing(*sources: Source, joined: bool = False) -> Complete:
    """Complete the names of these sources, ``joined`` by commas or not; files if no name fits."""

    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        head, comma, last = incomplete.rpartition(",") if joined else ("", "", incomplete)
        known: list[str] = []
        # A shell has no place for a message.
        with suppress(SciMLBenchError):
            known = [name for source in sources for name in source(ctx)]
        fitting = [CompletionItem(head + comma + name) for name in dict.fromkeys(known) if name.startswith(last)]
        return fitting or [CompletionItem(incomplete, type="file")]

    return complete


def _catalog() -> Any:
    from sciml_bench.spec import catalog

    return catalog


def _registry() -> Any:
    from sciml_bench.adapters import registry

    return registry


SOURCES: dict[str, Source] = {
    "problems": lambda _: _catalog().names(),
    "suites": lambda _: _catalog().suites(),
    "adapters": lambda _: _registry().names(),
    "methods": lambda _: (method.name for item in _registry().adapters().values() for method in item.methods),
    "sensitivities": lambda _: (name for item in _registry().adapters().values() for name in item.sensitivities),
    "modes": lambda _: (name for item in _registry().adapters().values() for name in item.modes),
}
"""The names of each axis of a selection: of the catalog, and of all adapters, including ones that cannot run here."""


def runs(ctx: click.Context) -> Iterable[str]:
    """The runs in the folder of results, newest first."""
    from sciml_bench.record.run_folder import runs_in

    return (run.folder.name for run in runs_in(Path(ctx.params.get("out") or "results")))


def claims(_ctx: click.Context) -> Iterable[str]:
    """The ids of the published claims."""
    from sciml_bench.published_claims import collection

    return sorted(path.stem for path in collection.folder().glob("*.toml"))


PROBLEMS, ADAPTERS = completing(SOURCES["problems"]), completing(SOURCES["adapters"])
RUNS, CLAIMS = completing(runs), completing(claims)
WORDS = completing(SOURCES["suites"], SOURCES["problems"])
"""For arguments; ``WORDS`` is for commands that take problems, suites and files."""
