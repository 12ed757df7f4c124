"""The claim that a run tests, as a table of the page: claimed, as published, and when fair."""

from __future__ import annotations

from pathlib import Path

from sciml_bench.claims.claim import Claim
from sciml_bench.claims.collection import of_run
from sciml_bench.claims.judging import Measurement, judged
from sciml_bench.claims.told import claimed_text, ratio_text, source
from sciml_bench.claims.workload import SETTINGS
from sciml_bench.errors import ProblemError
from sciml_bench.report.page.table import Entry, Heading, Places, Table
from sciml_bench.report.traces import Reading

_HEADINGS = (
    Heading("setting"),
    Heading("slow / fast", True, "paired ratio of the two sides, or of a first call to later ones; 95 % interval"),
    Heading("ruling"),
    Heading("why", wide=True),
    Heading("records"),
)
_TOLD = {"published": "as published", "fair": "when fair"}


def claim_table_of(reading: Reading, prefix: str, places: Places) -> Table | None:
    """The table of the claim that a run tests; ``None`` for any other run. The claim is judged by this run alone."""
    try:
        claim = of_run(Path(reading.folder), reading.plan)
    except ProblemError:
        # Its own file was changed after the run: the tables of its cells stand without it.
        return None
    if claim is None:
        return None
    (found,) = judged([Measurement(claim, reading.summary, Path(reading.folder))])
    rows: list[tuple[Entry, ...]] = [
        (Entry("claimed"), Entry(claimed_text(claim)), Entry(""), Entry(claim.figure.says), Entry(""))
    ]
    for name in SETTINGS:
        finding = found.findings[name]
        ratio = Entry(ratio_text(finding.ratio), value=None if finding.ratio is None else finding.ratio.estimate)
        rows.append(
            (
                Entry(_TOLD[name]),
                ratio,
                Entry(finding.ruling.value),
                Entry(finding.reason),
                _records(reading, name, places),
            )
        )
    return Table(prefix, f"Claim {claim.id}: {claim.title}", _HEADINGS, tuple(rows), _note(claim))


def _records(reading: Reading, setting: str, places: Places) -> Entry:
    """The cells of the sides by their numbers, linked to those of the slow one, or of the only one."""
    cells = reading.plan["claimed"].get("cells", {})
    ids = {cell.cell.label: cell_id for cell_id, cell in reading.summary.cells.items()}
    found = {side: ids.get(cells.get(f"{setting}.{side}", "")) for side in ("slow", "fast", "cell")}
    entries = {side: places.entry(cell_id) for side, cell_id in found.items() if cell_id is not None}
    text = ", ".join(f"{side} {entry.text}" for side, entry in entries.items())
    return Entry(text, link=next((entry.link for entry in entries.values()), ""))


def _note(claim: Claim) -> str:
    """Where it was said, what is known to be wrong with it, and an invitation."""
    drifts = (f"{drift.where} quotes {drift.quotes}; the source says {drift.source_says}" for drift in claim.drifts)
    sentences = [source(claim), *drifts, *claim.traps, "Something misrepresented? Corrections are welcome"]
    return " ".join(f"{sentence.rstrip('.')}." for sentence in sentences)
