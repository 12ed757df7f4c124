"""The forest: a line for each claim, its ratios on one logarithmic axis. Lengths are units of the drawing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from sciml_bench.published_claims.judging import Judged
from sciml_bench.published_claims.ruling import Finding, Ruling, claimed_words
from sciml_bench.render.claims import range_text
from sciml_bench.render.html.claim import ruling_class
from sciml_bench.render.html.ratio_drawing import claimed_range, ratio_interval

FAIR, PUBLISHED = "fair", "published"


def claim_id(judged: Judged) -> str:
    return f"claim-{judged.claim.id.lower()}"


def main_finding(judged: Judged) -> Finding:
    """The finding when fair; at the source's settings if only that was measured."""
    fair, published = judged.findings[FAIR], judged.findings[PUBLISHED]
    return published if fair.ruling in (Ruling.NOT_TESTABLE, Ruling.OUTDATED) else fair


_ROW, _TOP, _BOTTOM = 22.0, 24.0, 30.0

_WIDTH, _LABEL, _RIGHT = 1180.0, 470.0, 36.0

_LONGEST = 62

_SIGNS = {"confirmed": "✓", "differs": "≠", "reversed": "✗", "open": "?"}
"""Signs of rulings, which colours repeat."""


@dataclass(frozen=True)
class Place:
    """A ratio's interval; ``estimate`` is ``None`` if the ratio depends on the accuracy."""

    low: float
    estimate: float | None
    high: float


def place_of(judged: Judged, setting: str) -> Place | None:
    """The ratio of a setting, or the range of its ratios over the digits."""
    finding = judged.findings[setting]
    if finding.ratio is not None:
        low, high = ratio_interval(finding.ratio)
        return Place(low, finding.ratio.estimate, high)
    ratios = [one.ratio for one in judged.curves.get(setting, {}).values() if one.ratio is not None]
    if not ratios:
        return None
    return Place(min(r.estimate for r in ratios), None, max(r.estimate for r in ratios))


def forest(found: Sequence[Judged]) -> Markup:
    """Claimed and measured ratios of these claims; empty without any."""
    if not found:
        return Markup()
    places = [place for judged in found for setting in (FAIR, PUBLISHED) if (place := place_of(judged, setting))]
    claimed = [claimed_range(judged.claim.figure) for judged in found]
    ends = [end for low, high in claimed for end in (low, high) if 0 < end < math.inf]
    ends += [end for place in places for end in (place.low, place.high) if 0 < end < math.inf]
    axis = _Axis(math.floor(math.log10(min(ends))), math.ceil(math.log10(max(ends))))
    height = _TOP + _ROW * len(found) + _BOTTOM
    body = Markup("").join([*_grid(axis, height), *(_line(k, judged, axis) for k, judged in enumerate(found))])
    return Markup(
        '<svg aria-labelledby="forest-title" viewBox="0 0 {width:g} {height:g}">'
        '<title id="forest-title">{title}</title>{body}</svg>'
    ).format(width=_WIDTH, height=height, title=_told(found), body=body)


class _Axis:
    """Decades from ``first`` to ``last``."""

    def __init__(self, first: int, last: int):
        self.first, self.last = first, max(last, first + 1)

    def x(self, ratio: float) -> float:
        """From the left; ratios beyond the ends are drawn there."""
        share = (math.log10(ratio) - self.first) / (self.last - self.first) if ratio > 0 else 0.0
        return _LABEL + (_WIDTH - _LABEL - _RIGHT) * min(1.0, max(0.0, share))


def _grid(axis: _Axis, height: float) -> Iterator[Markup]:
    bottom = height - _BOTTOM
    for decade in range(axis.first, axis.last + 1):
        kind = "one" if decade == 0 else "decade"
        text = f"{10**decade:,}×".replace(",", "\u202f") if decade >= 0 else f"{10.0**decade:g}×"
        yield Markup(
            '<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{top:g}" y2="{bottom:g}"/>'
            '<text class="tick" x="{x:.1f}" y="{y:g}" text-anchor="middle">{text}</text>'
        ).format(kind=kind, x=axis.x(10.0**decade), top=_TOP - 6, bottom=bottom, y=bottom + 18, text=text)


def _line(k: int, judged: Judged, axis: _Axis) -> Markup:
    claim = judged.claim
    y = _TOP + _ROW * (k + 0.5)
    name = f"{claim.id}  {claim.title}"
    name = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1].rstrip()}…"
    low, high = claimed_range(claim.figure)
    band = (axis.x(low), axis.x(high) if high < math.inf else _WIDTH - _RIGHT)
    marks = [_mark(judged.findings[name], place_of(judged, name), name, axis, y) for name in (PUBLISHED, FAIR)]
    return Markup(
        '<a href="#{id}"><text x="0" y="{base:.1f}">{name}</text></a>'
        '<rect class="claimed" x="{x:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:g}"/>{marks}'
        '<text class="sign {kind}" x="{sign_x:.1f}" y="{base:.1f}" text-anchor="middle">{sign}</text>'
    ).format(
        id=claim_id(judged), base=y + 4, name=name, x=band[0], top=y - 7, width=max(band[1] - band[0], 2.0), height=14,
        marks=Markup("").join(marks), kind=(kind := ruling_class(main_finding(judged))), sign=_SIGNS[kind],
        sign_x=_WIDTH - _RIGHT / 2 + 6,
    )  # fmt: skip


def _mark(finding: Finding, place: Place | None, setting: str, axis: _Axis, y: float) -> Markup:
    """The interval as a line; the estimate as a disk when fair, as a ring at the source's settings."""
    if place is None:
        return Markup()
    kind = f"{ruling_class(finding)} {setting}"
    at = y - 3 if setting == PUBLISHED else y + 3
    line = Markup('<line class="{kind}" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>').format(
        kind=kind, x1=axis.x(place.low), x2=max(axis.x(place.high), axis.x(place.low) + 1), y=at
    )
    if place.estimate is None:
        return line
    disk = Markup('<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>')
    return line + disk.format(kind=kind, x=axis.x(place.estimate), y=at)


def _told(found: Sequence[Judged]) -> str:
    """The figure in words."""
    each = [
        f"{judged.claim.id} claimed {claimed_words(judged.claim.figure)}, fair {range_text(judged, FAIR)}"
        for judged in found
    ]
    return f"Ratio of the slow side over the fast side of {len(found)} claims. {'; '.join(each)}."
