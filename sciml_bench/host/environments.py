"""Environments of Python packages with names: an interpreter, and a lock of all its packages.

``uv`` chooses the versions, writes the lock and installs it; it keeps all downloads, so that the next environment takes
seconds and needs no network.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import sciml_bench
from sciml_bench.errors import StoreError, UsageError
from sciml_bench.host.data_folder import data_folder
from sciml_bench.host.extras import NAME, install_command
from sciml_bench.record.codec import decode, parse
from sciml_bench.record.jsonl import write_whole

NAMES = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""An environment's name: it is a folder, and a word of the labels of cells."""

Say = Callable[[str], None]

_RECORD, _LOCK, _PATH, _VENV = "environment.json", "lock.txt", "path", "venv"
_TRIAL = "import numpy, platform, sciml_bench.measure.worker; print(platform.python_version())"
_TRIAL_S = 120.0


@dataclass(frozen=True)
class Environment:
    """The requirements and extras of an environment, the version of Python, and the SHA-256 of the lock."""

    name: str
    requirements: tuple[str, ...]
    extras: tuple[str, ...]
    python: str
    lock_hash: str

    @property
    def folder(self) -> Path:
        """Its folder."""
        return folder() / self.name

    @property
    def interpreter(self) -> Path:
        """Its Python."""
        return self.folder / _VENV / "bin" / "python"

    @property
    def path(self) -> Path:
        """A folder that has this package and nothing else, for ``PYTHONPATH``."""
        return self.folder / _PATH

    @property
    def lock(self) -> str:
        """Each installed package with its version. :class:`StoreError` if the file cannot be read."""
        try:
            return (self.folder / _LOCK).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise StoreError(f"{self.folder / _LOCK} cannot be read ({error}); {cure(self)}") from error

    @property
    def packages(self) -> dict[str, str]:
        """The version of each installed package, by its normalised name. :class:`StoreError` without a lock."""
        return pins(self.lock)

    @property
    def broken(self) -> str | None:
        """Return why workers cannot start in it, with the fix; ``None`` if they can."""
        if not os.access(self.interpreter, os.X_OK):
            return f"the environment '{self.name}' has lost its interpreter; {cure(self)}"
        try:
            changed = _hash(self.lock) != self.lock_hash
        except StoreError as error:
            return str(error)
        return f"the lock of the environment '{self.name}' was changed; {cure(self)}" if changed else None


def pins(lock: str) -> dict[str, str]:
    """The version of each package in a lock, by its normalised name."""
    found = (line.partition(";")[0].partition("==") for line in lock.splitlines())
    return {canonicalize_name(name.strip()): version.strip() for name, _, version in found if version}


def distribution(requirement: str) -> str:
    """The package that a requirement is about, by its normalised name.

    Raises:
        UsageError: it is not a requirement.
    """
    try:
        return canonicalize_name(Requirement(requirement).name)
    except InvalidRequirement as error:
        raise UsageError(f"'{requirement}' does not name a package; write for example diffrax==0.7.2") from error


def cure(environment: Environment) -> str:
    """The command that makes an environment again."""
    other = "" if environment.python == platform.python_version() else f" --python {environment.python}"
    return f"run: {command(environment.name, environment.requirements, environment.extras)}{other}"


def command(name: str, requirements: Sequence[str], extras: Sequence[str]) -> str:
    """The command that makes an environment."""
    options = (word for extra in extras for word in ("--extra", extra))
    return shlex.join(["sciml-bench", "env", "make", name, *requirements, *options])


def folder() -> Path:
    """The folder of all environments."""
    return data_folder() / "environments"


def names() -> tuple[str, ...]:
    """The environments that were made, in order."""
    found = (path.parent.name for path in folder().glob(f"*/{_RECORD}"))
    return tuple(sorted(name for name in found if NAMES.fullmatch(name)))


def read(name: str) -> Environment:
    """The environment of this name.

    Raises:
        UsageError: there is none.
        StoreError: its record cannot be read.
    """
    path = folder() / name / _RECORD
    if not NAMES.fullmatch(name) or not path.is_file():
        made = f"; there are {', '.join(names())}" if names() else ""
        raise UsageError(
            f"no environment has the name '{name}'{made}; make it with: sciml-bench env make {name} PACKAGE==VERSION"
        )
    try:
        found = decode(Environment, parse(path.read_text(encoding="utf-8")))
        if found.name != name:
            raise ValueError(f"it is the record of '{found.name}'")
        return found
    except (OSError, ValueError) as error:
        again = f"run: sciml-bench env remove {name}"
        raise StoreError(f"{path}: not the record of an environment ({error}); {again}") from error


def remove(name: str) -> None:
    """Remove an environment, also one that was not finished.

    Raises:
        UsageError: there is none.
        StoreError: it cannot be removed.
    """
    path = folder() / name
    if not NAMES.fullmatch(name) or not path.is_dir():
        read(name)
    try:
        shutil.rmtree(path)
    except OSError as error:
        raise StoreError(f"{path} cannot be removed ({error.strerror or error})") from error


def make(
    name: str, requirements: Sequence[str], extras: Sequence[str], *, python: str = "", offline: bool = False, say: Say
) -> Environment:
    """Make an environment with these requirements and extras of this package; other packages get the versions that are
    installed here, if they fit.

    ``python`` is a version or a path, by default this interpreter. An environment of the same name is replaced once
    the new one works.

    Raises:
        UsageError: no ``uv``, a name that is none, or versions that do not exist or fit; the message has uv's reason.
        StoreError: a file cannot be written.
    """
    if not NAMES.fullmatch(name):
        raise UsageError(f"'{name}' cannot name an environment: use letters, digits, '.', '_' and '-'")
    target, making = folder() / name, folder() / f".{name}.making"
    try:
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(parents=True)
        _install(making, requirements, extras, python or sys.executable, offline=offline, say=say)
        made = _tried(making, name, tuple(requirements), tuple(extras))
        shutil.rmtree(target, ignore_errors=True)
        making.rename(target)
        return made
    except OSError as error:
        place = error.filename or target
        raise StoreError(
            f"{place} cannot be written ({error.strerror}); set XDG_DATA_HOME to another folder"
        ) from error
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _install(
    target: Path, requirements: Sequence[str], extras: Sequence[str], python: str, *, offline: bool, say: Say
) -> None:
    """Let uv choose the versions and install them into a folder."""
    uv = _uv()
    named = set(map(distribution, requirements))
    # Requirements replace the bounds of the extras: a release may be older than they allow.
    needed = [line for line in _needed(extras) if distribution(line) not in named]
    for file, lines in (
        ("requirements.in", [*needed, *requirements]),
        ("constraints.txt", _installed(without=named)),
    ):
        (target / file).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    network = ["--offline"] if offline else []
    lock, venv = target / _LOCK, target / _VENV
    installed = str(venv / "bin" / "python")
    choose = [*uv, "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python", python, *network]
    choose += [str(target / "requirements.in"), "--output-file", str(lock)]
    say(f"choosing versions for {', '.join((*requirements, *extras))}")
    if _run([*choose, "--constraint", str(target / "constraints.txt")]):
        # A release may need other versions than the installed ones.
        say("they do not fit the packages installed here; choosing others too")
        if reason := _run(choose):
            raise UsageError(f"no versions fit together for {' '.join(requirements)}: {reason}")
    say(f"installing {len(lock.read_text(encoding='utf-8').splitlines())} packages")
    for command in (
        [*uv, "venv", "--quiet", "--python", python, *network, str(venv)],
        # Compiled here, not in the first worker, whose first gradient would take longer than any later one's.
        [*uv, "pip", "sync", "--quiet", "--compile-bytecode", "--python", installed, *network, str(lock)],
    ):
        if reason := _run(command):
            raise UsageError(f"{' '.join(requirements)} could not be installed: {reason}")


def _tried(target: Path, name: str, requirements: tuple[str, ...], extras: tuple[str, ...]) -> Environment:
    """Start the interpreter as a worker would; then comes the record, so that one that is not finished has none."""
    own = target / _PATH
    own.mkdir()
    (own / sciml_bench.__name__).symlink_to(Path(sciml_bench.__file__).resolve().parent)
    try:
        version = subprocess.run(
            [str(target / _VENV / "bin" / "python"), "-c", _TRIAL],
            capture_output=True, text=True, timeout=_TRIAL_S, check=True, cwd=target,
            env={**os.environ, "PYTHONPATH": str(own)},
        )  # fmt: skip
    except subprocess.CalledProcessError as error:
        reason = (error.stderr.strip().splitlines() or ["no message"])[-1]
        raise UsageError(f"the environment '{name}' does not run a worker: {reason}") from error
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"the environment '{name}' does not run a worker within {_TRIAL_S:g} s") from error
    lock = (target / _LOCK).read_text(encoding="utf-8")
    made = Environment(name, requirements, extras, version.stdout.strip(), _hash(lock))
    write_whole(target / _RECORD, json.dumps(asdict(made), indent=2) + "\n")
    return made


def releases(package: str, first: str, last: str) -> tuple[str, ...]:
    """The releases of a package that pip's index has from one to another, in order, without pre-releases between them.

    Raises:
        UsageError: pip cannot list them, one of the two is not among them, or the first is not the earlier one.
    """
    command = [sys.executable, "-m", "pip", "index", "versions", package]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    text = next((line for line in done.stdout.splitlines() if line.startswith("Available versions:")), "")
    if not text:
        reason = (done.stderr.strip().splitlines() or ["pip lists none"])[-1]
        raise UsageError(f"the releases of {package} cannot be listed ({reason}); name them: {package}=={first},{last}")
    known = sorted(Version(word.strip()) for word in text.partition(":")[2].split(",") if word.strip())
    low, high = Version(first), Version(last)
    if low not in known or high not in known:
        missing = first if low not in known else last
        raise UsageError(f"{package} has no release {missing}; there are {', '.join(map(str, known))}")
    if low >= high:
        raise UsageError(f"{first} is not earlier than {last}: write {package}=={last}..{first}")
    return tuple(str(release) for release in known if low <= release <= high)


def _uv() -> list[str]:
    """The command of uv: of the package in this environment, or on ``PATH``."""
    if importlib.util.find_spec("uv") is not None:
        return [sys.executable, "-m", "uv"]
    found = shutil.which("uv")
    if found is None:
        raise UsageError(f"uv is not installed, which makes environments; run: {install_command('env')}")
    return [found]


def _run(command: Sequence[str]) -> str:
    """Run uv: empty if it succeeded, otherwise its reason in one line."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        return error.strerror or str(error)
    if done.returncode == 0:
        return ""
    lines = [" ".join(line.strip(" ×╰─▶│├").split()) for line in done.stderr.splitlines()]
    return " ".join(filter(None, lines))[:_LONGEST_REASON] or f"uv exits with code {done.returncode}"


_LONGEST_REASON = 600


def _needed(extras: Sequence[str]) -> list[str]:
    """The requirements of this package itself and of some extras.

    Raises:
        UsageError: there is no such extra, or this package is not installed.
    """
    try:
        own = metadata.distribution(NAME)
    except metadata.PackageNotFoundError as error:
        raise UsageError(f"{NAME} is not installed in this environment; run: pip install -e .") from error
    known = own.metadata.get_all("Provides-Extra") or []
    if unknown := [extra for extra in extras if extra not in known]:
        raise UsageError(f"no extra {', '.join(unknown)}; there are {', '.join(known)}")
    found = map(Requirement, own.requires or ())
    scopes = [{"extra": extra} for extra in ("", *extras)]
    return [
        f"{item.name}{item.specifier}"
        for item in found
        if canonicalize_name(item.name) != NAME
        and (item.marker is None or any(item.marker.evaluate(scope) for scope in scopes))
    ]


def _installed(without: set[str]) -> list[str]:
    """Every package of this environment as it is installed, without build tags, which indexes do not have."""
    found = {
        canonicalize_name(item.name): item.version.partition("+")[0]
        for item in metadata.distributions()
        if item.name and item.read_text("direct_url.json") is None
    }
    return sorted(f"{name}=={version}" for name, version in found.items() if name not in without | {NAME})


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
