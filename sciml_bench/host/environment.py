"""The environment of a run: what of machine and software can change a time, named once and referred to by its hash.

Nothing in it tells who or where: no host name, no user name, no path. Nothing in it changes from one minute to the
next either, so that two runs on an unchanged machine have the same hash.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import sciml_bench
from sciml_bench.host.environment_variables import thread_variables
from sciml_bench.host.machine import machine_facts, output

_PACKAGES = (
    "diffrax",
    "equinox",
    "jax",
    "jaxlib",
    "juliacall",
    "juliapkg",
    "keras",
    "lineax",
    "numpy",
    "optax",
    "optimistix",
    "psutil",
    "python-flint",
    "scipy",
    "sympy",
    "tensorflow",
    "tensorflow-probability",
    "tf-keras",
    "torch",
    "torchdiffeq",
    "triton",
)

# Files of a checkout that pin versions.
_LOCKS = ("constraints.txt",)


def environment_facts(
    packages: Iterable[str] = (), threads: int = 1, locks: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Machine and software as plain JSON values.

    ``packages`` are further distributions to name; versions are read from their metadata, and nothing is imported.
    ``threads`` is the number of threads of this run's workers. ``locks`` are the texts of files that a run keeps
    because they pin the workers' packages.
    """
    root = Path(sciml_bench.__file__).resolve().parents[1]
    return {
        "sciml_bench": sciml_bench.__version__,
        "git": _git(root),
        "python": {"version": platform.python_version(), "implementation": platform.python_implementation()},
        "system": {
            "name": platform.system(),
            "kernel": platform.release(),
            "distribution": _distribution(),
            "libc": " ".join(platform.libc_ver()).strip(),
            "machine": platform.machine(),
        },
        **machine_facts(),
        "threads": threads,
        "thread_settings": thread_variables(threads),
        "packages": _versions({*_PACKAGES, *packages}),
        "installed_hash": _installed_hash(),
        "lock_hashes": {name: _file_hash(root / name) for name in _LOCKS if (root / name).is_file()}
        | {name: hashlib.sha256(text.encode()).hexdigest() for name, text in (locks or {}).items()},
        "blas": _blas(),
    }


def _versions(names: set[str]) -> dict[str, str]:
    """Installed distributions and their versions, without missing ones."""
    versions: dict[str, str] = {}
    for name in sorted(names):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _installed_hash() -> str:
    """SHA-256 of the names and versions of everything that is installed, whether it is known to matter or not."""
    found = {f"{dist.name.lower().replace('_', '-')}=={dist.version}" for dist in metadata.distributions()}
    return hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()


def _file_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _blas() -> dict[str, str] | None:
    """The library of linear algebra that NumPy was built with. Frameworks bring their own."""
    import numpy as np

    try:
        built: Any = np.show_config(mode="dicts")
        blas = built["Build Dependencies"]["blas"]
        return {"name": str(blas["name"]), "version": str(blas["version"])}
    except (KeyError, TypeError):
        return None


def _distribution() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _git(root: Path) -> dict[str, Any] | None:
    """Commit of the checkout that the package runs from, and whether it was changed; ``None`` outside a checkout."""
    if not (root / ".git").exists():
        return None
    commit = output(["git", "-C", str(root), "rev-parse", "HEAD"])
    status = output(["git", "-C", str(root), "status", "--porcelain", "--untracked-files=no"])
    return {"commit": commit or None, "dirty": None if status is None else bool(status)}
