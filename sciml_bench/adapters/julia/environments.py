"""Adapters of Julia in an installation with a name, so that two sets of packages are measured in one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sciml_bench.adapters.base import Adapter, ProblemTraits
from sciml_bench.adapters.environments import renamed
from sciml_bench.adapters.julia import installation
from sciml_bench.adapters.julia.installation import KEPT
from sciml_bench.adapters.julia.manifest import ManifestError, package_versions
from sciml_bench.errors import StoreError, UsageError
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
    if not installation.record_path(variables).is_file():
        raise UsageError(f"Julia has no environment '{name}'; {installation.cure(variables)}")
    found = renamed(declared, name)
    return replace(
        found,
        variables=lambda: installation.variables(variables),
        lacking=lambda: installation.lacking(variables),
        refusal=lambda cell, facts: refusal(cell, facts, variables),
        locks=lambda: {
            f"{found.name}/{path.removeprefix(KEPT).lstrip('/')}": text
            for path, text in installation.locks(variables).items()
        },
    )


def unmet(name: str, releases: Sequence[str]) -> str:
    """Return which releases, such as ``Enzyme==0.13.46``, are not in the installation of this name, with the fix."""
    variables = installation.named(name)
    try:
        found = installation.read(installation.record_path(variables))
        versions = package_versions(Path(found.project)) if found else {}
    except (StoreError, ManifestError) as error:
        return installation.with_cure(error, variables)
    lacking = [
        release for release in releases if versions.get(release.partition("==")[0]) != release.partition("==")[2]
    ]
    if not lacking:
        return ""
    return (
        f"Julia has no environment '{name}' with {', '.join(lacking)}; {installation.cure(variables)} --project "
        "FOLDER, with a folder whose Manifest.toml has them"
    )
