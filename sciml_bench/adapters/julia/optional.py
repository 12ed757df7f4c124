"""Optional parts of a Julia installation: packages that the suite's own does not depend on, added when asked for."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping
from pathlib import Path

from sciml_bench.adapters.julia import installation
from sciml_bench.adapters.julia.manifest import ManifestError, package_versions
from sciml_bench.errors import StoreError

OPTIONAL = {"simplechains": ("SimpleChains",), "diffeqpy": ("OrdinaryDiffEq", "OrdinaryDiffEqDefault")}
"""The packages behind each part, by the name that ``julia setup --with`` takes, which is that of an adapter."""


def lacking_part(part: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """Why a part is not there, with the cure; ``None`` when it is. Reads files only."""
    try:
        found = installation.found(environment)
        versions = {} if found is None else package_versions(Path(found.project))
    except (StoreError, ManifestError) as error:
        return str(error)
    return absence(part, versions)


def absence(part: str, there: Container[str]) -> str | None:
    """Why a part is not among these packages, with the cure; ``None`` when it is."""
    absent = [package for package in OPTIONAL[part] if package not in there]
    if not absent:
        return None
    return f"{' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} not in Julia's project; {cure(part)}"


def cure(part: str) -> str:
    """What adds a part."""
    return f"{installation.CURE} --with {part}"


def present(project: Path) -> tuple[str, ...]:
    """The optional parts whose packages a project has; none where it was never resolved."""
    try:
        versions = package_versions(project)
    except ManifestError:
        return ()
    return tuple(part for part, packages in OPTIONAL.items() if set(packages) <= set(versions))
