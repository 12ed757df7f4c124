"""Optional parts of a Julia installation: packages that the suite's own does not depend on, added when asked for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from sciml_bench.adapters.julia import installation
from sciml_bench.adapters.julia.manifest import ManifestError, package_versions
from sciml_bench.errors import StoreError

OPTIONAL = {"simplechains": "SimpleChains"}
"""The package behind each part, by the name that ``julia setup --with`` takes."""


def lacking_part(part: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """Why a part is not there, with the cure; ``None`` when it is. Reads files only."""
    try:
        found = installation.found(environment)
        versions = {} if found is None else package_versions(Path(found.project))
    except (StoreError, ManifestError) as error:
        return str(error)
    if OPTIONAL[part] in versions:
        return None
    return f"{OPTIONAL[part]} is not in Julia's project; {cure(part)}"


def cure(part: str) -> str:
    """What adds a part."""
    return f"{installation.CURE} --with {part}"


def present(project: Path) -> tuple[str, ...]:
    """The optional parts whose packages a project has; none where it was never resolved."""
    try:
        versions = package_versions(project)
    except ManifestError:
        return ()
    return tuple(part for part, package in OPTIONAL.items() if package in versions)
