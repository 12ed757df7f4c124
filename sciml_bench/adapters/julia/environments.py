"""Adapters of Julia in an installation with a name, so that two sets of packages are measured in one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from sciml_bench.adapters.base import Adapter, ProblemTraits
from sciml_bench.adapters.environments import renamed
from sciml_bench.adapters.julia import installation
from sciml_bench.adapters.julia.installation import CURE, KEPT
from sciml_bench.errors import UsageError
from sciml_bench.host.environments import NAMES
from sciml_bench.record.task import Cell

Refusal = Callable[[Cell, ProblemTraits, Mapping[str, str]], str | None]


def in_environment(declared: Adapter, name: str, refusal: Refusal) -> Adapter:
    """The adapter with the packages of the installation of this name.

    ``refusal`` is the adapter's, and takes the variables of the installation, too.

    Raises:
        UsageError: nothing was set up under this name.
    """
    if not NAMES.fullmatch(name):
        raise UsageError(f"'{name}' cannot name an environment")
    variables = installation.named(name)
    setup = f"{CURE} --name {name}"
    if not installation.record_path(variables).is_file():
        raise UsageError(f"Julia has no environment '{name}'; {setup}")

    def lacking() -> str | None:
        reason = installation.lacking(variables)
        return reason and reason.replace(CURE, setup)

    found = renamed(declared, name)
    return replace(
        found,
        variables=lambda: installation.variables(variables),
        lacking=lacking,
        refusal=lambda cell, facts: refusal(cell, facts, variables),
        locks=lambda: {
            f"{found.name}/{path.removeprefix(KEPT).lstrip('/')}": text
            for path, text in installation.locks(variables).items()
        },
    )
