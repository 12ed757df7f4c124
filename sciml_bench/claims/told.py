"""Judged claims as words: what a terminal, a table of a paper and a program read."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from typing import Any

from sciml_bench.claims.claim import Claim
from sciml_bench.claims.judging import Judged
from sciml_bench.claims.ruling import Finding, claimed_words, rounded
from sciml_bench.stats.ratio import Ratio

HEADINGS = ("claim", "claimed", "as published", "", "when fair", "")


def claimed_text(claim: Claim) -> str:
    """The claimed ratio in a word."""
    return f"{claimed_words(claim.figure)}{' (derived by us)' if claim.figure.derived else ''}"


def quantity_text(claim: Claim) -> str:
    """What is claimed, in words."""
    name = claim.figure.quantity.replace("_", " ")
    return f"{name} against later ones" if claim.figure.against_later else name


def ratio_text(ratio: Ratio | None) -> str:
    """A ratio with its interval; of a single process, which has none, and of a count the ratio only."""
    if ratio is None:
        return "–"
    if math.isinf(ratio.high) or ratio.low == ratio.high:
        return f"{rounded(ratio.estimate)}×"
    return f"{rounded(ratio.estimate)}× [{rounded(ratio.low)}, {rounded(ratio.high)}]"


def row(judged: Judged) -> tuple[str, ...]:
    """A line of the table."""
    published, fair = judged.findings["published"], judged.findings["fair"]
    return (
        judged.claim.id,
        claimed_text(judged.claim),
        range_text(judged, "published"),
        ruling_text(published),
        range_text(judged, "fair"),
        ruling_text(fair),
    )


def remarks(judged: Judged) -> tuple[str, ...]:
    """Why the rulings are what they are; one sentence where both settings share it."""
    settings = (("as published", "published"), ("when fair", "fair"))
    told = [_reason(judged.findings[name]) for _, name in settings]
    if told[0] == told[1]:
        return (told[0],)
    return tuple(f"{heading}, {text}" for (heading, _), text in zip(settings, told, strict=True))


def _reason(finding: Finding) -> str:
    more = "" if finding.more_processes is None else f"; about {finding.more_processes} more processes would tell"
    return f"{finding.reason}{more}{disturbance(finding)}"


def disturbance(finding: Finding) -> str:
    """What is to be said of disturbed processes; empty where there were none."""
    if not finding.disturbed:
        return ""
    return f"; {finding.disturbed} of {finding.processes} processes were disturbed by other work on the machine"


def range_text(judged: Judged, setting: str) -> str:
    """The ratio of a setting; over several digits its smallest and its largest."""
    curve = judged.curves.get(setting, {})
    ratios = [finding.ratio.estimate for finding in curve.values() if finding.ratio is not None]
    if len(ratios) < 2:
        return ratio_text(judged.findings[setting].ratio)
    digits = list(curve)
    return f"{rounded(min(ratios))}–{rounded(max(ratios))}× at {digits[0]:g}–{digits[-1]:g} digits"


def ruling_text(finding: Finding) -> str:
    """The ruling, with a mark where disturbed processes are behind it."""
    return f"{finding.ruling.value}{' †' if finding.disturbed else ''}"


def document(judged: Judged) -> dict[str, Any]:
    """Plain JSON values."""
    claim = judged.claim
    return {
        "id": claim.id,
        "title": claim.title,
        "says": claim.figure.says,
        "quantity": claim.figure.quantity,
        "against_later": claim.figure.against_later,
        "claimed": {
            "kind": claim.figure.kind,
            "ratio": claim.figure.ratio,
            "most": claim.figure.most,
            "within": claim.figure.within,
            "factor": claim.figure.factor,
            "derived_by_us": claim.figure.derived,
        },
        "source": {
            "citation": claim.origin.citation,
            "url": claim.origin.url,
            "version": claim.origin.version,
            "read": claim.origin.read.isoformat(),
        },
        "profile": judged.profile or None,
        "run": None if judged.folder is None else str(judged.folder),
        **{name: _setting(judged, name) for name in judged.findings},
    }


def _setting(judged: Judged, name: str) -> dict[str, Any]:
    curve = [{"digits": digits, **_finding(finding)} for digits, finding in judged.curves.get(name, {}).items()]
    finding = judged.findings[name]
    return {
        **_finding(finding),
        "more_processes": finding.more_processes,
        "disturbed_processes": finding.disturbed,
        "all_processes": finding.processes,
        "curve": curve,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    ratio = finding.ratio
    interval = None if ratio is None or math.isinf(ratio.high) else [ratio.low, ratio.high]
    return {
        "ruling": finding.ruling.value,
        "reason": finding.reason,
        "ratio": None if ratio is None else ratio.estimate,
        "interval": interval,
        "processes": None if ratio is None else ratio.n,
    }


def markdown(found: Sequence[Judged]) -> str:
    """The table for a page, with the source of each claim."""
    lines = [
        "| claim | claimed | as published | | when fair | | source |",
        "|---|---|---|---|---|---|---|",
        *(f"| {' | '.join(_in_markdown(cell) for cell in (*row(item), source(item.claim)))} |" for item in found),
    ]
    return "\n".join(lines) + "\n"


# A citation is worth nothing without its end.
_LONGEST_SOURCE = 600


def _in_markdown(text: str) -> str:
    from sciml_bench.report.export.markdown import escaped

    return escaped(text, _LONGEST_SOURCE)


def latex(found: Sequence[Judged]) -> str:
    """The table for a paper (package booktabs), with the sources as comments."""
    from sciml_bench.report.export.latex import escaped

    head = " & ".join(HEADINGS)
    body = [" & ".join(escaped(cell) for cell in row(item)) + r" \\" for item in found]
    sources = [f"% {item.claim.id}: {' '.join(source(item.claim).split())}" for item in found]
    return "\n".join([
        *sources, r"\begin{tabular}{llllll}", r"\toprule", head + r" \\", r"\midrule", *body, r"\bottomrule",
        r"\end{tabular}", "",
    ])  # fmt: skip


def table(found: Sequence[Judged]) -> str:
    """The table as CSV: numbers by themselves, and the sources."""
    rows: list[list[str]] = [list(_CSV_COLUMNS)]
    for item in found:
        published, fair = (_numbers(item.findings[name]) for name in ("published", "fair"))
        figure = item.claim.figure
        claimed = [figure.ratio, figure.most, figure.within]
        told = ["" if value is None else f"{value:g}" for value in claimed]
        quantity = f"{figure.quantity}/later" if figure.against_later else figure.quantity
        rows.append([item.claim.id, quantity, *told, *published, *fair, item.profile, source(item.claim)])
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


_CSV_COLUMNS = (
    "claim", "quantity", "claimed", "claimed_most", "claimed_within",
    "published", "published_low", "published_high", "published_ruling",
    "fair", "fair_low", "fair_high", "fair_ruling", "profile", "source",
)  # fmt: skip


def _numbers(finding: Finding) -> list[str]:
    ratio = finding.ratio
    if ratio is None:
        return ["", "", "", ruling_text(finding)]
    interval = ["", ""] if math.isinf(ratio.high) else [f"{ratio.low:.6g}", f"{ratio.high:.6g}"]
    return [f"{ratio.estimate:.6g}", *interval, ruling_text(finding)]


def source(claim: Claim) -> str:
    """Where the figure was read, in one line."""
    return f"{claim.origin.citation}, {claim.origin.url} ({claim.origin.version}, read {claim.origin.read.isoformat()})"
