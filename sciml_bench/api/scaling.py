"""Growth of cost with size, for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sciml_bench.api.carrying_out import carried_out, words
from sciml_bench.api.stored_run import RESULTS, Run

if TYPE_CHECKING:
    from sciml_bench.execution.finished import Finished


def scale(
    problem: Path | str,
    over: str,
    values: Sequence[float] = (),
    *,
    network: str = "",
    profile: str = "quick",
    adapters: Iterable[str] = (),
    methods: Iterable[str] = (),
    sensitivities: Iterable[str] = (),
    out: Path | str = RESULTS,
    resume: bool | None = None,
    wait: bool = False,
    progress: Callable[[Finished], object] | None = None,
) -> Run:
    """Measure a problem at several sizes of a batch, network, grid, theta, time span or tolerance, in one run.

    ``over`` is ``batch``, ``width``, ``points``, ``span``, ``tolerance`` or ``parameters``; without ``values``, usual
    ones are taken. ``run.charts("sweep")`` draws each quantity against the size.

    Raises:
        UsageError: the values do not fit the axis, or nothing can run here.
        ProblemError: the problem cannot be varied along the axis.
        EngineError: another benchmark runs on this host; ``wait`` waits for it.
    """
    from sciml_bench.execution.scaling import scaling_plan
    from sciml_bench.planning.selection import Selection

    chosen = Selection(adapters=words(adapters), methods=words(methods), sensitivities=words(sensitivities))
    folder = Path(out)
    with scaling_plan(
        str(problem), over, tuple(values), network=network, selection=chosen, profile=profile, out=folder
    ) as made:
        return carried_out(
            made.plan, folder, made.name, "api.scale", resume=resume, wait=wait, progress=progress, write=made.write
        )
