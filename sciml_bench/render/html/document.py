"""One HTML file with its style and its script inside, and a policy that allows nothing else.

Templates escape everything except our own markup: the drawings of figures and typeset formulas, both of which escape
the names in them. The policy in the head names the hashes of the one style sheet and the one script, so that a browser
runs nothing that might have come from data, and loads nothing from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sciml_bench import __version__
from sciml_bench.analysis.explanation.fairness import Item, tally
from sciml_bench.analysis.explanation.slowdown import Difference
from sciml_bench.analysis.tables import formatting


def document(template: str, title: str, looks: str = "", **values: Any) -> str:
    """Render a template as a complete file; ``looks`` are rules for its drawings."""
    style, script = f"{_text('page.css')}\n{looks}", _text("page.js")
    return (
        _environment()
        .get_template(template)
        .render(
            title=title,
            version=__version__,
            policy=_policy(style, script),
            style=Markup(style),
            script=Markup(script),
            **values,
        )
    )


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _text(name: str) -> str:
    return resources.files("sciml_bench.render.html").joinpath("templates", name).read_text(encoding="utf-8").strip()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("sciml_bench.render.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"ratio": _ratio, "alike": _alike, "names": _names, "tally": _tally}
    return environment


def _ratio(value: float | None) -> str:
    return formatting.NOTHING if value is None or not math.isfinite(value) else formatting.ratio(value)


def _alike(differences: Sequence[Difference]) -> str:
    """Equal properties, with their common value."""
    same = [f"{item.what} ({item.fast})" for item in differences if item.differs is False]
    return ", ".join(same) or "nothing"


def _names(differences: Sequence[Difference]) -> str:
    return ", ".join(item.what for item in differences)


def _tally(items: Sequence[Item]) -> str:
    """Return the number of items in each state."""
    return ", ".join(f"{count} {state}" for state, count in tally(items).items() if count)
