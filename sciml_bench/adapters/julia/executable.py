"""Finds a Julia that is new enough, or installs one through juliapkg."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from sciml_bench.adapters.julia.installation import OLDEST_JULIA
from sciml_bench.errors import UsageError
from sciml_bench.host.data_folder import data_folder
from sciml_bench.host.extras import install_command

_OLDEST = ".".join(map(str, OLDEST_JULIA))

_COMPAT = f"^{_OLDEST}"

GET_JULIA = "get Julia 1.10 LTS from https://julialang.org/downloads and name it with --julia"


def find(named: str | None, environment: Mapping[str, str], *, offline: bool, say: Callable[[str], None]) -> str:
    """The path of a Julia: the named one, ``PYTHON_JULIACALL_EXE``, the one on ``PATH``, or juliapkg's.

    A named Julia must work; one found on ``PATH`` that is too old is skipped, with a message.

    Raises:
        UsageError: there is none, or the named one is none or too old.
    """
    for origin, name in (("--julia", named), ("PYTHON_JULIACALL_EXE", environment.get("PYTHON_JULIACALL_EXE"))):
        if name:
            path = shutil.which(name)
            if path is None:
                raise UsageError(f"{origin} {name}: there is no such program; {GET_JULIA}")
            _check_age(path, version(path))
            return str(Path(path).absolute())
    path = shutil.which("julia", path=environment.get("PATH"))
    if path is not None:
        try:
            _check_age(path, version(path))
            return str(Path(path).absolute())
        except UsageError as error:
            say(f"passed over: {error}")
    if offline:
        raise UsageError(f"Julia {_OLDEST} or newer is missing, and --offline forbids installing one; {GET_JULIA}")
    return _from_juliapkg(environment, say)


def version(path: str) -> tuple[int, int, int]:
    """The version of the Julia at this path.

    Raises:
        UsageError: it does not say one.
    """
    try:
        said = subprocess.run(
            [path, "--startup-file=no", "--version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{path} cannot be started ({error}); {GET_JULIA}") from error
    if said.returncode < 0:
        raise UsageError(f"{path} was ended by signal {-said.returncode} while reporting its version; {GET_JULIA}")
    match = re.match(r"julia version (\d+)\.(\d+)\.(\d+)", said.stdout)
    if match is None:
        raise UsageError(f"{path} does not look like Julia: it reports no version; {GET_JULIA}")
    return int(match[1]), int(match[2]), int(match[3])


def _check_age(path: str, found: tuple[int, int, int]) -> None:
    if found < OLDEST_JULIA:
        raise UsageError(f"{path} is Julia {'.'.join(map(str, found))}, but {_OLDEST} or newer is needed; {GET_JULIA}")


def _from_juliapkg(environment: Mapping[str, str], say: Callable[[str], None]) -> str:
    """The Julia that juliapkg knows or installs; juliacall brings juliapkg."""
    try:
        # These are juliapkg's own means of installing; its public function would resolve its own project, too.
        from juliapkg.compat import Compat
        from juliapkg.find_julia import find_julia
    except ImportError as error:
        raise UsageError(f"juliacall is not installed; run: {install_command('julia')}") from error
    prefix = data_folder(environment) / "julia"
    say(f"no Julia on PATH; installing one through juliapkg (into {prefix} unless juliaup is there)")
    try:
        found, _ = find_julia(compat=Compat.parse(_COMPAT), prefix=str(prefix), install=True)
    # Whatever goes wrong with a download or an archive ends here, with the one cure that is left.
    except Exception as error:
        raise UsageError(f"juliapkg could not install Julia ({error}); {GET_JULIA}") from error
    return str(found)
