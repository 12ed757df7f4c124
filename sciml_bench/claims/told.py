"""Judged claims as words: what a terminal, a table of a paper and a program read."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from typing import Any

from sciml_bench.claims.claim import Claim
from sciml_bench.claims.judging import Judged
from sciml_bench.claims.ruling import Finding, rounded
from sciml_bench.stats.ratio import Ratio

HEADINGS = ("claim", "claimed", "as published", "", "when fair", "")


def claimed_text(claim: Claim) -> str:
    """The claimed ratio in a word."""
    figure = claim.figure
    if figure.within is not None:
        return f"alike within {figure.within:g}×"
    upper = "" if figure.most is None else f" to {figure.most:g}"
    return f"{figure.ratio:g}{upper}×"


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
        ratio_text(published.ratio),
        published.ruling.value,
        ratio_text(fair.ratio),
        fair.ruling.value,
    )


def remarks(judged: Judged) -> tuple[str, ...]:
    """Why the rulings are what they are; one sentence where both settings share it."""
    published, fair = judged.findings["published"], judged.findings["fair"]
    told = [_reason(finding, judged.digits.get(name)) for name, finding in (("published", published), ("fair", fair))]
    return (told[0],) if told[0] == told[1] else (f"as published, {told[0]}", f"when fair, {told[1]}")


def _reason(finding: Finding, digits: float | None) -> str:
    at = "" if digits is None else f" (at {digits:g} correct digits)"
    more = finding.more_processes
    return f"{finding.reason}{at}{f'; about {more} more processes would tell' if more is not None else ''}"


def document(judged: Judged) -> dict[str, Any]:
    """Plain JSON values."""
    claim = judged.claim
    return {
        "id": claim.id,
        "title": claim.title,
        "says": claim.figure.says,
        "quantity": claim.figure.quantity,
        "against_later": claim.figure.against_later,
        "claimed": {"ratio": claim.figure.ratio, "most": claim.figure.most, "within": claim.figure.within},
        "source": {
            "citation": claim.origin.citation,
            "url": claim.origin.url,
            "version": claim.origin.version,
            "read": claim.origin.read.isoformat(),
        },
        "profile": judged.profile or None,
        "run": None if judged.folder is None else str(judged.folder),
        **{name: _finding(finding, judged.digits.get(name)) for name, finding in judged.findings.items()},
    }


def _finding(finding: Finding, digits: float | None) -> dict[str, Any]:
    ratio = finding.ratio
    interval = None if ratio is None or math.isinf(ratio.high) else [ratio.low, ratio.high]
    return {
        "ruling": finding.ruling.value,
        "reason": finding.reason,
        "ratio": None if ratio is None else ratio.estimate,
        "interval": interval,
        "processes": None if ratio is None else ratio.n,
        "more_processes": finding.more_processes,
        "digits": digits,
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
        return ["", "", "", finding.ruling.value]
    interval = ["", ""] if math.isinf(ratio.high) else [f"{ratio.low:.6g}", f"{ratio.high:.6g}"]
    return [f"{ratio.estimate:.6g}", *interval, finding.ruling.value]


def source(claim: Claim) -> str:
    """Where the figure was read, in one line."""
    return f"{claim.origin.citation}, {claim.origin.url} ({claim.origin.version}, read {claim.origin.read.isoformat()})"
