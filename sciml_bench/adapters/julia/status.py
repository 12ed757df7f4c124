"""The status of Julia on this machine, read from files: starts nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sciml_bench.adapters.julia import installation, optional_parts
from sciml_bench.adapters.julia.manifest import ManifestError, package_versions
from sciml_bench.errors import StoreError
from sciml_bench.host.extras import install_command

# The packages whose versions a user wants to see.
_SHOWN = (
    "SciMLBench", "PythonCall", "DifferentialEquations", "OrdinaryDiffEq", "OrdinaryDiffEqCore", "SciMLBase",
    "SciMLSensitivity", "ForwardDiff", "Zygote", "ReverseDiff", "Enzyme", "Sundials", "StaticArrays",
    "Lux", "SimpleChains", "Mooncake",
)  # fmt: skip


@dataclass(frozen=True)
class Status:
    """``lacking`` says why Julia cannot run here, with the fix, or ``None``. ``parts`` as in the installation.

    ``absent`` are the optional parts that were not added, with what adds them.
    """

    lacking: str | None
    record: str
    executable: str = ""
    julia: str = ""
    project: str = ""
    depot: str = ""
    juliacall: str = ""
    packages: dict[str, str] = field(default_factory=dict[str, str])
    precompile_s: float | None = None
    parts: dict[str, str] = field(default_factory=dict[str, str])
    absent: dict[str, str] = field(default_factory=dict[str, str])


def status(environment: Mapping[str, str]) -> Status:
    """The state of the installation that workers will use."""
    record = str(installation.record_path(environment))
    lacking, juliacall = installation.lacking(environment), installation.juliacall_version()
    if not juliacall:
        lacking = f"juliacall is not installed; run: {install_command('julia')}"
    try:
        found = installation.found(environment)
    except StoreError:
        found = None
    if found is None:
        return Status(lacking, record, juliacall=juliacall)
    return Status(
        lacking=lacking,
        record=record,
        executable=found.executable,
        julia=found.version,
        project=found.project,
        depot=found.depot,
        juliacall=juliacall,
        packages=_packages(Path(found.project)),
        precompile_s=found.precompile_s,
        parts=found.parts,
        absent=_absent(Path(found.project), environment),
    )


def _packages(project: Path) -> dict[str, str]:
    try:
        versions = package_versions(project)
    except ManifestError:
        return {}
    return {name: versions[name] for name in _SHOWN if name in versions}


def _absent(project: Path, environment: Mapping[str, str]) -> dict[str, str]:
    there = optional_parts.present(project)
    return {part: optional_parts.cure(part, environment) for part in optional_parts.OPTIONAL if part not in there}


def lines(found: Status) -> list[str]:
    """The state as text, a line each."""
    told: list[str] = []
    if found.executable:
        told.append(f"Julia {found.julia or '(version not recorded)'} at {found.executable}")
        told.append(f"project {found.project}")
        told += [f"depot {found.depot}"] if found.depot else []
    if found.juliacall:
        told.append(f"juliacall {found.juliacall}")
    if found.packages:
        told.append("packages " + ", ".join(f"{name} {version}" for name, version in found.packages.items()))
    if found.precompile_s is not None:
        told.append(f"precompiling took {found.precompile_s:.0f} s")
    told += [f"{part}: {message or 'works'}" for part, message in found.parts.items()]
    told += [f"{part}: not added, it is optional; {cure}" for part, cure in found.absent.items()]
    if found.executable and not found.parts and found.lacking is None:
        told.append("nothing was tried yet; `sciml-bench julia setup` tries every part and records it")
    told.append(f"not ready: {found.lacking}" if found.lacking else "ready")
    return told


def document(found: Status) -> dict[str, Any]:
    """The state as plain JSON values."""
    return {"ready": found.lacking is None, **found.__dict__}
