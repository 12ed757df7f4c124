"""Worker side of the adapter of JAX: an Equinox module, batched by ``jax.vmap``, inside ``jax.jit`` or operation by
operation."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

from sciml_bench.adapters.emitted_source import load_source
from sciml_bench.adapters.jax.compiling import CacheHits, CompileTimes
from sciml_bench.adapters.jax.device import device_of, peak_bytes
from sciml_bench.adapters.jax.optimisers import optimiser_of
from sciml_bench.adapters.models import MIXED, ModelProgram, ModelTrainer
from sciml_bench.adapters.program import FloatArray, Trainer
from sciml_bench.record.task import Task, Training


class Batch(NamedTuple):
    """Images (n, channels, height, width) or tokens (n, positions), and their labels."""

    inputs: jax.Array
    labels: jax.Array


class JaxProgram(ModelProgram):
    """The arrays of the module are arguments of the compiled functions, its structure is not.

    In bfloat16 the weights stay in single precision and are cast, with the inputs, at each use.
    """

    def __init__(self, task: Task):
        super().__init__(task)
        cell = task.cell
        jax.config.update("jax_enable_x64", cell.precision == "float64")
        self.device = device_of(cell)
        self._dtype = jnp.float64 if cell.precision == "float64" else jnp.float32
        self._mixed = cell.precision == MIXED
        self._traces = 0
        source = load_source(task)
        self._loss = source.loss
        self.arrays, self._static = self._filled(source.Model)
        jit = cell.framework_mode == "jit"
        self._times, self._hits = CompileTimes(("solve", "gradient")), CacheHits()

        def solve(arrays: Any, inputs: jax.Array) -> jax.Array:
            self._traces += jit
            arrays, inputs = self._cast(arrays), self._cast(inputs)
            return jax.vmap(eqx.combine(arrays, self._static))(inputs)

        def gradient(arrays: Any, batch: Batch) -> tuple[jax.Array, Any]:
            self._traces += jit
            return jax.value_and_grad(self.loss)(arrays, batch)

        self._solve, self._gradient = (jax.jit(solve), jax.jit(gradient)) if jit else (solve, gradient)
        self.jit = jit

    def place(self, inputs: np.ndarray, labels: np.ndarray) -> Batch:
        dtype = jnp.int32 if inputs.dtype.kind == "i" else self._dtype
        batch = Batch(jnp.asarray(inputs, dtype), jnp.asarray(labels, jnp.int32))
        return jax.block_until_ready(batch)

    def solve(self, inputs: Batch) -> jax.Array:
        return self._solve(self.arrays, inputs.inputs)

    def gradient(self, inputs: Batch) -> tuple[jax.Array, Any]:
        return self._gradient(self.arrays, inputs)

    def loss(self, arrays: Any, batch: Batch) -> jax.Array:
        """The loss of a batch, for the arrays of a module."""
        model = eqx.combine(self._cast(arrays), self._static)
        return self._loss(model, self._cast(batch.inputs), batch.labels)

    def synchronise(self, output: Any) -> None:
        jax.block_until_ready(output)

    def outputs(self, output: jax.Array) -> np.ndarray:
        return np.asarray(output.astype(self._dtype), dtype=np.float64)

    def loss_and_gradient(self, output: tuple[jax.Array, Any]) -> tuple[float, np.ndarray]:
        loss, gradient = output
        parts = [np.asarray(part, dtype=np.float64).reshape(-1) for part in jax.tree_util.tree_leaves(gradient)]
        return float(loss), np.concatenate(parts)

    def trainer(self, training: Training) -> Trainer:
        return JaxTrainer(self, training)

    def predict(self, arrays: Any, batch: Batch) -> np.ndarray:
        """The outputs for the arrays of a module in training."""
        return self.outputs(self._solve(arrays, batch.inputs))

    def trace_count(self) -> int:
        return self._traces

    def count_trace(self) -> None:
        """Called where a function of the trainer is traced."""
        self._traces += self.jit

    def phases_ns(self) -> dict[str, int]:
        return self._times.ns

    def cache_hits(self) -> int | None:
        return self._hits.count

    def peak_device_bytes(self) -> int | None:
        return peak_bytes(self.device)

    def versions(self) -> dict[str, str]:
        return {
            "jax": jax.__version__,
            "equinox": eqx.__version__,
            "optax": optax.__version__,
            "jax_device": str(self.device.device_kind),
        }

    def _filled(self, model: Any) -> tuple[Any, Any]:
        """The module's arrays, which hold the weights, and the rest of it; nothing is drawn."""
        shapes = eqx.filter_eval_shape(model, jax.random.key(0))
        arrays, static = eqx.partition(shapes, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))
        leaves, structure = jax.tree_util.tree_flatten(arrays)
        ends = np.cumsum([leaf.size for leaf in leaves])
        parts = np.split(self.weights, ends[:-1])
        filled = [jnp.asarray(part.reshape(leaf.shape), self._dtype) for part, leaf in zip(parts, leaves, strict=True)]
        return jax.tree_util.tree_unflatten(structure, filled), static

    def _cast(self, tree: Any) -> Any:
        if not self._mixed:
            return tree
        return jax.tree_util.tree_map(
            lambda leaf: leaf.astype(jnp.bfloat16) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf, tree
        )


class JaxTrainer(ModelTrainer):
    """Loss, gradient and the step of Optax's optimiser inside one ``jax.jit``; weights and state are donated."""

    def __init__(self, program: JaxProgram, training: Training):
        super().__init__(program, training)
        self._run = program
        optimiser = optimiser_of(training)

        def train(arrays: Any, state: optax.OptState, batch: Batch) -> tuple[Any, optax.OptState, jax.Array]:
            program.count_trace()
            loss, gradient = jax.value_and_grad(program.loss)(arrays, batch)
            updates, state = optimiser.update(gradient, state, arrays)
            return optax.apply_updates(arrays, updates), state, loss

        self._train = jax.jit(train, donate_argnums=(0, 1)) if program.jit else train
        # Donated arrays are gone: the program keeps its own.
        self._arrays = jax.tree_util.tree_map(jnp.copy, program.arrays)
        self._state = optimiser.init(self._arrays)

    def step(self) -> jax.Array:
        self._arrays, self._state, loss = self._train(self._arrays, self._state, self.batch)
        return loss

    def synchronise(self, output: jax.Array) -> None:
        jax.block_until_ready((self._arrays, self._state, output))

    def read_loss(self, output: jax.Array) -> float:
        return float(output)

    def predict(self, batch: Batch) -> np.ndarray:
        return self._run.predict(self._arrays, batch)

    def theta(self) -> FloatArray:
        return np.asarray(ravel_pytree(self._arrays)[0], dtype=np.float64)
