"""The claims that the runs of a page test: all in one table, and for each the claim and the finding."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup, escape

from sciml_bench.analysis.loaded_run import LoadedRun
from sciml_bench.analysis.tables.table import Column
from sciml_bench.errors import ProblemError
from sciml_bench.planning.purpose import claimed_sides
from sciml_bench.published_claims.claim import AT_LEAST, Claim, Figure
from sciml_bench.published_claims.collection import of_run
from sciml_bench.published_claims.judging import Judged, Measurement, judged
from sciml_bench.published_claims.ruling import Finding, Ruling, claimed_words, rounded
from sciml_bench.published_claims.selection import SETTINGS
from sciml_bench.render.claims import (
    claimed_text,
    distance_text,
    disturbance,
    quantity_text,
    range_text,
    ruling_text,
    setting_text,
    source,
)
from sciml_bench.render.html.table import Entry, Places, Table
from sciml_bench.stats.ratio import Ratio

# A ratio over correct digits as a small drawing: its interval, and the claimed range.

_WIDTH, _HEIGHT, _EDGE = 120.0, 48.0, 5.0
_LOWER_EDGE = 15.0
_LEAST_SPAN = math.log(2.0)


def drawn(figure: Figure, curve: Mapping[float, Finding]) -> Markup:
    """The curve of a setting; empty where fewer than two digits have a ratio.

    Up is a larger ratio, on a logarithmic scale; the shaded band is what confirms the claim.
    """
    points = [(digits, finding.ratio) for digits, finding in curve.items() if finding.ratio is not None]
    if len(points) < 2:
        return Markup()
    low, high = claimed_range(figure)
    ends = [
        *(value for _, ratio in points for value in ratio_interval(ratio)),
        low,
        *([] if math.isinf(high) else [high]),
    ]
    bottom, top = math.log(min(ends)), math.log(max(ends))
    spare = max(_LEAST_SPAN - (top - bottom), 0.2) / 2
    place = _Place(points[0][0], points[-1][0], bottom - spare, top + spare)
    band = (place.y(min(high, math.exp(top + spare))), place.y(low))
    upper = [f"{place.x(digits):.1f},{place.y(ratio_interval(ratio)[1]):.1f}" for digits, ratio in points]
    lower = [f"{place.x(digits):.1f},{place.y(ratio_interval(ratio)[0]):.1f}" for digits, ratio in reversed(points)]
    middle = [f"{place.x(digits):.1f},{place.y(ratio.estimate):.1f}" for digits, ratio in points]
    first, last = (f"{digits:g}" for digits in (points[0][0], points[-1][0]))
    told = ", ".join(f"{rounded(ratio.estimate)} at {digits:g}" for digits, ratio in points)
    return Markup(
        '<svg class="curve" role="img" width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}">'
        "<title>{title}</title>"
        '<rect x="0" width="{width:g}" y="{top:.1f}" height="{depth:.1f}" fill="currentColor" fill-opacity=".12"/>'
        '<polygon points="{area}" fill="currentColor" fill-opacity=".3"/>'
        '<polyline points="{line}" fill="none" stroke="currentColor" stroke-width="1.5"/>'
        '<text x="0" y="{height:g}" font-size="10" fill="currentColor">{first} digits</text>'
        '<text x="{width:g}" y="{height:g}" font-size="10" text-anchor="end" fill="currentColor">{last}</text></svg>'
    ).format(
        width=_WIDTH, height=_HEIGHT, title=escape(f"ratio over correct digits: {told}; shaded: the claim"),
        top=band[0], depth=max(band[1] - band[0], 1.0), area=" ".join([*upper, *lower]), line=" ".join(middle),
        first=first, last=last,
    )  # fmt: skip


def claimed_range(figure: Figure) -> tuple[float, float]:
    """The range that confirms a claim."""
    if figure.within is not None:
        return 1 / figure.within, figure.within
    ratio = figure.ratio or 1.0
    if ratio == 1.0:
        return 1.0, math.inf
    high = math.inf if figure.kind == AT_LEAST else (figure.most or ratio) * figure.factor
    return max(1.0, ratio / figure.factor), high


def ratio_interval(ratio: Ratio) -> tuple[float, float]:
    """The ratio's interval; the ratio itself for a single process, which has none."""
    whole = ratio.low > 0 and not math.isinf(ratio.high)
    return (ratio.low, ratio.high) if whole else (ratio.estimate, ratio.estimate)


class _Place:
    """The range of digits and ratios of the drawing."""

    def __init__(self, first: float, last: float, bottom: float, top: float):
        self._first, self._last, self._bottom, self._top = first, last, bottom, top

    def x(self, digits: float) -> float:
        """From the left."""
        return _EDGE + (_WIDTH - 2 * _EDGE) * (digits - self._first) / (self._last - self._first)

    def y(self, ratio: float) -> float:
        """From the top."""
        share = (math.log(ratio) - self._bottom) / (self._top - self._bottom)
        return _EDGE + (_HEIGHT - _EDGE - _LOWER_EDGE) * (1 - share)


_RATIO = "paired ratio of the two sides, or of a first call to later ones; 95 % interval"
_HEADINGS = (
    Column("setting"),
    Column("slow / fast", True, _RATIO),
    Column("ruling"),
    Column("why", wide=True),
    Column("records"),
)
_OVERVIEW = (
    Column("claim", wide=True),
    Column("of"),
    Column("claimed", True, "slow side / fast side"),
    Column("nearest to the source", True, f"as near to the source as the last column says: {_RATIO}"),
    Column("ruling"),
    Column("when fair", True, f"at equal achieved accuracy: {_RATIO}"),
    Column("ruling"),
    Column("conditions", wide=True),
)
_FAIR = "when fair"


@dataclass(frozen=True)
class Tested:
    """A claim that a run tests, before it is judged. ``records`` link to its sides' records, by setting."""

    measurement: Measurement
    section: str
    records: Mapping[str, Entry]


def under_test(loaded: LoadedRun, section: str, places: Places) -> tuple[Tested, ...]:
    """The claims that a run tests, in the section of this id; none for any other run."""
    folder = Path(loaded.folder)
    try:
        tested = of_run(folder, loaded.plan)
    except ProblemError:
        # A separate file was changed after the run: the tables of its cells are shown without it.
        return ()
    return tuple(
        Tested(
            Measurement(item.claim, loaded.summary, folder, item.changed),
            section,
            {setting: _records(item.claim, loaded, setting, places) for setting in SETTINGS},
        )
        for item in tested
    )


def claim_tables(claims: Sequence[Tested]) -> tuple[Table | None, dict[str, list[Table]]]:
    """All claims of a page, if it has several, and each run's claims by its section.

    All are judged together: they are one family of comparisons.
    """
    found = judged([claim.measurement for claim in claims])
    pairs = list(zip(claims, found, strict=True))
    tables: dict[str, list[Table]] = {}
    for claim, of_claim in pairs:
        id_ = f"{claim.section}-claim-{of_claim.claim.id.lower()}"
        tables.setdefault(claim.section, []).append(claim_table(of_claim, id_, claim.records))
    if len(pairs) < 2:
        return None, tables
    in_order = sorted(pairs, key=lambda pair: pair[1].claim.id)
    rows = tuple(_row(of_claim, claim.section) for claim, of_claim in in_order)
    note = "All are one family of comparisons. Something misrepresented? Corrections are welcome."
    return Table("claims-table", "Published claims, and what holds", _OVERVIEW, rows, note), tables


def _row(found: Judged, link: str) -> tuple[Entry, ...]:
    settings = (entry for name in SETTINGS for entry in _found(found, name))
    told = found.claim
    return (
        Entry(told.id, told.title, link=link),
        Entry(quantity_text(told)),
        Entry(claimed_words(told.figure), "derived by us" if told.figure.derived else "", told.figure.ratio),
        *settings,
        Entry(distance_text(found)),
    )


def _found(found: Judged, setting: str) -> tuple[Entry, Entry]:
    """The ratio of a setting and its ruling."""
    finding = found.findings[setting]
    value = None if finding.ratio is None else finding.ratio.estimate
    curve = found.curves.get(setting, {})
    # The interval, or the digits, are below: the table has many columns.
    text, _, below = range_text(found, setting).partition(" ")
    ratio = Entry(text, below, value, drawing=drawn(found.claim.figure, curve))
    return ratio, Entry(ruling_text(finding), mark=ruling_class(finding))


_CLASSES = {
    Ruling.CONFIRMED: "confirmed",
    Ruling.LARGER: "differs",
    Ruling.SMALLER: "differs",
    Ruling.REVERSED: "reversed",
}


def ruling_class(finding: Finding) -> str:
    """The class of a ruling in the style sheet."""
    return _CLASSES.get(finding.ruling, "open")


def claim_table(found: Judged, id_: str, records: Mapping[str, Entry] | None = None) -> Table:
    """The findings and conditions of one claim; with ``records`` of its settings, linked to them."""
    claim = found.claim
    rows: list[tuple[Entry, ...]] = [
        (Entry("claimed"), Entry(claimed_text(claim)), Entry(""), Entry(claim.figure.says), Entry(""))
    ]
    for name in SETTINGS:
        finding = found.findings[name]
        reason = Entry(f"{finding.reason}{disturbance(finding)}")
        heading = setting_text(found) if name == "published" else _FAIR
        rows.append((Entry(heading), *_found(found, name), reason, (records or {}).get(name, Entry(""))))
    rows += [(Entry(c.title), Entry(""), Entry(c.standing), Entry(c.words), Entry("")) for c in claim.conditions.each]
    return Table(
        id_,
        f"Claim {claim.id}: {claim.title}",
        _HEADINGS if records else _HEADINGS[:-1],
        tuple(row if records else row[:-1] for row in rows),
        _note(claim),
    )


def _records(claim: Claim, loaded: LoadedRun, setting: str, places: Places) -> Entry:
    """The cells of the sides by their numbers, linked to the slow one's, or the only one's."""
    cells = claimed_sides(loaded.plan).get(claim.id, {})
    ids = {cell.cell.label: cell_id for cell_id, cell in loaded.summary.cells.items()}
    entries = {
        side: found
        for side in ("slow", "fast", "cell")
        if (found := [places.entry(ids[label]) for label in cells.get(f"{setting}.{side}", ()) if label in ids])
    }
    text = ", ".join(f"{side} {' '.join(entry.text for entry in found)}" for side, found in entries.items())
    return Entry(text, link=next((found[0].link for found in entries.values()), ""))


def _note(claim: Claim) -> str:
    """The source, known errors, and an invitation."""
    drifts = (f"{drift.where} quotes {drift.quotes}; the source says {drift.source_says}" for drift in claim.drifts)
    derived = ["The ratio is derived by us from two figures of the source"] if claim.figure.derived else []
    sentences = [source(claim), *derived, *drifts, *claim.traps, "Something misrepresented? Corrections are welcome"]
    return " ".join(f"{sentence.rstrip('.')}." for sentence in sentences)
