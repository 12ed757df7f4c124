"""The stored runs of claims, judged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stubs.reported import summarise

from sciml_bench.execution.claim_rulings import claims_of, newest_of_each
from sciml_bench.published_claims import judging
from sciml_bench.published_claims.collection import find

FOLDER = Path(__file__).parents[2] / "results" / "claims"


def judged(*ids: str, untested: Sequence[str] = ()) -> list[judging.Judged]:
    """These claims by their newest stored runs, as one family; then claims without a run."""
    newest = newest_of_each(FOLDER)
    measured = [
        judging.Measurement(tested.claim, summarise(newest[name].plan, newest[name].records()), newest[name].folder)
        for name in ids
        for tested in claims_of(newest[name])
        if tested.claim.id == name
    ]
    found = list(judging.judged(measured))
    return found + [judging.untested(find(name), "it needs a cluster") for name in untested]
