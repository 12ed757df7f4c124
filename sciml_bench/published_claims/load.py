"""Loads claim files. They come from strangers: text and numbers only, every name checked, every error with its line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from functools import partial
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
from sciml_bench.published_claims.conditions import TABLE, load_conditions, load_fair_conditions
from sciml_bench.record.task import AT, DEFAULT_SAVING
from sciml_bench.spec import catalog
from sciml_bench.spec.document import Document
from sciml_bench.spec.keys import TEXTS, Choice, Flag, Key, Number, Table, Text, Texts

SPEC = 1
DEVICES = ("cpu", "cuda")
AGAINST = "later"
_RATIO = partial(
    Number, least=1, most=1e9, cure="Write it as slow over fast; the fast side is the one that is claimed to win."
)
_TOLERANCE = partial(Number, above=0, below=1)
# It becomes a part of a command that users are shown.
_RELEASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.+!]+")

FIGURE = Table(
    Text("says"), Choice("quantity", QUANTITIES, "quantity of a claim", required=True),
    Choice("against", (AGAINST,), "call to compare with", ""), Choice("kind", KINDS, "kind of figure", RATIO),
    _RATIO("ratio"), _RATIO("most"), _RATIO("within"), _RATIO("factor"), Number("digits", above=0, below=16),
    Flag("derived"), Text("slow", ""), Text("fast", ""),
)  # fmt: skip
SOURCE = Table(
    Text("citation"),
    Text(
        "url", None, r"https?://[^\s/]+\.[^\s/]+[\s\S]*", "the address of the source",
        "Write the address at which it can be read, from https:// on.",
    ),
    Text(
        "version", None, r"[\s\S]*\d[\s\S]*", "the version of the source",
        "Name what stays: a commit, a release, the number of an issue or article.",
    ),
    Key("read", {"description": "the date on which the figure was read"}, required=True),
)  # fmt: skip
NEEDS = Table(
    Number("minutes", above=0, required=True), Number("memory_gib", above=0, required=True),
    Choice("device", DEVICES, "device", "cpu"), Text("missing", ""),
)  # fmt: skip
DRIFT = Table(Text("where"), Text("quotes"), Text("source_says"))


def _sides(chosen: str | None) -> Table:
    """The keys of a side whose method, sensitivity and mode are ``chosen`` by its library, or given."""
    return Table(
        Text("adapter"), Text("method", chosen), Text("sensitivity", chosen), Text("mode", chosen),
        Text("precision", "float64"), Text("device", "cpu"), Text("saving", DEFAULT_SAVING), _TOLERANCE("rtol"),
        _TOLERANCE("atol"), Text("note", ""), Text("stands_for", ""),
    )  # fmt: skip


# A source took one way, whatever its library recommends.
SIDE = {"published": _sides(None), "fair": _sides("")}
SETTING = (Text("problem"), Key("set", {"type": "object"}), Text("note", ""), Texts("notes"))
CLAIM = Table(
    Key("claim", {"const": SPEC}, required=True),
    Text("id", None, "[A-Za-z0-9][A-Za-z0-9-]{0,40}", "a claim's id", "Use letters, digits and hyphens."),
    Text("title"), Text("workload"), Text("timed"), Texts("traps"), Key("figure", FIGURE.schema, required=True),
    Key("source", SOURCE.schema, required=True), Key("needs", NEEDS.schema, required=True),
    Key("environments", {"type": "object", "additionalProperties": TEXTS}), Key("published", {"type": "object"}),
    Key("fair", {"type": "object"}), Key("drift", {"type": "array", "items": DRIFT.schema}),
    Key(TABLE, {"type": "object"}, required=True),
)  # fmt: skip


def load_claim(path: Path | str, *, measured: bool = False) -> Claim:
    """Load and check a claim file. One that a run has ``measured`` names the software of that time, and is not
    compared with today's.

    Raises:
        ProblemError: anything about the file is wrong; the message says what, in which line, and how to fix it.
    """
    document = Document.read(Path(path))
    if "claim" not in document.data:
        CLAIM.check(document, document.data, "")
    if document.data.get("claim") != SPEC:
        raise document.error(f"'claim' must be {SPEC}.", "", "claim", f"Write `claim = {SPEC}` in the first line.")
    texts = CLAIM.read(document, document.data, "")
    needs, figure, environments = _needs(document), _figure(document), _environments(document)
    published, fair = (_setting(document, table, figure, needs.missing, measured=measured) for table in SIDE)
    if published is not None and fair is not None and not measured:
        _check_restated(document, published, fair)
    for table, setting in (("published", published), ("fair", fair)):
        for which, side in setting.sides.items() if setting is not None else ():
            _check_environment(document, side, f"{table}.{which}", environments)
    return Claim(
        **texts,
        figure=figure,
        origin=_origin(document),
        needs=needs,
        published=published,
        fair=fair,
        drifts=tuple(Drift(**DRIFT.read(document, entry, "drift")) for entry in _drifts(document)),
        conditions=load_conditions(document, figure.sides, measured=published is not None or fair is not None),
        path=document.path,
        environments=environments,
    )


def _environments(document: Document) -> dict[str, tuple[str, ...]]:
    """The requirements of each environment that the claim needs."""
    table = document.table("environments")
    found = {name: Texts(name).read(document, table, "environments") for name in table}
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
    values = FIGURE.read(document, data, "figure")
    figures = [key for key in ("ratio", "within") if key in data]
    if values["kind"] == NO_FIGURE:
        if figures:
            raise document.error("kind 'none' is for a text without a figure.", "figure", figures[0])
    elif len(figures) != 1:
        cure = "A claim says that one side is `ratio` times faster, or that both are equal `within` a factor."
        raise document.error("[figure] needs exactly one of 'ratio' and 'within'.", "figure", "ratio", cure)
    against, factor = values.pop("against"), values.pop("factor")
    figure = Figure(**values, against_later=bool(against), factor=factor or FACTOR)
    if figure.most is not None and (figure.ratio is None or figure.most < figure.ratio):
        raise document.error("'most' is the upper end of a range that 'ratio' begins.", "figure", "most")
    if against and figure.quantity not in LATER:
        cure = f"The first call of a cell may be compared with its later ones: {', '.join(LATER)} against '{AGAINST}'."
        told = f"{figure.quantity} cannot be claimed against '{against}'."
        raise document.error(told, "figure", "against", cure)
    _check_kind(document, figure, has_factor=factor is not None)
    return figure


def _check_kind(document: Document, figure: Figure, *, has_factor: bool) -> None:
    kind, most = figure.kind, figure.most
    if kind != RATIO and figure.within is not None:
        cure = "Leave out 'kind', or claim a 'ratio'."
        raise document.error(f"two equally fast sides are not a figure of kind '{kind}'.", "figure", "kind", cure)
    if kind == DIRECTION and (figure.ratio != 1 or has_factor):
        cure = "Write `ratio = 1` and no 'factor', or claim the ratio."
        raise document.error("a direction names no figure: only which side is ahead.", "figure", "kind", cure)
    if kind in (AT_LEAST, UP_TO, DIRECTION) and most is not None:
        cure = f"A figure of kind '{kind}' has one end: leave out 'most', or the kind."
        raise document.error(f"'most' ends a range; kind '{kind}' has none.", "figure", "most", cure)
    if kind == PROBLEMS and most is None:
        raise document.error("a range over problems has two ends.", "figure", "kind", "Add 'most', or claim a ratio.")


def _origin(document: Document) -> Origin:
    data = document.table("source", required=True)
    SOURCE.check(document, data, "source")
    read = data.get("read")
    if not isinstance(read, date):
        told = "'read' must be the date on which the figure was read."
        raise document.error(told, "source", "read", "As 2026-06-30.")
    return Origin(**SOURCE.read(document, data, "source"), read=read)


def _needs(document: Document) -> Needs:
    return Needs(**NEEDS.read(document, document.table("needs", required=True), "needs"))


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
    again = [Key(TABLE, {})] if table == "fair" else []
    values = Table(*SETTING, *(Key(name, {}) for name in names), *again).read(document, data, table)
    problem = values["problem"]
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
        workload=Workload(problem, changes, values["note"]),
        sides=sides,
        notes=values["notes"],
        conditions=load_fair_conditions(document, data, table),
    )


def _check_restated(document: Document, published: Setting, fair: Setting) -> None:
    """A fair setting with another workload compares it with the source's."""
    stated = {condition.name for condition in fair.conditions.each}
    for name in published.elsewhere(fair):
        if name not in stated:
            place = f"fair.{TABLE}"
            cure = f'Write [{place}] with `{name} = {{ mark = "differs", source = "…", ours = "…", … }}`.'
            told = f"[fair] has another '{name}' than [published], and does not compare it with the source's."
            raise document.error(told, "fair", "set", cure)


def _side(document: Document, setting: Mapping[str, Any], table: str, name: str) -> Side:
    data, place = setting.get(name), f"{table}.{name}"
    if not isinstance(data, dict):
        raise document.error(
            f"[{table}] is missing the table '{name}'.", table, cure=f"Add [{place}] with adapter, method, …"
        )
    return Side(**SIDE[table].read(document, data, place))


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


def _drifts(document: Document) -> list[dict[str, Any]]:
    found = document.data.get("drift", [])
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise document.error("'drift' must be written as [[drift]] tables.", "", "drift")
    return found


def _one_of(names: tuple[str, ...]) -> str:
    return f"One of {', '.join(names)}."
