"""Optional parts of a Julia installation: packages that the suite's own does not depend on, added on request."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping
from pathlib import Path

from sciml_bench.adapters.julia.installation import CURE, found
from sciml_bench.adapters.julia.manifest import ManifestError, package_versions
from sciml_bench.errors import StoreError

OPTIONAL = {"simplechains": ("SimpleChains",), "diffeqpy": ("OrdinaryDiffEq", "OrdinaryDiffEqDefault")}
"""The packages behind each part, by the name that ``julia setup --with`` takes, the name of an adapter."""


def lacking_part(part: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return why a part is not there, with the fix; ``None`` when it is. Reads files only."""
    try:
        known = found(environment)
        versions = {} if known is None else package_versions(Path(known.project))
    except (StoreError, ManifestError) as error:
        return str(error)
    return absence(part, versions)


def absence(part: str, there: Container[str]) -> str | None:
    """Return why a part is not among these packages, with the fix; ``None`` when it is."""
    absent = [package for package in OPTIONAL[part] if package not in there]
    if not absent:
        return None
    return f"{' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} not in Julia's project; {cure(part)}"


def cure(part: str) -> str:
    """The command that adds a part."""
    return f"{CURE} --with {part}"


def present(project: Path) -> tuple[str, ...]:
    """The optional parts whose packages a project has; empty if it was never resolved."""
    try:
        versions = package_versions(project)
    except ManifestError:
        return ()
    return tuple(part for part, packages in OPTIONAL.items() if set(packages) <= set(versions))
