"""Shell completion: the names that arguments and options take."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

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


def problems(_ctx: click.Context) -> Iterable[str]:
    """The problems of the catalog."""
    from sciml_bench.spec import catalog

    return catalog.names()


def suites(_ctx: click.Context) -> Iterable[str]:
    """The suites of the catalog."""
    from sciml_bench.spec import catalog

    return catalog.suites()


def adapters(_ctx: click.Context) -> Iterable[str]:
    """The adapters, including ones that cannot run here."""
    from sciml_bench.adapters import registry

    return registry.names()


def methods(_ctx: click.Context) -> Iterable[str]:
    """The methods of all adapters."""
    from sciml_bench.adapters import registry

    return (method.name for adapter in registry.adapters().values() for method in adapter.methods)


def sensitivities(_ctx: click.Context) -> Iterable[str]:
    """The kinds of gradient of all adapters."""
    from sciml_bench.adapters import registry

    return (name for adapter in registry.adapters().values() for name in adapter.sensitivities)


def modes(_ctx: click.Context) -> Iterable[str]:
    """The modes of all adapters."""
    from sciml_bench.adapters import registry

    return (name for adapter in registry.adapters().values() for name in adapter.modes)


def runs(ctx: click.Context) -> Iterable[str]:
    """The runs in the folder of results, newest first."""
    from sciml_bench.record.run_folder import runs_in

    return (run.folder.name for run in runs_in(Path(ctx.params.get("out") or "results")))


def claims(_ctx: click.Context) -> Iterable[str]:
    """The ids of the published claims."""
    from sciml_bench.published_claims import collection

    return sorted(path.stem for path in collection.folder().glob("*.toml"))


PROBLEMS, ADAPTERS, RUNS, CLAIMS = completing(problems), completing(adapters), completing(runs), completing(claims)
WORDS = completing(suites, problems)
"""For arguments; ``WORDS`` is for commands that take problems, suites and files."""
