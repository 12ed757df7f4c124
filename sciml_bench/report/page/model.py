"""What the page tells of a model of the conventional track: layers in the place of equations, and its own tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sciml_bench.report.conventional import text
from sciml_bench.report.conventional.rows import is_model, model_table
from sciml_bench.report.layouts import Layout
from sciml_bench.report.page.problem_facts import Formula, ProblemFacts
from sciml_bench.report.page.table import Entry, Heading, Table
from sciml_bench.report.summary import CellSummary

if TYPE_CHECKING:
    from sciml_bench.problem.architecture.layer import Layer
    from sciml_bench.problem.architecture.model import Architecture


@dataclasses.dataclass(frozen=True)
class ModelView:
    """Parity, which stands above the times, the times, and what is the same for every cell."""

    parity: Table
    times: Table | None
    checklist: tuple[str, ...]


def model_view(id_: str, entry: Mapping[str, Any], cells: Sequence[CellSummary]) -> ModelView | None:
    """The tables of a model; ``None`` of a differential equation, and where nothing was measured."""
    if not is_model(entry):
        return None
    found = model_table(str(entry["name"]), cells)
    if not found.parity:
        return None
    times = _table(f"{id_}times", f"Times of {found.problem}", text.times_layout(found)) if found.rows else None
    return ModelView(
        parity=_table(f"{id_}parity", f"Parity of {found.problem}: relative errors", text.parity_layout(found.parity)),
        times=times,
        checklist=tuple(line.strip() for line in text.checklist(entry, found))[1:],
    )


def model_facts(model: Architecture) -> ProblemFacts:
    """The facts of a model, without the codes."""
    training = model.training
    trained = "" if training is None else f", trained by {training.steps} steps of {training.optimiser}"
    return ProblemFacts(
        description=" ".join(model.description.split()),
        citation=model.source.citation,
        url=model.source.url if model.source.url.startswith(("https://", "http://")) else "",
        note=model.source.note,
        time=f"batches of {', '.join(map(str, model.batches))}{trained}",
        wrt="the weights",
        sizes=f"{model.n_weights} weights",
        equations=tuple(Formula(None, line) for line in _lines(model.layers)),
    )


def _lines(layers: Sequence[Layer]) -> Iterator[str]:
    for layer in layers:
        shape = " × ".join(map(str, layer.output))
        inside = f" ({'; '.join(_lines(layer.body))})" if layer.body else ""
        beside = f" added to ({'; '.join(_lines(layer.shortcut))})" if layer.shortcut else ""
        yield f"{layer.name or layer.kind}: {layer.kind.replace('_', ' ')}{inside}{beside} to {shape}"


def _table(id_: str, caption: str, layout: Layout) -> Table:
    headings = tuple(Heading(name, index >= layout.first_number) for index, name in enumerate(layout.headings))
    return Table(id_, caption, headings, tuple(tuple(map(Entry, row)) for row in layout.rows))
