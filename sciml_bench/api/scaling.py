"""Growth of cost with size, for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sciml_bench.api.stored_run import RESULTS, Run
from sciml_bench.errors import UsageError

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
    from sciml_bench.execution.finished import Following
    from sciml_bench.execution.scaling import scaling_plan
    from sciml_bench.execution.session import open_session
    from sciml_bench.host.lock import host_lock
    from sciml_bench.planning.selection import Selection

    chosen = Selection(adapters=_words(adapters), methods=_words(methods), sensitivities=_words(sensitivities))
    folder = Path(out)
    with scaling_plan(
        str(problem), over, tuple(values), network=network, selection=chosen, profile=profile, out=folder
    ) as made:
        if not made.plan.planned:
            reasons = dict.fromkeys(item.reason for item in made.plan.skipped)
            raise UsageError(f"nothing is selected. {'; '.join(reasons) or 'No cell matches.'}")
        with host_lock(label=f"api.scale, {problem}", wait_s=None if wait else 0.0):
            session = open_session(
                made.plan, folder, made.name, resume=resume, command="sciml_bench.api.scale", write=made.write
            )
            session.carry_out(None if progress is None else Following(progress))
    if session.interrupted:
        raise KeyboardInterrupt(f"the measurements are in {session.run.folder}; the same call continues it")
    return Run(session.run)


def _words(names: Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
