"""Adapters in an environment of Python packages that has a name: other releases of a library in the same run."""

from __future__ import annotations

from dataclasses import replace

from packaging.utils import canonicalize_name

from sciml_bench.adapters.base import Adapter
from sciml_bench.errors import StoreError, UsageError
from sciml_bench.host import environments
from sciml_bench.host.environments import Environment
from sciml_bench.record.task import AT


def in_environment(declared: Adapter, name: str) -> Adapter:
    """The adapter with the packages of the environment of this name.

    Raises:
        UsageError: nothing was made under this name, or the adapter's packages are Julia's.
        StoreError: its record cannot be read.
    """
    if "juliacall" in declared.packages:
        raise UsageError(f"{declared.name} runs in the usual environment only; julia and lux take other ones")
    found = environments.read(name)
    there = {} if found.broken else found.packages
    return replace(
        renamed(declared, name),
        # They are looked up in the lock, not in this process.
        packages={},
        mode_extras={},
        modes=tuple(mode for mode in declared.modes if declared.mode_extras.get(mode) in (None, *there)),
        interpreter=str(found.interpreter),
        variables=lambda: declared.variables() | {"PYTHONPATH": str(found.path)},
        lacking=lambda: found.broken or _absent(declared, found) or declared.lacking(),
        locks=lambda: {**declared.locks(), f"environments/{name}.txt": found.lock},
    )


def renamed(declared: Adapter, environment: str) -> Adapter:
    """The adapter under the name that its cells have in an environment; its style is the usual one's, so another."""
    name, title = f"{declared.name}{AT}{environment}", f"{declared.title}, environment {environment}"
    return replace(declared, name=name, title=title, look=None, environment=None)


def _absent(declared: Adapter, found: Environment) -> str | None:
    """Return which packages of the adapter the environment has not; ``None`` if it has them all."""
    try:
        there = found.packages
    except StoreError as error:
        return str(error)
    absent = [package for package in declared.packages.values() if canonicalize_name(package) not in there]
    return f"{', '.join(absent)} not in the environment '{found.name}'; {environments.cure(found)}" if absent else None
