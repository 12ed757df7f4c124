"""The page's part on a model of the conventional track: layers in place of equations, and separate tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sciml_bench.analysis.models import model_table
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.tables.models import checklist, parity_table, times_table
from sciml_bench.planning.written_plan import WrittenProblem
from sciml_bench.render.html.problem_view import Formula, ProblemFacts
from sciml_bench.render.html.table import Places, Table

if TYPE_CHECKING:
    from sciml_bench.models.layer import Layer
    from sciml_bench.models.model import Model


@dataclasses.dataclass(frozen=True)
class ModelView:
    """Parity, above the times; the times; and the common conditions of all cells."""

    parity: Table
    times: Table | None
    checklist: tuple[str, ...]


def model_view(id_: str, entry: WrittenProblem, cells: Sequence[CellSummary], places: Places) -> ModelView | None:
    """The tables of a model; ``None`` for a differential equation, and without measurements."""
    if not entry.is_model:
        return None
    found = model_table(entry.name, cells)
    if not found.parity:
        return None
    return ModelView(
        parity=places.table(f"{id_}parity", parity_table(found.parity)),
        times=places.table(f"{id_}times", times_table(found)) if found.rows else None,
        checklist=tuple(line.strip() for line in checklist(entry, found))[1:],
    )


def model_facts(model: Model) -> ProblemFacts:
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
