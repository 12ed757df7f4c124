"""Loads claim files. They come from strangers: text and numbers only, every name checked, every error with its line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from sciml_bench.adapters import registry
from sciml_bench.host.environments import NAMES
from sciml_bench.published_claims.claim import (
    AT_LEAST,
    DIRECTION,
    FACTOR,
    KINDS,
    LATER,
    NO_FIGURE,
    OF_SEVERAL,
    PROBLEMS,
    QUANTITIES,
    RATIO,
    UP_TO,
    Claim,
    Drift,
    Figure,
    Needs,
    Origin,
    Setting,
    Side,
    Workload,
)
from sciml_bench.published_claims.conditions import TABLE, load_conditions
from sciml_bench.record.task import AT, DEFAULT_SAVING
from sciml_bench.spec import catalog
from sciml_bench.spec.document import Document

SPEC = 1
TOP_KEYS = (
    "claim", "id", "title", "workload", "timed", "traps", "figure", "source", "needs", "environments", "published",
    "fair", "drift", TABLE,
)  # fmt: skip
FIGURE_KEYS = (
    "says", "quantity", "against", "kind", "ratio", "most", "within", "factor", "digits", "derived", "slow", "fast",
)  # fmt: skip
SOURCE_KEYS = ("citation", "url", "version", "read")
NEEDS_KEYS = ("minutes", "memory_gib", "device", "missing")
SETTING_KEYS = ("problem", "set", "note", "notes")
SIDE_KEYS = (
    "adapter", "method", "sensitivity", "mode", "precision", "device", "saving", "rtol", "atol", "note", "stands_for",
)  # fmt: skip
DRIFT_KEYS = ("where", "quotes", "source_says")
DEVICES = ("cpu", "cuda")
AGAINST = "later"
_LARGEST_RATIO = 1e9
# It becomes a part of a command that users are shown.
_RELEASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.+!]+")


def load_claim(path: Path | str, *, measured: bool = False) -> Claim:
    """Load and check a claim file. One that a run has ``measured`` names the software of that time, and is not
    compared with today's.

    Raises:
        ProblemError: anything about the file is wrong; the message says what, in which line, and how to fix it.
    """
    document = Document.read(Path(path))
    data = document.data
    document.known_keys(data, TOP_KEYS, "")
    if data.get("claim") != SPEC:
        raise document.error(f"'claim' must be {SPEC}.", "", "claim", f"Write `claim = {SPEC}` in the first line.")
    name = document.string(data, "id", "")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]{0,40}", name):
        raise document.error(f"'{name}' cannot be a claim's id.", "", "id", "Use letters, digits and hyphens.")
    needs, figure, environments = _needs(document), _figure(document), _environments(document)
    published, fair = (
        _setting(document, table, figure, needs.missing, measured=measured) for table in ("published", "fair")
    )
    for table, setting in (("published", published), ("fair", fair)):
        for which, side in setting.sides.items() if setting is not None else ():
            _check_environment(document, side, f"{table}.{which}", environments)
    return Claim(
        id=name,
        title=document.string(data, "title", ""),
        figure=figure,
        origin=_origin(document),
        workload=document.string(data, "workload", "").strip(),
        timed=document.string(data, "timed", "").strip(),
        needs=needs,
        published=published,
        fair=fair,
        traps=_texts(document, data, "traps", ""),
        drifts=tuple(_drift(document, entry) for entry in _entries(document, "drift")),
        conditions=load_conditions(document, figure.sides, measured=published is not None or fair is not None),
        path=document.path,
        environments=environments,
    )


def _environments(document: Document) -> dict[str, tuple[str, ...]]:
    """The requirements of each environment that the claim needs."""
    table = document.table("environments")
    found = {name: _texts(document, table, name, "environments") for name in table}
    for name, requirements in found.items():
        if not NAMES.fullmatch(name) or not requirements:
            cure = 'Write a name and its packages: older = ["diffrax==0.6.0"].'
            raise document.error(f"'{name}' cannot be an environment.", "environments", name, cure)
        for requirement in requirements:
            if not _RELEASE.fullmatch(requirement):
                cure = "Write a package and its version: diffrax==0.6.0."
                raise document.error(f"'{requirement}' is not a release of a package.", "environments", name, cure)
    return found


def _check_environment(document: Document, side: Side, place: str, known: Mapping[str, object]) -> None:
    _, at, environment = side.adapter.partition(AT)
    if at and environment not in known:
        cure = f'Add it to [environments]: {environment} = ["PACKAGE==VERSION"].'
        raise document.error(f"no packages are given for the environment '{environment}'.", place, "adapter", cure)


def _figure(document: Document) -> Figure:
    data = document.table("figure", required=True)
    document.known_keys(data, FIGURE_KEYS, "figure")
    quantity = document.string(data, "quantity", "figure")
    if quantity not in QUANTITIES:
        raise document.error(f"'{quantity}' is nothing to claim.", "figure", "quantity", _one_of(QUANTITIES))
    figures = [key for key in ("ratio", "within") if key in data]
    if data.get("kind") == NO_FIGURE:
        if figures:
            raise document.error("kind 'none' is for a text without a figure.", "figure", figures[0])
    elif len(figures) != 1:
        cure = "A claim says that one side is `ratio` times faster, or that both are equal `within` a factor."
        raise document.error("[figure] needs exactly one of 'ratio' and 'within'.", "figure", "ratio", cure)
    ratio, most, within, factor = (_ratio(document, data, key) for key in ("ratio", "most", "within", "factor"))
    if most is not None and (ratio is None or most < ratio):
        raise document.error("'most' is the upper end of a range that 'ratio' begins.", "figure", "most")
    kind = _kind(document, data, most, within)
    digits = _number(document, data, "digits", "figure") if "digits" in data else None
    if digits is not None and not 0 < digits < 16:
        raise document.error(f"'digits' is {digits:g}; doubles have up to 15.", "figure", "digits")
    derived = data.get("derived", False)
    if not isinstance(derived, bool):
        cure = "Write `derived = true` where the ratio was formed here from two figures of the source."
        raise document.error("'derived' must be true or false.", "figure", "derived", cure)
    against = document.string(data, "against", "figure", "")
    if against and (against != AGAINST or quantity not in LATER):
        cure = f"The first call of a cell may be compared with its later ones: {', '.join(LATER)} against '{AGAINST}'."
        raise document.error(f"{quantity} cannot be claimed against '{against}'.", "figure", "against", cure)
    return Figure(
        says=document.string(data, "says", "figure"),
        quantity=quantity,
        ratio=ratio,
        most=most,
        within=within,
        slow=document.string(data, "slow", "figure", ""),
        fast=document.string(data, "fast", "figure", ""),
        against_later=bool(against),
        kind=kind,
        factor=factor or FACTOR,
        digits=digits,
        derived=derived,
    )


def _kind(document: Document, data: dict[str, Any], most: float | None, within: float | None) -> str:
    kind = document.string(data, "kind", "figure", RATIO)
    if kind not in KINDS:
        raise document.error(f"unknown kind of figure '{kind}'.", "figure", "kind", _one_of(KINDS))
    if kind != RATIO and within is not None:
        cure = "Leave out 'kind', or claim a 'ratio'."
        raise document.error(f"two equally fast sides are not a figure of kind '{kind}'.", "figure", "kind", cure)
    if kind == DIRECTION and (data.get("ratio") != 1 or "factor" in data):
        cure = "Write `ratio = 1` and no 'factor', or claim the ratio."
        raise document.error("a direction names no figure: only which side is ahead.", "figure", "kind", cure)
    if kind in (AT_LEAST, UP_TO, DIRECTION) and most is not None:
        cure = f"A figure of kind '{kind}' has one end: leave out 'most', or the kind."
        raise document.error(f"'most' ends a range; kind '{kind}' has none.", "figure", "most", cure)
    if kind == PROBLEMS and most is None:
        raise document.error("a range over problems has two ends.", "figure", "kind", "Add 'most', or claim a ratio.")
    return kind


def _ratio(document: Document, data: Mapping[str, Any], key: str) -> float | None:
    if key not in data:
        return None
    value = _number(document, data, key, "figure")
    if not 1 <= value <= _LARGEST_RATIO:
        cure = "Write it as slow over fast; the fast side is the one that is claimed to win."
        raise document.error(f"'{key}' is {value:g}; a claimed ratio lies between 1 and 1e9.", "figure", key, cure)
    return value


def _origin(document: Document) -> Origin:
    data = document.table("source", required=True)
    document.known_keys(data, SOURCE_KEYS, "source")
    read = data.get("read")
    if not isinstance(read, date):
        raise document.error(
            "'read' must be the date on which the figure was read.", "source", "read", "As 2026-06-30."
        )
    citation, url, version = (document.string(data, key, "source") for key in ("citation", "url", "version"))
    if not re.match(r"https?://[^\s/]+\.[^\s/]+", url):
        cure = "Write the address at which it can be read, from https:// on."
        raise document.error(f"'{url}' does not identify the source.", "source", "url", cure)
    if not re.search(r"\d", version):
        cure = "Name what stays: a commit, a release, the number of an issue or article."
        raise document.error(f"'{version}' does not identify the version of the source.", "source", "version", cure)
    return Origin(citation, url, version, read)


def _needs(document: Document) -> Needs:
    data = document.table("needs", required=True)
    document.known_keys(data, NEEDS_KEYS, "needs")
    device = document.string(data, "device", "needs", "cpu")
    if device not in DEVICES:
        raise document.error(f"unknown device '{device}'.", "needs", "device", _one_of(DEVICES))
    minutes, memory_gib = (_number(document, data, key, "needs") for key in ("minutes", "memory_gib"))
    if minutes <= 0 or memory_gib <= 0:
        raise document.error("'minutes' and 'memory_gib' must be positive.", "needs", "minutes")
    return Needs(minutes, memory_gib, device, document.string(data, "missing", "needs", ""))


def _setting(document: Document, table: str, figure: Figure, missing: str, *, measured: bool) -> Setting | None:
    names = figure.sides
    if table in document.data and figure.kind in OF_SEVERAL:
        cure = f"Take [{table}] out and name the obstacle under 'missing' in [needs], or claim the figure of one."
        told = f"[{table}] measures one problem of one size, which cannot rule on {OF_SEVERAL[figure.kind]}."
        raise document.error(told, "figure", "kind", cure)
    if table not in document.data:
        if missing:
            return None
        cure = "Add it, or name the obstacle to testing the claim under 'missing' in [needs]."
        raise document.error(f"the table [{table}] is missing.", "", table, cure)
    data = document.table(table)
    document.known_keys(data, (*SETTING_KEYS, *names), table)
    problem = document.string(data, "problem", table)
    if problem not in catalog.names():
        raise document.error(f"no problem '{problem}' in the catalog.", table, "problem", "See `list problems`.")
    changes = data.get("set", {})
    if not isinstance(changes, dict):
        raise document.error("'set' must be a table of dotted names and values.", table, "set")
    sides = {name: _side(document, data, table, name) for name in names}
    for name, side in sides.items():
        if not measured:
            _check_side(document, side, f"{table}.{name}")
    if len({side.words for side in sides.values()}) < len(sides):
        cure = "Two workloads cannot be compared, nor two tolerances of one cell."
        raise document.error(f"both sides of [{table}] are the same cell.", f"{table}.slow", "adapter", cure)
    return Setting(
        workload=Workload(problem, changes, document.string(data, "note", table, "")),
        sides=sides,
        notes=_texts(document, data, "notes", table),
    )


def _side(document: Document, setting: Mapping[str, Any], table: str, name: str) -> Side:
    data, place = setting.get(name), f"{table}.{name}"
    if not isinstance(data, dict):
        raise document.error(
            f"[{table}] is missing the table '{name}'.", table, cure=f"Add [{place}] with adapter, method, …"
        )
    document.known_keys(data, SIDE_KEYS, place)
    # A source took one way, whatever its library recommends.
    adapter = document.string(data, "adapter", place)
    default = "" if table == "fair" else None
    method, sensitivity, mode = (document.string(data, key, place, default) for key in SIDE_KEYS[1:4])
    rtol, atol = (_number(document, data, key, place) if key in data else None for key in ("rtol", "atol"))
    for key, value in (("rtol", rtol), ("atol", atol)):
        if value is not None and not 0 < value < 1:
            raise document.error(f"'{key}' must lie between 0 and 1.", place, key)
    precision = document.string(data, "precision", place, "float64")
    saving = document.string(data, "saving", place, DEFAULT_SAVING)
    device = document.string(data, "device", place, "cpu")
    note = document.string(data, "note", place, "")
    stands_for = document.string(data, "stands_for", place, "")
    return Side(adapter, method, sensitivity, mode, precision, rtol, atol, note, stands_for, saving, device)


def _check_side(document: Document, side: Side, place: str) -> None:
    adapters = registry.adapters()
    base = side.adapter.partition(AT)[0]
    if base not in adapters:
        raise document.error(f"unknown adapter '{base}'.", place, "adapter", _one_of(tuple(adapters)))
    adapter = adapters[base]
    known = {
        "method": tuple(method.name for method in adapter.methods),
        "sensitivity": adapter.sensitivities,
        "mode": adapter.cell_modes,
        "precision": adapter.precisions,
        "device": adapter.devices,
        "saving": tuple(dict.fromkeys(saving for method in adapter.methods for saving in method.savings)),
    }
    for key, names in known.items():
        if getattr(side, key) not in ("", *names):
            raise document.error(
                f"{side.adapter} has no {key} '{getattr(side, key)}'.", place, key, f"It has {', '.join(names)}."
            )


def _drift(document: Document, data: Mapping[str, Any]) -> Drift:
    document.known_keys(dict(data), DRIFT_KEYS, "drift")
    where, quotes, source_says = (document.string(dict(data), key, "drift") for key in DRIFT_KEYS)
    return Drift(where, quotes, source_says)


def _entries(document: Document, name: str) -> list[dict[str, Any]]:
    found = document.data.get(name, [])
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise document.error(f"'{name}' must be written as [[{name}]] tables.", "", name)
    return found


def _texts(document: Document, data: Mapping[str, Any], key: str, table: str) -> tuple[str, ...]:
    found = data.get(key, [])
    if not isinstance(found, list) or not all(isinstance(entry, str) and entry.strip() for entry in found):
        raise document.error(f"'{key}' must be a list of sentences.", table, key)
    return tuple(" ".join(entry.split()) for entry in found)


def _number(document: Document, data: Mapping[str, Any], key: str, table: str) -> float:
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise document.error(f"'{key}' must be a number.", table, key)
    return float(value)


def _one_of(names: tuple[str, ...]) -> str:
    return f"One of {', '.join(names)}."
