"""Optional parts of a Julia installation: packages that the suite's own does not depend on, added on request."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping
from pathlib import Path

from sciml_bench.adapters.julia import installation
from sciml_bench.adapters.julia.manifest import ManifestError, package_versions
from sciml_bench.errors import StoreError

OPTIONAL = {
    "simplechains": ("SimpleChains",),
    "diffeqpy": ("OrdinaryDiffEq", "OrdinaryDiffEqDefault"),
    "mooncake": ("Mooncake",),
}
"""The packages behind each part, by the name that ``julia setup --with`` takes: of an adapter, or of products of the
adapter ``julia``.
"""


def lacking_part(part: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return why a part is not there, with the fix; ``None`` when it is. Reads files only."""
    try:
        known = installation.found(environment)
        versions = {} if known is None else package_versions(Path(known.project))
    except (StoreError, ManifestError) as error:
        return installation.with_cure(error, environment)
    return absence(part, versions, environment)


def absence(part: str, there: Container[str], environment: Mapping[str, str] = os.environ) -> str | None:
    """Return why a part is not among these packages, with the fix; ``None`` when it is."""
    absent = [package for package in OPTIONAL[part] if package not in there]
    if not absent:
        return None
    verb = "is" if len(absent) == 1 else "are"
    return f"{' and '.join(absent)} {verb} not in Julia's project; {cure(part, environment)}"


def cure(part: str, environment: Mapping[str, str] = os.environ) -> str:
    """The command that adds a part to an installation."""
    return f"{installation.cure(environment)} --with {part}"


def present(project: Path) -> tuple[str, ...]:
    """The optional parts whose packages a project has; empty if it was never resolved."""
    try:
        versions = package_versions(project)
    except ManifestError:
        return ()
    return tuple(part for part, packages in OPTIONAL.items() if set(packages) <= set(versions))
