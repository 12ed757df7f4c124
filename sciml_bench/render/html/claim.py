"""The claims that the runs of a page test: all in one table, and for each the claim and the finding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sciml_bench.analysis.loaded_run import LoadedRun
from sciml_bench.analysis.tables.table import Column
from sciml_bench.errors import ProblemError
from sciml_bench.published_claims.claim import Claim
from sciml_bench.published_claims.collection import of_run
from sciml_bench.published_claims.judging import Judged, Measurement, judged
from sciml_bench.published_claims.ruling import Finding, Ruling, claimed_words
from sciml_bench.published_claims.workloads import SETTINGS
from sciml_bench.render.claims import (
    claimed_text,
    distance_text,
    disturbance,
    quantity_text,
    range_text,
    ruling_text,
    setting_text,
    source_text,
)
from sciml_bench.render.html.ratio_drawing import drawn
from sciml_bench.render.html.table import Entry, Places, Table

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
    again = [(f"{_FAIR}, {c.title}", c) for c in (claim.fair_conditions.each)]
    conditions = [*((c.title, c) for c in claim.conditions.each), *again]
    rows += [(Entry(title), Entry(""), Entry(c.standing), Entry(c.words), Entry("")) for title, c in conditions]
    return Table(
        id_,
        f"Claim {claim.id}: {claim.title}",
        _HEADINGS if records else _HEADINGS[:-1],
        tuple(row if records else row[:-1] for row in rows),
        _note(claim),
    )


def _records(claim: Claim, loaded: LoadedRun, setting: str, places: Places) -> Entry:
    """The cells of the sides by their numbers, linked to the slow one's, or the only one's."""
    cells = loaded.plan.sides.get(claim.id, {})
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
    sentences = [
        source_text(claim),
        *derived,
        *drifts,
        *claim.traps,
        "Something misrepresented? Corrections are welcome",
    ]
    return " ".join(f"{sentence.rstrip('.')}." for sentence in sentences)
