"""The input of a worker: one cell, the emitted source, the numbers, the tolerance points and the limits.

A task travels as JSON on the worker's standard input. It is plain data: workers import the standard library, NumPy
and their framework, nothing else.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from typing import Any

from sciml_bench.record.codec import decode_json, encode_json
from sciml_bench.record.model_task import ModelTask
from sciml_bench.record.theta import Theta

WARM = "-warm"
"""Ends the mode of a cell whose framework finds its compile cache filled on the disk."""

AT = "@"
"""Between an adapter and the environment that it runs in, if that has a name: ``julia@older``."""

SOLVERS, CONVENTIONAL = "solvers", "conventional"
"""The two tracks: adapters of the first solve differential equations, adapters of the second run models. The second is
also a suite, and a folder of the catalog."""

GRADIENT, SOLVE = "gradient", "solve"

ERROR_BOUND_FACTOR = 1000.0
"""A solution whose mixed error exceeds this multiple of the loosest tolerance is not a solution."""

LARGEST_ERROR_BOUND = 0.1
"""Nor is one whose mixed error is past this, whatever the tolerance."""

GRADIENT_ERROR_BOUND = 0.1
"""A gradient that is 10 % wrong misleads an optimiser that relies on it."""

CALLS = (GRADIENT, SOLVE)
"""The calls of a worker at every point, unless its task needs fewer."""


DEFAULT_SAVING, LANDING = "default", "landing"
"""The ways in which a solver gets its values at the saved times: its default (adaptive methods step over them and
interpolate, the grids of fixed steps contain them), or steps that end at every one of them.
"""

TF32 = "tf32"
"""The precision in which NVIDIA's matrix units round the factors of products in single precision to ten bits."""

USUAL = ("float64", "cpu", DEFAULT_SAVING)
"""The precision, the device and the way of saving that go without saying."""


LABEL_PARTS = 7
"""The parts of a label without its way of saving."""


@dataclass(frozen=True)
class Cell:
    """A cell: problem × adapter × method × sensitivity × mode × precision × device × saving.

    A mode that ends with :data:`WARM` is measured on a compile cache that another process filled before; every other
    mode starts with an empty one. ``saving`` is :data:`DEFAULT_SAVING` or :data:`LANDING`.
    """

    problem: str
    adapter: str
    method: str
    sensitivity: str
    mode: str
    precision: str = "float64"
    device: str = "cpu"
    saving: str = DEFAULT_SAVING

    @property
    def label(self) -> str:
        """One greppable word: ``problem/adapter/method/sensitivity/mode/precision/device``, and ``/landing`` if so."""
        *parts, saving = dataclasses.astuple(self)
        return "/".join(parts if saving == DEFAULT_SAVING else (*parts, saving))

    @classmethod
    def from_label(cls, label: str) -> Cell:
        """Inverse of :attr:`label`. ``ValueError`` if the text is not the label of a cell."""
        parts = label.split("/")
        if len(parts) < LABEL_PARTS or parts[LABEL_PARTS:] not in ([], [LANDING]):
            raise ValueError(f"'{label}' is not the label of a cell")
        return cls(*parts)

    @property
    def words(self) -> tuple[str, str, str, str]:
        """The name without the problem: adapter, method, sensitivity, mode, and unusual settings."""
        unusual = [word for word in (self.precision, self.device, self.saving) if word not in USUAL]
        return self.adapter, self.method, self.sensitivity, " ".join([self.mode, *unusual])

    @property
    def mode_and_saving(self) -> str:
        """The mode, followed by the way of saving if it is not the default."""
        return self.mode if self.saving == DEFAULT_SAVING else f"{self.mode} {self.saving}"

    @property
    def solver(self) -> str:
        """These words in one line."""
        return " ".join(self.words)

    @property
    def caches(self) -> str:
        """Return whether the compile caches on the disk are ``cold`` or ``warm`` when the process starts."""
        return "warm" if self.mode.endswith(WARM) else "cold"

    @property
    def framework_mode(self) -> str:
        """The mode of the framework, without the state of the caches."""
        return self.mode.removesuffix(WARM)


@dataclass(frozen=True)
class Point:
    """One tolerance inside a cell. The absolute tolerance of component i is ``atol * atol_scale[i]``.

    A point of a model of the conventional track is a batch of ``batch`` samples; its tolerances are 0.
    """

    rtol: float
    atol: float
    batch: int | None = None


@dataclass(frozen=True)
class Numbers:
    """The problem's numbers in double precision.

    ``wrt`` names what gradients are taken with respect to: ``"parameters"`` or ``"initial_state"``. The last
    ``n_weights`` of the parameters ``p`` are the weights of networks. ``y0`` and ``atol_scale`` hold the ``batch``
    trajectories one after the other.
    ``save_times`` are increasing, lie in (t0, t1] and end with t1; ``breakpoints`` lie strictly inside (t0, t1).
    """

    y0: tuple[float, ...]
    p: tuple[float, ...]
    t0: float
    t1: float
    save_times: tuple[float, ...]
    breakpoints: tuple[float, ...]
    atol_scale: tuple[float, ...]
    wrt: str
    n_weights: int = 0
    batch: int = 1

    @property
    def n_states(self) -> int:
        """Number of components of one trajectory."""
        return len(self.y0) // self.batch

    @property
    def trajectories(self) -> list[Numbers]:
        """The numbers of each trajectory of a batch alone."""
        if self.batch == 1:
            return [self]
        n = self.n_states
        parts = [slice(n * place, n * (place + 1)) for place in range(self.batch)]
        return [
            dataclasses.replace(self, y0=self.y0[part], atol_scale=self.atol_scale[part], batch=1) for part in parts
        ]

    @property
    def theta(self) -> tuple[float, ...]:
        """The values that gradients are taken with respect to."""
        return self.p if self.wrt == "parameters" else self.y0

    @property
    def n_named(self) -> int:
        """Return how many of the parameters are no weights of networks; they come first."""
        return len(self.p) - self.n_weights

    @property
    def p_scale(self) -> tuple[float, ...]:
        """The typical size of each parameter: its magnitude, or 1 for zeros and for the weights of networks."""
        return (*(abs(value) or 1.0 for value in self.p[: self.n_named]), *([1.0] * self.n_weights))


@dataclass(frozen=True)
class Reference:
    """The truth in double precision. ``solution`` is (n_times, n_states), ``gradient`` (n_theta,) or ``None``.

    A component of the solution is ``None`` if it is not known: published tables often list a few of many. Of a large
    batch it has the components of the first trajectories only.

    ``kind`` is ``certified``, ``exact``, ``published`` or ``double`` (a tight double-precision solve).
    ``solution_digits`` and ``gradient_digits`` are the trust in each component; a component of the gradient with 0
    digits is not certified. ``loss`` is the value of the differentiated loss, if known. ``rows`` are the saved times
    it covers, as indices into ``Numbers.save_times``.
    """

    kind: str
    rows: tuple[int, ...]
    solution: tuple[tuple[float | None, ...], ...]
    solution_digits: tuple[float, ...]
    gradient: tuple[float, ...] | None = None
    gradient_digits: tuple[float, ...] = ()
    loss: float | None = None


@dataclass(frozen=True)
class Draw:
    """A perturbed theta and the truth that belongs to it."""

    theta: tuple[float, ...]
    reference: Reference


@dataclass(frozen=True)
class Sampling:
    """Repetitions of each call. A steady loop ends when both its minimum count and its time are reached.

    A warm-up loop makes ``warm_up_calls`` calls, then more until they have settled, for at most ``warm_up_s`` in all
    loops of the process together; with 0 seconds it makes no more.
    """

    warm_up_calls: int
    steady_calls: int
    steady_s: float
    max_steady_calls: int
    perturbation: float
    warm_up_s: float = 0.0


_NOT_OF_THE_CURVE = ("steps", "target", "every", "accuracy")


@dataclass(frozen=True)
class Training:
    """The training of theta: the optimiser with its numbers, the number of steps, and the tolerances of the solves.

    Each step takes the loss and its gradient g at theta, on all data, and updates every component in the same way.
    With t counted from 1, running means m and v that start at 0, and divisions and roots taken component by component:

    - ``adam``: m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g²,
      theta -= learning_rate m̂ / (√v̂ + epsilon) with m̂ = m / (1 - beta1^t), v̂ = v / (1 - beta2^t)
      (Kingma and Ba, arXiv 1412.6980, algorithm 1; not its variant in which epsilon is added to √v);
    - ``adamw``: the same, after theta -= learning_rate weight_decay theta (Loshchilov and Hutter, arXiv 1711.05101,
      with the learning rate as a factor of the decay, as all libraries have it);
    - ``rmsprop``: v = decay v + (1 - decay) g², theta -= learning_rate g / (√v + epsilon), without momentum;
    - ``sgd``: theta -= learning_rate g.

    Numbers that an optimiser does not have are ``None``. ``target`` is the loss whose time-to is reported.

    A model of the conventional track takes the loss of each step on ``batch`` samples, drawn without replacement from
    ``batch_seed`` in epochs. Every ``every`` steps it is evaluated on the held-out samples; ``target`` is then a loss
    on these, or ``accuracy`` the share of them that is to be classified rightly.
    """

    optimiser: str
    learning_rate: float
    steps: int
    rtol: float
    atol: float
    target: float | None = None
    beta1: float | None = None
    beta2: float | None = None
    epsilon: float | None = None
    decay: float | None = None
    weight_decay: float | None = None
    batch: int | None = None
    batch_seed: int | None = None
    every: int | None = None
    accuracy: float | None = None

    @property
    def hash(self) -> str:
        """SHA-256 of everything that decides the curve of losses: all but its length and the target."""
        curve = {key: value for key, value in dataclasses.asdict(self).items() if key not in _NOT_OF_THE_CURVE}
        # Trainings without batches keep the hash that they had before there were any.
        curve = {key: value for key, value in curve.items() if value is not None or not key.startswith("batch")}
        return hashlib.sha256(json.dumps(curve, sort_keys=True).encode()).hexdigest()

    @property
    def point(self) -> Point:
        """The tolerances as a point."""
        return Point(self.rtol, self.atol, self.batch)

    def number(self, name: str) -> float:
        """A number that the optimiser has."""
        value = getattr(self, name)
        if value is None:
            raise ValueError(f"{self.optimiser} has no {name}")
        return float(value)


@dataclass(frozen=True)
class Task:
    """Everything one worker needs to measure one cell once.

    ``draws`` are solved once at every point, in at most ``stability_s`` seconds, to measure the solver's reliability.
    ``unresolved`` says why double precision cannot evaluate the equations, so that no gradient in it can be checked.
    With ``training``, theta is trained after the points. ``learning`` is there for models of the conventional track.
    ``invariants`` is the NumPy source of the exact solution's invariants, see ``measure.scoring``. ``calls`` are
    the kinds of calls that are measured: without gradients among them, none is taken. ``theta`` names and measures the
    components of gradients. With ``enough_digits``, the points after the first that has as many are left out; with
    ``most_call_s``, the points from one on whose calls take longer.
    """

    cell: Cell
    program: str
    source: str
    numbers: Numbers
    points: tuple[Point, ...]
    sampling: Sampling
    seed: int
    threads: int
    error_bound: float
    gradient_error_bound: float
    reference: Reference | None = None
    draws: tuple[Draw, ...] = ()
    stability_s: float = 0.0
    training: Training | None = None
    learning: ModelTask | None = None
    invariants: str = ""
    calls: tuple[str, ...] = CALLS
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    theta: Theta | None = None
    unresolved: str = ""
    enough_digits: float | None = None
    most_call_s: float | None = None

    @property
    def reference_kind(self) -> str | None:
        """The kind of the reference, or of a model's truth, that results are scored against."""
        truth = self.reference or (self.learning.truth if self.learning is not None else None)
        return None if truth is None else truth.kind

    def output_shape(self, point: Point) -> tuple[int, int]:
        """The shape of what one call of ``solve`` computes: (n_times, n_states), or (batch, n_outputs) of a model."""
        if self.learning is not None:
            return point.batch or 1, self.learning.n_outputs
        return len(self.numbers.save_times), len(self.numbers.y0)

    def to_json(self) -> str:
        """One line of JSON."""
        return encode_json(self)

    @classmethod
    def from_json(cls, text: str) -> Task:
        """Inverse of :meth:`to_json`."""
        return decode_json(cls, text)
