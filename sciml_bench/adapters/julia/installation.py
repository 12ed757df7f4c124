"""The Julia and the project that workers start with, as ``sciml-bench julia setup`` recorded them.

Workers never look for Julia and never resolve a package: both are fixed before they start. The variables
``PYTHON_JULIACALL_EXE`` and ``PYTHON_JULIACALL_PROJECT`` together win over the record, as they do for juliacall itself.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sciml_bench.adapters.julia.manifest import ManifestError, manifest_path, package_versions
from sciml_bench.errors import StoreError
from sciml_bench.host.data_folder import data_folder
from sciml_bench.record.task import AT

CURE = "run: sciml-bench julia setup"
PACKAGE = "SciMLBench"
OLDEST_JULIA = (1, 10, 3)
"""The oldest Julia that works with juliacall: 1.10.1 and 1.10.2 crash on Linux."""

_EXECUTABLE, _PROJECT, _DEPOT = "PYTHON_JULIACALL_EXE", "PYTHON_JULIACALL_PROJECT", "JULIA_DEPOT_PATH"
_RECORD = "SCIML_BENCH_JULIA"
_SCHEMA = 1

KEPT = "julia"
"""The folder of a run's locks that has the files of the project."""
_PREFERENCES = ("JuliaLocalPreferences.toml", "LocalPreferences.toml")
_ON_THIS_MACHINE = re.compile(r'(?m)^(path = |\w+ = (?="/))".*"$')


@dataclass(frozen=True)
class Installation:
    """A Julia and a project in which :data:`PACKAGE` and PythonCall are installed.

    ``depot`` is the value of ``JULIA_DEPOT_PATH``, empty for Julia's own default. ``version`` is Julia's,
    ``precompile_s`` how long precompiling took. ``parts`` maps each part tried after it to Julia's message, empty if
    the part works. An installation from environment variables alone has neither version nor parts.
    """

    executable: str
    project: str
    depot: str = ""
    version: str = ""
    precompile_s: float | None = None
    parts: dict[str, str] = field(default_factory=dict[str, str])

    def to_json(self) -> str:
        """The text of the record."""
        return json.dumps({"schema": _SCHEMA, **dataclasses.asdict(self)}, indent=2) + "\n"


def record_path(environment: Mapping[str, str] = os.environ) -> Path:
    """Path of the record: ``SCIML_BENCH_JULIA``, or in the user's data folder."""
    told = environment.get(_RECORD)
    return Path(told) if told else data_folder(environment) / "julia.json"


def cure(environment: Mapping[str, str] = os.environ) -> str:
    """The command that mends an installation, with the name that its record has."""
    name = record_path(environment).stem.partition(AT)[2]
    return f"{CURE} --name {name}" if name else CURE


def with_cure(error: Exception, environment: Mapping[str, str] = os.environ) -> str:
    """The message of an error, with the command that mends this installation."""
    return str(error).replace(CURE, cure(environment))


def named(name: str, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables with which the functions of this module read the installation of this name."""
    path = record_path(environment)
    kept = {key: value for key, value in environment.items() if key not in (_EXECUTABLE, _PROJECT)}
    return kept | {_RECORD: str(path.with_name(f"{path.stem}{AT}{name}.json"))}


def found(environment: Mapping[str, str] = os.environ) -> Installation | None:
    """The installation that workers will use; ``None`` when there is none.

    Raises:
        StoreError: there is a record that cannot be read.
    """
    recorded = read(record_path(environment))
    executable, project = environment.get(_EXECUTABLE), environment.get(_PROJECT)
    if not executable or not project:
        return recorded
    if recorded is not None and (recorded.executable, recorded.project) == (executable, project):
        return recorded
    return Installation(executable, project, environment.get(_DEPOT, ""))


def read(path: Path) -> Installation | None:
    """The record in a file, ``None`` when there is no such file.

    Raises:
        StoreError: it is not a record.
    """
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if data.pop("schema") != _SCHEMA:
            raise ValueError("another version of sciml-bench wrote it")
        return Installation(**data)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{path}: not a record of a Julia installation ({error}); {CURE}") from error


def write(installation: Installation, path: Path) -> None:
    """Record an installation.

    Raises:
        StoreError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(installation.to_json(), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror}); name another with SCIML_BENCH_JULIA") from error


def lacking(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return why Julia cannot run here, with the fix; ``None`` when it can. Reads files only, starts nothing."""
    for variable, other in ((_EXECUTABLE, _PROJECT), (_PROJECT, _EXECUTABLE)):
        if environment.get(variable) and not environment.get(other):
            return f"{variable} is set, but {other} is not; set both, or unset both and {cure(environment)}"
    try:
        installation = found(environment)
        if installation is None:
            return f"no Julia is set up for sciml-bench; {cure(environment)}"
        return _broken(installation, cure(environment))
    except (StoreError, ManifestError) as error:
        return with_cure(error, environment)


def _broken(installation: Installation, mended_by: str) -> str | None:
    if not os.access(installation.executable, os.X_OK):
        return f"Julia is no longer at {installation.executable}; {mended_by}"
    versions = package_versions(Path(installation.project))
    for package in (PACKAGE, "PythonCall"):
        if package not in versions:
            return f"the project {installation.project} has no package {package}; {mended_by}"
    wanted = juliacall_version()
    if wanted and versions["PythonCall"] != wanted:
        return (
            f"the project {installation.project} has PythonCall {versions['PythonCall']}, but juliacall {wanted} "
            f"needs {wanted}; {mended_by}"
        )
    return None


def juliacall_version() -> str:
    """The version of juliacall, without importing it, which would start Julia; empty when it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("juliacall")
    except PackageNotFoundError:
        return ""


def variables(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Environment variables with which juliacall starts this Julia and resolves nothing."""
    installation = found(environment)
    return {} if installation is None else worker_variables(installation)


def worker_variables(installation: Installation) -> dict[str, str]:
    """Return the environment variables for workers of an installation, which need not be recorded."""
    fixed = {
        _EXECUTABLE: installation.executable,
        _PROJECT: installation.project,
        # Python is this one; no other is to be installed.
        "JULIA_CONDAPKG_BACKEND": "Null",
        "JULIA_PKG_OFFLINE": "true",
        # Nothing outside the project is to be found, such as packages of the user's own environment.
        "JULIA_LOAD_PATH": "@:@stdlib",
        "PYTHON_JULIACALL_STARTUP_FILE": "no",
        # Julia's garbage collector signals its threads; without its own handlers that ends the process.
        "PYTHON_JULIACALL_HANDLE_SIGNALS": "yes",
    }
    return {**fixed, _DEPOT: installation.depot} if installation.depot else fixed


def locks(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The manifest and the preferences of the project that workers load, by the names that a run keeps them under.

    Preferences switch off code that packages compile in advance, or replace a library. Paths on this machine are left
    out: ``Pkg.instantiate`` finds registered packages, and the suite's own is part of every checkout. Empty without a
    project.
    """
    try:
        installation = found(environment)
        if installation is None:
            return {}
        project = Path(installation.project)
        texts = {"Manifest.toml": manifest_path(project).read_text(encoding="utf-8")}
        preferences = next((project / name for name in _PREFERENCES if (project / name).is_file()), None)
        if preferences is not None:
            texts["LocalPreferences.toml"] = preferences.read_text(encoding="utf-8")
    except (StoreError, ManifestError, OSError, ValueError):
        return {}
    return {f"{KEPT}/{name}": _ON_THIS_MACHINE.sub(r'\1"."', text) for name, text in texts.items() if text}


def refused_part(part: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return why an optional part does not work here, as setup found out; ``None`` when it does, or was never tried."""
    try:
        installation = found(environment)
    except StoreError:
        return None
    message = "" if installation is None else installation.parts.get(part, "")
    return f"{part} did not work when this Julia was set up: {message}" if message else None
