"""Prepares a Julia project for the workers: the package SciMLBench, PythonCall of juliacall's version, precompiled."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sciml_bench.adapters.julia import self_check
from sciml_bench.adapters.julia.executable import GET_JULIA, find, version
from sciml_bench.adapters.julia.installation import Installation, juliacall_version, worker_variables
from sciml_bench.adapters.julia.optional_parts import OPTIONAL, present
from sciml_bench.errors import StoreError, UsageError
from sciml_bench.host.data_folder import data_folder
from sciml_bench.host.extras import install_command

Say = Callable[[str], None]

_PACKAGE = Path(__file__).resolve().parents[2]
_COMPILED = re.compile(r"\s*[0-9.]+ m?s\s+[✓✗?] ")
_EACH = 20
_KEPT_LINES = 12


@dataclass(frozen=True)
class Wishes:
    """The user's settings: a Julia, a project folder, a depot, whether the network may be used, optional parts, and the
    name of the installation, empty for the usual one."""

    julia: str | None = None
    project: Path | None = None
    depot: Path | None = None
    offline: bool = False
    parts: tuple[str, ...] = ()
    name: str = ""


def set_up(wishes: Wishes, environment: Mapping[str, str], say: Say) -> Installation:
    """Find or install Julia, prepare the project, and try it; ``say`` gets every line of progress.

    Raises:
        UsageError: it cannot be done; the message has the fix.
        StoreError: this package itself is broken.
    """
    wanted = juliacall_version()
    if not wanted:
        raise UsageError(f"juliacall is not installed; run: {install_command('julia')}")
    julia = find(wishes.julia, environment, offline=wishes.offline, say=say)
    release = ".".join(map(str, version(julia)))
    say(f"Julia {release} at {julia}")
    project = _project_folder(wishes, environment)
    depot = _depot(wishes, environment)
    if wishes.offline:
        _check_filled(depot)
    installation = Installation(julia, str(project), depot, release)
    parts = dict.fromkeys((*present(project), *wishes.parts))
    versions = (*(package for part in parts for package in OPTIONAL[part]), wanted)
    seconds = _prepare(installation, versions, environment, offline=wishes.offline, say=say)
    installation = replace(installation, precompile_s=seconds)
    return replace(installation, parts=self_check.parts(installation, environment, say))


def package_folder() -> Path:
    """The folder of the Julia package: inside an installed package, or at the top of a checkout.

    Raises:
        StoreError: neither exists, so the installation is broken.
    """
    for candidate in (_PACKAGE / "_data" / "julia_env", _PACKAGE.parent / "julia_env"):
        if (candidate / "Project.toml").is_file():
            return candidate
    raise StoreError(f"the Julia package is missing beside {_PACKAGE}; reinstall sciml-bench")


def _project_folder(wishes: Wishes, environment: Mapping[str, str]) -> Path:
    usual = "-".join(filter(None, ("julia_project", wishes.name)))
    folder = (wishes.project or data_folder(environment) / usual).absolute()
    _check_writable(folder, "the project", "--project")
    return folder


def _depot(wishes: Wishes, environment: Mapping[str, str]) -> str:
    """The value of ``JULIA_DEPOT_PATH``: earlier entries follow a named depot."""
    before = environment.get("JULIA_DEPOT_PATH", "")
    if wishes.depot is None:
        first = before.split(os.pathsep)[0]
        _check_writable(Path(first) if first else Path.home() / ".julia", "the depot", "--depot")
        return before
    depot = wishes.depot.absolute()
    _check_writable(depot, "the depot", "--depot")
    # An empty entry means Julia's own default depots.
    return f"{depot}{os.pathsep}{before}"


def _check_filled(depot: str) -> None:
    """Without a network, nothing can be put into an empty depot."""
    folders = [Path(entry) if entry else Path.home() / ".julia" for entry in depot.split(os.pathsep)]
    if not any((folder / "registries").is_dir() and (folder / "packages").is_dir() for folder in folders):
        raise UsageError(
            f"no packages of Julia are in {folders[0]}, and --offline forbids installing any; run the same command "
            "without --offline on a machine with a network first"
        )


def _check_writable(folder: Path, noun: str, option: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"{noun} {folder} cannot be written ({reason}); name another with {option}") from error


def _prepare(
    installation: Installation, wanted: tuple[str, ...], environment: Mapping[str, str], *, offline: bool, say: Say
) -> float:
    """Let Julia's package manager do its work; how long compiling took, in seconds.

    ``wanted`` are the packages of optional parts, and at last the version of PythonCall.
    """
    folder = package_folder()
    with tempfile.TemporaryDirectory() as temporary:
        # A separate file: other processes that Julia starts write to the same two streams.
        result = Path(temporary) / "seconds"
        script = [str(folder / "setup" / "prepare.jl"), str(folder), str(result), *wanted]
        command = [installation.executable, "--startup-file=no", f"--project={installation.project}", *script]
        variables = {**environment, **worker_variables(installation), "JULIA_PKG_OFFLINE": str(offline).lower()}
        code, lines = _run(command, variables, say)
        if code:
            raise UsageError(_why(code, lines, installation, offline))
        try:
            return float(result.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UsageError(
                f"{installation.executable} did not run {script[0]} to its end ({error}); {GET_JULIA}"
            ) from error


def _run(command: list[str], variables: dict[str, str], say: Say) -> tuple[int, list[str]]:
    """Run a command that may compile packages: its exit code, and its lines about what went wrong."""
    kept: deque[str] = deque(maxlen=_KEPT_LINES)
    error = ""
    compiled = 0
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=variables
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            text = line.rstrip()
            if _COMPILED.match(text):
                compiled += 1
                if compiled % _EACH == 0:
                    say(f"  {compiled} packages compiled")
            elif text:
                kept.append(text)
                if error:
                    continue
                # A trace of some hundred lines follows the first error.
                error = text if text.startswith("ERROR:") else ""
                say(text)
    return process.returncode, [error] if error else list(kept)


def _why(code: int, lines: list[str], installation: Installation, offline: bool) -> str:
    if code < 0:
        return (
            f"Julia was ended by signal {signal.Signals(-code).name} while it prepared {installation.project}; "
            "run the command again, with another --julia if it happens again"
        )
    reason = (lines[-1] if lines else "no message").removeprefix("ERROR: ").removeprefix("LoadError: ")
    # Without the network only packages of the depot are known; with it, most often an old project is in the way.
    cure = "run it on a machine with a network first" if offline else "name an empty folder with --project"
    return f"Julia could not prepare {installation.project} ({reason}); {cure}"
