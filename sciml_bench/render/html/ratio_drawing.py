"""A ratio over correct digits as a small drawing: its interval, and the claimed range."""

from __future__ import annotations

import math
from collections.abc import Mapping

from markupsafe import Markup, escape

from sciml_bench.published_claims.claim import AT_LEAST, Figure
from sciml_bench.published_claims.ruling import Finding, rounded
from sciml_bench.stats.ratio import Ratio

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
