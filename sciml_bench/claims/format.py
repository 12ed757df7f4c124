"""Judged claims as words: what a terminal, a table of a paper and a program read."""

from __future__ import annotations

import csv
import dataclasses
import io
import math
from collections.abc import Sequence
from typing import Any

from sciml_bench.claims.claim import Claim, Mark
from sciml_bench.claims.judging import Judged
from sciml_bench.claims.ruling import Finding, claimed_words, rounded
from sciml_bench.stats.ratio import Ratio

HEADINGS = ("claim", "claimed", "as published", "", "when fair", "", "conditions")


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
        conditions_text(judged.claim),
    )


def conditions_text(claim: Claim) -> str:
    """What the measurement as published may be called, and how many of the conditions differ or are unknown."""
    conditions = claim.conditions
    if conditions.marked(Mark.NOT_MEASURED):
        return "not measured"
    differing, unknown = (len(conditions.marked(mark)) for mark in (Mark.DIFFERS, Mark.UNKNOWN))
    return f"{conditions.setting}: {differing} differ, {unknown} unknown"


def distance_text(claim: Claim) -> str:
    """The same, and which of them."""
    conditions = claim.conditions
    if conditions.marked(Mark.NOT_MEASURED):
        return "not measured"
    return f"{conditions.setting}: {conditions.distance}"


def remarks(judged: Judged) -> tuple[str, ...]:
    """Why the rulings are what they are; one sentence where both settings share it."""
    published, fair = (_reason(judged.findings[name]) for name in ("published", "fair"))
    if published == fair:
        return (published,)
    return f"{judged.claim.conditions.setting}: {published}", f"when fair: {fair}"


def _reason(finding: Finding) -> str:
    more = "" if finding.more_processes is None else f"; about {finding.more_processes} more processes would tell"
    return f"{finding.reason}{more}{disturbance(finding)}"


def disturbance(finding: Finding) -> str:
    """What is to be said of disturbed processes; empty where there were none."""
    if not finding.disturbed:
        return ""
    return f"; {finding.disturbed} of {finding.processes} processes were disturbed by other work on the machine"


def range_text(judged: Judged, setting: str) -> str:
    """The ratio of a setting; over several digits its ends; of two that may be alike, who is ahead."""
    curve = judged.curves.get(setting, {})
    ratios = [finding.ratio for finding in curve.values() if finding.ratio is not None]
    whole = judged.findings[setting].ratio
    if len(ratios) < 2:
        return f"{ratio_text(whole)}{_ahead(judged.claim, setting, [whole])}"
    digits, estimates = list(curve), [ratio.estimate for ratio in ratios]
    span = f"{rounded(min(estimates))}–{rounded(max(estimates))}× at {digits[0]:g}–{digits[-1]:g} digits"
    return f"{span}{_ahead(judged.claim, setting, ratios)}"


def _ahead(claim: Claim, setting: str, ratios: Sequence[Ratio | None]) -> str:
    """Which of two sides that are claimed to be alike is ahead throughout; empty for all else."""
    known = [ratio for ratio in ratios if ratio is not None]
    if claim.figure.within is None or not known:
        return ""
    sides = getattr(claim, setting).sides
    ahead = (
        "slow" if all(ratio.high < 1 for ratio in known) else "fast" if all(ratio.low > 1 for ratio in known) else ""
    )
    return f", {sides[ahead].adapter} ahead" if ahead else ""


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
        "conditions": {
            "setting": None if claim.conditions.marked(Mark.NOT_MEASURED) else claim.conditions.setting,
            "each": [{**dataclasses.asdict(item), "mark": item.mark.value} for item in claim.conditions.each],
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
        "| claim | claimed | as published | | when fair | | why | conditions | source |",
        "|---|---|---|---|---|---|---|---|---|",
        *(f"| {' | '.join(_in_markdown(cell) for cell in _whole(item))} |" for item in found),
    ]
    return "\n".join(lines) + "\n"


def _whole(judged: Judged) -> tuple[str, ...]:
    """A line with the reasons, the names of the conditions and the source."""
    *cells, _ = row(judged)
    return *cells, "; ".join(remarks(judged)), distance_text(judged.claim), source(judged.claim)


# A citation, or a reason, is worth nothing without its end.
_LONGEST_SOURCE = 1200


def _in_markdown(text: str) -> str:
    from sciml_bench.render.markdown import escaped

    return escaped(text, _LONGEST_SOURCE)


def latex(found: Sequence[Judged]) -> str:
    """The table for a paper (package booktabs), with the sources as comments."""
    from sciml_bench.render.latex import escaped

    head = " & ".join(HEADINGS)
    body = [" & ".join(escaped(cell) for cell in row(item)) + r" \\" for item in found]
    sources = [f"% {item.claim.id}: {' '.join(source(item.claim).split())}" for item in found]
    return "\n".join([
        *sources, r"\begin{tabular}{lllllll}", r"\toprule", head + r" \\", r"\midrule", *body, r"\bottomrule",
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
        rows.append(
            [item.claim.id, quantity, *told, *published, *fair, *_marks(item.claim), item.profile, source(item.claim)]
        )
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


_CSV_COLUMNS = (
    "claim", "quantity", "claimed", "claimed_most", "claimed_within",
    "published", "published_low", "published_high", "published_ruling", "published_reason",
    "fair", "fair_low", "fair_high", "fair_ruling", "fair_reason",
    "derived_by_us", "setting", "differ", "touch_the_ratio", "unknown",
    "profile", "source",
)  # fmt: skip


def _marks(claim: Claim) -> list[str]:
    conditions = claim.conditions
    named = (conditions.marked(Mark.DIFFERS), conditions.touching, conditions.marked(Mark.UNKNOWN))
    setting = "" if conditions.marked(Mark.NOT_MEASURED) else conditions.setting
    return ["yes" if claim.figure.derived else "", setting, *(" ".join(item.name for item in found) for found in named)]


def _numbers(finding: Finding) -> list[str]:
    ratio = finding.ratio
    if ratio is None:
        return ["", "", "", ruling_text(finding), _reason(finding)]
    interval = ["", ""] if math.isinf(ratio.high) else [f"{ratio.low:.6g}", f"{ratio.high:.6g}"]
    return [f"{ratio.estimate:.6g}", *interval, ruling_text(finding), _reason(finding)]


def source(claim: Claim) -> str:
    """Where the figure was read, in one line."""
    return f"{claim.origin.citation}, {claim.origin.url} ({claim.origin.version}, read {claim.origin.read.isoformat()})"
