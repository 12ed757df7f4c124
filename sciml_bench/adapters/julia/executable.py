"""Finds a Julia that is new enough, or installs one through juliapkg."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from sciml_bench.adapters.julia.installation import OLDEST_JULIA, data_folder
from sciml_bench.errors import UsageError

_OLDEST = ".".join(map(str, OLDEST_JULIA))
_COMPAT = f"^{_OLDEST}"
_GET = "get Julia 1.10 LTS from https://julialang.org/downloads and name it with --julia"


def find(named: str | None, environment: Mapping[str, str], *, offline: bool, say: Callable[[str], None]) -> str:
    """The path of a Julia: the one named, that of ``PYTHON_JULIACALL_EXE``, the one on ``PATH``, or juliapkg's.

    What is named must do; what is only found on ``PATH`` and is too old is passed over, and said.

    Raises:
        UsageError: there is none, or the named one is none or too old.
    """
    for origin, name in (("--julia", named), ("PYTHON_JULIACALL_EXE", environment.get("PYTHON_JULIACALL_EXE"))):
        if name:
            path = shutil.which(name)
            if path is None:
                raise UsageError(f"{origin} {name}: there is no such program; {_GET}")
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
        raise UsageError(f"there is no Julia {_OLDEST} or newer here, and --offline forbids to install one; {_GET}")
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
        raise UsageError(f"{path} cannot be started ({error}); {_GET}") from error
    if said.returncode < 0:
        raise UsageError(f"{path} was ended by signal {-said.returncode} when asked for its version; {_GET}")
    match = re.match(r"julia version (\d+)\.(\d+)\.(\d+)", said.stdout)
    if match is None:
        raise UsageError(f"{path} is not Julia: it does not tell its version; {_GET}")
    return int(match[1]), int(match[2]), int(match[3])


def _check_age(path: str, found: tuple[int, int, int]) -> None:
    if found < OLDEST_JULIA:
        raise UsageError(f"{path} is Julia {'.'.join(map(str, found))}, but {_OLDEST} or newer is needed; {_GET}")


def _from_juliapkg(environment: Mapping[str, str], say: Callable[[str], None]) -> str:
    """The Julia that juliapkg knows or installs; juliacall brings juliapkg."""
    try:
        # These are juliapkg's own means of installing; its public function would resolve its own project, too.
        from juliapkg.compat import Compat
        from juliapkg.find_julia import find_julia
    except ImportError as error:
        raise UsageError('juliacall is not installed; run: pip install "sciml-bench[julia]"') from error
    prefix = data_folder(environment) / "julia"
    say(f"no Julia on PATH; installing one through juliapkg (into {prefix} unless juliaup is there)")
    try:
        found, _ = find_julia(compat=Compat.parse(_COMPAT), prefix=str(prefix), install=True)
    # Whatever goes wrong with a download or an archive ends here, with the one cure that is left.
    except Exception as error:
        raise UsageError(f"juliapkg could not install Julia ({error}); {_GET}") from error
    return str(found)
