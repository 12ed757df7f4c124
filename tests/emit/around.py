"""What emitted modules compute around a solve, in each framework, beside the reference engine's value of the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from emit.evaluation import evaluate
from emit.networks import module
from flint import arb

from sciml_bench.references.engine.around import Around
from sciml_bench.references.engine.numbers import precision
from sciml_bench.references.engine.observed_loss import ObservedLoss
from sciml_bench.spec.model import Problem

Values = tuple[np.ndarray, float]


def states(problem: Problem) -> np.ndarray:
    """Some states at the saved times, (n_times, batch, n_states)."""
    shape = (len(problem.save_times), problem.batch.size, problem.n_states)
    return np.random.default_rng(4).uniform(-1, 1, shape)


def expected(problem: Problem) -> Values:
    """The initial states (batch, n_states), and the loss with its penalty at :func:`states`."""
    found, total, ys = [], 0.0, states(problem)
    with precision(128):
        p = [arb(value) for value in problem.numbers().p]
        for b, trajectory in enumerate(problem.trajectories()):
            around = Around(trajectory)
            found.append([float(value) for value in around.initial(p)])
            rows = [[arb(value) for value in row] for row in ys[:, b].tolist()]
            total += float(ObservedLoss.of(trajectory, around).value(rows, p))
    return np.array(found), total


def error(problem: Problem, target: str) -> float:
    """The largest relative error of a target's module."""
    y0, loss = expected(problem)
    found_y0, found_loss = RUN[target](problem)
    if np.shape(found_y0) != (y0.shape if problem.batch.size > 1 else y0.shape[1:]):
        raise TypeError(f"the initial state has the shape {np.shape(found_y0)}")
    return float(max(np.max(np.abs(found_y0 - y0)) / np.max(np.abs(y0)), abs(found_loss - loss) / abs(loss)))


def controlled_error(problem: Problem) -> float:
    """The largest relative error of a right-hand side that a path through data drives, in each interval of it."""
    import jax.numpy as jnp

    emitted, p = module(problem, "jax"), np.array(problem.numbers().p)
    arguments = (*emitted["arguments"](jnp.asarray(p)), *emitted["controls"](*emitted["GIVEN"]))
    y, errors = np.array([0.3, -0.8]), []
    for t in (0.0, 0.1, 0.4, 0.7, 0.9, 1.0):
        expected = evaluate(problem, t, y, p)
        errors.append(
            np.max(np.abs(emitted["rhs"](t, jnp.asarray(y), *arguments) - expected)) / np.max(np.abs(expected))
        )
    return float(max(errors))


def _started(found: Any) -> tuple[Any, Any]:
    return found if isinstance(found, tuple) else (found, 0.0)


def _numpy(problem: Problem) -> Values:
    emitted, p = module(problem, "numpy"), np.array(problem.numbers().p)
    arguments = emitted["arguments"](p) if problem.networks else (p,)
    y0, penalty = _started(emitted["initial_state"](*emitted["GIVEN"], *arguments))
    return y0, penalty + emitted["loss"](states(problem)[:, 0], *emitted["GIVEN"], *arguments)


def _jax(problem: Problem) -> Values:
    import jax
    import jax.numpy as jnp

    emitted, p = module(problem, "jax"), jnp.asarray(problem.numbers().p)
    given, ys = emitted["GIVEN"], jnp.asarray(states(problem).swapaxes(0, 1))

    def both(ys: jax.Array, *given: jax.Array) -> tuple[jax.Array, jax.Array]:
        arguments = emitted["arguments"](p) if problem.networks else (p,)
        y0, penalty = _started(emitted["initial_state"](*given, *arguments))
        return y0, penalty + emitted["loss"](ys, *given, *arguments)

    single = problem.batch.size == 1
    y0, losses = jax.jit(both if single else jax.vmap(both))(ys[0] if single else ys, *given)
    return np.asarray(y0), float(jnp.sum(losses))


def _torch(problem: Problem) -> Values:
    import torch

    emitted, flat = module(problem, "torch"), torch.tensor(problem.numbers().p, dtype=torch.float64)
    networks, start = emitted["networks"]() if problem.networks else (), problem.n_named
    for network in networks:
        count = sum(weight.numel() for weight in network.double().parameters())
        torch.nn.utils.vector_to_parameters(flat[start : start + count], network.parameters())
        start += count
    arguments = (*emitted["GIVEN"], flat[: problem.n_named], *networks)
    ys = torch.tensor(states(problem))
    with torch.no_grad():
        y0, penalty = _started(emitted["initial_state"](*arguments))
        return y0.numpy(), float(penalty + emitted["loss"](ys if problem.batch.size > 1 else ys[:, 0], *arguments))


def _tensorflow(problem: Problem) -> Values:
    import tensorflow as tf

    emitted, ys = module(problem, "tensorflow"), states(problem)

    def both(ys: tf.Tensor, p: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        arguments = emitted["arguments"](p) if problem.networks else (p,)
        y0, penalty = _started(emitted["initial_state"](*emitted["GIVEN"], *arguments))
        return y0, penalty + emitted["loss"](ys, *emitted["GIVEN"], *arguments)

    p = tf.constant(problem.numbers().p, tf.float64)
    y0, loss = tf.function(both, autograph=False)(tf.constant(ys if problem.batch.size > 1 else ys[:, 0]), p)
    return y0.numpy(), float(loss)


RUN: dict[str, Callable[[Problem], Values]] = {"numpy": _numpy, "jax": _jax, "torch": _torch, "tensorflow": _tensorflow}
