"""The versions of packages in a Julia project, read from its ``Manifest.toml`` without starting Julia."""

from __future__ import annotations

import hashlib
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

# Julia looks for them in this order.
_NAMES = ("JuliaManifest.toml", "Manifest.toml")


class ManifestError(Exception):
    """A project that is not there, was never resolved, or cannot be read; the message has the fix."""


def package_versions(project: Path) -> dict[str, str]:
    """Version by name of every package that a project resolves to; empty for a standard library.

    Raises:
        ManifestError: there is no such project, or it has no readable manifest.
    """
    path = manifest_path(project)
    try:
        status = path.stat()
        return dict(_versions(path, status.st_mtime_ns, status.st_size))
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise ManifestError(f"{path} cannot be read ({error}); run: sciml-bench julia setup") from error


@lru_cache(maxsize=8)
def _versions(path: Path, _changed_ns: int, _size_bytes: int) -> dict[str, str]:
    """Kept, as a plan asks for each of its cells."""
    manifest: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    packages: dict[str, list[dict[str, Any]]] = manifest.get("deps", {})
    return {name: str(entries[0].get("version", "")) for name, entries in packages.items()}


def direct_dependencies(project: Path) -> frozenset[str]:
    """The packages that a project names itself: these can be loaded by name.

    Raises:
        ManifestError: there is no such project.
    """
    path = project / "Project.toml"
    try:
        found: dict[str, str] = tomllib.loads(path.read_text(encoding="utf-8")).get("deps", {})
        return frozenset(found)
    except (OSError, ValueError, TypeError) as error:
        raise ManifestError(f"{path} cannot be read ({error}); run: sciml-bench julia setup") from error


def fingerprint(project: Path) -> str:
    """Fingerprint of a project's resolved versions, independent of the machine.

    Raises:
        ManifestError: there is no such project.
    """
    return hashlib.sha256(manifest_path(project).read_bytes()).hexdigest()[:12]


def manifest_path(project: Path) -> Path:
    path = next((project / name for name in _NAMES if (project / name).is_file()), None)
    if path is None:
        raise ManifestError(f"the Julia project is not set up at {project}; run: sciml-bench julia setup")
    return path
