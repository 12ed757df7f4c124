"""The available adapters: the built-in ones, and third-party ones through entry points.

A third party's package declares, in the group ``sciml_bench.adapters``, a name for its ``Adapter`` object. A
declaration that cannot be loaded is reported (:func:`load_errors`) and never stops the others.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points

from packaging.utils import canonicalize_name

from sciml_bench.adapters import plug_in
from sciml_bench.adapters.base import Adapter
from sciml_bench.adapters.environments import in_environment
from sciml_bench.errors import UsageError
from sciml_bench.host.extras import install_command
from sciml_bench.record.task import AT, WARM
from sciml_bench.record.text import printable

GROUP = "sciml_bench.adapters"

# Module and attribute of each built-in declaration. None of them imports its framework.
BUILT_IN = {
    "scipy": "sciml_bench.adapters.scipy:ADAPTER",
    "torchdiffeq": "sciml_bench.adapters.torchdiffeq:ADAPTER",
    "diffrax": "sciml_bench.adapters.diffrax:ADAPTER",
    "tensorflow": "sciml_bench.adapters.tensorflow:ADAPTER",
    "julia": "sciml_bench.adapters.julia:ADAPTER",
    "torchode": "sciml_bench.adapters.torchode:ADAPTER",
    "numbalsoda": "sciml_bench.adapters.numbalsoda:ADAPTER",
    "cyrk": "sciml_bench.adapters.cyrk:ADAPTER",
    "sksundae": "sciml_bench.adapters.sksundae:ADAPTER",
    "casadi": "sciml_bench.adapters.casadi:ADAPTER",
    "diffsol": "sciml_bench.adapters.diffsol:ADAPTER",
    "diffeqpy": "sciml_bench.adapters.diffeqpy:ADAPTER",
    "torch": "sciml_bench.adapters.torch:ADAPTER",
    "jax": "sciml_bench.adapters.jax:ADAPTER",
    "keras": "sciml_bench.adapters.keras:ADAPTER",
    "onnxruntime": "sciml_bench.adapters.onnxruntime:ADAPTER",
    "lux": "sciml_bench.adapters.lux:ADAPTER",
    "simplechains": "sciml_bench.adapters.simplechains:ADAPTER",
}


@dataclass(frozen=True)
class LoadError:
    """A declared adapter that cannot be used: its name, its source, and the error, in printable characters."""

    name: str
    origin: str
    message: str

    def __post_init__(self) -> None:
        for each in fields(self):
            object.__setattr__(self, each.name, printable(getattr(self, each.name)))


CURED_BY = "; run: "
"""Precedes the command at the end of a reason, if there is one that removes it."""


@dataclass(frozen=True)
class Missing:
    """Missing packages of an adapter. ``told`` is the adapter's own explanation, if its packages are installed."""

    adapter: str
    distributions: tuple[str, ...]
    install: str
    told: str = ""

    @property
    def reason(self) -> str:
        """One sentence for the plan and for ``doctor``."""
        if self.told:
            return self.told
        be = "is" if len(self.distributions) == 1 else "are"
        return f"{', '.join(self.distributions)} {be} not installed{CURED_BY}{self.install}"


def names() -> tuple[str, ...]:
    """The names of all adapters that load, built-in ones first."""
    return tuple(adapters())


def adapters(selected: Iterable[str] = ()) -> dict[str, Adapter]:
    """Every adapter that loads, by name, and the selected ones that are in a named environment.

    Raises:
        UsageError: a selected environment does not exist.
    """
    loaded = {name: loaded for name, loaded in _all().items() if isinstance(loaded, Adapter)}
    return loaded | {name: adapter(name) for name in selected if AT in name}


def load_errors() -> tuple[LoadError, ...]:
    """The declarations that did not load."""
    return tuple(loaded for loaded in _all().values() if isinstance(loaded, LoadError))


def adapter(name: str) -> Adapter:
    """The adapter of this name, in a named environment for a name like ``julia@older``.

    Raises:
        UsageError: there is none, or its declaration cannot be loaded.
    """
    base, at, environment = name.partition(AT)
    if at:
        declared = adapter(base)
        return (declared.environment or partial(in_environment, declared))(environment)
    # A built-in one is found without reading every installed package's entry points.
    loaded = _built_in(name) if name in BUILT_IN else _all().get(name)
    if isinstance(loaded, Adapter):
        return loaded
    if isinstance(loaded, LoadError):
        raise UsageError(f"the adapter '{name}' from {loaded.origin} cannot be loaded: {loaded.message}")
    close = get_close_matches(name, names(), n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(names())}"
    raise UsageError(f"unknown adapter '{name}'; {hint}")


def missing(declaration: Adapter, mode: str = "") -> Missing | None:
    """Return the packages that an adapter (or one of its modes) is missing, without importing any."""
    lacking = tuple(
        distribution
        for module, distribution in declaration.packages.items()
        if importlib.util.find_spec(module.partition(".")[0]) is None
    )
    if not lacking:
        told = declaration.lacking()
        return _missing_of_mode(declaration, mode) if told is None else Missing(declaration.name, (), "", told)
    if declaration.extra:
        install = install_command(declaration.extra)
    else:
        install = f"pip install {' '.join(lacking)}"
    return Missing(adapter=declaration.name, distributions=lacking, install=install)


def _missing_of_mode(declaration: Adapter, mode: str) -> Missing | None:
    package = declaration.mode_extras.get(mode.removesuffix(WARM))
    if package is None or importlib.util.find_spec(package) is not None:
        return None
    return Missing(declaration.name, (package,), install_command(package))


def needing(package: str) -> tuple[str, ...]:
    """The adapters that need a package, by its normalised name."""
    return tuple(
        name for name, item in adapters().items() if package in [*map(canonicalize_name, item.packages.values())]
    )


def extras(names: Iterable[str]) -> tuple[str, ...]:
    """The extras of this package with which these adapters run in every mode."""
    wanted = (extra for item in map(adapter, names) for extra in (item.extra, *item.mode_extras.values()) if extra)
    return tuple(dict.fromkeys(wanted))


def refresh() -> None:
    """Forget what was loaded, so that newly installed packages are seen."""
    _built_in.cache_clear()
    _all.cache_clear()


@cache
def _built_in(name: str) -> Adapter | LoadError:
    module, _, attribute = BUILT_IN[name].partition(":")
    try:
        return _checked(name, "sciml-bench", getattr(importlib.import_module(module), attribute))
    except Exception as error:
        return LoadError(name, "sciml-bench", f"{type(error).__name__}: {error}")


@cache
def _all() -> dict[str, Adapter | LoadError]:
    found: dict[str, Adapter | LoadError] = {name: _built_in(name) for name in BUILT_IN}
    # In the process that tries a declaration, others are not tried again: that would have no end.
    for point in entry_points(group=GROUP) if not plug_in.is_trial() else ():
        if point.name in found:
            # Keyed by its origin, so that the adapter that had the name first stays.
            origin = _origin(point)
            taken = LoadError(point.name, origin, "another adapter has this name already; give it another one")
            found[f"{point.name} ({origin})"] = taken
        else:
            found[point.name] = _third_party(point)
    return found


def _third_party(point: EntryPoint) -> Adapter | LoadError:
    if message := plug_in.failure(point):
        return LoadError(point.name, _origin(point), message)
    # Whatever a stranger's module raises when it is imported is a report about that module, not a crash of ours.
    try:
        loaded = _checked(point.name, _origin(point), point.load())
        return plug_in.guarded(loaded) if isinstance(loaded, Adapter) else loaded
    except (Exception, SystemExit) as error:
        return LoadError(point.name, _origin(point), f"{type(error).__name__}: {error}")


def _checked(name: str, origin: str, loaded: object) -> Adapter | LoadError:
    if not isinstance(loaded, Adapter):
        return LoadError(name, origin, f"it is a {type(loaded).__name__}, not a sciml_bench.adapters.base.Adapter")
    if loaded.name != name:
        return LoadError(name, origin, f"it is declared as '{name}' but calls itself '{loaded.name}'")
    if wrong := plug_in.wrong_field(loaded):
        return LoadError(name, origin, f"its {wrong}")
    return loaded


def _origin(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value
