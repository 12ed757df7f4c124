"""Profiles: how much is measured, from a check of the suite itself to a study of warm-up.

A profile fixes the processes per cell (one per block), the sampling inside a process, the tolerance ladder, the
problems and cells that it includes, and the time limit of a phase. It never changes what a number means.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches

from sciml_bench.errors import UsageError
from sciml_bench.record.task import Point, Sampling
from sciml_bench.spec.tables.identity import TIERS

# Inputs of successive calls differ by this relative amount, so that nothing can be cached or folded to a constant;
# it is far below what changes the work that a solver does.
PERTURBATION = 1e-6


@dataclass(frozen=True)
class Profile:
    """One level of effort.

    ``breadth`` says which cells of an included problem are measured:

    - ``first``: the best cell of each adapter, and its default where that is another,
    - ``matched``: these, and the cells of other adapters that match them,
    - ``recommended``: all recommended cells, and the cells of other adapters that match them,
    - ``suited``: all methods suited to the problem, and every sensitivity and mode of the recommended methods.

    ``core_breadth`` is the breadth of problems of tier smoke, ``named_breadth`` the breadth of problems that the user
    names. ``comparable`` is false for a profile of one process. ``timeout_s`` limits each phase of a worker, and each
    loop of a point. ``warm_caches``: the first recommended cell is also measured on a warm compile cache, if its
    framework has one. ``rerun_noisy``: a group of cells that was disturbed is measured once more. ``draws`` perturbed
    parameter vectors are solved by the first process of each cell, in at most ``stability_s`` seconds. Trainings take
    ``training_steps`` steps, or as many as the problem publishes if these are fewer, or if it is ``None``.
    """

    name: str
    processes: int
    sampling: Sampling
    rtols: tuple[float, ...]
    named_breadth: str
    core_breadth: str
    breadth: str
    timeout_s: float
    comparable: bool
    use: str
    warm_caches: bool = False
    rerun_noisy: bool = False
    draws: int = 0
    stability_s: float = 0.0
    training_steps: int | None = None

    @property
    def tiers(self) -> tuple[str, ...]:
        """The problem tiers that this profile includes."""
        return TIERS[: TIERS.index(self.name) + 1]

    @property
    def points(self) -> tuple[Point, ...]:
        """The tolerance ladder, loosest first. ``atol`` equals ``rtol``: each component brings its own scale."""
        return tuple(Point(rtol=rtol, atol=rtol) for rtol in self.rtols)


def _sampling(warm_up: int, steady: int, steady_s: float, most: int, warm_up_s: float = 0.0) -> Sampling:
    return Sampling(
        warm_up_calls=warm_up,
        steady_calls=steady,
        steady_s=steady_s,
        max_steady_calls=most,
        perturbation=PERTURBATION,
        warm_up_s=warm_up_s,
    )


_PROFILES = (
    Profile(
        name="smoke",
        processes=1,
        sampling=_sampling(1, 3, 0.0, 3),
        rtols=(1e-5, 1e-8),
        named_breadth="first",
        core_breadth="first",
        breadth="first",
        timeout_s=30.0,
        comparable=False,
        use="check that the suite works; one process per cell, so never compared",
        training_steps=10,
    ),
    Profile(
        name="quick",
        processes=3,
        sampling=_sampling(1, 3, 0.2, 200),
        rtols=(1e-4, 1e-6, 1e-8),
        named_breadth="recommended",
        core_breadth="matched",
        breadth="first",
        timeout_s=30.0,
        comparable=True,
        use="development; differences below a factor of two mean nothing",
        draws=4,
        stability_s=4.0,
        training_steps=50,
    ),
    Profile(
        name="standard",
        processes=10,
        # A hundred turns of each cell: with as many the self-test, which samples in the same way, finds a slowdown of
        # 10 % on a shared and busy host.
        sampling=_sampling(2, 30, 2.0, 2000, warm_up_s=60.0),
        rtols=(1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11),
        named_breadth="suited",
        core_breadth="suited",
        breadth="suited",
        timeout_s=120.0,
        comparable=True,
        use="published tables",
        warm_caches=True,
        rerun_noisy=True,
        draws=16,
        stability_s=60.0,
        training_steps=300,
    ),
    Profile(
        name="rigorous",
        processes=30,
        sampling=_sampling(10, 500, 5.0, 5000, warm_up_s=600.0),
        rtols=(1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11),
        named_breadth="suited",
        core_breadth="suited",
        breadth="suited",
        timeout_s=600.0,
        comparable=True,
        use="study of warm-up and of the spread between processes",
        warm_caches=True,
        rerun_noisy=True,
        draws=64,
        stability_s=300.0,
    ),
)

SCREENING = Profile(
    name="screen",
    processes=1,
    sampling=_sampling(1, 2, 0.02, 200),
    rtols=(),
    named_breadth="suited",
    core_breadth="suited",
    breadth="suited",
    timeout_s=15.0,
    comparable=False,
    use="sort all ways of a problem by large factors; one process per framework, so never compared",
)
"""The profile that screens all ways of a problem."""

RACING = replace(
    SCREENING,
    name="race",
    processes=60,
    sampling=_sampling(1, 3, 0.2, 200),
    timeout_s=30.0,
    comparable=True,
    use="hold ways against each other until one is decided to be the best",
)
"""The profile of the race between the best ways."""

NAMES = tuple(profile.name for profile in _PROFILES)
DEFAULT = "quick"


def profile_named(name: str) -> Profile:
    """The profile of this name.

    Raises:
        UsageError: there is no such profile.
    """
    for profile in _PROFILES:
        if profile.name == name:
            return profile
    close = get_close_matches(name, NAMES, n=1)
    hint = f"did you mean {close[0]}?" if close else f"choose one of {', '.join(NAMES)}"
    raise UsageError(f"unknown profile '{name}'; {hint}")
