"""The page of published claims: the count of rulings, claimed against measured in one figure, each claim on demand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sciml_bench.analysis.tables.table import Column
from sciml_bench.published_claims.judging import Judged
from sciml_bench.published_claims.ruling import Ruling, claimed_words
from sciml_bench.render.claims import range_text, ruling_text
from sciml_bench.render.html.claim import claim_table, ruling_class
from sciml_bench.render.html.document import document
from sciml_bench.render.html.forest import FAIR, PUBLISHED, claim_id, forest, main_finding, place_of
from sciml_bench.render.html.table import Entry, Table


@dataclass(frozen=True)
class ClaimView:
    """One claim on demand: its ruling in a line, and its table."""

    id: str
    title: str
    ruling: str
    mark: str
    table: Table


def claims_page(found: Sequence[Judged]) -> str:
    """The page of these claims, which were judged together."""
    # A claim of several runs is shown once, by the last of them.
    in_order = sorted({judged.claim.id.lower(): judged for judged in found}.values(), key=lambda it: it.claim.id)
    measured = [judged for judged in in_order if _measured(judged)]
    return document(
        "claims.html",
        "sciml-bench: published claims",
        sentences=tuple(_sentences(in_order)),
        forest=forest(measured),
        rulings=Table("rulings-table", "Claims that were measured", _RULINGS, tuple(_ruled(item) for item in measured)),
        claims=[
            ClaimView(
                claim_id(judged),
                f"{judged.claim.id}: {judged.claim.title}",
                main_finding(judged).ruling.value,
                ruling_class(main_finding(judged)),
                claim_table(judged, f"{claim_id(judged)}-table"),
            )
            for judged in measured
        ],
        untested=Table(
            "untested-table",
            "Claims that were not measured",
            (Column("claim", wide=True), Column("claimed", True), Column("why", wide=True)),
            tuple(_untested(judged) for judged in in_order if not _measured(judged)),
        ),
    )


_RULINGS = (
    Column("claim"), Column("claimed", True), Column("nearest to the source", True), Column("ruling"),
    Column("when fair", True), Column("ruling"),
)  # fmt: skip


def _ruled(judged: Judged) -> tuple[Entry, ...]:
    claim = judged.claim
    entries = [Entry(f"{claim.id} {claim.title}", link=claim_id(judged))]
    entries.append(Entry(claimed_words(claim.figure), value=claim.figure.ratio))
    for setting in (PUBLISHED, FAIR):
        finding = judged.findings[setting]
        value = None if finding.ratio is None else finding.ratio.estimate
        entries.append(Entry(range_text(judged, setting), value=value))
        entries.append(Entry(ruling_text(finding), mark=ruling_class(finding)))
    return tuple(entries)


def _untested(judged: Judged) -> tuple[Entry, ...]:
    claim = judged.claim
    return (
        Entry(f"{claim.id} {claim.title}"),
        Entry(claimed_words(claim.figure), value=claim.figure.ratio),
        Entry("; ".join(dict.fromkeys(judged.findings[name].reason for name in (PUBLISHED, FAIR)))),
    )


def _measured(judged: Judged) -> bool:
    return any(place_of(judged, setting) is not None for setting in (FAIR, PUBLISHED))


def _sentences(found: Sequence[Judged]) -> Iterator[str]:
    """The number of claims with each ruling, in each setting."""
    measured = sum(_measured(judged) for judged in found)
    yield f"{measured} of {len(found)} published claims were measured here."
    for setting, words in ((FAIR, "At equal achieved accuracy"), (PUBLISHED, "Measured at the source's settings")):
        counts = Counter(judged.findings[setting].ruling for judged in found)
        parts = [f"{counts[ruling]} {ruling.value}" for ruling in Ruling if counts[ruling]]
        yield f"{words}: {', '.join(parts)}."
