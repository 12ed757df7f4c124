"""Judged claims as words: what a terminal, a table of a paper and a program read."""

from __future__ import annotations

import csv
import dataclasses
import io
import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from sciml_bench.adapters.registry import adapters
from sciml_bench.analysis.tables.formatting import wrapped
from sciml_bench.published_claims.claim import Claim, Setting
from sciml_bench.published_claims.conditions import UNKNOWN_FACTOR, Mark, counted_words
from sciml_bench.published_claims.judging import Judged, untested
from sciml_bench.published_claims.ruling import Finding, claimed_words, rounded
from sciml_bench.published_claims.selection import needed
from sciml_bench.stats.ratio import Ratio

NEAREST = "nearest to the source"
HEADINGS = ("claim", "claimed", NEAREST, "", "when fair", "", "conditions")


def claimed_text(claim: Claim) -> str:
    """The claimed ratio in a word."""
    return f"{claimed_words(claim.figure)}{' (derived by us)' if claim.figure.derived else ''}"


def quantity_text(claim: Claim) -> str:
    """The claimed quantity, in words."""
    name = claim.figure.quantity.replace("_", " ")
    return f"{name} against later ones" if claim.figure.against_later else name


def ratio_text(ratio: Ratio | None) -> str:
    """A ratio with its interval; of a single process, which has none, and of a count the ratio only."""
    if ratio is None:
        return "–"
    if math.isinf(ratio.high) or ratio.low == ratio.high:
        return f"{rounded(ratio.estimate)}×"
    return f"{rounded(ratio.estimate)}× [{rounded(ratio.low)}, {rounded(ratio.high)}]"


def claim_row(judged: Judged) -> tuple[str, ...]:
    """A line of the table."""
    published, fair = judged.findings["published"], judged.findings["fair"]
    return (
        judged.claim.id,
        claimed_text(judged.claim),
        range_text(judged, "published"),
        ruling_text(published),
        range_text(judged, "fair"),
        ruling_text(fair),
        conditions_text(judged),
    )


def setting_text(judged: Judged) -> str:
    """The name of the setting nearest to the source: how near it is, if it was measured."""
    measured = judged.findings["published"].ratio is not None
    return judged.claim.conditions.setting if measured else NEAREST


def conditions_text(judged: Judged) -> str:
    """The name of the measurement nearest to the source, and how many of its conditions differ or are unknown."""
    conditions = judged.claim.conditions
    if conditions.marked(Mark.NOT_MEASURED):
        return "not measured"
    differing, unknown = (len(conditions.marked(mark)) for mark in (Mark.DIFFERS, Mark.UNKNOWN))
    return f"{setting_text(judged)}: {counted_words(differing, 'differ')}, {unknown} unknown"


def distance_text(judged: Judged) -> str:
    """Return the distance in words, with the names of the conditions."""
    conditions = judged.claim.conditions
    if conditions.marked(Mark.NOT_MEASURED):
        return "not measured"
    return f"{setting_text(judged)}: {conditions.distance}"


def claim_remarks(judged: Judged) -> tuple[str, ...]:
    """Return the reasons of the rulings; one sentence if both settings share it."""
    published, fair = (_reason(judged.findings[name]) for name in ("published", "fair"))
    if published == fair:
        return (published,)
    return f"{setting_text(judged)}: {published}", f"when fair: {fair}"


def _reason(finding: Finding) -> str:
    more = "" if finding.more_processes is None else f"; about {finding.more_processes} more processes would tell"
    return f"{finding.reason}{more}{disturbance(finding)}"


def disturbance(finding: Finding) -> str:
    """The remark on disturbed processes; empty without any."""
    if not finding.disturbed:
        return ""
    return f"; {finding.disturbed} of {finding.processes} processes were disturbed by other work on the machine"


def range_text(judged: Judged, setting: str) -> str:
    """The ratio of a setting; over several digits its ends; for a claim of equal speed, the one ahead."""
    curve = judged.curves.get(setting, {})
    ratios = [finding.ratio for finding in curve.values() if finding.ratio is not None]
    whole = judged.findings[setting].ratio
    if len(ratios) < 2:
        return f"{ratio_text(whole)}{_ahead(judged.claim, setting, [whole])}"
    digits, estimates = list(curve), [ratio.estimate for ratio in ratios]
    span = f"{rounded(min(estimates))}–{rounded(max(estimates))}× at {digits[0]:g}–{digits[-1]:g} digits"
    return f"{span}{_ahead(judged.claim, setting, ratios)}"


def _ahead(claim: Claim, setting: str, ratios: Sequence[Ratio | None]) -> str:
    """The side that is always ahead in a claim of equal speed; empty for other claims."""
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


def ruling_document(judged: Judged) -> dict[str, Any]:
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
            "each": [_plain(dataclasses.asdict(item)) for item in claim.conditions.each],
            "when_fair": [_plain(dataclasses.asdict(item)) for item in claim.fair_conditions.each],
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


def claims_markdown(found: Sequence[Judged]) -> str:
    """The table for a page, with the source of each claim."""
    lines = [
        "| claim | claimed | nearest to the source | | when fair | | why | conditions | source |",
        "|---|---|---|---|---|---|---|---|---|",
        *(f"| {' | '.join(_in_markdown(cell) for cell in _whole(item))} |" for item in found),
    ]
    return "\n".join(lines) + "\n"


def _whole(judged: Judged) -> tuple[str, ...]:
    """A line with the reasons, the names of the conditions and the source."""
    *cells, _ = claim_row(judged)
    return *cells, "; ".join(claim_remarks(judged)), distance_text(judged), source_text(judged.claim)


# A citation, or a reason, is worth nothing without its end.
_LONGEST_SOURCE = 1200


def _in_markdown(text: str) -> str:
    from sciml_bench.render.markdown import escaped

    return escaped(text, _LONGEST_SOURCE)


def claims_latex(found: Sequence[Judged]) -> str:
    """The table for a paper (package booktabs), with the sources as comments."""
    from sciml_bench.render.latex import escaped

    head = " & ".join(HEADINGS)
    body = [" & ".join(escaped(cell) for cell in claim_row(item)) + r" \\" for item in found]
    sources = [f"% {item.claim.id}: {' '.join(source_text(item.claim).split())}" for item in found]
    return "\n".join([
        *sources, r"\begin{tabular}{lllllll}", r"\toprule", head + r" \\", r"\midrule", *body, r"\bottomrule",
        r"\end{tabular}", "",
    ])  # fmt: skip


def claims_csv(found: Sequence[Judged]) -> str:
    """The table as CSV: separate numbers, and the sources."""
    rows: list[list[str]] = [list(_CSV_COLUMNS)]
    for item in found:
        published, fair = (_numbers(item.findings[name]) for name in ("published", "fair"))
        figure = item.claim.figure
        claimed = [figure.ratio, figure.most, figure.within]
        told = ["" if value is None else f"{value:g}" for value in claimed]
        quantity = f"{figure.quantity}/later" if figure.against_later else figure.quantity
        rows.append(
            [
                item.claim.id,
                quantity,
                *told,
                *published,
                *fair,
                *_marks(item.claim),
                item.profile,
                source_text(item.claim),
            ]
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


def source_text(claim: Claim) -> str:
    """The source of the figure, in one line."""
    return f"{claim.origin.citation}, {claim.origin.url} ({claim.origin.version}, read {claim.origin.read.isoformat()})"


_WIDTH = 110


def claim_lines(claim: Claim, found: Judged | None, everything: bool = False) -> Iterator[str]:
    """A claim on one screen, the ruling of the run ``found`` first; ``everything`` adds conditions and settings."""

    def told(heading: str, text: str) -> Iterator[str]:
        yield from wrapped(f"{heading}: {text}", _WIDTH)

    yield from wrapped(f"{claim.id}: {claim.title}", _WIDTH)
    yield ""
    yield from told("said", f"{claim.figure.says} ({claimed_text(claim)}, {quantity_text(claim)})")
    yield from _found_lines(claim, found)
    if claim.needs.missing:
        yield from told("not testable", claim.needs.missing)
    yield ""
    yield from told("where", claim.origin.citation)
    yield f"  {claim.origin.url}"
    yield f"  {claim.origin.version}, read {claim.origin.read.isoformat()}"
    yield from told("of what", " ".join(claim.workload.split()))
    distance = distance_text(untested(claim, "") if found is None else found)
    yield from wrapped(f"conditions: {distance}", _WIDTH)
    names = ", ".join([claim.needs.device, *needed(claim, adapters())])
    yield from told("needs", f"{names}; about {claim.needs.minutes:g} min, {claim.needs.memory_gib:g} GiB")
    if not everything:
        yield ""
        yield f"conditions, settings and traps: sciml-bench claims show {claim.id} --all"
        return
    yield ""
    yield from told("timed", " ".join(claim.timed.split()))
    for drift in claim.drifts:
        yield from told(
            "citation drift", f"{drift.where} quotes {drift.quotes}; the source it cites says {drift.source_says}"
        )
    for trap in claim.traps:
        yield from told("mind", trap)
    yield ""
    yield from _condition_lines(claim)
    for heading, setting in ((NEAREST, claim.published), ("when fair", claim.fair)):
        if setting is not None:
            yield from _setting_lines(heading, setting)


def _condition_lines(claim: Claim) -> Iterator[str]:
    """Yield the names of equal conditions, and the differences of the others."""
    yield "conditions"
    if same := claim.conditions.marked(Mark.SAME):
        yield from wrapped(f"  same: {', '.join(item.title for item in same)}", _WIDTH)
    for item in claim.conditions.each:
        if item.mark is not Mark.SAME:
            yield from (f"  {line}" for line in wrapped(f"{item.title} ({item.standing}): {item.words}", _WIDTH - 2))


def _found_lines(claim: Claim, found: Judged | None) -> Iterator[str]:
    if found is None:
        if claim.testable:
            yield f"found: nothing measured here yet; `sciml-bench claims run {claim.id}`"
        return
    for name, heading in (("published", setting_text(found)), ("fair", "when fair")):
        ruling = ruling_text(found.findings[name])
        yield from wrapped(f"found {heading}: {range_text(found, name)}, {ruling}", _WIDTH)
    for remark in claim_remarks(found):
        yield from (f"  {line}" for line in wrapped(remark, _WIDTH - 2))
    yield f"  records: {found.folder} ({found.profile})"


def _setting_lines(heading: str, setting: Setting) -> Iterator[str]:
    changes = ", ".join(f"{key} = {_value_text(value)}" for key, value in setting.workload.changes.items())
    yield from wrapped(f"{heading}: problem {setting.workload.problem}{f' with {changes}' if changes else ''}", _WIDTH)
    for name, side in setting.sides.items():
        at = "" if side.rtol is None else f", rtol {side.rtol:g}, atol {side.atol or side.rtol:g}"
        yield f"  {name}: {side.words}{at}{f' ({side.note})' if side.note else ''}"
    for line in (
        *setting.notes,
        *(f"{item.title} ({item.standing}): {item.words}" for item in setting.conditions.each),
    ):
        yield from (f"  {part}" for part in wrapped(line, _WIDTH - 2))


def _value_text(value: object) -> str:
    """A value as a file has it, shortened."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value_text(entry)}" for key, entry in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_value_text, value))}]"
    return str(value)


def claim_document(claim: Claim) -> dict[str, Any]:
    """Plain JSON values."""
    data = dataclasses.asdict(claim)
    origin = {**data["origin"], "read": claim.origin.read.isoformat()}
    return _plain({**data, "origin": origin, "path": str(claim.path), "testable": claim.testable})


def _plain(value: Any) -> Any:
    """Reduce a value to numbers and texts: overrides may be decimals, or whatever TOML knows."""
    if value == math.inf:
        return UNKNOWN_FACTOR
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, Decimal):
        return float(value)
    return value if isinstance(value, int | float | None) else str(value)
